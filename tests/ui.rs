//! What cannot be written: each file of `ui-tests/fail` holds one mistake and what the compiler says to it; the file of the
//! same name in `ui-tests/pass` differs by the fix. `scripts/bless.sh` writes the snapshots anew.
//!
//! Type-checked only: no driver, real or simulated, is used.

use std::path::{Path, PathBuf};

#[test]
fn misuse_does_not_compile_and_the_fix_does() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("ui-tests/fail/*/*.rs");
    cases.pass("ui-tests/pass/*/*.rs");
}

#[test]
fn every_mistake_has_its_fix_and_its_message() {
    let stem = |path: &PathBuf, root: &str| path.strip_prefix(root).expect("listed below it").with_extension("");
    let list = |root: &str, extension: &str| {
        let mut stems: Vec<PathBuf> = files(Path::new(root), extension).iter().map(|path| stem(path, root)).collect();
        stems.sort();
        stems
    };
    let mistakes = list("ui-tests/fail", "rs");
    assert!(mistakes.len() >= 20, "only {} mistakes found", mistakes.len());
    assert_eq!(mistakes, list("ui-tests/pass", "rs"), "a mistake without its fix, or the other way round");
    assert_eq!(mistakes, list("ui-tests/fail", "stderr"), "a mistake without its message, or the other way round");
}

fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
    let groups = root.read_dir().expect("the folder is there").map(|entry| entry.expect("readable").path());
    groups
        .flat_map(|group| group.read_dir().expect("a folder a group").map(|entry| entry.expect("readable").path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}
