#!/usr/bin/env bash
# Runs what scripts/pack.sh has gathered, on the machine's own CUDA driver. Usage: run.sh [test|stress|examples|ranks|bench|sanitizer]...
# Prints every command's output, and the test runners' counts at the end. Fails if anything did.
set -u
packed=$(cd "$(dirname "$0")" && pwd)
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
tar -C "$here" -xJf "$packed/files.tar.xz"
export DACAPO_DRIVER=cuda
status=0
summary=""

check() { # NAME, command...
    local name=$1
    shift
    echo "== $name"
    "$@" 2>&1 | tee "/tmp/dacapo-$name.log"
    local result=${PIPESTATUS[0]}
    local counts
    counts=$(grep '^test result' "/tmp/dacapo-$name.log" || true)
    summary+="$name: exit $result ${counts}"$'\n'
    [ "$result" -eq 0 ] || status=1
}

stage_test() {
    local binary
    for binary in "$here"/tests/*; do
        case $binary in *.example) continue ;; esac
        # One at a time: they share a device, and some restrain every thread.
        check "test-$(basename "$binary")" timeout 120 "$binary" --test-threads=1
    done
}

# The threads of tests/stress.rs, for a minute.
stage_stress() {
    check stress env DACAPO_STRESS_SECONDS=60 timeout 180 "$here/tests/stress" --nocapture
}

stage_examples() {
    local example
    for example in 01_capture_and_replay 02_recover_from_failure 03_segments_with_a_seam 04_update_and_hot_swap 06_buckets; do
        check "$example" "$here/$example"
    done
    check 05_inspect "$here/05_inspect" "$here/inspect"
    check decode_loop "$here/decode_loop" --tokens 64
    check decode_loop-verify "$here/decode_loop" --tokens 64 --verify-width 4
    check decode_loop-json "$here/decode_loop" --prompt "Da capo" --tokens 200 --json
}

# Needs two GPUs.
stage_ranks() {
    check 07_two_gpus "$here/07_two_gpus" --tokens 200
    check 07_two_gpus-endurance "$here/07_two_gpus" --replays 10000000
}

stage_bench() {
    check bench_replay "$here/bench_replay" --rounds 2000
    check bench_replay-again "$here/bench_replay" --rounds 2000
    check bench_seam "$here/bench_seam" --rounds 2000
    check bench_capture "$here/bench_capture" --rounds 30
}

stage_sanitizer() {
    local sanitizer
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    check sanitizer-memcheck "$sanitizer" --tool memcheck --leak-check full --error-exitcode 9 "$here/decode_loop" --prompt ab --tokens 8
    check sanitizer-example "$sanitizer" --tool memcheck --leak-check full --error-exitcode 9 "$here/01_capture_and_replay"
}

cat "$here/revision"
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
for stage in "${@:-test}"; do
    "stage_$stage"
done
echo "== summary"
printf '%s' "$summary"
exit "$status"
