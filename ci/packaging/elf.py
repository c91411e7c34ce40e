# SPDX-License-Identifier: Apache-2.0
"""What every program and library of a tree asks of the machine, held against what a tarball may ask.

usage: elf.py TREE RUNPATH [GLIBC]
Prints a line for each: the highest version of the C library that it needs, what it links, its path. With GLIBC
(2.31) nothing may need a newer C library, OpenMP runtime or another library than those below.
exit status: 0 all may run, 1 one may not: said on stderr
"""

import os
import pathlib
import re
import subprocess
import sys

# Versions of symbols: what a machine with the oldest C library has at least.
MOST = {"GLIBC": None, "GOMP": (4, 5), "OMP": (4, 5)}
# Libraries: of the system everywhere, of OpenMP, and what is measured: the last two are skipped where absent.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}
MEASURED = re.compile(r"libgomp\.so\.1$|libdnnl\.so\.\d+(\.\d+)?$")


def numbers(text):
    return tuple(int(part) for part in text.split("."))


def read(path):
    """(versions needed by prefix, libraries linked, RUNPATH) of a file, as objdump tells them."""
    told = subprocess.run(["objdump", "-p", path], capture_output=True, text=True, check=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    needed = re.findall(r"^\s+NEEDED\s+(\S+)$", told, re.M)
    runpath = re.findall(r"^\s+(?:RUNPATH|RPATH)\s+(\S+)$", told, re.M)
    versions = {}
    for prefix, number in re.findall(r"^\s+0x\w+ 0x\w+ \d+ ([A-Za-z_.]+?)_?(\d[\d.]*)$",
                                     told.partition("Version References:")[2], re.M):
        versions[prefix] = max(versions.get(prefix, (0,)), numbers(number))
    return versions, needed, runpath


def faults(name, versions, needed, runpath, carried, wanted, newest):
    most = {**MOST, "GLIBC": newest}
    for prefix, version in versions.items():
        if prefix in most and version > most[prefix]:
            yield f"'{name}' needs {prefix}_{'.'.join(map(str, version))}"
    for library in needed:
        if library not in SYSTEM | carried and not MEASURED.match(library):
            yield f"'{name}' links '{library}', which a machine may lack"
    if carried & set(needed) and runpath != [wanted]:
        yield f"'{name}' looks for libraries in '{':'.join(runpath)}', not in '{wanted}'"


def main(tree, wanted, newest=None):
    found = []
    paths = [path for path in sorted(pathlib.Path(tree).rglob("*")) if path.is_file() and not path.is_symlink()]
    carried = {path.name for path in paths if path.parent.name == "lib" and ".so" in path.name}
    for path in paths:
        with path.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        versions, needed, runpath = read(path)
        glibc = ".".join(map(str, versions.get("GLIBC", ("-",))))
        print(f"{glibc:7} {path.relative_to(tree)}  {' '.join(n for n in needed if n not in SYSTEM)}".rstrip())
        if newest:
            found += faults(path.relative_to(tree), versions, needed, runpath, carried, wanted, numbers(newest))
    for fault in found:
        print(f"ci/package: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
