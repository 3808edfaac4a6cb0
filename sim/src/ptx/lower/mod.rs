//! Turns a syntax tree into code that a warp executes.
//!
//! Names become registers and addresses, calls are inlined, labels become positions, and each instruction becomes one
//! operation (a few become several). `globals` lays out module-scope variables; `function` lowers statements and calls;
//! `operand` finds registers; `arithmetic`, `compare`, `data` and `flow` lower the instructions; `system` the calls that leave
//! the module; `scope` and `bank` are the bookkeeping.
//!
//! 1. Every register number in the code is within the function's files, every branch within the code.
//! 2. A constant is never written: its register is handed out once and never reused.
//! 3. Work is bounded: statements, registers, call depth and memory have limits.
//!
//! Refused here: instructions and types outside the subset, indirect and recursive calls, calls of functions without
//! body that the system does not provide.

mod arithmetic;
mod bank;
mod compare;
mod data;
mod flow;
mod function;
mod globals;
mod operand;
mod scope;
mod system;

use std::collections::HashMap;

pub(crate) use self::bank::Relocation;
use self::{function::Lowering, globals::Globals};
use super::{
    error::{ParseError, Reason, snippet},
    function::Function,
    module::Global,
    parse::ast::{FunctionTree, ModuleTree, Place},
};
use std::sync::Arc;

/// Module-scope names.
#[derive(Debug)]
struct Names<'t, 'a> {
    functions: HashMap<&'a str, &'t FunctionTree<'a>>,
    globals: Globals<'t, 'a>,
}

/// Lowers every kernel of a module.
pub(crate) fn lower(text: &str, tree: &ModuleTree<'_>) -> Result<(Vec<Function>, Vec<Global>), ParseError> {
    let shared: Arc<str> = text.into();
    let globals = Globals::new(tree).map_err(|(place, reason)| error(text, place, reason))?;
    let mut names = Names { functions: HashMap::new(), globals };
    for function in &tree.functions {
        // A function may be declared before it is defined, not defined twice.
        match names.functions.get(function.name) {
            Some(earlier) if earlier.body.is_some() && function.body.is_some() => {
                let reason = Reason::DeclaredTwice(function.name.to_owned());
                return Err(error(text, function.place, reason));
            }
            Some(_) if function.body.is_none() => {}
            _ => {
                names.functions.insert(function.name, function);
            }
        }
    }
    let mut functions = Vec::new();
    for function in tree.functions.iter().filter(|f| f.entry && f.body.is_some()) {
        let lowering = Lowering::new(&names, function);
        functions.push(lowering.kernel(&shared).map_err(|(place, reason)| error(text, place, reason))?);
    }
    // A device function that no kernel calls has not been looked at yet.
    for function in tree.functions.iter().filter(|f| !f.entry && f.body.is_some()) {
        let lowering = Lowering::new(&names, function);
        lowering.device_function().map_err(|(place, reason)| error(text, place, reason))?;
    }
    Ok((functions, names.globals.finish()))
}

fn error(text: &str, place: Place, reason: Reason) -> ParseError {
    ParseError { line: place.line as usize, instruction: snippet(text, place.start as usize), reason }
}
