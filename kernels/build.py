#!/usr/bin/env python3
"""Makes every kernels/*.ptx from the *.cu file of the same name, with NVRTC. No GPU is needed.

    build.py            regenerate all .ptx files
    build.py --check    regenerate in memory; fail, showing the differences, when a checked-in .ptx is not the result
    build.py --list     print the kernels of each .ptx

NVRTC comes from the PyPI package named in PACKAGE, installed for the Python that runs this script:

    python3 -m venv venv && venv/bin/pip install nvidia-cuda-nvrtc-cu12==12.0.140 && venv/bin/python kernels/build.py

README.md beside this file says why that version and these options.
"""

import argparse
import ctypes
import difflib
import importlib.metadata
import pathlib
import re
import sys

PACKAGE = "nvidia-cuda-nvrtc-cu12"
VERSION = "12.0.140"
OPTIONS = ["--gpu-architecture=compute_70", "--std=c++17", "--fmad=false", "--ftz=false", "--prec-div=true", "--prec-sqrt=true"]
ISA = "8.0"
HERE = pathlib.Path(__file__).resolve().parent


class BuildError(Exception):
    """What the user has to read when the build cannot go on."""


class Nvrtc:
    """The few NVRTC calls that turn source text into PTX text."""

    def __init__(self):
        try:
            package = importlib.metadata.distribution(PACKAGE)
        except importlib.metadata.PackageNotFoundError:
            raise BuildError(f"{PACKAGE} is not installed: pip install {PACKAGE}=={VERSION}") from None
        if package.version != VERSION:
            raise BuildError(f"{PACKAGE} is {package.version}, not {VERSION}: pip install {PACKAGE}=={VERSION}")
        names = [f for f in package.files or [] if re.fullmatch(r"libnvrtc\.so(\.\d+)*|nvrtc64_\d+_\d+\.dll", f.name)]
        if not names:
            raise BuildError(f"{PACKAGE} holds no NVRTC library for this platform")
        self.library = ctypes.CDLL(str(package.locate_file(names[0])))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def check(self, call, status):
        if status != 0:
            raise BuildError(f"{call}: {self.library.nvrtcGetErrorString(status).decode()}")

    def text(self, program, kind):
        """The program's "PTX" or its "ProgramLog"."""
        size = ctypes.c_size_t()
        self.check(f"nvrtcGet{kind}Size", getattr(self.library, f"nvrtcGet{kind}Size")(program, ctypes.byref(size)))
        buffer = ctypes.create_string_buffer(size.value)
        self.check(f"nvrtcGet{kind}", getattr(self.library, f"nvrtcGet{kind}")(program, buffer))
        return buffer.value.decode()

    def compile(self, source):
        program = ctypes.c_void_p()
        text = source.read_bytes()
        status = self.library.nvrtcCreateProgram(ctypes.byref(program), text, source.name.encode(), 0, None, None)
        self.check("nvrtcCreateProgram", status)
        try:
            options = (ctypes.c_char_p * len(OPTIONS))(*(o.encode() for o in OPTIONS))
            if self.library.nvrtcCompileProgram(program, len(OPTIONS), options) != 0:
                raise BuildError(self.text(program, "ProgramLog"))
            return self.text(program, "PTX")
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def normalised(ptx, source):
    """The PTX with our own header instead of the compiler's, which names its build, and without what nothing uses.

    NVRTC emits a variable for every constant of a header that it includes by itself, and for our own constants; those
    that no other line names are dropped.
    """
    lines = [line.rstrip() for line in ptx.splitlines()]
    start = next(i for i, line in enumerate(lines) if line.startswith(".version"))
    if lines[start] != f".version {ISA}":
        raise BuildError(f"{source.name}: the PTX says {lines[start]!r}, not {ISA}")

    def unused(line):
        constant = re.match(r"\.global \.align \d+ \.\w+ (_ZN\d+_INTERNAL_\w+)", line)
        return constant is not None and ptx.count(constant[1]) == 1

    body = "\n".join(line for line in lines[start:] if not unused(line))
    body = re.sub(r"\n{3,}", "\n\n", body).strip()
    return f"// Made from {source.name} by build.py with NVRTC {VERSION}. Do not edit.\n\n{body}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="fail when a checked-in .ptx differs from what its .cu gives")
    mode.add_argument("--list", action="store_true", help="print the kernels of each checked-in .ptx")
    arguments = parser.parse_args()
    sources = sorted(HERE.glob("*.cu"))

    if arguments.list:
        for source in sources:
            for name in re.findall(r"\.entry\s+(\w+)", source.with_suffix(".ptx").read_text()):
                print(f"{source.stem}.ptx {name}")
        return 0

    nvrtc = Nvrtc()
    stale = False
    for orphan in sorted(set(HERE.glob("*.ptx")) - {source.with_suffix(".ptx") for source in sources}):
        stale = True
        print(f"{orphan.name} is made from no .cu file")
    for source in sources:
        target = source.with_suffix(".ptx")
        made = normalised(nvrtc.compile(source), source)
        if not arguments.check:
            target.write_text(made)
            continue
        held = target.read_text() if target.exists() else ""
        if held != made:
            stale = True
            names = (f"{target.name} (checked in)", f"{target.name} (made now)")
            sys.stdout.writelines(difflib.unified_diff(held.splitlines(True), made.splitlines(True), *names))
    return 1 if stale else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BuildError as error:
        sys.exit(f"build.py: {error}")
