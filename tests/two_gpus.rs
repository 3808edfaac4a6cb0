//! The example over two GPUs, as a user runs it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

#[test]
fn one_gpu_a_pair_and_one_graph_decode_the_same_tokens() {
    let here = std::env::current_exe().unwrap();
    let folder = here.parent().unwrap();
    let places: [PathBuf; 2] = [folder.join("../examples/07_two_gpus"), folder.join("07_two_gpus.example")];
    let example = places.iter().find(|path| path.exists()).expect("07_two_gpus is built");
    let driver = std::env::var("DACAPO_DRIVER").unwrap_or_else(|_| "sim".into());
    if driver == "cuda" && dacapo::Device::count().expect("a driver") < 2 {
        eprintln!("skipped: needs 2 devices");
        return;
    }
    let dump = std::env::temp_dir().join(format!("dacapo-two-gpus-{}", std::process::id()));
    let output = Command::new(example)
        .args(["--prompt", "ab", "--tokens", "3", "--replays", "2", "--dump"])
        .arg(&dump)
        .env("DACAPO_DRIVER", driver)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    assert_eq!(out.lines().last(), Some("ok: 3 tokens, one GPU == pair == one graph"), "{out}{err}");
    assert!(out.contains("kernels of a step:        70 on each rank"), "{out}");
    assert_eq!(std::fs::read_dir(&dump).unwrap().count(), 8, "two variants on two ranks, each as DOT and JSON");
    std::fs::remove_dir_all(dump).unwrap();
}
