# SPDX-License-Identifier: Apache-2.0
"""`--stack` on CUDA: two majors side by side, and never the copy that the machine would give.

usage: test_stack_cuda.py DETPROBE EMULATION-FOLDER [TEST...]
The machine is the emulated stack, which has every library; NVRTC is the real one, without it there is nothing
to test. Stacks hold some of them.
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import surroundings
from loader import nvrtc

DETPROBE, EMULATION = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
SKIP = 77
SGEMM = "cuda/gemm/sgemm-nt-128x96x777"
LT = "cuda/gemm-lt/ltmatmul-f32-nt-128x96x776"
POOL = "cuda/pool/poolingforward-average-exclude-nhwc-f32-n4c16h28r3s2"
ATOMICS = "cuda/atomics/atom-s32-16x4096"
NVRTC = nvrtc()


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.folder = pathlib.Path(self.scratch.name).resolve()
        self.file = self.folder / "report.json"

    def tearDown(self):
        self.scratch.cleanup()

    def stack(self, name, *libraries, compiler=True):
        """A prefix with these files of the emulated stack, and NVRTC."""
        lib = self.folder / name / "lib"
        lib.mkdir(parents=True)
        for library in libraries:
            shutil.copy(EMULATION / library, lib)
        for path in NVRTC.parent.glob("libnvrtc*") if compiler else ():
            (lib / path.name).symlink_to(path)
        soname = ".".join(NVRTC.name.split(".")[:3])
        if compiler and not (lib / soname).exists():
            (lib / soname).symlink_to(NVRTC)
        return self.folder / name

    def environment(self):
        variables = surroundings.plain()
        variables["LD_LIBRARY_PATH"] = f"{EMULATION}:{variables.get('LD_LIBRARY_PATH', '')}"
        variables["LD_BIND_NOW"] = "1"
        return variables

    def detprobe(self, *arguments):
        return subprocess.run([DETPROBE, *map(str, arguments)], env=self.environment(), capture_output=True, text=True,
                              timeout=600, check=False)

    def run_cases(self, code, *arguments):
        done = self.detprobe("run", "--level", "quick", "--seeds", 2, "--runs", 3, "--axis", "repeat", "-o", self.file,
                             *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.text = done.stdout
        report = json.loads(self.file.read_text())
        self.libraries = {row["role"]: row for row in report["body"]["environment"]["libraries"]}
        self.rows = {row["case"]: (row["observed"], row.get("reason")) for row in report["body"]["results"]}
        return report

    def skipped(self, stack, case, words):
        report = self.run_cases(77, case, "--stack", stack)
        self.assertEqual(self.rows, {case: ("skipped", "library_missing")})
        self.assertIn(words, report["body"]["results"][0]["text"])


class Stacks(Case):
    def test_two_majors(self):
        """One build, two versions of cuBLAS, each named by version and path."""
        for name, library, version in (("old", "cuda12/libcublas.so.12", "12.9.1"), ("new", "libcublas.so.13", "13.1.0")):
            stack = self.stack(name, library)
            self.run_cases(0, SGEMM, "--stack", stack)
            self.assertEqual(self.rows, {SGEMM: ("repeats", None)})
            row = self.libraries["cublas"]
            self.assertEqual((row["version"], row["path"]), (version, f"{stack}/lib/{pathlib.Path(library).name}"))
            self.assertEqual(self.libraries["cuda"]["path"], str(EMULATION / "libcuda.so.1"), "the machine's driver")
            self.assertIn(f"cuBLAS {version}", self.text)
            self.assertTrue(self.text.startswith(f"stack     prefix {stack}\n"))
        self.run_cases(0, SGEMM)
        self.assertEqual(self.libraries["cublas"]["path"], str(EMULATION / "libcublas.so.13"))

    def test_roles_that_the_stack_lacks(self):
        stack = self.stack("old", "cuda12/libcublas.so.12")
        self.skipped(stack, LT, f"the stack '{stack}' has no library for role cublaslt")
        self.skipped(stack, POOL, f"the stack '{stack}' has no library for role cudnn")
        self.run_cases(0, SGEMM, ATOMICS, LT, "--stack", stack)
        self.assertEqual(self.rows, {SGEMM: ("repeats", None), ATOMICS: ("repeats", None),
                                     LT: ("skipped", "library_missing")})
        bare = self.stack("bare", "libcublas.so.13", compiler=False)
        self.skipped(bare, SGEMM, f"the stack '{bare}' has no library for role nvrtc")

    def test_half_a_cudnn(self):
        """The part that the stack lacks is not taken from the machine, which has it."""
        parts = ["libcudnn.so.9", *(f"libcudnn_{part}.so.9" for part in (
            "cnn", "engines_precompiled", "engines_runtime_compiled", "graph", "heuristic", "ops"))]
        whole = self.stack("whole", *parts)
        self.run_cases(0, POOL, "--stack", whole)
        self.assertEqual(self.libraries["cudnn"]["path"], f"{whole}/lib/libcudnn.so.9")
        half = self.stack("half", *parts[:-1])
        self.skipped(half, POOL, "lacks its part libcudnn_ops.so.9")

    def test_running_process(self):
        stack = self.stack("old", "cuda12/libcublas.so.12")
        code = ("import ctypes, sys\nfor path in sys.argv[1:]:\n    ctypes.CDLL(path)\n"
                "print('loaded', flush=True)\nsys.stdin.read()")
        job = subprocess.Popen([sys.executable, "-c", code, *map(str, stack.glob("lib/lib*[sc].so.1[23]"))],
                               env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with job:
            self.assertEqual(job.stdout.readline(), "loaded\n")
            report = self.run_cases(0, SGEMM, "--stack", f"pid:{job.pid}")
            job.stdin.close()
        self.assertEqual(self.libraries["cublas"]["path"], f"{stack}/lib/libcublas.so.12")
        self.assertEqual(report["body"]["environment"]["stack"]["kind"], "process")
        self.assertIn("libcuda.so", report["body"]["environment"]["stack"]["roles"]["cuda"])

    def test_doctor(self):
        stack = self.stack("old", "cuda12/libcublas.so.12")
        done = self.detprobe("doctor", "--stack", stack)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"stack      prefix {stack}\n", done.stdout)
        self.assertIn(f"cuBLAS 12.9.1 {stack}/lib/libcublas.so.12", done.stdout)
        self.assertIn(f"the stack '{stack}' has no library for role cudnn", done.stdout)


if __name__ == "__main__":
    if not NVRTC:
        print("skipped: no NVRTC")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
