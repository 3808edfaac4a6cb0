//! Cuts PTX text into tokens, one at a time.

use crate::ptx::error::Reason;

/// One token. Names and suffixes borrow from the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    /// A name: opcode, register, variable, label, function.
    Word(&'a str),
    /// A suffix or directive, without its dot; may hold `::`.
    Dot(&'a str),
    Int(u64),
    /// The bits of a single-precision literal `0f3F800000`.
    F32(u32),
    /// The bits of a double-precision literal `0d...` or of a decimal one.
    F64(u64),
    String,
    /// One character of punctuation.
    Mark(u8),
    End,
}

/// A token and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lexeme<'a> {
    pub(crate) token: Token<'a>,
    pub(crate) line: u32,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// The rest of a text.
#[derive(Debug)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    line: u32,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Lexer { text, at: 0, line: 1 }
    }

    /// The next token. The place of a token that cannot be read is given with the reason.
    pub(crate) fn next(&mut self) -> Result<Lexeme<'a>, (u32, usize, Reason)> {
        self.skip_blanks().map_err(|reason| (self.line, self.at, reason))?;
        let (line, start) = (self.line, self.at);
        let token = self.token().map_err(|reason| (line, start, reason))?;
        Ok(Lexeme { token, line, start, end: self.at })
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Moves past bytes that satisfy `want` and returns them. They are ASCII, so the cut is on a character boundary.
    fn take_while(&mut self, want: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.at < self.text.len() && self.peek(0).is_ascii() && want(self.peek(0)) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    fn skip_blanks(&mut self) -> Result<(), Reason> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'\n', _) => {
                    self.line += 1;
                    self.at += 1;
                }
                (b' ' | b'\t' | b'\r' | 0x0b | 0x0c, _) => self.at += 1,
                (b'/', b'/') => {
                    let rest = &self.text.as_bytes()[self.at..];
                    self.at += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                (b'/', b'*') => {
                    let rest = &self.text[self.at + 2..];
                    let length = rest.find("*/").ok_or(Reason::UnexpectedEnd)?;
                    self.line += rest[..length].bytes().filter(|&b| b == b'\n').count() as u32;
                    self.at += length + 4;
                }
                _ => return Ok(()),
            }
        }
    }

    fn token(&mut self) -> Result<Token<'a>, Reason> {
        if self.at >= self.text.len() {
            return Ok(Token::End);
        }
        match self.peek(0) {
            b'0'..=b'9' => self.number(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'%' => {
                let start = self.at;
                self.at += 1;
                self.take_while(is_word);
                Ok(Token::Word(&self.text[start..self.at]))
            }
            b'.' => {
                self.at += 1;
                let start = self.at;
                self.take_while(is_word);
                while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
                    self.at += 2;
                    self.take_while(is_word);
                }
                match &self.text[start..self.at] {
                    "" => Err(Reason::InvalidCharacter),
                    name => Ok(Token::Dot(name)),
                }
            }
            b'"' => {
                let rest = &self.text[self.at + 1..];
                let length = rest.find('"').ok_or(Reason::UnexpectedEnd)?;
                self.line += rest[..length].bytes().filter(|&b| b == b'\n').count() as u32;
                self.at += length + 2;
                Ok(Token::String)
            }
            mark @ (b'{' | b'}' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b',' | b';' | b':' | b'=' | b'+' | b'-'
            | b'@' | b'!' | b'|') => {
                self.at += 1;
                Ok(Token::Mark(mark))
            }
            _ => Err(Reason::InvalidCharacter),
        }
    }

    fn number(&mut self) -> Result<Token<'a>, Reason> {
        match (self.peek(0), self.peek(1)) {
            (b'0', b'f' | b'F') => Ok(Token::F32(self.float_bits(8)? as u32)),
            (b'0', b'd' | b'D') => Ok(Token::F64(self.float_bits(16)?)),
            (b'0', b'x' | b'X') => self.integer(2, 16),
            (b'0', b'b' | b'B') => self.integer(2, 2),
            _ => {
                let start = self.at;
                self.take_while(|b| b.is_ascii_digit());
                let fraction = self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
                let exponent = matches!(self.peek(0), b'e' | b'E');
                if fraction || exponent {
                    return self.decimal_float(start);
                }
                let digits = &self.text[start..self.at];
                self.at = start;
                let octal = digits.len() > 1 && digits.starts_with('0');
                self.integer(usize::from(octal), if octal { 8 } else { 10 })
            }
        }
    }

    /// An integer after a prefix of `prefix` bytes, with an optional `U`.
    fn integer(&mut self, prefix: usize, radix: u32) -> Result<Token<'a>, Reason> {
        self.at += prefix;
        let digits = self.take_while(|b| b.is_ascii_hexdigit());
        let value = u64::from_str_radix(digits, radix).map_err(|_| Reason::NumberOutOfRange)?;
        if self.peek(0) == b'U' {
            self.at += 1;
        }
        if is_word(self.peek(0)) { Err(Reason::InvalidCharacter) } else { Ok(Token::Int(value)) }
    }

    fn float_bits(&mut self, length: usize) -> Result<u64, Reason> {
        self.at += 2;
        let digits = self.take_while(is_word);
        if digits.len() != length {
            return Err(Reason::NumberOutOfRange);
        }
        u64::from_str_radix(digits, 16).map_err(|_| Reason::NumberOutOfRange)
    }

    fn decimal_float(&mut self, start: usize) -> Result<Token<'a>, Reason> {
        if self.peek(0) == b'.' {
            self.at += 1;
            self.take_while(|b| b.is_ascii_digit());
        }
        if matches!(self.peek(0), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(0), b'+' | b'-') {
                self.at += 1;
            }
            self.take_while(|b| b.is_ascii_digit());
        }
        let value: f64 = self.text[start..self.at].parse().map_err(|_| Reason::NumberOutOfRange)?;
        if is_word(self.peek(0)) { Err(Reason::InvalidCharacter) } else { Ok(Token::F64(value.to_bits())) }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}
