# SPDX-License-Identifier: Apache-2.0
"""A Python environment with the NVRTC of CUDA 12 beside the machine's of CUDA 13, on the emulated driver.

usage: test_stack_wheels.py DETPROBE EMULATION-FOLDER
Skipped (77) where pip cannot get the wheel, or where the machine has no NVRTC of CUDA 13 to tell it from.
"""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile

import surroundings

DETPROBE, EMULATION = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
SKIP = 77
CASES = ("cuda/atomics/atom-s32-16x4096", "cuda/atomics/last-block-index-16x65536")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def measure(folder, *arguments):
    """The NVRTC that the report names, and what the cases said."""
    variables = surroundings.real()
    variables["LD_LIBRARY_PATH"] = f"{EMULATION}:{variables.get('LD_LIBRARY_PATH', '')}"
    file = folder / "report.json"
    done = subprocess.run([DETPROBE, "run", "--level", "quick", "-o", file, *CASES, *arguments], env=variables,
                          capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    body = json.loads(file.read_text())["body"]
    assert {row["observed"] for row in body["results"]} == {"repeats"}, done.stdout
    assert all(row["behaved"] for row in body["controls"]), done.stdout
    print(done.stdout)
    return next(row for row in body["environment"]["libraries"] if row["role"] == "nvrtc")


def main():
    try:
        ctypes.CDLL("libnvrtc.so.13")
    except OSError:
        skip("no NVRTC of CUDA 13")
    with tempfile.TemporaryDirectory(prefix="detprobe-test-") as scratch:
        folder = pathlib.Path(scratch).resolve()
        venv = folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = subprocess.run([venv / "bin" / "pip", "install", "--no-input", "nvidia-cuda-nvrtc-cu12"],
                             capture_output=True, text=True, timeout=600, check=False)
        if pip.returncode != 0:
            skip(f"pip cannot install the wheel: {pip.stderr.strip().splitlines()[-1:]}")
        machine, stack = measure(folder), measure(folder, "--stack", venv)
        assert machine["version"].startswith("13."), machine
        assert stack["version"].startswith("12."), stack
        assert stack["path"].startswith(f"{venv}/lib/"), stack
        assert not machine["path"].startswith(str(venv)), machine


main()
