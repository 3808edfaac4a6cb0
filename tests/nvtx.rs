//! Ranges of NVTX: `cargo test --features nvtx --test nvtx`.
//!
//! A library of the name that is looked for is made here, with a compiler; where there is none the test is skipped.

mod common;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::on_device;
use dacapo::{Enqueue, ThreadLocal};

/// Stands in for libnvToolsExt: writes each range down.
const LIBRARY: &str = r#"
use std::ffi::{CStr, c_char};
use std::io::Write;

fn note(line: String) {
    let log = std::fs::OpenOptions::new().append(true).create(true).open(std::env::var("RANGES").unwrap());
    writeln!(log.unwrap(), "{line}").unwrap();
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvtxRangeStartA(message: *const c_char) -> u64 {
    static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    note(format!("start {id} {}", unsafe { CStr::from_ptr(message) }.to_str().unwrap()));
    id
}

#[unsafe(no_mangle)]
pub extern "C" fn nvtxRangeEnd(id: u64) {
    note(format!("end {id}"));
}
"#;

fn a_life() {
    on_device(|rig| {
        let mut stream = rig.stream();
        let buffer = stream.alloc::<u32>(1).unwrap();
        let published = stream.capture(ThreadLocal, |c| c.fill(&buffer, 1)).unwrap().publish().unwrap();
        published.replay().unwrap();
        let published = published.update(ThreadLocal, |c| c.fill(&buffer, 2)).unwrap();
        published.replay().unwrap();
    });
}

/// Runs the test of this name in a process that finds its libraries in `folder` first.
fn in_a_child(name: &str, folder: &Path, ranges: &Path) {
    let child = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--test-threads=1"])
        .env("RANGES_CHILD", "1")
        .env("LD_LIBRARY_PATH", folder)
        .env("RANGES", ranges)
        .output()
        .unwrap();
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}

fn is_child() -> bool {
    env::var_os("RANGES_CHILD").is_some()
}

fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("dacapo-nvtx-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn without_the_library_there_are_no_ranges_and_no_failure() {
    if is_child() {
        return a_life();
    }
    let folder = folder("none");
    let ranges = folder.join("ranges");
    in_a_child("without_the_library_there_are_no_ranges_and_no_failure", &folder, &ranges);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn captures_updates_and_replays_are_ranges() {
    if is_child() {
        return a_life();
    }
    let folder = folder("some");
    fs::write(folder.join("library.rs"), LIBRARY).unwrap();
    let compiled = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "cdylib", "library.rs", "-o", "libnvToolsExt.so"])
        .current_dir(&folder)
        .output();
    match compiled {
        Ok(compiled) => assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr)),
        Err(error) => return eprintln!("skipped: needs a compiler ({error})"),
    }
    let ranges = folder.join("ranges");
    in_a_child("captures_updates_and_replays_are_ranges", &folder, &ranges);
    let ranges = fs::read_to_string(ranges).unwrap();
    let expected = [
        "start 1 dacapo capture",
        "end 1",
        "start 2 dacapo instantiate",
        "end 2",
        "start 3 dacapo replay",
        "end 3",
        "start 4 dacapo capture",
        "end 4",
        "start 5 dacapo update",
        "end 5",
        "start 6 dacapo replay",
        "end 6",
    ];
    assert_eq!(ranges.lines().collect::<Vec<_>>(), expected);
    fs::remove_dir_all(folder).unwrap();
}
