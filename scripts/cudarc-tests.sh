#!/usr/bin/env bash
# Runs cudarc's own tests and examples of its driver and NVRTC layers on the simulated driver. Usage: scripts/cudarc-tests.sh [DIR]
#
# cudarc's source is that of the version in Cargo.lock, as cargo has unpacked it, copied into DIR (target/cudarc) and built
# there. The simulated driver is a libcuda.so that it finds through LD_LIBRARY_PATH. NVRTC and the header of half precision
# come as Python packages. Prints a table, and fails unless every test does what cudarc-tests.txt beside this script says.
#
# CUDARC_CUDA chooses the bindings: cuda-12090 if unset, which have the most tests. One thing in the source is changed: the
# include path of the test of half precision, which is fixed to /usr/include.
set -euo pipefail
cd "$(dirname "$0")/.."
expectations=$PWD/scripts/cudarc-tests.txt
work=${1:-target/cudarc}
mkdir -p "$work/lib"
work=$(cd "$work" && pwd)

metadata=$(cargo metadata --format-version 1)
field() { python3 -c "import json, sys; m = json.load(sys.stdin); print($1)" <<<"$metadata"; }
manifest=$(field 'next(p["manifest_path"] for p in m["packages"] if p["name"] == "cudarc")')
version=$(field 'next(p["version"] for p in m["packages"] if p["name"] == "cudarc")')

cargo build --quiet --release -p dacapo-sim-libcuda
cp "$(field 'm["target_directory"]')/release/libcuda.so" "$work/lib/libcuda.so"
ln -sf libcuda.so "$work/lib/libcuda.so.1"

python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvrtc-cu12==12.0.140 nvidia-cuda-runtime-cu12==12.0.146
packages=$("$work/venv/bin/python" -c 'import nvidia; print(list(nvidia.__path__)[0])')

# A workspace of its own, though it lies within another one.
rm -rf "$work/source"
cp -R "$(dirname "$manifest")" "$work/source"
cd "$work/source"
printf '\n[workspace]\n' >>Cargo.toml
sed -i "s|\"/usr/include\".into()|\"$packages/cuda_runtime/include\".into()|" src/driver/safe/launch.rs

features=std,driver,nvrtc,f16,dynamic-loading,${CUDARC_CUDA:-cuda-12090}
build() { CARGO_TARGET_DIR=$work/build cargo "$@" --quiet --no-default-features --features "$features"; }
executable() { python3 -c 'import json, sys; print(*filter(None, (json.loads(line).get("executable") for line in sys.stdin)))'; }
tests=$(build test --lib --no-run --message-format=json | executable)
export LD_LIBRARY_PATH=$work/lib:$packages/cuda_nvrtc/lib RUST_BACKTRACE=0

declare -A result expected reason
while read -r name verdict why; do
    case $name in '' | '#'*) continue ;; esac
    expected[$name]=$verdict
    reason[$name]=$why
done <"$expectations"
names() { "$tests" --list --format terse "$@" driver:: nvrtc:: | sed -n 's/: test$//p'; }
# Runs tests and notes their results. A test that says nothing has taken the process down.
run() {
    echo "\$ cudarc $*"
    { timeout 900 "$tests" "$@" 2>&1 || true; } | tee "$work/output"
    while read -r name verdict; do
        result[$name]=$verdict
    done < <(sed -nE 's/^test ([a-z0-9_:]+)( - should panic)? \.\.\. (ok|FAILED)$/\1 \3/p' "$work/output")
}

skip=()
for name in "${!expected[@]}"; do
    [ "${expected[$name]}" != unrun ] || skip+=(--skip "$name")
done
run driver:: nvrtc:: "${skip[@]}"
# Those that are ignored because they need the process for themselves, or several devices.
for name in $(names --ignored); do
    [ "${expected[$name]:-}" = unrun ] || run --ignored --exact "$name"
done
for example in $(sed -n '/^\[\[example\]\]/,/^path/s/^name = "\(.*\)"/\1/p' Cargo.toml); do
    name=example::$example
    [ "${expected[$name]:-}" != unrun ] || continue
    echo "\$ cudarc $name"
    if program=$(build build --example "$example" --message-format=json | executable) && timeout 300 "$program"; then
        result[$name]=ok
    else
        result[$name]=FAILED
    fi
done

wrong=0
declare -A count
printf '\ncudarc %s, %s\n' "$version" "${CUDARC_CUDA:-cuda-12090}"
while read -r name; do
    got=${result[$name]:-none}
    want=${expected[$name]:-ok}
    case $want/$got in
        ok/ok) mark=ok ;;
        fails/FAILED) mark='fails, as expected' ;;
        unrun/none) mark='not run' ;;
        *) mark="WRONG: $got, expected $want" wrong=$((wrong + 1)) ;;
    esac
    count[$mark]=$((${count[$mark]:-0} + 1))
    printf '%-95s %s%s\n' "$name" "$mark" "${reason[$name]:+: ${reason[$name]}}"
done < <(printf '%s\n' $(names) "${!expected[@]}" "${!result[@]}" | sort -u)
for mark in "${!count[@]}"; do
    printf '%4d %s\n' "${count[$mark]}" "$mark"
done
[ "$wrong" = 0 ]
