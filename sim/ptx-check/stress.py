#!/usr/bin/env python3
"""Compiles the kernels beside this script with NVRTC for many architectures, and loads the results in the simulator.

    stress.py PROGRAM    compile everything; `PROGRAM load` has to take every text; exit status 1 when it refuses one
    stress.py --build    regenerate kernels/*.ptx, which the program carries and runs
    stress.py --check    fail when a kernels/*.ptx is not what its source gives

PROGRAM is the built `dacapo-sim-ptx-check`. NVRTC comes as kernels/build.py at the root of the project says. When the package
`nvidia-cuda-runtime-cu12` is installed too, the sources in kernels/headers, which need CUDA's headers, are compiled as well.
"""

import argparse
import ctypes
import importlib.metadata
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "kernels"))

import build  # noqa: E402  (found by the path above)

ARCHITECTURES = [70, 75, 80, 86, 89, 90]
VARIANTS = {
    "plain": [],
    "fast": ["--use_fast_math"],
    "exact": ["--fmad=false"],
    "flush": ["--ftz=true", "--prec-div=false", "--prec-sqrt=false"],
    "debug": ["--device-debug"],
    "lines": ["--generate-line-info", "--extra-device-vectorization"],
}
HEADERS = "nvidia-cuda-runtime-cu12"


class Compiler(build.Nvrtc):
    """NVRTC with other options for each call."""

    def ptx(self, source, options):
        program = ctypes.c_void_p()
        text = source.read_bytes()
        status = self.library.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None)
        self.check("nvrtcCreateProgram", status)
        try:
            values = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
            if self.library.nvrtcCompileProgram(program, len(options), values) != 0:
                raise build.BuildError(self.text(program, "ProgramLog"))
            return self.text(program, "PTX")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def include():
    """The folder with CUDA's headers, if they are installed."""
    try:
        package = importlib.metadata.distribution(HEADERS)
    except importlib.metadata.PackageNotFoundError:
        return None
    found = [file for file in package.files or [] if file.name == "cuda_fp16.h"]
    return pathlib.Path(package.locate_file(found[0])).parent if found else None


def stress(program):
    compiler = Compiler()
    sources = [(source, []) for source in sorted((HERE / "kernels").glob("*.cu"))]
    headers = include()
    if headers is None:
        print(f"{HEADERS} is not installed: kernels/headers is left out")
    else:
        sources += [(source, [f"-I{headers}"]) for source in sorted((HERE / "kernels/headers").glob("*.cu"))]
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for source, extra in sources:
            for architecture in ARCHITECTURES:
                for name, options in VARIANTS.items():
                    options = [f"--gpu-architecture=compute_{architecture}", "--std=c++17", *extra, *options]
                    file = pathlib.Path(folder) / f"{source.stem}-{architecture}-{name}.ptx"
                    file.write_text(compiler.ptx(source, options))
                    files.append(str(file))
        return subprocess.run([program, "load", *files]).returncode


def generated():
    """What each kernels/*.ptx has to be: no fused multiplications but the explicit ones, so that results have one value."""
    compiler = Compiler()
    for source in sorted((HERE / "kernels").glob("*.cu")):
        yield source.with_suffix(".ptx"), build.normalised(compiler.compile(source), source).replace("build.py", "stress.py")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group(required=True)
    mode.add_argument("program", nargs="?", help="the built dacapo-sim-ptx-check")
    mode.add_argument("--build", action="store_true", help="regenerate kernels/*.ptx")
    mode.add_argument("--check", action="store_true", help="fail when a kernels/*.ptx is not what its source gives")
    arguments = parser.parse_args()
    if arguments.program:
        return stress(arguments.program)
    stale = False
    for target, made in generated():
        if arguments.build:
            target.write_text(made)
        elif not target.exists() or target.read_text() != made:
            stale = True
            print(f"{target.name} is not what its source gives")
    return 1 if stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except build.BuildError as error:
        sys.exit(f"stress.py: {error}")
