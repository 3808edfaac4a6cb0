//! What cannot be written: each file of `ui-tests/fail` holds one mistake and, beside it, what the compiler says to it; the file
//! of the same name in `ui-tests/pass` differs by the fix. `scripts/bless.sh` writes the messages anew.
//!
//! Type-checked only: no driver, real or simulated, is used.

#![allow(dead_code, reason = "nothing of the fixes is called")]

use std::path::{Path, PathBuf};

// The fixes: that they compile is that this file does.
#[path = "../ui-tests/pass/order/allocate_while_capturing.rs"]
mod order_allocate_while_capturing;
#[path = "../ui-tests/pass/order/begin_while_capturing.rs"]
mod order_begin_while_capturing;
#[path = "../ui-tests/pass/order/capture_what_cannot_be.rs"]
mod order_capture_what_cannot_be;
#[path = "../ui-tests/pass/order/end_twice.rs"]
mod order_end_twice;
#[path = "../ui-tests/pass/order/end_without_begin.rs"]
mod order_end_without_begin;
#[path = "../ui-tests/pass/order/enqueue_around_a_fork.rs"]
mod order_enqueue_around_a_fork;
#[path = "../ui-tests/pass/order/inspect_while_capturing.rs"]
mod order_inspect_while_capturing;
#[path = "../ui-tests/pass/order/publish_twice.rs"]
mod order_publish_twice;
#[path = "../ui-tests/pass/order/read_while_capturing.rs"]
mod order_read_while_capturing;
#[path = "../ui-tests/pass/order/replay_before_publish.rs"]
mod order_replay_before_publish;
#[path = "../ui-tests/pass/order/replay_while_capturing.rs"]
mod order_replay_while_capturing;
#[path = "../ui-tests/pass/order/replay_while_idle.rs"]
mod order_replay_while_idle;
#[path = "../ui-tests/pass/order/replicate_while_idle.rs"]
mod order_replicate_while_idle;
#[path = "../ui-tests/pass/order/reset_while_capturing.rs"]
mod order_reset_while_capturing;
#[path = "../ui-tests/pass/order/segment_after_publish.rs"]
mod order_segment_after_publish;
#[path = "../ui-tests/pass/order/synchronize_while_capturing.rs"]
mod order_synchronize_while_capturing;
#[path = "../ui-tests/pass/order/update_before_publish.rs"]
mod order_update_before_publish;
#[path = "../ui-tests/pass/order/update_kernel_while_capturing.rs"]
mod order_update_kernel_while_capturing;
#[path = "../ui-tests/pass/ownership/borrow_in_a_seam.rs"]
mod ownership_borrow_in_a_seam;
#[path = "../ui-tests/pass/ownership/end_inside_the_closure.rs"]
mod ownership_end_inside_the_closure;
#[path = "../ui-tests/pass/ownership/keep_a_branch.rs"]
mod ownership_keep_a_branch;
#[path = "../ui-tests/pass/ownership/launch_without_unsafe.rs"]
mod ownership_launch_without_unsafe;
#[path = "../ui-tests/pass/ownership/pass_a_slice_to_a_kernel.rs"]
mod ownership_pass_a_slice_to_a_kernel;
#[path = "../ui-tests/pass/ownership/record_a_borrowed_slice.rs"]
mod ownership_record_a_borrowed_slice;
#[path = "../ui-tests/pass/ownership/replicate_without_unsafe.rs"]
mod ownership_replicate_without_unsafe;
#[path = "../ui-tests/pass/ownership/retain_a_borrow.rs"]
mod ownership_retain_a_borrow;
#[path = "../ui-tests/pass/ownership/use_after_publish.rs"]
mod ownership_use_after_publish;
#[path = "../ui-tests/pass/ranks/capture_in_global_mode.rs"]
mod ranks_capture_in_global_mode;
#[path = "../ui-tests/pass/ranks/end_on_another_thread.rs"]
mod ranks_end_on_another_thread;
#[path = "../ui-tests/pass/ranks/end_one_rank.rs"]
mod ranks_end_one_rank;
#[path = "../ui-tests/pass/ranks/keep_a_rank.rs"]
mod ranks_keep_a_rank;
#[path = "../ui-tests/pass/ranks/pair_a_published_stream.rs"]
mod ranks_pair_a_published_stream;
#[path = "../ui-tests/pass/ranks/publish_while_capturing.rs"]
mod ranks_publish_while_capturing;
#[path = "../ui-tests/pass/ranks/replay_one_rank.rs"]
mod ranks_replay_one_rank;
#[path = "../ui-tests/pass/sealed/build_a_state_by_hand.rs"]
mod sealed_build_a_state_by_hand;
#[path = "../ui-tests/pass/sealed/capture_in_no_mode.rs"]
mod sealed_capture_in_no_mode;
#[path = "../ui-tests/pass/sealed/implement_enqueue.rs"]
mod sealed_implement_enqueue;
#[path = "../ui-tests/pass/sealed/implement_mode.rs"]
mod sealed_implement_mode;
#[path = "../ui-tests/pass/sealed/implement_resting.rs"]
mod sealed_implement_resting;
#[path = "../ui-tests/pass/sealed/implement_state.rs"]
mod sealed_implement_state;
#[path = "../ui-tests/pass/sealed/reach_the_bag.rs"]
mod sealed_reach_the_bag;
#[path = "../ui-tests/pass/threads/end_on_another_thread.rs"]
mod threads_end_on_another_thread;

#[test]
fn misuse_does_not_compile() {
    trybuild::TestCases::new().compile_fail("ui-tests/fail/*/*.rs");
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
    for fix in mistakes {
        let path = format!("ui-tests/pass/{}.rs", fix.display());
        assert!(include_str!("ui.rs").contains(&path), "{path} is not compiled");
    }
}

fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
    let groups = root.read_dir().expect("the folder is there").map(|entry| entry.expect("readable").path());
    groups
        .flat_map(|group| group.read_dir().expect("a folder a group").map(|entry| entry.expect("readable").path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect()
}
