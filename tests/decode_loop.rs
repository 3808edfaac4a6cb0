//! The main job, as a user runs it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// The example, which `cargo test` builds too; also beside this binary, where both have been packed for another machine.
fn command(arguments: &[&str]) -> Command {
    let here = std::env::current_exe().unwrap();
    let folder = here.parent().unwrap();
    let places: [PathBuf; 2] = [folder.join("../examples/decode_loop"), folder.join("decode_loop.example")];
    let example = places.iter().find(|path| path.exists()).expect("decode_loop is built");
    let driver = std::env::var("DACAPO_DRIVER").unwrap_or_else(|_| "sim".into());
    let mut command = Command::new(example);
    command.args(arguments).env("DACAPO_DRIVER", driver);
    command
}

fn decode_loop(arguments: &[&str]) -> Output {
    command(arguments).stdin(Stdio::null()).output().unwrap()
}

fn text(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn fails_with(arguments: &[&str], message: &str) {
    let output = decode_loop(arguments);
    assert!(!output.status.success(), "{arguments:?} succeeded");
    assert!(text(&output.stderr).contains(message), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("panicked"), "{}", text(&output.stderr));
}

#[test]
fn eager_and_replayed_tokens_are_the_same() {
    let output = decode_loop(&["--prompt", "ab", "--tokens", "6"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(out.lines().last(), Some("ok: 6 tokens, eager == replay"), "{out}{err}");
    assert!(out.contains("kernels per token: 53"), "{out}");
    assert!(out.contains("captures, replays: 1, 7"), "{out}");
    assert!(out.contains("device counter:    14 steps (7 eager, 7 replayed)"), "{out}");
}

/// The kernels use integers and plain IEEE arithmetic only, so the simulator and every GPU give these very tokens.
#[test]
fn the_tokens_are_the_same_on_every_driver() {
    let output = decode_loop(&["--prompt", "Da capo al fine: ", "--tokens", "16", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["eager_equals_replay"], true);
    assert_eq!(report["tokens"], serde_json::json!(TOKENS.to_vec()));
}

/// Recorded on an H200 and on the simulated driver.
const TOKENS: &[u8; 16] = b"ccc\xf4*e*\xbbe*\xbbeee\xb0\xb0";

#[test]
fn drafted_tokens_are_verified_by_a_sibling_graph() {
    for width in ["1", "3"] {
        let output = decode_loop(&["--prompt", "abcab", "--tokens", "9", "--verify-width", width]);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{out}{err}");
        assert_eq!(out.lines().last(), Some("ok: 9 tokens, eager == replay"), "{out}{err}");
        assert!(out.contains(" drafted tokens accepted"), "{out}");
        if width == "1" {
            assert!(out.contains("9 tokens in 9 replays of 1"), "{out}");
        }
    }
}

#[test]
fn verified_tokens_are_the_decoded_ones_and_fewer_replays() {
    let arguments = ["--prompt", "Da capo al fine: ", "--tokens", "16", "--verify-width", "4", "--json"];
    let output = decode_loop(&arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let verified = &report["verified"];
    assert_eq!(verified["tokens"], serde_json::json!(TOKENS.to_vec()));
    assert_eq!(verified["width"], 4);
    let number = |name: &str| verified[name].as_u64().unwrap();
    assert!(number("replays") < 16 && number("accepted") > 0, "{verified}");
    assert_eq!(number("drafted"), 4 * number("replays"));
    // Every replay yields what it accepts, and mostly one more.
    assert!(number("accepted") + number("replays") >= 16, "{verified}");
}

#[test]
fn a_prompt_may_come_in_on_standard_input() {
    let decode = |input: &[u8]| {
        let mut child = command(&["--tokens", "2"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input).unwrap();
        // An open pipe in which nothing comes does not hold it up; one in which something has come is read to its end.
        let held = Some(pipe).filter(|_| input.is_empty());
        let output = child.wait_with_output().unwrap();
        drop(held);
        assert!(output.status.success());
        text(&output.stdout)
    };
    assert!(decode(b"tutti").contains("prompt:            tutti"));
    assert!(decode(b"").contains("prompt:            Da capo al fine: "));
}

#[test]
fn what_cannot_be_done_is_said_clearly() {
    fails_with(&["--tokens", "0"], "--tokens is 0");
    fails_with(&["--prompt", ""], "the prompt is empty");
    fails_with(
        &["--prompt", &"x".repeat(257)],
        "the prompt is too long: the context holds 256 bytes, this is more than 256",
    );
    fails_with(&["--prompt", "abc", "--tokens", "254"], "the context has room for 253");
    fails_with(&["--driver", "vulkan"], "invalid value 'vulkan'");
    fails_with(&["--tokens", "many"], "invalid value");
    fails_with(&["--verify-width", "0"], "0 is not in 1..=32");
    fails_with(&["--verify-width", "33"], "33 is not in 1..=32");
}
