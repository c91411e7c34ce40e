# SPDX-License-Identifier: Apache-2.0
"""Every routine that the CUDA programs ask for is exported by the real libraries, where they are.

usage: test_exports.py PROBES-FOLDER      (of the source tree)
A name that is spelled wrong, or that a new version has dropped, is seen here without a GPU.
"""

import ctypes
import pathlib
import re
import sys

# File with lists of routines -> the libraries that export them, in order of preference.
LISTS = {
    "cuda/cublas.h": ("libcublas.so.13", "libcublas.so.12"),
    "cuda/cublaslt.h": ("libcublasLt.so.13", "libcublasLt.so.12"),
    "cuda/cudnn.h": ("libcudnn.so.9", "libcudnn.so.8"),
    "kit/cuda_cupti.c": ("libcupti.so.13", "libcupti.so.12"),
    "kit/cuda_driver.h": ("libcuda.so.1",),
    "kit/cuda_nvrtc.c": ("libnvrtc.so.13", "libnvrtc.so.12"),
}
SKIP = 77


def routines(header):
    return sorted(set(re.findall(r"\bX\((\w+)\)", header.read_text())))


def opened(names):
    for name in names:
        try:
            return name, ctypes.CDLL(name)
        except OSError:
            continue
    return None, None


def main(probes):
    failed = looked = 0
    for header, libraries in LISTS.items():
        name, library = opened(libraries)
        wanted = routines(probes / header)
        if not wanted:
            print(f"{header}: no list of routines")
            failed += 1
        elif library:
            missing = [routine for routine in wanted if not hasattr(library, routine)]
            print(f"{header}: {name} exports {len(wanted) - len(missing)} of {len(wanted)} routines", *missing)
            looked += 1
            failed += len(missing)
    if not looked and not failed:
        print("skipped: none of the libraries is here")
        return SKIP
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
