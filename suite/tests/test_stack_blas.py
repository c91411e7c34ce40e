# SPDX-License-Identifier: Apache-2.0
"""Every CBLAS that people have, measured where it lies: Debian's by their paths, wheels in Python environments.

usage: test_stack_blas.py DETPROBE FETCHED-FOLDER [TEST...]
Packages are unpacked in a folder of the build. Exit status 77: none of what the tests want can be fetched.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import fetched

DETPROBE, FETCHED = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
GEMM = "cpu/gemm/sgemm-nn-512x512x512"
CASES = [GEMM, "cpu/gemm/sgemm-nn-16x16x16", "cpu/blas/sdot-200000", "cpu/blas/ssyrk-*", "cpu/gemm/dtrsm-*"]
REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "frameworks"

# Package -> its library, the name and the version that the report gives it, which thread counts of 1, 2 and 4 take.
DEBIAN = {
    "libblas3": ("blas/libblas.so.3", "CBLAS", r"3\.\d+\.\d+", []),
    "libblis4-pthread": ("blis-pthread/libblis.so.4", "BLIS", r"\d+\.\d+.*", [1, 2, 4]),
    "libblis4-openmp": ("blis-openmp/libblis.so.4", "BLIS", r"\d+\.\d+.*", [1, 2, 4]),
    "libblis4-serial": ("blis-serial/libblis.so.4", "BLIS", r"\d+\.\d+.*", [1]),
    "libopenblas0-pthread": ("openblas-pthread/libopenblas.so.0", "OpenBLAS", r"0\.3\.\d+", [1, 2, 4]),
    "libopenblas0-openmp": ("openblas-openmp/libopenblas.so.0", "OpenBLAS", r"0\.3\.\d+", [1, 2, 4]),
    "libopenblas0-serial": ("openblas-serial/libopenblas.so.0", "OpenBLAS", r"0\.3\.\d+", [1]),
}


def loads(library):
    return subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(library)!r})"], capture_output=True,
                          check=False, timeout=60).returncode == 0


class Case(unittest.TestCase):
    def measure(self, *arguments, **environment):
        """The report of a run that finds nothing."""
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("DETPROBE_", "MKL_"))}
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            file = pathlib.Path(folder) / "report.json"
            done = subprocess.run([DETPROBE, "run", "--level", "quick", "--axis", "fresh,poison,threads", "-o", file, *CASES,
                                   *arguments], env={**variables, **environment}, capture_output=True, text=True,
                                  timeout=600, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            report = json.loads(file.read_text())
        self.text = done.stdout
        self.assertEqual({(row["observed"], row["checked"]) for row in report["body"]["results"]}, {("repeats", "full")})
        self.assertTrue(all(row["behaved"] for row in report["body"]["controls"]))
        return report

    def library(self, report, role="cblas"):
        found = [row for row in report["body"]["environment"]["libraries"] if row["role"] == role and row["families"]]
        self.assertLessEqual(len(found), 1)
        return found[0] if found else None

    def threads(self, report):
        """Counts that took, and what is said of the others."""
        cases = {row["case"]: row for row in report["measurements"]["cases"]}
        rows = cases[GEMM]["axes"].get("threads", {"settings": []})["settings"]
        return (sorted({int(row["setting"]) for row in rows if "dropped" not in row}),
                {row["dropped"] for row in rows if "dropped" in row})


class Debian(Case):
    def test_each(self):
        for package, (name, called, version, counts) in DEBIAN.items():
            with self.subTest(package=package):
                files = fetched.debian(FETCHED, package)
                found = sorted(files.glob(f"usr/lib/*/{name}")) if files else []
                if not found or not loads(found[0]):
                    self.skipTest(f"{package} cannot be fetched, or not be loaded here")
                report = self.measure(DETPROBE_LIB_CBLAS=str(found[0]))
                row = self.library(report)
                self.assertEqual((row["name"], row["path"]), (called, str(found[0].resolve())))
                self.assertRegex(row["version"], f"^{version}$")
                took, dropped = self.threads(report)
                self.assertEqual(took, counts)
                words = "the library runs 1" if counts else "the program does not know axis 'threads'"
                self.assertTrue(all(words in text for text in dropped), dropped)
                runtime = self.library(report, "openmp")
                self.assertEqual(runtime is not None, "openmp" in package, "what computes on OpenMP names its runtime")
                if called == "BLIS":
                    self.assertRegex(row["config"], "^core=")


class Numpy(Case):
    """NumPy's own OpenBLAS, by the names that its wheels give it; all have 64-bit integers."""

    def own_openblas(self, requirements, file, symbols):
        stack = fetched.environment(FETCHED, REQUIREMENTS / requirements)
        if not stack:
            self.skipTest("no wheel of this NumPy can be fetched")
        report = self.measure("--stack", stack)
        row = self.library(report)
        self.assertRegex(row["path"], rf"^{re.escape(str(stack))}/lib/.*/numpy\.libs/{file}.*\.so$")
        self.assertEqual(row["name"], "OpenBLAS")
        self.assertRegex(row["version"], r"^0\.3\.\d+")
        self.assertIn("USE64BITINT", row["config"])
        self.assertTrue(row["config"].endswith(f" symbols={symbols}"), row["config"])
        self.assertEqual(self.threads(report), ([1, 2, 4], set()))
        first, second = self.text.splitlines()[:2]
        self.assertEqual(first, f"stack     venv {stack}")
        self.assertRegex(second, rf"^measured  OpenBLAS {re.escape(row['version'])} \(")
        self.assertEqual(self.numpy_loads(stack), row["path"], "what NumPy itself computes on")

    def test_numpy_2(self):
        self.own_openblas("numpy2.txt", "libscipy_openblas64_-", "scipy_*64_")

    def test_numpy_1(self):
        self.own_openblas("numpy1.txt", "libopenblas64_p-", "*64_")

    def numpy_loads(self, stack):
        code = "import numpy; numpy.ones((9, 9)) @ numpy.ones((9, 9)); print(open('/proc/self/maps').read())"
        maps = subprocess.run([stack / "bin" / "python", "-c", code], capture_output=True, text=True, check=True,
                              timeout=120).stdout
        return next(line.split()[-1] for line in maps.splitlines() if "openblas" in line)


class Mkl(Case):
    def setUp(self):
        self.stack = fetched.environment(FETCHED, REQUIREMENTS / "mkl.txt")
        if not self.stack:
            self.skipTest("no wheel of MKL can be fetched")

    def test_wheel(self):
        report = self.measure("--stack", self.stack)
        row, runtime = self.library(report), self.library(report, "openmp")
        self.assertRegex(row["path"], rf"^{re.escape(str(self.stack))}/lib/libmkl_rt\.so\.\d$")
        self.assertEqual(row["name"], "MKL")
        self.assertRegex(row["version"], r"^20\d\d\.\d")
        self.assertRegex(row["config"], r" cbwr=off integers=intel_lp64 threads=intel_thread$")
        self.assertEqual(runtime["path"], f"{self.stack}/lib/libiomp5.so")
        self.assertEqual(self.threads(report), ([1, 2, 4], set()))

    def test_settings_of_its_own(self):
        row = self.library(self.measure("--stack", self.stack, MKL_CBWR="COMPATIBLE", MKL_INTERFACE_LAYER="ILP64"))
        self.assertRegex(row["config"], r" cbwr=compatible integers=intel_ilp64 threads=intel_thread$")
        report = self.measure("--stack", self.stack, MKL_THREADING_LAYER="SEQUENTIAL")
        self.assertRegex(self.library(report)["config"], r" threads=sequential$")
        self.assertEqual(self.threads(report), ([1], {f"unsupported: threads {count}: the library runs 1" for count in (2, 4)}))


if __name__ == "__main__":
    program = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, exit=False)
    result = program.result
    sys.exit(0 if result.wasSuccessful() and len(result.skipped) < result.testsRun else 77 if result.wasSuccessful() else 1)
