//! Reads PTX text into a syntax tree.
//!
//! `lexer` cuts tokens, `module` reads what stands at module scope, `body` what stands in functions, `ast` is the result.
//!
//! 1. No input makes this code panic or recurse without bound: blocks are kept flat, lists nest at most once.
//! 2. Every error names the line and quotes the statement.
//!
//! Refused here: directives outside the subset, 32-bit addresses, texts above 16 MiB.

pub(crate) mod ast;
mod body;
mod lexer;
mod module;

use self::{
    ast::{ModuleTree, Place},
    lexer::{Lexeme, Lexer, Token},
};
use super::error::{Limit, ParseError, Reason, snippet};

/// The longest text that is read. Byte offsets fit `u32` because of it.
const LONGEST: usize = 16 << 20;

/// Reads a whole text.
pub(crate) fn parse(text: &str) -> Result<ModuleTree<'_>, ParseError> {
    if text.len() > LONGEST {
        return Err(ParseError { line: 1, instruction: String::new(), reason: Reason::TooLarge(Limit::Text) });
    }
    Parser::new(text)?.module()
}

/// A text with one token of look-ahead.
struct Parser<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    current: Lexeme<'a>,
    /// Where the statement being read begins.
    place: Place,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        let current = Lexeme { token: Token::End, line: 1, start: 0, end: 0 };
        let mut parser = Parser { text, lexer: Lexer::new(text), current, place: Place { line: 1, start: 0 } };
        parser.advance()?;
        Ok(parser)
    }

    /// Takes the current token and reads the next one.
    fn advance(&mut self) -> Result<Token<'a>, ParseError> {
        let taken = self.current.token;
        self.current = self.lexer.next().map_err(|(line, start, reason)| ParseError {
            line: line as usize,
            instruction: snippet(self.text, start),
            reason,
        })?;
        Ok(taken)
    }

    /// Marks the current token as the beginning of a statement.
    fn begin(&mut self) -> Place {
        self.place = Place { line: self.current.line, start: self.current.start as u32 };
        self.place
    }

    /// The error for the statement being read.
    fn error(&self, reason: Reason) -> ParseError {
        let Place { line, start } = self.place;
        ParseError { line: line as usize, instruction: snippet(self.text, start as usize), reason }
    }

    /// The error for a token that does not fit, at that token's line.
    fn unexpected(&self, expected: &'static str) -> ParseError {
        let found = self.text.get(self.current.start..self.current.end).unwrap_or_default();
        let reason = match self.current.token {
            Token::End => Reason::UnexpectedEnd,
            Token::String => Reason::Unexpected { expected, found: "a string".to_owned() },
            _ => Reason::Unexpected { expected, found: found.chars().take(40).collect() },
        };
        ParseError { line: self.current.line as usize, ..self.error(reason) }
    }

    fn is(&self, mark: u8) -> bool {
        self.current.token == Token::Mark(mark)
    }

    /// Takes the mark when it is next.
    fn eat(&mut self, mark: u8) -> Result<bool, ParseError> {
        let found = self.is(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, mark: u8, expected: &'static str) -> Result<(), ParseError> {
        if self.eat(mark)? { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    fn word(&mut self, expected: &'static str) -> Result<&'a str, ParseError> {
        match self.current.token {
            Token::Word(word) => {
                self.advance()?;
                Ok(word)
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    fn int(&mut self) -> Result<u64, ParseError> {
        match self.current.token {
            Token::Int(value) => {
                self.advance()?;
                Ok(value)
            }
            _ => Err(self.unexpected("a number")),
        }
    }

    /// `+ 8`, `- 8`, `+-8` or nothing, as the offset of an address.
    fn offset(&mut self) -> Result<i64, ParseError> {
        let mut total = 0i64;
        loop {
            let negative = match self.current.token {
                Token::Mark(b'+') => {
                    self.advance()?;
                    self.eat(b'-')?
                }
                Token::Mark(b'-') => {
                    self.advance()?;
                    true
                }
                _ => return Ok(total),
            };
            let value = self.int()?;
            let value = i64::try_from(value).map_err(|_| self.error(Reason::NumberOutOfRange))?;
            let value = if negative { -value } else { value };
            total = total.checked_add(value).ok_or_else(|| self.error(Reason::NumberOutOfRange))?;
        }
    }

    /// Skips the tokens of the current line: directives for debuggers end with it.
    fn skip_line(&mut self) -> Result<(), ParseError> {
        let line = self.current.line;
        while self.current.line == line && self.current.token != Token::End && !self.is(b'}') {
            self.advance()?;
        }
        Ok(())
    }
}
