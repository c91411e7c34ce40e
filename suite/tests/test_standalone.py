# SPDX-License-Identifier: Apache-2.0
"""detprobe explain --standalone: what is written is short, builds without a warning, shows the difference, and shows none
where there is none to show.

usage: test_standalone.py DETPROBE FETCHED-FOLDER [TEST...]
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import fetched
from attribution_lab import Lab

DETPROBE, FETCHED = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
REQUIREMENTS = pathlib.Path(__file__).resolve().parent / "frameworks"
LINES = 80
Lab.detprobe = DETPROBE
# One of each call.
BLAS = ["cpu/blas/sdot-200000", "cpu/blas/dasum-200000", "cpu/blas/daxpy-1000", "cpu/blas/sgemv-n-600x600",
        "cpu/blas/dgemv-t-600x600", "cpu/blas/sger-500x500", "cpu/blas/dsymv-100", "cpu/blas/ssyrk-64x2048",
        "cpu/gemm/sgemm-nn-333x333x333", "cpu/gemm/dgemm-nt-256x192x777", "cpu/gemm/sgemm-tn-256x192x777"]
OPENMP = [f"cpu/reduce/sum-{name}-f32-128x256" for name in ("static", "dynamic", "guided", "atomic", "critical")]
REPEATS = "cpu/blas/snrm2-1000"


class Standalone(Lab):
    def write(self, case, end, *options, **environment):
        """The text of the file and what follows 'Build:' in it."""
        file = self.folder / f"reproduce{end}"
        self.call("explain", self.report, case, "--runs", 4, "--standalone", file, *options, status=1, **environment)
        text = file.read_text()
        self.assertLessEqual(len(text.splitlines()), LINES)
        self.assertNotIn("@", re.sub(r"\) @ LAYOUTS", "", text))
        self.assertIn(case, text.splitlines()[0])
        return file, text

    def build(self, file, text):
        line = re.search(r"^ [*]   (cc .*) && ", text, re.M).group(1)
        done = subprocess.run(["bash", "-c", line.replace("cc ", "cc -Wall -Wextra -Werror ", 1)], cwd=self.folder,
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return file.with_suffix("")

    def runs(self, *command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env=self.environment())

    def shows(self, *command):
        done = self.runs(*command)
        self.assertEqual((done.returncode, done.stderr), (1, ""), done.stdout)
        *_, one, other, last = done.stdout.splitlines()
        self.assertNotEqual(one.split()[0], other.split()[0])
        self.assertRegex(last, "^bits differ, first in element [0-9]+: .* and .*$")
        return done.stdout

    @staticmethod
    def alike(text, call):
        """The same file with its second setting in the place of the first."""
        one, other = re.findall(call + r'\("(.*?)"', text)
        return text.replace(f'"{one}"', f'"{other}"')


class Names(Standalone):
    CASE = "cpu/reduce/sum-atomic-f32-128x256"

    def test_what_is_read_stays(self):
        self.measure(self.CASE)
        report = self.folder / "report.c"
        report.write_bytes(self.report.read_bytes())
        words = self.call("explain", report, self.CASE, "--standalone", report, status=64)
        self.assertIn("would be written over", words)
        self.assertEqual(report.read_bytes(), self.report.read_bytes())

    def test_names_are_words_of_a_shell(self):
        self.measure(self.CASE)
        for name, word in (("my file.c", "'my file.c'"), ("x';touch y;'.c", "'x?;touch y;?.c'")):
            file = self.folder / name
            self.call("explain", self.report, self.CASE, "--runs", 4, "--standalone", file, status=1)
            self.assertIn(f" {word} ", file.read_text().splitlines()[1])


@unittest.skipUnless(shutil.which("cc"), "no C compiler")
class Compiled(Standalone):
    def openblas(self, cases):
        """A report of the cases, which of them something moves, and how OpenBLAS is named."""
        found = fetched.openblas(FETCHED)
        if not found:
            self.skipTest("OpenBLAS cannot be fetched")
        named = {"DETPROBE_LIB_CBLAS": str(found)}
        report = self.measure(*cases, level=("--level", "quick", "--axis", "threads,isa"), **named)
        return found, [row["case"] for row in report["body"]["results"] if row.get("sensitive_to")], named

    def test_openblas(self):
        found, moved, named = self.openblas(["cpu/gemm/sgemm-nn-333x333x333", REPEATS])
        self.assertEqual(len(moved), 1)
        front = {"DETPROBE_LIB_CBLAS": str(found.with_name("libblas.so.3")), "LD_LIBRARY_PATH": str(found.parent)}
        file, text = self.write(moved[0], ".c", **front)
        self.assertIn("OpenBLAS 0.3.", self.shows(self.build(file, text)), "a library behind another")
        file.write_text(self.alike(text, "ask"))
        done = self.runs(self.build(file, text))
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "the same bits"))
        self.nothing_to_show(named)

    def nothing_to_show(self, named):
        file = self.folder / "none.c"
        out = self.call("explain", self.report, REPEATS, "--standalone", file, "--runs", 4, **named)
        self.assertFalse(file.exists())
        self.assertIn("\nstandalone  not written: there is no difference to show\n", out)

    def openmp(self, cases):
        self.measure(*cases, level=("--level", "quick", "--axis", "repeat"))
        for case in cases:
            with self.subTest(case=case):
                file, text = self.write(case, ".c")
                self.shows(self.build(file, text))

    def test_openmp(self):
        self.openmp(OPENMP[:1])


class Every(Compiled):
    """The same with each operation of which a catalogue says how it is called; takes minutes."""

    def test_openblas(self):
        _, moved, named = self.openblas(BLAS)
        self.assertGreaterEqual(len(moved), 6, "too little moves on this processor to test anything")
        for case in moved:
            with self.subTest(case=case):
                file, text = self.write(case, ".c", **named)
                self.assertIn("OpenBLAS 0.3.", self.shows(self.build(file, text)))

    def test_openmp(self):
        self.openmp(OPENMP)


class Python(Standalone):
    def test_numpy(self):
        stack = fetched.environment(FETCHED, REQUIREMENTS / "numpy2.txt")
        if not stack:
            self.skipTest("no wheel of NumPy can be fetched")
        cases = ["python/numpy/dot-f32-c-100000", "python/numpy/matmul-f32-cf-256x64x512"]
        self.call("run", *cases, "--level", "quick", "--axis", "repeat", "--runs", 2, "--seeds", 1,
                  "--stack", stack, "-o", self.report)
        shown = 0
        for case in cases:
            file = self.folder / "reproduce.py"
            done = self.start("explain", self.report, case, "--runs", 4, "--stack", stack, "--standalone", file)
            out, errors = done.communicate(timeout=300)
            if done.returncode == 0:
                continue  # nothing moves it on this processor
            self.assertEqual((done.returncode, errors), (1, ""), out)
            self.assertNotIn("DETPROBE_LIB_", out)  # the stack stands for its own files
            text = file.read_text()
            self.assertLessEqual(len(text.splitlines()), LINES)
            self.assertIn("library: NumPy 2.", self.shows(stack / "bin" / "python", file))
            shown += 1
        self.assertGreater(shown, 0)
        file.write_text(self.alike(text, "ask"))
        done = self.runs(stack / "bin" / "python", file)
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1]), (0, "the same bits"))


class Input(Standalone):
    def test_what_has_no_file(self):
        self.measure("fake/moves/threads", "cpu/reduce/sum-static-f32-128x256", level=("--level", "quick", "--axis", "repeat"))
        for case, name, words in (("fake/moves/threads", "x.c", "its catalogue has no 'standalone'"),
                                  ("cpu/reduce/sum-static-f32-128x256", "x.py", "is called NAME.c"),
                                  ("cpu/reduce/sum-static-f32-128x256", ".c", "is called NAME.c")):
            self.assertIn(words, self.call("explain", self.report, case, "--standalone", name, status=64))

    def test_an_axis_that_nothing_sets(self):
        """A difference along batch alone cannot be made by a process of its own."""
        self.write_cases([{"id": "fake/moves/batch", "op": "batch", "arithmetic": "direct", "params": {"n": 4}, "batch": "n",
                           "reveals": "it", "standalone": {"language": "c", "call": ["x;"], "output": {"y": "1"}}}])
        program = (self.probes / "moves.py").read_text()
        (self.probes / "moves.py").write_text(program.replace(
            "    classes = {}", '    if op == "batch" and at.get("batch") == "16/15": values = [1] * m["runs"]\n    classes = {}'))
        self.measure("fake/moves/batch")
        process = self.start("explain", self.report, "fake/moves/batch", "--standalone", self.folder / "x.c")
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 2, errors)
        self.assertIn("moved by    batch", out)
        self.assertIn("along axis 'batch'", errors)
        self.assertFalse((self.folder / "x.c").exists())


if __name__ == "__main__":
    unittest.main()
