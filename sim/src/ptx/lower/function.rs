//! Lowers one function: declarations, statements, labels, inlined calls.

use std::sync::Arc;

use super::{
    Names,
    bank::Bank,
    scope::{Patch, Pending, Scope, Symbol},
};
use crate::ptx::{
    error::{Limit, Reason},
    function::{Function, Param},
    op::{Instr, Op, SystemCall},
    parse::ast::{FunctionTree, Instruction, Place, Statement, Variable},
    registers::{ALL, ALWAYS, Class, Mask, Slot},
    types::{CALL_PARAMETERS, Space, Ty},
};

const MOST_STATEMENTS: usize = 1 << 20;
const DEEPEST_CALL: usize = 32;
const LARGEST_PARAMETERS: u64 = 4352;
const LARGEST_SHARED: u64 = 16 << 20;
const LARGEST_LOCAL: u64 = 512 << 10;

/// The reason of a refusal and the statement that it is about.
pub(super) type Refusal = (Place, Reason);

/// A function that is being lowered, with everything that is inlined into it.
#[derive(Debug)]
pub(super) struct Lowering<'n, 't, 'a> {
    pub(super) names: &'n Names<'t, 'a>,
    function: &'t FunctionTree<'a>,
    pub(super) bank: Bank,
    pub(super) scopes: Vec<Scope<'a>>,
    /// The functions being inlined, outermost first, each with the branches that leave it.
    calls: Vec<(&'a str, Vec<usize>)>,
    code: Vec<Instr>,
    places: Vec<Place>,
    pub(super) tables: Vec<Box<[u32]>>,
    pub(super) system: Vec<SystemCall>,
    pub(super) place: Place,
    /// The guard of the instruction being lowered.
    pub(super) guard: (Slot, Mask),
    statements: usize,
    shared_bytes: u64,
    dynamic_align: u64,
    /// Module-scope shared variables that have got their place.
    shared: Vec<(&'a str, u64)>,
    local_bytes: u64,
    /// The carry flag, once an instruction uses it.
    carry: Option<Slot>,
    /// Registers that live for one instruction.
    temporaries: Vec<(Class, Slot)>,
}

impl<'n, 't, 'a> Lowering<'n, 't, 'a> {
    pub(super) fn new(names: &'n Names<'t, 'a>, function: &'t FunctionTree<'a>) -> Self {
        Lowering {
            names,
            function,
            bank: Bank::new(),
            scopes: vec![Scope::new(true)],
            calls: Vec::new(),
            code: Vec::new(),
            places: Vec::new(),
            tables: Vec::new(),
            system: Vec::new(),
            place: function.place,
            guard: (ALWAYS, 0),
            statements: 0,
            shared_bytes: 0,
            dynamic_align: 1,
            shared: Vec::new(),
            local_bytes: 0,
            carry: None,
            temporaries: Vec::new(),
        }
    }

    /// Lowers a kernel.
    pub(super) fn kernel(mut self, text: &Arc<str>) -> Result<Function, Refusal> {
        let (params, param_bytes) = self.parameters().map_err(|reason| (self.place, reason))?;
        self.statements_of(self.function)?;
        self.close_scope()?;
        self.emit(Op::Exit).map_err(|reason| (self.place, reason))?;
        let dynamic_start = self.shared_bytes.next_multiple_of(self.dynamic_align);
        let registers = self.bank.words_used();
        let (initial, relocations) = self.bank.finish(dynamic_start);
        Ok(Function {
            name: self.function.name.to_owned(),
            params: params.into(),
            param_bytes,
            shared_bytes: self.shared_bytes as u32,
            dynamic_shared_start: dynamic_start as u32,
            local_bytes: self.local_bytes as u32,
            max_threads: self.function.max_threads,
            registers,
            code: self.code.into(),
            places: self.places.into(),
            tables: self.tables.into(),
            system: self.system.into(),
            initial,
            relocations: relocations.into(),
            text: Arc::clone(text),
        })
    }

    /// Checks a device function by itself.
    pub(super) fn device_function(mut self) -> Result<(), Refusal> {
        let refuse = |place| move |reason| (place, reason);
        for variable in self.function.returns.iter().chain(&self.function.parameters) {
            self.declare_variable(variable).map_err(refuse(self.place))?;
        }
        self.calls.push((self.function.name, Vec::new()));
        self.statements_of(self.function)?;
        self.close_scope()
    }

    /// Lays out a kernel's parameter block.
    fn parameters(&mut self) -> Result<(Vec<Param>, usize), Reason> {
        let mut params = Vec::new();
        let mut end = 0u64;
        for parameter in &self.function.parameters {
            if parameter.space != Some(Space::Param) || parameter.elements.is_none() {
                return Err(Reason::UnsupportedDirective("reg".to_owned()));
            }
            let offset = end.next_multiple_of(parameter.align.into());
            end = offset + parameter.bytes();
            if end > LARGEST_PARAMETERS {
                return Err(Reason::TooLarge(Limit::Parameters));
            }
            params.push(Param {
                offset: offset as usize,
                size: parameter.bytes() as usize,
                align: parameter.align as usize,
            });
            self.declare(parameter.name, Symbol::Variable { space: Space::Param, address: offset })?;
        }
        Ok((params, end as usize))
    }

    /// Lowers the statements of a function whose parameters are declared in the innermost scope.
    fn statements_of(&mut self, function: &'t FunctionTree<'a>) -> Result<(), Refusal> {
        for (place, statement) in function.body.iter().flatten() {
            self.place = *place;
            self.statement(statement)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'t Statement<'a>) -> Result<(), Refusal> {
        let place = self.place;
        let refuse = |reason| (place, reason);
        self.statements += 1;
        if self.statements > MOST_STATEMENTS {
            return Err(refuse(Reason::TooLarge(Limit::Instructions)));
        }
        match statement {
            Statement::Open => self.scopes.push(Scope::new(false)),
            Statement::Close => self.close_scope()?,
            Statement::Label(name) => {
                let position = self.code.len() as u32;
                if !self.scope().declare_label(name, position) {
                    return Err(refuse(Reason::DeclaredTwice((*name).to_owned())));
                }
            }
            Statement::Register { ty, name, count: None } => {
                self.declare_register(name, *ty).map_err(refuse)?;
            }
            Statement::Register { ty, name, count: Some(count) } => {
                if !self.scope().declare_range(name, *ty, *count) {
                    return Err(refuse(Reason::DeclaredTwice((*name).to_owned())));
                }
            }
            Statement::Variable(variable) => self.declare_variable(variable).map_err(refuse)?,
            Statement::Targets { name, labels } => {
                if !self.scope().declare_table(name, labels.clone()) {
                    return Err(refuse(Reason::DeclaredTwice((*name).to_owned())));
                }
            }
            Statement::Instruction(instruction) => {
                self.instruction(instruction)?;
                for (class, slot) in self.temporaries.drain(..) {
                    self.bank.give_back(class, slot);
                }
            }
        }
        Ok(())
    }

    fn instruction(&mut self, instruction: &'t Instruction<'a>) -> Result<(), Refusal> {
        let place = self.place;
        let refuse = |reason| (place, reason);
        self.guard = match instruction.guard {
            None => (ALWAYS, 0),
            Some((name, negated)) => {
                let slot = self.predicate(name, 0).map_err(refuse)?;
                (slot, if negated { ALL } else { 0 })
            }
        };
        if instruction.opcode == "call" {
            return self.call(instruction);
        }
        self.operation(instruction).map_err(refuse)
    }

    /// The innermost block.
    pub(super) fn scope(&mut self) -> &mut Scope<'a> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::new(true));
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(super) fn declare(&mut self, name: &'a str, symbol: Symbol) -> Result<(), Reason> {
        if self.scope().declare(name, symbol) { Ok(()) } else { Err(Reason::DeclaredTwice(name.to_owned())) }
    }

    /// Declares a register in the innermost block and takes a slot for it until the block ends.
    pub(super) fn declare_register(&mut self, name: &'a str, ty: Ty) -> Result<Slot, Reason> {
        let slot = self.bank.take(class_of(ty))?;
        self.scope().owned.push((class_of(ty), slot));
        self.declare(name, Symbol::Register { ty, slot })?;
        Ok(slot)
    }

    /// Gives a variable of a function its place.
    fn declare_variable(&mut self, variable: &'t Variable<'a>) -> Result<(), Reason> {
        if !variable.initial.is_empty() {
            return Err(Reason::UnsupportedDirective("initialiser in a function".to_owned()));
        }
        let symbol = match variable.space {
            None => {
                self.declare_register(variable.name, variable.ty)?;
                return Ok(());
            }
            Some(Space::Local) => {
                let address = self.reserve_local(variable.bytes(), variable.align)?;
                Symbol::Variable { space: Space::Local, address }
            }
            Some(Space::Param) => {
                let address = CALL_PARAMETERS + self.reserve_local(variable.bytes(), variable.align)?;
                Symbol::Variable { space: Space::Param, address }
            }
            Some(Space::Shared) => self.place_shared(variable)?,
            Some(other) => return Err(Reason::UnsupportedDirective(format!("{other:?} in a function").to_lowercase())),
        };
        self.declare(variable.name, symbol)
    }

    fn reserve_local(&mut self, bytes: u64, align: u32) -> Result<u64, Reason> {
        let address = self.local_bytes.next_multiple_of(align.into());
        self.local_bytes = address + bytes;
        if self.local_bytes > LARGEST_LOCAL {
            return Err(Reason::TooLarge(Limit::Local));
        }
        Ok(address)
    }

    fn place_shared(&mut self, variable: &Variable<'a>) -> Result<Symbol, Reason> {
        if variable.elements.is_none() {
            self.dynamic_align = self.dynamic_align.max(variable.align.into());
            return Ok(Symbol::DynamicShared);
        }
        let address = self.shared_bytes.next_multiple_of(variable.align.into());
        self.shared_bytes = address + variable.bytes();
        if self.shared_bytes > LARGEST_SHARED {
            return Err(Reason::TooLarge(Limit::Shared));
        }
        Ok(Symbol::Variable { space: Space::Shared, address })
    }

    /// The place of a module-scope shared variable in this kernel.
    pub(super) fn module_shared(&mut self, variable: &Variable<'a>) -> Result<Symbol, Reason> {
        if let Some((_, address)) = self.shared.iter().find(|(name, _)| *name == variable.name) {
            return Ok(Symbol::Variable { space: Space::Shared, address: *address });
        }
        let symbol = self.place_shared(variable)?;
        if let Symbol::Variable { address, .. } = symbol {
            self.shared.push((variable.name, address));
        }
        Ok(symbol)
    }

    /// Ends the innermost block: resolves branches to its labels, hands the others to the block around it.
    pub(super) fn close_scope(&mut self) -> Result<(), Refusal> {
        let Some(scope) = self.scopes.pop() else { return Ok(()) };
        for (class, slot) in &scope.owned {
            self.bank.give_back(*class, *slot);
        }
        for pending in &scope.pending {
            match scope.label(pending.label) {
                Some(target) => self.patch(pending.patch, target),
                None if scope.function => {
                    return Err((pending.place, Reason::Undeclared(pending.label.to_owned())));
                }
                None => self.scope().pending.push(*pending),
            }
        }
        Ok(())
    }

    /// Asks for the position of a label, which the innermost block that has it will give.
    pub(super) fn wait_for_label(&mut self, label: &'a str, patch: Patch) {
        let place = self.place;
        self.scope().pending.push(Pending { label, patch, place });
    }

    fn patch(&mut self, patch: Patch, target: u32) {
        match patch {
            Patch::Branch(position) => {
                if let Some(Instr { op: Op::Branch(to), .. }) = self.code.get_mut(position) {
                    *to = target;
                }
            }
            Patch::Table(table, entry) => {
                if let Some(to) = self.tables.get_mut(table).and_then(|t| t.get_mut(entry)) {
                    *to = target;
                }
            }
        }
    }

    /// Appends an operation under the guard of the current instruction and returns its position.
    pub(super) fn emit(&mut self, op: Op) -> Result<usize, Reason> {
        let (guard, flip) = self.guard;
        self.code.push(Instr { op, guard, flip });
        self.places.push(self.place);
        if self.code.len() > 4 * MOST_STATEMENTS {
            return Err(Reason::TooLarge(Limit::Instructions));
        }
        Ok(self.code.len() - 1)
    }

    /// A register for the current instruction only.
    pub(super) fn temporary(&mut self, class: Class) -> Result<Slot, Reason> {
        let slot = self.bank.take(class)?;
        self.temporaries.push((class, slot));
        Ok(slot)
    }

    /// The carry flag.
    pub(super) fn carry(&mut self) -> Result<Slot, Reason> {
        match self.carry {
            Some(slot) => Ok(slot),
            None => {
                let slot = self.bank.take(Class::Predicate)?;
                self.carry = Some(slot);
                Ok(slot)
            }
        }
    }

    /// Begins an inlined function: its name must not be open already.
    pub(super) fn enter(&mut self, callee: &'t FunctionTree<'a>) -> Result<(), Reason> {
        let open = self.calls.iter().any(|(name, _)| *name == callee.name);
        if open || callee.name == self.function.name {
            return Err(Reason::RecursiveCall(callee.name.to_owned()));
        }
        if self.calls.len() >= DEEPEST_CALL {
            return Err(Reason::TooLarge(Limit::CallDepth));
        }
        self.calls.push((callee.name, Vec::new()));
        Ok(())
    }

    /// Lowers the body of the function that was entered, up to where its `ret` goes. Its scope, which holds the parameters,
    /// is the innermost one and stays open.
    pub(super) fn inline(&mut self, callee: &'t FunctionTree<'a>) -> Result<(), Refusal> {
        let call = self.place;
        // The callee's instructions give back their own temporaries only.
        let held = std::mem::take(&mut self.temporaries);
        self.statements_of(callee)?;
        self.temporaries = held;
        self.place = call;
        self.guard = (ALWAYS, 0);
        let end = self.code.len() as u32;
        if let Some((_, leaving)) = self.calls.pop() {
            for position in leaving {
                self.patch(Patch::Branch(position), end);
            }
        }
        Ok(())
    }

    /// Sends the branch at `position` to what is emitted next.
    pub(super) fn land(&mut self, position: usize) {
        let here = self.code.len() as u32;
        self.patch(Patch::Branch(position), here);
    }

    /// `ret`: leaves the inlined function, or ends the thread when there is none.
    pub(super) fn leave(&mut self) -> Result<(), Reason> {
        if self.calls.is_empty() {
            return self.emit(Op::Exit).map(|_| ());
        }
        let position = self.emit(Op::Branch(0))?;
        if let Some((_, leaving)) = self.calls.last_mut() {
            leaving.push(position);
        }
        Ok(())
    }
}

/// The class of registers of a type.
pub(super) fn class_of(ty: Ty) -> Class {
    match ty.bytes() {
        0 => Class::Predicate,
        1 | 2 => Class::Half,
        4 => Class::Word,
        _ => Class::Long,
    }
}
