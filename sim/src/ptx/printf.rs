//! The formats of `printf`.
//!
//! As in C, with `long` and pointers of 64 bits. A conversion that C does not have is printed as it stands; `%n` writes nothing
//! and is printed as it stands, too. Widths and precisions above [`MOST`] count as that.

/// The largest width and precision.
const MOST: usize = 1 << 12;

/// Where the values come from.
pub(super) trait Arguments {
    /// Why a value could not be had.
    type Error;

    /// The next argument, of 4 or 8 bytes.
    fn take(&mut self, bytes: u8) -> Result<u64, Self::Error>;

    /// The text at an address.
    fn text(&mut self, address: u64) -> Result<Vec<u8>, Self::Error>;
}

/// A conversion: what stands between `%` and its letter.
#[derive(Debug, Clone, Copy, Default)]
struct Spec {
    left: bool,
    plus: bool,
    blank: bool,
    alternative: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// The bytes of an integer argument.
    bytes: u8,
}

/// The text that a format makes of its arguments.
pub(super) fn format<A: Arguments>(format: &[u8], arguments: &mut A) -> Result<Vec<u8>, A::Error> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            out.push(*first);
            continue;
        }
        let mut scanner = Scanner { rest };
        let spec = scanner.spec(arguments)?;
        let after = scanner.rest;
        let Some((letter, after)) = after.split_first() else {
            out.push(b'%');
            out.extend(rest);
            break;
        };
        match letter {
            b'%' => out.push(b'%'),
            b'd' | b'i' => {
                let value = signed(arguments.take(spec.argument())?, spec.bytes);
                spec.integer(&mut out, value.unsigned_abs(), sign(value < 0, spec), b'd');
            }
            b'u' | b'o' | b'x' | b'X' => {
                let value = unsigned(arguments.take(spec.argument())?, spec.bytes);
                spec.integer(&mut out, value, "", *letter);
            }
            b'c' => spec.pad(&mut out, "", &[arguments.take(4)? as u8], false),
            b's' => {
                let mut text = match arguments.take(8)? {
                    0 => b"(null)".to_vec(),
                    address => arguments.text(address)?,
                };
                text.truncate(spec.precision.unwrap_or(text.len()));
                spec.pad(&mut out, "", &text, false);
            }
            b'p' => match arguments.take(8)? {
                0 => spec.pad(&mut out, "", b"(nil)", false),
                value => Spec { alternative: true, ..spec }.integer(&mut out, value, "", b'x'),
            },
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                let value = f64::from_bits(arguments.take(8)?);
                spec.float(&mut out, value, *letter);
            }
            _ => {
                out.push(b'%');
                out.extend(&rest[..=rest.len() - after.len() - 1]);
            }
        }
        rest = after;
    }
    Ok(out)
}

/// Reads what stands between `%` and the letter.
struct Scanner<'f> {
    rest: &'f [u8],
}

impl Scanner<'_> {
    fn spec<A: Arguments>(&mut self, arguments: &mut A) -> Result<Spec, A::Error> {
        let mut spec = Spec { bytes: 4, ..Spec::default() };
        loop {
            match self.rest.first() {
                Some(b'-') => spec.left = true,
                Some(b'+') => spec.plus = true,
                Some(b' ') => spec.blank = true,
                Some(b'#') => spec.alternative = true,
                Some(b'0') => spec.zero = true,
                _ => break,
            }
            self.advance();
        }
        let width = self.number(arguments)?.unwrap_or(0);
        spec.left |= width < 0;
        spec.width = clamp(width.unsigned_abs());
        if self.eat(b'.') {
            let precision = self.number(arguments)?.unwrap_or(0);
            spec.precision = u32::try_from(precision).ok().map(clamp);
        }
        while let Some(size) = self.rest.first() {
            spec.bytes = match (size, spec.bytes) {
                (b'h', 2) => 1,
                (b'h', _) => 2,
                (b'l' | b'j' | b'z' | b't' | b'L', _) => 8,
                _ => break,
            };
            self.advance();
        }
        Ok(spec)
    }

    /// Digits, or a `*` that stands for an argument.
    fn number<A: Arguments>(&mut self, arguments: &mut A) -> Result<Option<i32>, A::Error> {
        if self.eat(b'*') {
            return Ok(Some(arguments.take(4)? as i32));
        }
        let mut value: Option<i32> = None;
        while let Some(digit @ b'0'..=b'9') = self.rest.first() {
            let digit = i32::from(digit - b'0');
            value = Some(value.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            self.advance();
        }
        Ok(value)
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        if found {
            self.advance();
        }
        found
    }

    fn advance(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }
}

impl Spec {
    /// The bytes that an integer argument takes: small ones come as words.
    fn argument(self) -> u8 {
        self.bytes.max(4)
    }

    fn integer(self, out: &mut Vec<u8>, value: u64, sign: &str, letter: u8) {
        let mut digits = match (letter, value, self.precision) {
            (_, 0, Some(0)) => String::new(),
            (b'o', ..) => format!("{value:o}"),
            (b'x', ..) => format!("{value:x}"),
            (b'X', ..) => format!("{value:X}"),
            _ => value.to_string(),
        };
        let missing = self.precision.unwrap_or(0).saturating_sub(digits.len());
        digits.insert_str(0, &"0".repeat(missing));
        let prefix = match letter {
            b'o' if self.alternative && !digits.starts_with('0') => "0",
            b'x' if self.alternative && value != 0 => "0x",
            b'X' if self.alternative && value != 0 => "0X",
            _ => sign,
        };
        self.pad(out, prefix, digits.as_bytes(), self.precision.is_none());
    }

    fn float(self, out: &mut Vec<u8>, value: f64, letter: u8) {
        let sign = sign(value.is_sign_negative(), self);
        let value = value.abs();
        let mut prefix = sign.to_owned();
        let digits = match letter.to_ascii_lowercase() {
            _ if !value.is_finite() => if value.is_nan() { "nan" } else { "inf" }.to_owned(),
            b'f' => self.fixed(value, self.precision.unwrap_or(6)),
            b'e' => self.scientific(value, self.precision.unwrap_or(6)),
            b'g' => self.general(value),
            _ => {
                prefix.push_str("0x");
                self.hexadecimal(value)
            }
        };
        let zeros = value.is_finite();
        if letter.is_ascii_uppercase() {
            self.pad(out, &prefix.to_uppercase(), digits.to_uppercase().as_bytes(), zeros);
        } else {
            self.pad(out, &prefix, digits.as_bytes(), zeros);
        }
    }

    fn fixed(self, value: f64, precision: usize) -> String {
        let point = if precision == 0 && self.alternative { "." } else { "" };
        format!("{value:.precision$}{point}")
    }

    fn scientific(self, value: f64, precision: usize) -> String {
        let (mantissa, exponent) = decimal(value, precision);
        let point = if precision == 0 && self.alternative { "." } else { "" };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}{point}e{sign}{:02}", exponent.unsigned_abs())
    }

    /// `%g`: the shorter of the other two, without trailing zeros.
    fn general(self, value: f64) -> String {
        let digits = self.precision.unwrap_or(6).max(1);
        let (_, exponent) = decimal(value, digits - 1);
        let fixed = exponent >= -4 && i64::from(exponent) < digits as i64;
        let text = match fixed {
            true => self.fixed(value, (digits as i64 - 1 - i64::from(exponent)) as usize),
            false => self.scientific(value, digits - 1),
        };
        if self.alternative || !text.contains('.') {
            return text;
        }
        let (number, tail) = text.split_at(text.find('e').unwrap_or(text.len()));
        let number = number.trim_end_matches('0').trim_end_matches('.');
        format!("{number}{tail}")
    }

    /// `%a` without its `0x`.
    fn hexadecimal(self, value: f64) -> String {
        const FRACTION: u32 = 52;
        let bits = value.to_bits();
        let fraction = bits & ((1 << FRACTION) - 1);
        let (mut mantissa, exponent) = match (bits >> FRACTION) as i32 {
            0 if fraction == 0 => (0, 0),
            0 => (fraction, -1022),
            biased => (fraction | 1 << FRACTION, biased - 1023),
        };
        let precision = match self.precision {
            // The mantissa is cut after some digits: to the nearest, ties to even.
            Some(precision) if precision < 13 => {
                let cut = FRACTION - 4 * precision as u32;
                let half = 1u64 << (cut - 1);
                let odd = mantissa >> cut & 1;
                mantissa = (mantissa + half - 1 + odd) >> cut << cut;
                precision
            }
            Some(precision) => precision,
            None => {
                let zeros = (mantissa & ((1 << FRACTION) - 1)).trailing_zeros().min(FRACTION) / 4;
                13 - zeros as usize
            }
        };
        let mut digits = format!("{:013x}", mantissa & ((1 << FRACTION) - 1));
        digits.extend(std::iter::repeat_n('0', precision.saturating_sub(13)));
        digits.truncate(precision);
        let point = if precision > 0 || self.alternative { "." } else { "" };
        format!("{}{point}{digits}p{exponent:+}", mantissa >> FRACTION)
    }

    /// Adds `prefix` and `body`, filled up to the width.
    fn pad(self, out: &mut Vec<u8>, prefix: &str, body: &[u8], zeros: bool) {
        let fill = self.width.saturating_sub(prefix.len() + body.len());
        let zeros = zeros && self.zero && !self.left;
        let blanks = if zeros { 0 } else { fill };
        if !self.left {
            out.extend(std::iter::repeat_n(b' ', blanks));
        }
        out.extend(prefix.as_bytes());
        if zeros {
            out.extend(std::iter::repeat_n(b'0', fill));
        }
        out.extend(body);
        if self.left {
            out.extend(std::iter::repeat_n(b' ', blanks));
        }
    }
}

/// The digits and the decimal exponent of a number, rounded to `precision` digits after the point.
fn decimal(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match negative {
        true => "-",
        false if spec.plus => "+",
        false if spec.blank => " ",
        false => "",
    }
}

fn signed(value: u64, bytes: u8) -> i64 {
    match bytes {
        1 => (value as i8).into(),
        2 => (value as i16).into(),
        4 => (value as i32).into(),
        _ => value as i64,
    }
}

fn unsigned(value: u64, bytes: u8) -> u64 {
    match bytes {
        1 => (value as u8).into(),
        2 => (value as u16).into(),
        4 => (value as u32).into(),
        _ => value,
    }
}

fn clamp(value: u32) -> usize {
    usize::try_from(value).unwrap_or(MOST).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::{Arguments, format};

    /// Values in order; texts by number.
    struct Values<'a>(std::iter::Copied<std::slice::Iter<'a, u64>>, &'static [&'static str]);

    impl Arguments for Values<'_> {
        type Error = ();

        fn take(&mut self, _bytes: u8) -> Result<u64, ()> {
            self.0.next().ok_or(())
        }

        fn text(&mut self, address: u64) -> Result<Vec<u8>, ()> {
            self.1.get(address as usize - 1).map(|text| text.as_bytes().to_vec()).ok_or(())
        }
    }

    fn check(text: &str, values: &[u64], expected: &str) {
        let out = format(text.as_bytes(), &mut Values(values.iter().copied(), &["one", "two"]));
        assert_eq!(out.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), Ok(expected.to_owned()), "{text}");
    }

    fn float(text: &str, value: f64, expected: &str) {
        check(text, &[value.to_bits()], expected);
    }

    #[test]
    fn integers() {
        check("a %d b %i%%", &[5, (-7i32) as u32 as u64], "a 5 b -7%");
        check("%ld %lld %u", &[u64::MAX, 1 << 40, 0xffff_ffff], "-1 1099511627776 4294967295");
        check("%hd %hhu %hhd", &[0x1_8000, 0x1ff, 0x80], "-32768 255 -128");
        check("[%5d][%-5d][%05d][%+d][% d]", &[42, 42, 42, 42, 42], "[   42][42   ][00042][+42][ 42]");
        check("[%.3d][%6.3d][%06.3d][%.0d]", &[7, 7, 7, 0], "[007][   007][   007][]");
        check("%x %X %#x %#o %#x %08x", &[255, 255, 255, 8, 0, 255], "ff FF 0xff 010 0 000000ff");
        check("[%*d][%-*d][%.*d]", &[4, 1, 3, 2, 2, 3], "[   1][2  ][03]");
        check("[%*d]", &[(-3i32) as u32 as u64, 1], "[1  ]");
    }

    #[test]
    fn texts_and_pointers() {
        check("%c%c", &[72, 105], "Hi");
        check("[%s][%5s][%-5s][%.2s]", &[1, 2, 1, 1], "[one][  two][one  ][on]");
        check("%s %p %p", &[0, 0xdd0, 0], "(null) 0xdd0 (nil)");
    }

    #[test]
    fn floats() {
        float("%f", 1.5, "1.500000");
        float("%.2f", -2.675, "-2.67");
        float("%08.3f", -1.5, "-001.500");
        float("%#.0f", 3.0, "3.");
        float("%e", 12345.678, "1.234568e+04");
        float("%.0e", 0.00012, "1e-04");
        float("%E", f64::INFINITY, "INF");
        float("%05f", f64::NEG_INFINITY, " -inf");
        float("%g", 0.0001, "0.0001");
        float("%g", 0.00001, "1e-05");
        float("%g", 100_000.0, "100000");
        float("%g", 1_000_000.0, "1e+06");
        float("%g", 999_999.5, "1e+06");
        float("%#g", 1.0, "1.00000");
        float("%.3g", 1234.5, "1.23e+03");
        float("%a", 1.0, "0x1p+0");
        float("%a", -0.1, "-0x1.999999999999ap-4");
        float("%.1a", 1.96875, "0x2.0p+0");
        float("%A", 0.0, "0X0P+0");
        float("%15a", 5e-324, "0x0.0000000000001p-1022");
    }

    /// The C library is the measure: flags, widths and precisions in any combination.
    #[test]
    #[cfg(target_os = "linux")]
    fn formats_are_those_of_the_c_library() {
        let c = |text: &str, value: u64, real: bool| {
            let format = std::ffi::CString::new(text).expect("no zero byte");
            let mut out = [0u8; 600];
            let (to, size) = (out.as_mut_ptr().cast(), out.len());
            let length = match real {
                // SAFETY: the buffer has `size` bytes, and the format has one conversion, of a double.
                true => unsafe { libc::snprintf(to, size, format.as_ptr(), f64::from_bits(value)) },
                // SAFETY: as above, with one conversion of a `long`, which smaller integers are read from.
                false => unsafe { libc::snprintf(to, size, format.as_ptr(), value) },
            };
            String::from_utf8_lossy(&out[..length as usize]).into_owned()
        };
        let mut state = 1u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        let letters = ["d", "u", "x", "X", "o", "ld", "lu", "hd", "hhu", "f", "e", "G", "g", "E", "a"];
        for _ in 0..100_000 {
            let flags: String = "-+ #0".chars().filter(|_| random() % 3 == 0).collect();
            let letter = letters[random() as usize % letters.len()];
            let real = letter.chars().all(|letter| "feEgGa".contains(letter));
            let width = if random() % 2 == 0 { (random() % 24).to_string() } else { String::new() };
            let width = width.trim_start_matches('0');
            let precision = if random() % 2 == 0 { format!(".{}", random() % 18) } else { String::new() };
            let text = format!("%{flags}{width}{precision}{letter}");
            let value = match (real, random() % 4) {
                (true, 0) => (random() as i32 as f64 / 1000.0).to_bits(),
                (true, 1) => ((random() % 2000) as f64 / 8.0).to_bits(),
                (false, 0) => random() % 16,
                _ => random() << 32 ^ random(),
            };
            check(&text, &[value], &c(&text, value, real));
        }
    }

    #[test]
    fn what_is_no_conversion_stays() {
        check("100%", &[], "100%");
        check("%k %5q", &[], "%k %5q");
        check("%5", &[], "%5");
    }

    #[test]
    fn a_missing_argument_is_an_error() {
        assert_eq!(format(b"%d", &mut Values([].iter().copied(), &[])), Err(()));
    }
}
