//! A module: the kernels and variables of one PTX text.

use std::sync::Arc;

use super::{error::ParseError, function::Function, lower, parse};

/// A parsed PTX text.
#[derive(Debug, Clone)]
pub struct Module {
    functions: Vec<Arc<Function>>,
    globals: Vec<Global>,
}

impl Module {
    /// Parses, checks and lowers a text. What the interpreter does not support is refused here, not when it runs.
    ///
    /// # Errors
    ///
    /// [`ParseError`] names the line, the statement and the reason.
    pub fn parse(text: &str) -> Result<Module, ParseError> {
        let tree = parse::parse(text)?;
        let (functions, globals) = lower::lower(text, &tree)?;
        Ok(Module { functions: functions.into_iter().map(Arc::new).collect(), globals })
    }

    /// The kernel of this name.
    pub fn function(&self, name: &str) -> Option<&Arc<Function>> {
        self.functions.iter().find(|f| f.name() == name)
    }

    /// All kernels, in the order of the text.
    pub fn functions(&self) -> &[Arc<Function>] {
        &self.functions
    }

    /// The module-scope variables in global and constant memory, in the order of the text.
    pub fn globals(&self) -> &[Global] {
        &self.globals
    }

    /// Gives every module-scope variable its device address. To be called once, before kernels are launched and before
    /// handles of kernels are cloned: a handle taken earlier keeps seeing address zero.
    pub fn link(&mut self, address_of: impl FnMut(&Global) -> u64) {
        let addresses: Vec<u64> = self.globals.iter().map(address_of).collect();
        for global in &mut self.globals {
            global.relocate(&addresses);
        }
        for function in &mut self.functions {
            Arc::make_mut(function).relocate(&addresses);
        }
    }
}

/// A module-scope variable.
#[derive(Debug, Clone)]
pub struct Global {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) align: u64,
    pub(super) constant: bool,
    pub(super) initial: Vec<u8>,
    /// Addresses of other variables within `initial`: position, variable, offset.
    pub(super) addresses: Vec<(usize, usize, i64)>,
}

impl Global {
    /// The variable's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The alignment that its address must have.
    pub fn align(&self) -> u64 {
        self.align
    }

    /// Whether it was declared in constant memory.
    pub fn is_constant(&self) -> bool {
        self.constant
    }

    /// The bytes that the text gives it, at most `size`; the rest is zero. Addresses of other variables are right once the
    /// module is linked.
    pub fn initial(&self) -> &[u8] {
        &self.initial
    }

    fn relocate(&mut self, addresses: &[u64]) {
        for (position, variable, offset) in &self.addresses {
            let address = addresses.get(*variable).copied().unwrap_or(0).wrapping_add_signed(*offset);
            if let Some(bytes) = self.initial.get_mut(*position..*position + 8) {
                bytes.copy_from_slice(&address.to_le_bytes());
            }
        }
    }
}
