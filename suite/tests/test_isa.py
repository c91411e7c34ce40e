# SPDX-License-Identifier: Apache-2.0
"""Axis isa: caps that a library takes, ignores or dies of, what is wrong under one alone, and a killed run that
goes on; then the real libraries of this machine, whatever it has of them and whatever its processor runs.

usage: test_isa.py DETPROBE FAKES [TEST...]
Exit status 77: no library of this architecture can be capped.
"""

import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import unittest

DETPROBE, FAKES = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
CAP = "openblas/Prescott"
CONTROLS = "fake/control/*"


class Isa(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(self.folder.cleanup)
        self.file = pathlib.Path(self.folder.name, "report.json")
        self.log = pathlib.Path(self.folder.name, "report.json.log.jsonl")

    def detprobe(self, *arguments, **environment):
        variables = {name: value for name, value in os.environ.items()
                     if not name.startswith(("DETPROBE_", "OPENBLAS_", "MKL_", "FAKE_"))}
        variables["DETPROBE_PROBE_PATH"] = f"{FAKES}:{FAKES / 'caps'}"
        variables.update(environment)
        return subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True,
                              timeout=300)

    def measure(self, code, *cases, level="quick", axis=("--axis", "isa"), **environment):
        """The report of a run that ends in `code`."""
        done = self.detprobe("run", *cases, "--level", level, *axis, "-o", self.file, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.text = " ".join(done.stdout.split())
        return json.loads(self.file.read_text())

    @staticmethod
    def results(report):
        return {row["case"].rsplit("/", 1)[-1]: row for row in report["body"]["results"]}

    @staticmethod
    def settings(report, case):
        """Of the first seed: setting -> its row, the inputs that are checked left aside."""
        measured = next(row for row in report["measurements"]["cases"] if row["case"].endswith("/" + case))
        rows = {}
        for row in measured["axes"].get("isa", {"settings": []})["settings"]:
            if row["seed"] == "1/0":
                rows.setdefault(row["setting"], row)
        return rows


class Fakes(Isa):
    def test_each_case(self):
        """Only what moved is sensitive; only what is wrong is wrong, and under its cap alone."""
        report = self.measure(1, "fake/caps/*", FAKE_ISA="takes")
        rows = self.results(report)
        self.assertEqual({name: (row["observed"], row["guarantee"]["status"]) for name, row in rows.items()},
                         {"moves": ("repeats", "kept"), "same": ("repeats", "kept"), "wrong": ("repeats", "kept"),
                          "ill": ("repeats", "kept"), "varies": ("varies", "allows")})
        self.assertEqual({name for name, row in rows.items() if "isa" in row.get("sensitive_to", [])}, {"moves"})
        self.assertEqual({name: row["wrong_under"] for name, row in rows.items() if "wrong_under" in row},
                         {"wrong": [CAP]})
        summary = report["body"]["summary"]
        self.assertEqual((summary["wrong"], summary["wrong_under"]), ([], ["fake/caps/wrong"]))
        self.assertIn("under a capped instruction set", report["measurements"]["exit"]["reason"])
        self.assertIn(f"wrong under {CAP}", self.text)
        self.assertIn("1 operation gives wrong results under a capped instruction set", self.text)
        self.assertEqual(self.settings(report, "moves")[CAP]["isa"], "Prescott")
        self.assertIn("SIGILL", self.settings(report, "ill")[CAP]["dropped"])
        self.assertNotIn("wrong", self.settings(report, "same")[CAP])
        self.assertFalse([row for row in rows.values() if "isa" in row["not_measured"]])

    def test_who_is_told(self):
        """Neither a gate nor a reader of checks passes what is wrong under a cap; who asked for less is not told."""
        self.measure(1, "fake/caps/wrong", "fake/caps/same", FAKE_ISA="takes")
        gate = self.detprobe("gate", self.file)
        self.assertEqual(gate.returncode, 1, gate.stdout + gate.stderr)
        self.assertIn(f"wrong under {CAP}", gate.stdout)
        self.assertIn("fake/caps/wrong --level quick --axis repeat,fresh,isa --seed 1", gate.stdout)
        tap = self.detprobe("show", self.file, "--format", "tap").stdout.splitlines()
        self.assertEqual({line.split(" - ")[1].split(":")[0].split(" ")[0]
                          for line in tap if line.startswith("not ok") and "fake/" in line}, {"fake/caps/wrong"})
        self.measure(0, "fake/caps/wrong", axis=(), FAKE_ISA="takes")
        self.measure(0, "fake/caps/wrong", axis=("--axis", "isa", "--fail-on", "never"), FAKE_ISA="takes")

    def test_cases_that_do_not_take_it(self):
        """Asked for by name it is told of each of them; part of a level it is not."""
        report = self.measure(0, "fake/caps/same", "fake/good/repeats", FAKE_ISA="takes")
        rows = self.results(report)
        self.assertIn("isa", rows["repeats"]["not_measured"])
        self.assertNotIn("isa", rows["same"]["not_measured"])
        self.assertIn("isa (1): no result here speaks of it", self.text)
        alone = self.measure(0, "fake/good/repeats", axis=("--axis", "isa,batch"))
        self.assertEqual(self.results(alone)["repeats"]["not_measured"].count("isa"), 1)
        self.assertIn("isa (1)", self.text)
        report = self.measure(0, "fake/caps/same", "fake/good/repeats", level="default", axis=(), FAKE_ISA="takes")
        self.assertNotIn("isa", self.results(report)["repeats"]["not_measured"])

    def test_levels(self):
        """Part of level default, not of quick."""
        for level, has in (("quick", False), ("default", True)):
            report = self.measure(0, "fake/caps/same", level=level, axis=(), FAKE_ISA="takes")
            self.assertEqual("isa" in report["body"]["plan"]["axes"], has)
            self.assertEqual(CAP in self.settings(report, "same"), has)
            self.assertNotIn("openblas/Penryn", self.settings(report, "same"))  # one a generation
        done = self.detprobe("run", "fake/caps/same", "--level", "default", "--dry-run", FAKE_ISA="takes")
        self.assertIn(" isa", done.stdout)

    def test_cap_that_is_ignored(self):
        report = self.measure(0, "fake/caps/moves", FAKE_ISA="ignores")
        self.assertEqual(self.results(report)["moves"]["not_measured"].count("isa"), 1)
        for setting, row in self.settings(report, "moves").items():
            self.assertIn("dropped", row, setting)
        self.assertIn("ignored", self.settings(report, "moves")[CAP]["dropped"])
        told = {row["setting"]: row for row in report["measurements"]["isa"]}
        self.assertEqual((told[CAP]["variables"], told[CAP]["base"]), ({"OPENBLAS_CORETYPE": "Prescott"}, "Zen"))
        self.assertIs(told[CAP]["ignored"], True)
        self.assertFalse([row for row in told.values() if "ignored" in row and "has no" in row["dropped"]])
        self.assertIn(f"isa ignored by the library: {CAP}", self.text)
        taken = self.measure(0, "fake/caps/moves", FAKE_ISA="takes")
        self.assertNotIn("ignored by the library", self.text)
        told = {row["setting"]: row for row in taken["measurements"]["isa"]}
        self.assertEqual((told[CAP]["isa"], told[CAP]["families"]), ("Prescott", ["fake/caps"]))

    def test_branches(self):
        """MKL by itself is held to nothing; where it refuses a branch it says neither that nor the branch."""
        report = self.measure(0, "fake/caps/moves", FAKE_CBWR="takes")
        told = {row["setting"]: row for row in report["measurements"]["isa"]}
        self.assertEqual((told["mkl/SSE2"]["base"], told["mkl/SSE2"]["isa"]), ("off", "SSE2"))
        self.assertNotIn("ignored", told["mkl/SSE2"])
        self.assertNotIn("isa", self.results(report)["moves"]["not_measured"])
        for user in ({}, {"MKL_CBWR": "AUTO"}):
            report = self.measure(0, "fake/caps/moves", FAKE_CBWR="refuses", **user)
            told = {row["setting"]: row for row in report["measurements"]["isa"]}
            self.assertNotIn("isa", told["mkl/SSE2"])
            self.assertIs(told["mkl/SSE2"]["ignored"], True)
            self.assertIn("with MKL_CBWR=SSE2 MKL runs on 'auto'", told["mkl/SSE2"]["dropped"])
            self.assertIn("isa", self.results(report)["moves"]["not_measured"])
            self.assertNotIn("isa", self.results(report)["moves"].get("sensitive_to", []))
            self.assertIn("isa ignored by the library: mkl/COMPATIBLE, mkl/SSE2", self.text)

    def test_cap_that_ends_the_program(self):
        report = self.measure(0, "fake/caps/same", FAKE_ISA="dies")
        self.assertEqual(self.results(report)["same"]["observed"], "repeats")
        self.assertIn("isa", self.results(report)["same"]["not_measured"])
        told = {row["setting"]: row for row in report["measurements"]["isa"]}
        self.assertIn("SIGILL", told[CAP]["failed"])
        self.assertIn(f"isa failed, --verbose says how: {CAP}", self.text)
        self.measure(0, "fake/caps/same", FAKE_ISA="takes")
        self.assertNotIn("isa failed", self.text)

    def test_cap_that_falls_back(self):
        """What runs on another level is that level's, once."""
        report = self.measure(0, "fake/caps/wrong", FAKE_ISA="falls back")
        told = {row["setting"]: row for row in report["measurements"]["isa"]}
        self.assertIs(told[CAP]["ignored"], True)
        self.assertIn("runs on 'Haswell'", told[CAP]["dropped"])
        self.assertNotIn(CAP, self.results(report)["wrong"].get("wrong_under", []))

    def test_needs_a_new_process(self):
        """Where new processes differ by themselves, a cap has said nothing."""
        report = self.measure(0, "fake/caps/same", FAKE_ISA="takes")
        self.assertIn("fresh", report["body"]["plan"]["axes"])

    def test_user_setting(self):
        """The base is what the user set; the caps are set over it, and the report has both."""
        report = self.measure(0, "fake/caps/same", FAKE_ISA="takes", OPENBLAS_CORETYPE="Core2")
        self.assertEqual(report["body"]["environment"]["variables"]["OPENBLAS_CORETYPE"], "Core2")
        library = next(row for row in report["body"]["environment"]["libraries"] if row["name"] == "OpenBLAS")
        self.assertEqual(library["isa"], "Core2")
        told = {row["setting"]: row for row in report["measurements"]["isa"]}
        self.assertEqual((told[CAP]["base"], told[CAP]["isa"]), ("Core2", "Prescott"))
        self.assertEqual(told["openblas/Core2"]["dropped"], "it is what OpenBLAS runs on by itself")

    def test_resumed_run_that_ignored(self):
        report = self.measure(0, "fake/caps/same", FAKE_ISA="ignores")
        lines = self.log.read_text().splitlines(keepends=True)
        self.log.write_text("".join(lines[:-1]))
        done = self.detprobe("run", "--resume", self.log, FAKE_ISA="ignores")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        resumed = json.loads(self.file.read_text())
        self.assertEqual(resumed["measurements"]["isa"], report["measurements"]["isa"])

    def test_resumed_run(self):
        """Cut before, within and after the requests of the axis: the same digest, the same code."""
        report = self.measure(1, "fake/caps/*", FAKE_ISA="takes")
        lines = self.log.read_text().splitlines(keepends=True)
        later = [i for i, line in enumerate(lines) if "|isa|" in line]
        self.assertGreater(len(later), 10)
        for cut in (later[0], later[0] + 1, later[len(later) // 2], later[-1]):
            self.log.write_text("".join(lines[:cut]))
            done = self.detprobe("run", "--resume", self.log, FAKE_ISA="takes")
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            resumed = json.loads(self.file.read_text())
            self.assertEqual(resumed["digest"], report["digest"])
            self.assertEqual(resumed["measurements"]["isa"], report["measurements"]["isa"])


class Real(Isa):
    """Nothing asserted depends on the processor: whatever ran says that it ran on what it was held to."""

    CASES = ("cpu/blas-batch/dgemv-any-96x1024", "cpu/libm/exp-vector-16x251", "cpu/libm/sin-scalar-16x251",
             "cpu/softmax/softmax-forward-rows-64x33")

    def test_levels_that_ran(self):
        done = self.detprobe("run", *self.CASES, "--level", "quick", "--axis", "isa", "-o", self.file)
        self.assertIn(done.returncode, (0, 77), done.stdout + done.stderr)
        report = json.loads(self.file.read_text())
        ran = [row for row in report["body"]["results"] if row["observed"] != "skipped"]
        self.assertFalse([row for row in ran if row["observed"] != "repeats" or "wrong_under" in row])
        for row in report["measurements"].get("isa", []):
            self.assertTrue("isa" in row or "dropped" in row, row)
            for family in row["families"]:
                case = next(case for case in self.CASES if case.startswith(family + "/"))
                seen = self.settings(report, case.rsplit("/", 1)[-1])[row["setting"]]
                self.assertEqual(seen.get("isa"), row.get("isa"))
        for case in report["measurements"]["cases"]:
            axis = case["axes"].get("isa")
            self.assertFalse(axis and axis["confounded"] and any("sha256" in row and row["sha256"] for row in
                                                                 axis["settings"]), case["case"])

    def order(self, core):
        """The fingerprint of a product of vectors on a core type of OpenBLAS, that in force where none is said."""
        role = {name: os.environ[name] for name in ("DETPROBE_LIB_CBLAS",) if name in os.environ}
        done = self.detprobe("order", "cpu/blas/sdot-1000", "--json", OPENBLAS_CORETYPE=core, **role)
        shown = json.loads(done.stdout) if done.returncode == 0 else {"libraries": []}
        if not any(f"core={core}" in library.get("config", "").split() for library in shown["libraries"]):
            self.skipTest(f"no OpenBLAS that runs on core type {core}")
        return shown["fingerprint"]

    def test_core_types_with_one_kernel(self):
        """Haswell and Zen share it, and Prescott, which has no AVX, cannot."""
        haswell = self.order("Haswell")
        self.assertEqual(self.order("Haswell"), haswell)
        self.assertEqual(self.order("Zen"), haswell)
        self.assertNotEqual(self.order("Prescott"), haswell)


if __name__ == "__main__":
    if platform.machine() != "x86_64":
        sys.exit(77)
    unittest.main(verbosity=1)
