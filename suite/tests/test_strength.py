# SPDX-License-Identifier: Apache-2.0
"""Runs that are made where doubt is: stages until a rate or a budget, findings tried again; over fake programs.

usage: test_strength.py DETPROBE FAKES_FOLDER SCHEMA_FOLDER [TEST...]
Every report is checked against the published schema by python3-jsonschema.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

DETPROBE, FAKES, SCHEMAS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
REPORT_SCHEMA = json.loads((SCHEMAS / "report.schema.json").read_text())
ALWAYS = ("fake/strength/one-in-2", "fake/strength/repeats*")
RATE = ("--detect-rate", "2e-3", "--confidence", "0.99")
NEEDED = 2301


def variables(**more):
    names = {name: value for name, value in os.environ.items() if not name.startswith("DETPROBE_")}
    return {**names, "DETPROBE_PROBE_PATH": f"{FAKES}:{FAKES / 'strength'}", **more}


def detprobe(*arguments, **more):
    return subprocess.run([DETPROBE, *map(str, arguments)], env=variables(**more), capture_output=True, text=True,
                          timeout=120)


class Case(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="detprobe-strength-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        self.file = self.folder / "report.json"

    def load(self):
        report = json.loads(self.file.read_text())
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(report)
        return report

    def measure(self, *arguments, code=0, **more):
        done = detprobe("run", *arguments, "--level", "quick", "-o", self.file, **more)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return self.load(), done


def measured(report):
    return {row["case"]: row for row in report["measurements"]["cases"]}


def repeat(report, case):
    return measured(report)[case]["axes"]["repeat"]


def observed(report):
    return {row["case"]: row["observed"] for row in report["body"]["results"]}


class Rate(Case):
    def test_as_many_runs_as_it_takes(self):
        """What repeats gets them all, what varies gets the first pass."""
        report, done = self.measure(*ALWAYS, *RATE)
        self.assertEqual(observed(report), {"fake/strength/one-in-2": "varies", "fake/strength/repeats": "repeats",
                                            "fake/strength/repeats-promised": "repeats"})
        for case in ("fake/strength/repeats", "fake/strength/repeats-promised"):
            self.assertGreaterEqual(repeat(report, case)["comparisons"], NEEDED)
            self.assertLess(repeat(report, case)["comparisons"], NEEDED + 10)
        self.assertLess(repeat(report, "fake/strength/one-in-2")["runs"], 50)
        self.assertEqual(report["body"]["plan"]["stages"],
                         {"until": "rate", "rate": "0.002", "confidence": "0.99", "comparisons": NEEDED})
        self.assertIn(f"{NEEDED} comparisons", done.stderr)
        strength = report["measurements"]["strength"]
        self.assertLessEqual(strength["rate"], 2e-3)
        self.assertGreater(strength["rate_of_all"], 2e-3)
        self.assertIn("\nstrength  2 operations repeat", done.stdout)

    def test_dry_run_says_it_beforehand(self):
        planned = detprobe("run", *ALWAYS, *RATE, "--level", "quick", "--dry-run").stdout
        report, done = self.measure("fake/strength/repeats*", *RATE)
        self.assertIn(f"{repeat(report, 'fake/strength/repeats')['runs']} runs of each case", planned)
        self.assertEqual(detprobe("run", *ALWAYS, *RATE, "--quiet").stderr, "")

    def test_one_seed_one_digest(self):
        first, _ = self.measure(*ALWAYS, *RATE)
        second, _ = self.measure(*ALWAYS, *RATE)
        self.assertEqual(first["digest"], second["digest"])
        seeds = {output["seed"] for row in first["body"]["results"] for output in row.get("outputs", [])}
        self.assertEqual(seeds, {"1/0", "1/1", "1/2"})  # those of the first pass, not of the stages

    def test_killed_in_a_stage(self):
        """Resumed from every place at which it may be killed, it comes to the same bits."""
        whole, _ = self.measure("fake/strength/*", "--exclude", "fake/strength/slow", *RATE, code=1)
        log = self.folder / "report.json.log.jsonl"
        lines = log.read_text().splitlines(keepends=True)
        stages = [number for number, line in enumerate(lines) if '"key":"fake/strength/repeats|repeat||3|' in line]
        self.assertEqual(len(stages), 1)
        for kept in (3, stages[0], stages[0] + 1, (stages[0] + len(lines)) // 2, len(lines) - 1):
            log.write_text("".join(lines[:kept]))
            self.file.unlink()
            done = detprobe("run", "--resume", log)
            self.assertEqual(done.returncode, 1, done.stderr)
            report = self.load()
            self.assertEqual(report["digest"], whole["digest"])
            self.assertEqual(repeat(report, "fake/strength/repeats"), repeat(whole, "fake/strength/repeats"))

    def test_rare_and_promised(self):
        """Found in a stage, and found again: a retest looks as hard as the whole run."""
        report, _ = self.measure("fake/strength/one-in-500-promised", *RATE, code=1)
        row = measured(report)["fake/strength/one-in-500-promised"]
        self.assertEqual(observed(report), {"fake/strength/one-in-500-promised": "varies"})
        self.assertEqual(row["confirmation"]["finding"], "persistent")
        self.assertGreaterEqual(row["confirmation"]["attempts"][-1]["runs"], NEEDED)

    def test_reproduced_with_its_rate(self):
        report, _ = self.measure("fake/strength/one-in-500-promised", *RATE, code=1)
        shown = detprobe("show", self.file, "--format", "sarif").stdout
        self.assertIn("--detect-rate 0.002 --confidence 0.99", shown)


class Budget(Case):
    def test_spent_where_doubt_is(self):
        report, _ = self.measure(*ALWAYS, "fake/strength/slow", "--adaptive", "--budget", "3s")
        runs = {case: row["axes"]["repeat"]["runs"] for case, row in measured(report).items()}
        self.assertEqual(report["body"]["plan"]["stages"], {"until": "budget"})
        self.assertLess(runs["fake/strength/one-in-2"], 50)
        self.assertGreater(runs["fake/strength/repeats"], 200)
        self.assertGreater(runs["fake/strength/repeats"], runs["fake/strength/slow"])

    def test_a_level_is_not_spent(self):
        """A budget alone leaves the runs as the level has them."""
        report, _ = self.measure("fake/strength/repeats", "--budget", "30s")
        self.assertEqual(repeat(report, "fake/strength/repeats")["runs"], 24)
        self.assertNotIn("stages", report["body"]["plan"])

    def test_digest_without_stages(self):
        """How far a budget goes is no matter of the stack."""
        reports = [self.measure(*ALWAYS, "--adaptive", "--budget", budget)[0] for budget in ("1s", "3s")]
        first, second = (repeat(report, "fake/strength/repeats")["runs"] for report in reports)
        self.assertLess(first, second)
        self.assertEqual(reports[0]["digest"], reports[1]["digest"])

    def test_costs_of_a_run_in_stages(self):
        """What its stages took is not taken for the price of a first pass."""
        former = self.folder / "former.json"
        self.measure("fake/strength/slow", "--detect-rate", "1e-2")
        self.file.rename(former)
        planned = detprobe("run", "fake/strength/slow", "--level", "quick", "--budget", "60s", "--costs", former,
                           "--dry-run").stdout
        usual = detprobe("run", "fake/strength/slow", "--level", "quick", "--dry-run").stdout
        self.assertEqual(*(line.rsplit("about ", 1)[1] for line in (planned, usual)))


class Apart(Case):
    def test_processes(self):
        """New processes are counted by themselves, each once, on however many inputs it ran."""
        report, done = self.measure("fake/strength/repeats", "--verbose")
        fresh = measured(report)["fake/strength/repeats"]["axes"]["fresh"]
        self.assertEqual((fresh["runs"], fresh["comparisons"], fresh["seeds"]), (3, 2, 2))
        self.assertIn("0 of 21, rate below 13 %", done.stdout)
        self.assertIn("0 of 2 new processes, rate below 78 %", done.stdout)


class Retest(Case):
    def test_transient(self):
        """Asked for, what varies once and never again is told from what varies always; the verdict is one."""
        report, _ = self.measure("fake/strength/once", "fake/strength/one-in-2", "--retest", "varies",
                                 FAKE_ONCE=str(self.folder / "once"))
        rows = measured(report)
        self.assertEqual(observed(report), {"fake/strength/once": "varies", "fake/strength/one-in-2": "varies"})
        self.assertEqual(rows["fake/strength/once"]["confirmation"]["finding"], "transient")
        self.assertEqual([row["shown"] for row in rows["fake/strength/once"]["confirmation"]["attempts"]], [False] * 3)
        self.assertEqual(rows["fake/strength/one-in-2"]["confirmation"]["finding"], "persistent")
        self.assertEqual(len(rows["fake/strength/one-in-2"]["confirmation"]["attempts"]), 1)
        text = detprobe("show", self.file).stdout
        self.assertIn("transient", text)
        self.assertIn("persistent", text)

    def test_not_asked_for(self):
        report, _ = self.measure("fake/strength/one-in-2")
        self.assertNotIn("confirmation", measured(report)["fake/strength/one-in-2"])
        self.assertNotIn("retests", measured(report)["fake/strength/one-in-2"])


class Refused(Case):
    ROWS = (
        (("--detect-rate", "2e-3", "--runs", "50"), ("'--runs'", "'--detect-rate'")),
        (("--adaptive", "--budget", "2s", "--runs", "50"), ("'--runs'", "'--adaptive'")),
        (("--adaptive", "--budget", "2s", "--detect-rate", "0.1"), ("'--adaptive'", "'--detect-rate'")),
        (("--adaptive",), ("'--adaptive'", "'--budget")),
        (("--confidence", "0.9"), ("'--confidence'", "'--detect-rate")),
        (("--detect-rate", "1"), ("'--detect-rate'", "'1'")),
        (("--detect-rate", "0"), ("'--detect-rate'", "'0'")),
        (("--detect-rate", "often"), ("'often'",)),
        (("--detect-rate", "0.1", "--confidence", "1"), ("'--confidence'",)),
        (("--detect-rate", "1e-12"), ("1e-12", "comparisons")),
        (("--detect-rate", "1e-6", "--budget", "2s"), ("a rate of", "1e-06", " s")),
        (("--retest", "all"), ("'all'", "broken|varies")),
        (("--resume", "x.log.jsonl", "--detect-rate", "0.1"), ("'--resume'",)),
        (("--resume", "x.log.jsonl", "--retest", "varies"), ("'--resume'",)),
    )

    def test_one_line(self):
        for options, words in self.ROWS:
            with self.subTest(options):
                select = () if options[0] == "--resume" else ("fake/strength/repeats",)
                done = detprobe("run", *select, *options)
                self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                for word in words:
                    self.assertIn(word, done.stderr)

    def test_the_rate_that_a_budget_holds(self):
        """It is one that the same budget then holds."""
        done = detprobe("run", "fake/strength/slow", "--detect-rate", "1e-4", "--budget", "5s")
        rate = float(done.stderr.split("a rate of ")[1].split()[0])
        self.assertGreater(rate, 1e-4)
        planned = detprobe("run", "fake/strength/slow", "--detect-rate", rate * 1.05, "--budget", "5s", "--dry-run")
        self.assertEqual(planned.returncode, 0, planned.stderr)


class Planted(Case):
    """A variation in one of 500 runs, drawn anew for each seed."""

    CASE = "fake/strength/one-in-500"

    def count(self, tries, *options):
        """In how many tries it was found, and the runs of one on average; without the controls of the backend."""
        found, runs = 0, 0
        for seed in range(1, tries + 1):
            done = detprobe("run", self.CASE, "--level", "quick", "--axis", "repeat", "--seed", seed, *options, "--json",
                            DETPROBE_PROBE_PATH=str(FAKES / "strength"))
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(done.stdout)
            found += observed(report)[self.CASE] == "varies"
            runs += repeat(report, self.CASE)["runs"]
        return found, runs / tries

    def test_found_as_often_as_is_said(self):
        began = time.monotonic()
        found, runs = self.count(100, *RATE)
        print(f"one run in 500, --detect-rate 2e-3 --confidence 0.99: found in {found} of 100 tries, "
              f"{runs:.0f} runs each on average, {time.monotonic() - began:.0f} s")
        self.assertGreaterEqual(found, 95)
        self.assertLess(runs, NEEDED / 2)

    def test_not_found_by_fewer(self):
        """The same with half as much asked for: a count that could not fail would show nothing."""
        found, _ = self.count(40, "--detect-rate", "2e-3", "--confidence", "0.5")
        print(f"the same at --confidence 0.5: found in {found} of 40 tries")
        self.assertIn(found, range(10, 35))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[4:]])
