//! What PTX text says of its kernels' parameters, so that a launch with the wrong arguments is refused.
//!
//! The driver itself would read past the arguments that it is given. It can be asked for parameters one by one
//! (`cuFuncGetParamInfo`), but how many there are it only says by an error, which tools that watch for errors would report.

use std::collections::HashMap;

use crate::sync::Arc;

/// The sizes of every kernel's parameters, by the kernel's name.
#[derive(Default)]
pub(super) struct Signatures(HashMap<Box<str>, Arc<[usize]>>);

impl Signatures {
    /// Reads `.entry name ( .param … , .param … )` wherever it stands. A kernel with a parameter that is not understood is left
    /// out, and its launches are not checked: whether the text is PTX at all is for the driver to say.
    pub(super) fn of_ptx(text: &str) -> Self {
        let text = without_comments(text);
        let entries = text.split(".entry").skip(1).filter_map(|rest| {
            let name_end = rest.find(['(', '{', '.'])?;
            let name = rest[..name_end].trim();
            let sizes = match rest[name_end..].strip_prefix('(') {
                Some(rest) => parameter_sizes(&rest[..rest.find(')')?])?,
                None => Arc::default(),
            };
            Some((name.into(), sizes))
        });
        Self(entries.collect())
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
    let mut words = declaration.split_whitespace();
    if words.next()? != ".param" {
        return None;
    }
    let element = words.find_map(|word| {
        let bits = word.strip_prefix('.')?.trim_start_matches(|c: char| c.is_ascii_lowercase());
        matches!(bits, "8" | "16" | "32" | "64" | "128").then(|| bits.parse::<usize>().ok())?
    })? / 8;
    match declaration.split_once('[') {
        Some((_, rest)) => element.checked_mul(rest.split_once(']')?.0.trim().parse().ok()?),
        None => Some(element),
    }
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
        Signatures::of_ptx(ptx).parameter_sizes(kernel).map(|sizes| sizes.to_vec())
    }

    #[test]
    fn parameters_of_every_kind_are_sized() {
        let ptx = ".version 8.0\n.visible .entry mixed(\n\t.param .u64 .ptr .global .align 16 a,\n\t.param .f32 b,\n\
                   \t.param .align 8 .b8 c[24],\n\t.param .u8 d,\n\t.param .b128 e\n)\n.maxntid 128, 1, 1\n{ ret; }";
        assert_eq!(sizes(ptx, "mixed"), Some(vec![8, 4, 24, 1, 16]));
        assert_eq!(sizes(ptx, "other"), None);
    }

    #[test]
    fn kernels_without_parameters_have_none() {
        assert_eq!(sizes(".entry a()\n{ ret; }\n.entry b\n{ ret; }", "a"), Some(vec![]));
        assert_eq!(sizes(".entry a()\n{ ret; }\n.entry b\n{ ret; }", "b"), Some(vec![]));
    }

    #[test]
    fn comments_and_file_names_do_not_mislead() {
        let ptx = "// .entry a(.param .u8 x)\n.file 1 \"/tmp//k.cu\"\n.entry /* the real one */ a(.param .u32 x /* , */)\n{ ret; }";
        assert_eq!(sizes(ptx, "a"), Some(vec![4]));
    }

    #[test]
    fn what_is_not_understood_is_left_out() {
        assert_eq!(sizes(".entry a(.param .texref t)\n{ ret; }", "a"), None);
        assert_eq!(sizes(".entry a(.param .b8 t[x])\n{ ret; }", "a"), None);
        for text in
            ["", ".entry", ".entry a", ".entry a(", "/*", "\"", "/", ".entry é(.param .u32 ü[9999999999999999999999])"]
        {
            assert_eq!(sizes(text, "a"), None, "{text}");
        }
    }

    #[test]
    fn the_project_s_own_kernels_are_understood() {
        let ptx = include_str!("../../kernels/decode.ptx");
        assert_eq!(sizes(ptx, "matvec"), Some(vec![8, 8, 8, 4, 4]));
        assert_eq!(sizes(ptx, "count_step"), Some(vec![8]));
        assert_eq!(Signatures::of_ptx(ptx).0.len(), 9);
    }
}
