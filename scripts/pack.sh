#!/usr/bin/env bash
# Gathers test binaries, examples and benches into a folder, stripped, with a script that runs them: for a machine that has a
# GPU but no Rust. Usage: scripts/pack.sh DIR; there: DIR/run.sh [test|stress|examples|ranks|bench|sanitizer]...
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:?usage: scripts/pack.sh DIR}
rm -rf "$out"
mkdir -p "$out/files/tests"

# No debug information, and symbols stripped: the folder is to be small. The simulator is in every test binary and not used there,
# so it need not be fast.
export CARGO_PROFILE_DEV_DEBUG=0 CARGO_PROFILE_RELEASE_STRIP=true CARGO_PROFILE_BENCH_STRIP=true
executables() { # FILTER, cargo arguments: the paths of what cargo built
    local filter=$1
    shift
    cargo "$@" --config 'profile.dev.package.dacapo-sim.opt-level=1' --message-format=json-render-diagnostics | python3 -c '
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("executable") and eval(sys.argv[1], {"m": message, "kind": message["target"]["kind"][0]}):
        print(message["target"]["name"], message["executable"])' "$filter"
}

# The ui-tests need a compiler and the simulator's own tests need no GPU; both stay here.
executables 'kind == "test" and m["target"]["name"] != "ui" or kind == "lib"' test --no-run -p dacapo | while read -r name path; do
    cp "$path" "$out/files/tests/$name"
done
executables 'kind == "example"' build --release --examples -p dacapo | while read -r name path; do
    cp "$path" "$out/files/$name"
done
for example in decode_loop 07_two_gpus; do
    cp "$out/files/$example" "$out/files/tests/$example.example"
done
executables 'kind == "bench"' bench --no-run -p dacapo | while read -r name path; do
    cp "$path" "$out/files/bench_$name"
done
strip "$out"/files/tests/* "$out"/files/bench_*
cp scripts/run-packed.sh "$out/run.sh"
git describe --always --dirty >"$out/files/revision"
# Every test binary holds the simulator too: a dictionary that spans several of them takes it in once.
tar -C "$out/files" --sort=name -cf - . | xz --lzma2=preset=1,dict=64MiB >"$out/files.tar.xz"
rm -rf "$out/files"
du -sh "$out"
