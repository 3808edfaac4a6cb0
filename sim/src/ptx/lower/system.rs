//! Lowers calls of the functions that the system provides, which a module declares but does not define.

use super::{function::Lowering, scope::Symbol};
use crate::ptx::{
    error::Reason,
    op::{Op, SystemCall},
    parse::ast::{FunctionTree, Operand, Variable},
    types::Space,
};

/// The system functions: name, bytes of each parameter, bytes of each result.
const FUNCTIONS: [(&str, &[u64], &[u64]); 2] = [("__assertfail", &[8, 8, 4, 8, 8], &[]), ("vprintf", &[8, 8], &[4])];

impl<'a> Lowering<'_, '_, 'a> {
    /// Lowers the call of a system function under the guard of the current instruction.
    pub(super) fn system_call(
        &mut self,
        callee: &FunctionTree<'a>,
        results: &[Operand<'a>],
        arguments: &[Operand<'a>],
    ) -> Result<(), Reason> {
        let known = FUNCTIONS.iter().find(|(name, parameters, returns)| {
            *name == callee.name && are(&callee.parameters, parameters) && are(&callee.returns, returns)
        });
        if known.is_none() {
            return Err(Reason::UnsupportedCall(callee.name.to_owned()));
        }
        let mut addresses = [0; 6];
        if arguments.len() != callee.parameters.len() || results.len() != callee.returns.len() {
            return Err(Reason::OperandCount);
        }
        for (i, (address, actual)) in addresses.iter_mut().zip(arguments.iter().chain(results)).enumerate() {
            if let Symbol::Variable { address: found, .. } = self.parameter_memory(actual, i + 1)? {
                *address = found;
            }
        }
        let [first, second, third, fourth, ..] = addresses;
        let call = match callee.name {
            "vprintf" => SystemCall::Print { format: first, arguments: second, count: third },
            _ => SystemCall::AssertionFailed { condition: first, file: second, line: third, function: fourth },
        };
        self.system.push(call);
        self.emit(Op::System(self.system.len() as u32 - 1))?;
        Ok(())
    }
}

/// Whether variables are in parameter memory and have these sizes.
fn are(variables: &[Variable<'_>], bytes: &[u64]) -> bool {
    let fits = |(variable, bytes): (&Variable<'_>, &u64)| {
        variable.space == Some(Space::Param) && variable.elements.is_some() && variable.bytes() == *bytes
    };
    variables.len() == bytes.len() && variables.iter().zip(bytes).all(fits)
}
