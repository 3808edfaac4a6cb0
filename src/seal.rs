//! What keeps a sealed trait's methods for this crate.
//!
//! Sealing a trait keeps others from implementing it, not from calling it: the methods of a supertrait are in scope on every type
//! parameter that has it. So each takes a [`OnlyForDacapo`], which nobody else can make.

/// Proof that the caller is this crate.
#[derive(Clone, Copy)]
pub struct OnlyForDacapo(());

impl OnlyForDacapo {
    pub(crate) const fn new() -> Self {
        Self(())
    }
}
