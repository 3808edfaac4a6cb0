//! Module scope: directives, variables, function headers.

use super::{
    Parser,
    ast::{FunctionTree, Initial, ModuleTree, Variable},
    lexer::Token,
};
use crate::ptx::{
    error::{Limit, ParseError, Reason},
    types::{Space, Ty},
};

/// The largest variable, and the largest initialiser, in bytes.
const LARGEST_VARIABLE: u64 = 1 << 30;
const LARGEST_INITIALISER: usize = 16 << 20;

/// What stands before a declaration: `.visible`, `.extern` and their like.
#[derive(Default, Clone, Copy)]
struct Linkage {
    external: bool,
}

impl<'a> Parser<'a> {
    pub(super) fn module(mut self) -> Result<ModuleTree<'a>, ParseError> {
        let mut tree = ModuleTree::default();
        let mut linkage = Linkage::default();
        self.begin();
        // The version comes first; a text without one is no PTX.
        if !matches!(self.current.token, Token::Dot("version")) {
            return Err(self.unexpected("`.version`"));
        }
        loop {
            let directive = match self.current.token {
                Token::End => return Ok(tree),
                Token::Dot(name) => name,
                _ => return Err(self.unexpected("a directive")),
            };
            match directive {
                "visible" | "weak" => {
                    self.advance()?;
                    continue;
                }
                "extern" => {
                    self.advance()?;
                    linkage.external = true;
                    continue;
                }
                "version" => self.version()?,
                "target" => self.target()?,
                "address_size" => self.address_size()?,
                "pragma" => self.pragma()?,
                "file" | "loc" => self.skip_line()?,
                "section" => self.section()?,
                "entry" | "func" => {
                    self.advance()?;
                    let function = self.function(directive == "entry")?;
                    tree.functions.push(function);
                }
                "global" | "const" | "shared" => {
                    let variables = self.variables(linkage.external)?;
                    tree.variables.extend(variables);
                }
                other => return Err(self.error(Reason::UnsupportedDirective(other.to_owned()))),
            }
            linkage = Linkage::default();
            self.begin();
        }
    }

    fn version(&mut self) -> Result<(), ParseError> {
        self.advance()?;
        match self.advance()? {
            Token::F64(_) | Token::Int(_) => Ok(()),
            _ => Err(self.unexpected("a version number")),
        }
    }

    fn target(&mut self) -> Result<(), ParseError> {
        self.advance()?;
        self.word("a target")?;
        while self.eat(b',')? {
            self.word("a target")?;
        }
        Ok(())
    }

    fn address_size(&mut self) -> Result<(), ParseError> {
        self.advance()?;
        if self.int()? == 64 {
            Ok(())
        } else {
            Err(self.error(Reason::UnsupportedDirective("address_size".to_owned())))
        }
    }

    /// `.pragma "text";` asks for optimisations only.
    pub(super) fn pragma(&mut self) -> Result<(), ParseError> {
        self.advance()?;
        while matches!(self.current.token, Token::String) {
            self.advance()?;
            self.eat(b',')?;
        }
        self.expect(b';', "`;`")
    }

    /// `.section name { .. }` holds what debuggers read.
    fn section(&mut self) -> Result<(), ParseError> {
        while !self.is(b'{') {
            if self.advance()? == Token::End {
                return Err(self.error(Reason::UnexpectedEnd));
            }
        }
        let mut depth = 0u64;
        loop {
            match self.advance()? {
                Token::Mark(b'{') => depth += 1,
                Token::Mark(b'}') => depth = depth.saturating_sub(1),
                Token::End => return Err(self.error(Reason::UnexpectedEnd)),
                _ => {}
            }
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn function(&mut self, entry: bool) -> Result<FunctionTree<'a>, ParseError> {
        let place = self.place;
        let returns = if !entry && self.is(b'(') { self.parameters()? } else { Vec::new() };
        let name = self.word("a function name")?;
        let parameters = if self.is(b'(') { self.parameters()? } else { Vec::new() };
        let mut max_threads = None;
        loop {
            match self.current.token {
                Token::Dot("maxntid" | "reqntid") => {
                    self.advance()?;
                    let mut threads = self.int()?;
                    while self.eat(b',')? {
                        threads = threads.saturating_mul(self.int()?);
                    }
                    let threads = u32::try_from(threads);
                    max_threads = Some(threads.map_err(|_| self.error(Reason::NumberOutOfRange))?);
                }
                Token::Dot("minnctapersm" | "maxnctapersm" | "maxnreg") => {
                    self.advance()?;
                    self.int()?;
                }
                Token::Dot("noreturn") => {
                    self.advance()?;
                }
                Token::Dot("pragma") => self.pragma()?,
                Token::Dot(other) => return Err(self.error(Reason::UnsupportedDirective(other.to_owned()))),
                _ => break,
            }
        }
        let body = if self.eat(b';')? { None } else { Some(self.body()?) };
        Ok(FunctionTree { entry, name, returns, parameters, max_threads, body, place })
    }

    /// `( .param .u64 a, .reg .b32 b, .. )`
    fn parameters(&mut self) -> Result<Vec<Variable<'a>>, ParseError> {
        self.expect(b'(', "`(`")?;
        let mut parameters = Vec::new();
        while !self.eat(b')')? {
            let place = self.begin();
            let space = match self.advance()? {
                Token::Dot("param") => Some(Space::Param),
                Token::Dot("reg") => None,
                _ => {
                    return Err(self.error(Reason::Unexpected { expected: "`.param` or `.reg`", found: String::new() }));
                }
            };
            let mut ty = None;
            let mut align = None;
            let mut pointer = false;
            while let Token::Dot(suffix) = self.current.token {
                self.advance()?;
                match suffix {
                    "align" => {
                        let value = self.alignment()?;
                        if !pointer {
                            align = Some(value);
                        }
                    }
                    "ptr" => pointer = true,
                    "global" | "shared" | "const" | "local" if pointer => {}
                    name => ty = Some(self.ty(name)?),
                }
            }
            let ty = ty.ok_or_else(|| self.unexpected("a type"))?;
            let name = self.word("a parameter name")?;
            let elements = self.extents(1)?;
            let align = align.unwrap_or(ty.bytes().max(1));
            parameters.push(Variable { space, ty, align, name, elements, initial: Vec::new(), external: false, place });
            if !self.is(b')') {
                self.expect(b',', "`,` or `)`")?;
            }
        }
        Ok(parameters)
    }

    /// `.space .align 4 .b8 a[16] = {..}, b;` from its state space on.
    pub(super) fn variables(&mut self, external: bool) -> Result<Vec<Variable<'a>>, ParseError> {
        let place = self.place;
        let mut space = None;
        let mut ty = None;
        let mut align = None;
        let mut factor = 1;
        while let Token::Dot(suffix) = self.current.token {
            self.advance()?;
            match suffix {
                "align" => align = Some(self.alignment()?),
                "v2" => factor = 2,
                "v4" => factor = 4,
                "attribute" => return Err(self.error(Reason::UnsupportedDirective(suffix.to_owned()))),
                name => match Space::parse(name) {
                    Some(found) if space.is_none() => space = Some(found),
                    _ => ty = Some(self.ty(name)?),
                },
            }
        }
        let ty = ty.ok_or_else(|| self.unexpected("a type"))?;
        if ty == Ty::Pred {
            return Err(self.error(Reason::UnsupportedType("pred".to_owned())));
        }
        let align = align.unwrap_or(ty.bytes() * factor as u32);
        let mut variables = Vec::new();
        loop {
            let name = self.word("a variable name")?;
            let elements = self.extents(factor)?;
            let initial = if self.eat(b'=')? { self.initialiser()? } else { Vec::new() };
            if initial.len() as u64 > elements.unwrap_or(0) {
                return Err(self.error(Reason::NumberOutOfRange));
            }
            if !initial.is_empty() && elements.unwrap_or(0) * u64::from(ty.bytes()) > LARGEST_INITIALISER as u64 {
                return Err(self.error(Reason::TooLarge(Limit::Variable)));
            }
            variables.push(Variable { space, ty, align, name, elements, initial, external, place });
            if !self.eat(b',')? {
                self.expect(b';', "`,` or `;`")?;
                return Ok(variables);
            }
        }
    }

    /// The type that a suffix names.
    pub(super) fn ty(&self, name: &str) -> Result<Ty, ParseError> {
        Ty::parse(name).ok_or_else(|| self.error(Reason::UnsupportedType(name.to_owned())))
    }

    fn alignment(&mut self) -> Result<u32, ParseError> {
        match self.int()? {
            value @ 1..=4096 if value.is_power_of_two() => Ok(value as u32),
            _ => Err(self.error(Reason::NumberOutOfRange)),
        }
    }

    /// `[4][8]` as a number of elements times `factor`; `[]` as `None`.
    fn extents(&mut self, factor: u64) -> Result<Option<u64>, ParseError> {
        let mut elements = Some(factor);
        while self.eat(b'[')? {
            if self.eat(b']')? {
                elements = None;
                continue;
            }
            let extent = self.int()?;
            self.expect(b']', "`]`")?;
            elements = match elements.map(|e| e.checked_mul(extent)) {
                Some(Some(product)) if product <= LARGEST_VARIABLE / 8 => Some(product),
                _ => return Err(self.error(Reason::TooLarge(Limit::Variable))),
            };
        }
        Ok(elements)
    }

    /// A value, or a flat list of values in braces.
    fn initialiser(&mut self) -> Result<Vec<Initial<'a>>, ParseError> {
        if !self.eat(b'{')? {
            return Ok(vec![self.initial()?]);
        }
        let mut values = Vec::new();
        while !self.eat(b'}')? {
            values.push(self.initial()?);
            if values.len() > LARGEST_INITIALISER {
                return Err(self.error(Reason::TooLarge(Limit::Variable)));
            }
            if !self.is(b'}') {
                self.expect(b',', "`,` or `}`")?;
            }
        }
        Ok(values)
    }

    fn initial(&mut self) -> Result<Initial<'a>, ParseError> {
        let negative = self.eat(b'-')?;
        match self.current.token {
            Token::Int(value) => {
                self.advance()?;
                Ok(Initial::Int(if negative { value.wrapping_neg() } else { value }))
            }
            Token::F32(bits) => {
                self.advance()?;
                Ok(Initial::F32(bits ^ (u32::from(negative) << 31)))
            }
            Token::F64(bits) => {
                self.advance()?;
                Ok(Initial::F64(bits ^ (u64::from(negative) << 63)))
            }
            Token::Word("generic") if !negative => {
                self.advance()?;
                self.expect(b'(', "`(`")?;
                let name = self.word("a variable name")?;
                self.expect(b')', "`)`")?;
                Ok(Initial::Address(name, self.offset()?))
            }
            Token::Word(name) if !negative => {
                self.advance()?;
                Ok(Initial::Address(name, self.offset()?))
            }
            _ => Err(self.unexpected("a value")),
        }
    }
}
