//! Module-scope variables: device memory, constant memory, and shared memory that several kernels may use.

use std::collections::HashMap;

use crate::ptx::{
    error::Reason,
    module::Global,
    parse::ast::{Initial, ModuleTree, Place, Variable},
    types::{Space, Ty},
};

/// What a module-scope name is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Named<'t, 'a> {
    Global(usize),
    Shared(&'t Variable<'a>),
}

/// All module-scope variables.
#[derive(Debug)]
pub(super) struct Globals<'t, 'a> {
    names: HashMap<&'a str, Named<'t, 'a>>,
    globals: Vec<Global>,
}

impl<'t, 'a> Globals<'t, 'a> {
    pub(super) fn new(tree: &'t ModuleTree<'a>) -> Result<Self, (Place, Reason)> {
        let mut all = Globals { names: HashMap::new(), globals: Vec::new() };
        let defined = |v: &&Variable<'_>| !v.external || v.space == Some(Space::Shared);
        for variable in tree.variables.iter().filter(defined) {
            let named = if variable.space == Some(Space::Shared) {
                Named::Shared(variable)
            } else {
                all.globals.push(blank(variable).map_err(|reason| (variable.place, reason))?);
                Named::Global(all.globals.len() - 1)
            };
            if all.names.insert(variable.name, named).is_some() {
                return Err((variable.place, Reason::DeclaredTwice(variable.name.to_owned())));
            }
        }
        let globals = tree.variables.iter().filter(defined).filter(|v| v.space != Some(Space::Shared));
        for (index, variable) in globals.enumerate() {
            all.initialise(index, variable).map_err(|reason| (variable.place, reason))?;
        }
        Ok(all)
    }

    pub(super) fn find(&self, name: &str) -> Option<Named<'t, 'a>> {
        self.names.get(name).copied()
    }

    pub(super) fn finish(self) -> Vec<Global> {
        self.globals
    }

    fn initialise(&mut self, index: usize, variable: &Variable<'_>) -> Result<(), Reason> {
        let size = variable.ty.bytes() as usize;
        let mut bytes = Vec::new();
        let mut addresses = Vec::new();
        for value in &variable.initial {
            let bits = match (*value, variable.ty) {
                (Initial::Int(value), ty) if ty.kind() != crate::ptx::types::Kind::Float => value,
                (Initial::F32(bits), Ty::F32 | Ty::B32) => bits.into(),
                (Initial::F64(bits), Ty::F64 | Ty::B64) => bits,
                (Initial::F64(bits), Ty::F32) => (f64::from_bits(bits) as f32).to_bits().into(),
                (Initial::Address(name, offset), Ty::B64 | Ty::U64 | Ty::S64) => {
                    let Some(Named::Global(target)) = self.find(name) else {
                        return Err(Reason::Undeclared(name.to_owned()));
                    };
                    addresses.push((bytes.len(), target, offset));
                    0
                }
                _ => return Err(Reason::UnsupportedType("initialiser".to_owned())),
            };
            bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
        }
        self.globals[index].initial = bytes;
        self.globals[index].addresses = addresses;
        Ok(())
    }
}

fn blank(variable: &Variable<'_>) -> Result<Global, Reason> {
    if variable.elements.is_none() {
        return Err(Reason::UnsupportedDirective("global variable without a size".to_owned()));
    }
    Ok(Global {
        name: variable.name.to_owned(),
        size: variable.bytes(),
        align: variable.align.into(),
        constant: variable.space == Some(Space::Const),
        initial: Vec::new(),
        addresses: Vec::new(),
    })
}
