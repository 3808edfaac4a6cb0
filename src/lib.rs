//! Typestate-driven CUDA graph capture and replay.
