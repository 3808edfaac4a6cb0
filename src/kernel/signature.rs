//! What PTX text says of its kernels' parameters, so that a launch with the wrong arguments is refused.
//!
//! The driver itself would read past the arguments that it is given. It can be asked for parameters one by one
//! (`cuFuncGetParamInfo`), but how many there are it only says by an error, which tools that watch for errors would report.

use std::collections::HashMap;

use crate::error::KnownKernels;
use crate::sync::Arc;

/// The sizes of every kernel's parameters, by the kernel's name.
#[derive(Default)]
pub(super) struct Signatures(HashMap<Box<str>, Arc<[usize]>>);

impl Signatures {
    /// Reads `.entry name ( .param … , .param … )` wherever it stands. A kernel with a parameter that is not understood is left
    /// out, and its launches are not checked. `None` if the text does not begin as PTX does.
    pub(super) fn of_ptx(text: &str) -> Option<Self> {
        let text = without_comments(text);
        text.trim_start().strip_prefix(".version")?;
        let entries = text.split(".entry").skip(1).filter_map(|rest| {
            let name_end = rest.find(['(', '{', '.'])?;
            let name = rest[..name_end].trim();
            let sizes = match rest[name_end..].strip_prefix('(') {
                Some(rest) => parameter_sizes(&rest[..rest.find(')')?])?,
                None => Arc::default(),
            };
            Some((name.into(), sizes))
        });
        Some(Self(entries.collect()))
    }

    /// The names of the kernels that are understood, sorted.
    pub(super) fn names(&self) -> KnownKernels {
        let mut names: Vec<_> = self.0.keys().cloned().collect();
        names.sort_unstable();
        KnownKernels(names.into())
    }

    /// The sizes of the parameters of the kernel with this name, if they are known.
    pub(super) fn parameter_sizes(&self, kernel: &str) -> Option<Arc<[usize]>> {
        self.0.get(kernel).cloned()
    }
}

/// The sizes of the declarations in a parameter list.
fn parameter_sizes(list: &str) -> Option<Arc<[usize]>> {
    if list.trim().is_empty() {
        return Some(Arc::default());
    }
    list.split(',').map(parameter_size).collect()
}

/// The size of one declaration, such as `.param .u64 .ptr .global .align 4 name` or `.param .align 8 .b8 name[24]`.
fn parameter_size(declaration: &str) -> Option<usize> {
    let (declaration, count) = match declaration.split_once('[') {
        Some((declaration, rest)) => (declaration, integer(rest.split_once(']')?.0.trim())?),
        None => (declaration, 1),
    };
    // A directive may follow the one before without a space; the first word is what stands before the first dot.
    let mut directives = declaration.split('.').skip(1).map(|word| word.split_whitespace().next().unwrap_or_default());
    if !declaration.trim_start().starts_with('.') || directives.next()? != "param" {
        return None;
    }
    let bits = directives.find_map(|directive| {
        let kind = directive.trim_end_matches(|c: char| c.is_ascii_digit());
        matches!(kind, "b" | "u" | "s" | "f").then(|| directive[kind.len()..].parse::<usize>().ok())?
    })?;
    (bits / 8).checked_mul(count)
}

/// A number as PTX writes one: decimal, octal after a `0`, hexadecimal after `0x`, binary after `0b`, with an optional `U`.
fn integer(text: &str) -> Option<usize> {
    let digits = text.strip_suffix('U').unwrap_or(text);
    let (digits, radix) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (&digits[2..], 16),
        [b'0', b'b' | b'B', ..] => (&digits[2..], 2),
        [b'0', _, ..] => (&digits[1..], 8),
        _ => (digits, 10),
    };
    usize::from_str_radix(digits, radix).ok()
}

/// The text with every comment replaced by a space.
fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['/', '"']) {
        let (before, at) = rest.split_at(start);
        kept.push_str(before);
        let (keep, skip) = if at.starts_with("//") {
            (" ", at.find('\n').unwrap_or(at.len()))
        } else if at.starts_with("/*") {
            (" ", at.find("*/").map_or(at.len(), |end| end + 2))
        } else if at.starts_with('/') {
            ("/", 1)
        } else {
            // A quoted text: a file's name may hold what looks like a comment.
            (" ", at[1..].find('"').map_or(at.len(), |end| end + 2))
        };
        kept.push_str(keep);
        rest = &at[skip..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(ptx: &str, kernel: &str) -> Option<Vec<usize>> {
        let signatures = Signatures::of_ptx(&format!(".version 8.0\n{ptx}")).expect("begins as PTX does");
        signatures.parameter_sizes(kernel).map(|sizes| sizes.to_vec())
    }

    fn size(parameter: &str) -> Option<usize> {
        sizes(&format!(".entry k({parameter})\n{{ ret; }}"), "k").map(|sizes| sizes[0])
    }

    #[test]
    fn parameters_of_every_kind_are_sized() {
        let ptx = ".visible .entry mixed(\n\t.param .u64 .ptr .global .align 16 a,\n\t.param .f32 b,\n\
                   \t.param .align 8 .b8 c[24],\n\t.param .u8 d,\n\t.param .b128 e\n)\n.maxntid 128, 1, 1\n{ ret; }";
        assert_eq!(sizes(ptx, "mixed"), Some(vec![8, 4, 24, 1, 16]));
        assert_eq!(sizes(ptx, "other"), None);
    }

    #[test]
    fn every_way_to_space_and_to_count_is_understood() {
        assert_eq!(size(".param.u32 a"), Some(4));
        assert_eq!(size(".param .u64.ptr.global.align 4 a"), Some(8));
        assert_eq!(size("\n.param\t.align 8\n.b8 a [ 24 ]"), Some(24));
        let counts = [("24", 24), ("24U", 24), ("0x18", 24), ("030", 24), ("0b11000", 24), ("0", 0), ("08", 0)];
        for (count, bytes) in counts {
            let expected = if count == "08" { None } else { Some(bytes) };
            assert_eq!(size(&format!(".param .b8 a[{count}]")), expected, "{count}");
        }
    }

    #[test]
    fn kernels_without_parameters_have_none() {
        assert_eq!(sizes(".entry a()\n{ ret; }\n.entry b\n{ ret; }", "a"), Some(vec![]));
        assert_eq!(sizes(".entry a()\n{ ret; }\n.entry b\n{ ret; }", "b"), Some(vec![]));
    }

    #[test]
    fn comments_and_file_names_do_not_mislead() {
        let ptx =
            "// .entry a(.param .u8 x)\n.file 1 \"/tmp//k.cu\"\n.entry /* this */ a(.param .u32 x /* , */)\n{ ret; }";
        assert_eq!(sizes(ptx, "a"), Some(vec![4]));
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        assert_eq!(size(".param .texref t"), None);
        assert_eq!(size(".param .b8 t[x]"), None);
        assert_eq!(size(".param .f16x2 t"), None);
        assert_eq!(size("param .u32 t"), None);
        for text in
            ["", ".entry", ".entry a", ".entry a(", "/*", "\"", "/", ".entry é(.param .u32 ü[99999999999999999999])"]
        {
            assert_eq!(sizes(text, "a"), None, "{text}");
        }
    }

    #[test]
    fn only_what_begins_as_ptx_does_is_ptx() {
        assert!(Signatures::of_ptx(" \n// by hand\n/* . */ .version 8.0").is_some());
        for text in ["", "\u{7f}ELF\u{2}\u{1}\u{1}A\u{7}", "x .version 8.0", "\u{feff}.version 8.0", "// .version 8.0"]
        {
            assert!(Signatures::of_ptx(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn the_project_s_own_kernels_are_understood() {
        let signatures = Signatures::of_ptx(include_str!("../../kernels/decode.ptx")).expect("begins as PTX does");
        assert_eq!(signatures.parameter_sizes("matvec").as_deref(), Some(&[8, 8, 8, 4, 4][..]));
        assert_eq!(signatures.parameter_sizes("count_step").as_deref(), Some(&[8][..]));
        assert_eq!(signatures.0.len(), 9);
    }
}
