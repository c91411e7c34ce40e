# SPDX-License-Identifier: Apache-2.0
"""Which file the dynamic loader takes, for tests that need a real library."""

import ctypes
import pathlib
import subprocess
import sys


def real_file(*names):
    """The file that the loader finds for the first of these names that it finds one for, or None."""
    for name in names:
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        with open("/proc/self/maps", encoding="utf-8") as maps:
            found = [line.split(maxsplit=5)[5].strip() for line in maps if f"/{name}" in line]
        return pathlib.Path(found[0]).resolve() if found else None
    return None


def nvrtc():
    return real_file("libnvrtc.so.13", "libnvrtc.so.12")


def has_driver():
    """Of this machine, whatever folders the tests add to the loader's."""
    return subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libcuda.so.1')"], env={},
                          capture_output=True, check=False).returncode == 0
