//! The simulated driver as a shared library.
