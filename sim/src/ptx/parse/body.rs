//! Function bodies: statements, instructions, operands.

use super::{
    Parser,
    ast::{Base, Instruction, Operand, Place, Statement},
    lexer::Token,
};
use crate::ptx::error::{Limit, ParseError, Reason};

/// The deepest nesting of blocks.
const DEEPEST: u32 = 64;

impl<'a> Parser<'a> {
    /// `{ statements }`, without the outer braces.
    pub(super) fn body(&mut self) -> Result<Vec<(Place, Statement<'a>)>, ParseError> {
        self.begin();
        self.expect(b'{', "`{`")?;
        let mut statements = Vec::new();
        let mut depth = 0;
        loop {
            let place = self.begin();
            match self.current.token {
                Token::Mark(b'{') => {
                    self.advance()?;
                    depth += 1;
                    if depth > DEEPEST {
                        return Err(self.error(Reason::TooLarge(Limit::Nesting)));
                    }
                    statements.push((place, Statement::Open));
                }
                Token::Mark(b'}') => {
                    self.advance()?;
                    if depth == 0 {
                        return Ok(statements);
                    }
                    depth -= 1;
                    statements.push((place, Statement::Close));
                }
                Token::Mark(b';') => {
                    self.advance()?;
                }
                Token::Dot(directive) => self.directive(directive, place, &mut statements)?,
                Token::Mark(b'@') => {
                    self.advance()?;
                    let negated = self.eat(b'!')?;
                    let guard = self.word("a predicate")?;
                    let opcode = self.word("an instruction")?;
                    let instruction = self.instruction(Some((guard, negated)), opcode)?;
                    statements.push((place, Statement::Instruction(instruction)));
                }
                Token::Word(word) => {
                    self.advance()?;
                    let statement = if self.eat(b':')? {
                        self.labelled(word)?
                    } else {
                        Statement::Instruction(self.instruction(None, word)?)
                    };
                    statements.push((place, statement));
                }
                _ => return Err(self.unexpected("a statement")),
            }
        }
    }

    fn directive(
        &mut self,
        directive: &str,
        place: Place,
        statements: &mut Vec<(Place, Statement<'a>)>,
    ) -> Result<(), ParseError> {
        match directive {
            "reg" => {
                self.advance()?;
                let Token::Dot(name) = self.current.token else { return Err(self.unexpected("a type")) };
                let ty = self.ty(name)?;
                self.advance()?;
                loop {
                    let name = self.word("a register name")?;
                    let mut count = None;
                    if self.eat(b'<')? {
                        count = Some(self.int()?);
                        self.expect(b'>', "`>`")?;
                    }
                    statements.push((place, Statement::Register { ty, name, count }));
                    if !self.eat(b',')? {
                        break;
                    }
                }
                self.expect(b';', "`,` or `;`")
            }
            "local" | "shared" | "param" | "global" | "const" => {
                let variables = self.variables(false)?;
                statements.extend(variables.into_iter().map(|v| (place, Statement::Variable(v))));
                Ok(())
            }
            "pragma" => self.pragma(),
            "loc" | "file" => self.skip_line(),
            other => Err(self.error(Reason::UnsupportedDirective(other.to_owned()))),
        }
    }

    /// What follows `name:`: a branch table, or nothing.
    fn labelled(&mut self, name: &'a str) -> Result<Statement<'a>, ParseError> {
        match self.current.token {
            Token::Dot("branchtargets") => {
                self.advance()?;
                let mut labels = vec![self.word("a label")?];
                while self.eat(b',')? {
                    labels.push(self.word("a label")?);
                }
                self.expect(b';', "`,` or `;`")?;
                Ok(Statement::Targets { name, labels })
            }
            Token::Dot(other @ ("callprototype" | "calltargets")) => {
                Err(self.error(Reason::UnsupportedDirective(other.to_owned())))
            }
            _ => Ok(Statement::Label(name)),
        }
    }

    fn instruction(&mut self, guard: Option<(&'a str, bool)>, opcode: &'a str) -> Result<Instruction<'a>, ParseError> {
        let mut modifiers = Vec::new();
        while let Token::Dot(modifier) = self.current.token {
            self.advance()?;
            modifiers.push(modifier);
        }
        let mut operands = Vec::new();
        if !self.is(b';') {
            operands.push(self.operand()?);
            while self.eat(b',')? {
                operands.push(self.operand()?);
            }
        }
        self.expect(b';', "`,` or `;`")?;
        Ok(Instruction { guard, opcode, modifiers, operands })
    }

    fn operand(&mut self) -> Result<Operand<'a>, ParseError> {
        match self.current.token {
            Token::Mark(b'{') => Ok(Operand::Vector(self.list(b'{', b'}')?)),
            Token::Mark(b'(') => Ok(Operand::List(self.list(b'(', b')')?)),
            Token::Mark(b'[') => self.address(),
            _ => self.scalar(),
        }
    }

    fn list(&mut self, open: u8, close: u8) -> Result<Vec<Operand<'a>>, ParseError> {
        self.expect(open, "a list")?;
        let mut items = Vec::new();
        while !self.eat(close)? {
            items.push(self.scalar()?);
            if !self.is(close) {
                self.expect(b',', "`,` or the end of the list")?;
            }
        }
        Ok(items)
    }

    fn address(&mut self) -> Result<Operand<'a>, ParseError> {
        self.expect(b'[', "`[`")?;
        let (base, offset) = match self.current.token {
            Token::Word(name) => {
                self.advance()?;
                (Base::Name(name), self.offset()?)
            }
            Token::Int(value) => {
                self.advance()?;
                (Base::Absolute, (value as i64).wrapping_add(self.offset()?))
            }
            _ => return Err(self.unexpected("an address")),
        };
        self.expect(b']', "`]`")?;
        Ok(Operand::Address(base, offset))
    }

    fn scalar(&mut self) -> Result<Operand<'a>, ParseError> {
        let negative = self.eat(b'-')?;
        match self.current.token {
            Token::Int(value) => {
                self.advance()?;
                Ok(Operand::Int(if negative { value.wrapping_neg() } else { value }))
            }
            Token::F32(bits) => {
                self.advance()?;
                Ok(Operand::F32(bits ^ (u32::from(negative) << 31)))
            }
            Token::F64(bits) => {
                self.advance()?;
                Ok(Operand::F64(bits ^ (u64::from(negative) << 63)))
            }
            Token::Mark(b'!') if !negative => {
                self.advance()?;
                Ok(Operand::Not(self.word("a predicate")?))
            }
            Token::Word(name) if !negative => {
                self.advance()?;
                if self.eat(b'|')? {
                    return Ok(Operand::Pair(name, self.word("a predicate")?));
                }
                if let Token::Dot(member) = self.current.token {
                    self.advance()?;
                    return Ok(Operand::Member(name, member));
                }
                Ok(Operand::Name(name, self.offset()?))
            }
            _ => Err(self.unexpected("an operand")),
        }
    }
}
