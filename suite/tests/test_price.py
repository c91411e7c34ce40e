# SPDX-License-Identifier: Apache-2.0
"""run --price from outside, over fake programs that say how long their calls take: the report, the table, what is
planned, a killed run that goes on.

usage: test_price.py DETPROBE FAKES SCHEMAS [TEST...]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

DETPROBE, FAKES, SCHEMAS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
SCHEMA = json.loads((SCHEMAS / "report.schema.json").read_text())
ONE = ("fake/price/costs*",)


class Price(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(self.folder.cleanup)
        self.file = pathlib.Path(self.folder.name, "report.json")
        self.log = pathlib.Path(self.folder.name, "report.json.log.jsonl")

    def detprobe(self, *arguments):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("DETPROBE_")}
        variables["DETPROBE_PROBE_PATH"] = f"{FAKES}:{FAKES / 'price'}"
        return subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True,
                              timeout=120)

    def measure(self, *arguments, code=0):
        """The report of a run; its text is in self.text, its prices by case in self.prices."""
        done = self.detprobe("run", *arguments, "-o", self.file)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.text = done.stdout
        return self.load()

    def load(self):
        report = json.loads(self.file.read_text())
        jsonschema.Draft202012Validator(SCHEMA).validate(report)
        prices = report["measurements"].get("prices", [])
        self.prices = {row["case"].rsplit("/", 1)[-1]: row for row in prices}
        self.assertEqual(len(self.prices), len(prices))
        return report

    def test_each_pair(self):
        """What the fakes say; who did not run, or is not the dearer form of anything, has no price."""
        self.measure("fake/price/*", "--level", "quick", "--axis", "repeat", "--price")
        found = {name: (row["pair"].rsplit("/", 1)[-1], row.get("reason"), row.get("ratio"), row["rounds"])
                 for name, row in self.prices.items()}
        self.assertEqual(found, {
            "apart": ("apart-steady", None, 2, 15), "costs": ("costs-steady", None, 1.5, 15),
            "saves": ("saves-steady", None, 0.25, 15), "named": ("named-steady", None, 3, 15),
            "short-calls": ("short-calls-steady", None, 2, 15), "short": ("short-steady", "too_short", None, 0),
            "mute": ("mute-steady", "unsupported", None, 0), "noisy": ("noisy-steady", "noisy", None, 15),
            "failing": ("failing-steady", "failed", None, 0), "crash": ("crash-steady", "failed", None, 0),
            "once-failing": ("once-failing-steady", None, 1, 15),
        })
        self.assertEqual((self.prices["noisy"]["low"], self.prices["noisy"]["high"]), (0.5, 4))
        self.assertEqual((self.prices["costs"]["case_ns"], self.prices["costs"]["pair_ns"]), (100000, 150000))
        self.assertIn("SIGABRT", self.prices["crash"]["text"])

    def test_lost_round(self):
        """A round in which one form failed is none; the others make the price."""
        self.measure("fake/price/once-failing*", "--level", "quick", "--axis", "repeat", "--price")
        self.assertEqual((self.prices["once-failing"]["ratio"], self.prices["once-failing"]["rounds"]), (1, 14))

    def test_verdicts_do_not_depend_on_it(self):
        """Nor does the digest; what is timed is no evidence."""
        priced = self.measure(*ONE, "--level", "quick", "--price")
        self.assertIn("usual one, median [95 %]\n  fake/price/costs  1.50\u00d7 [1.50, 1.50]\n", self.text)
        plain = self.measure(*ONE, "--level", "quick")
        self.assertNotIn("price", self.text.replace("fake/price", ""))
        self.assertEqual(priced["digest"], plain["digest"])
        self.assertNotIn("prices", plain["measurements"])
        counts = [[row["axes"] for row in report["measurements"]["cases"]] for report in (priced, plain)]
        self.assertEqual(*counts)

    def test_no_pair(self):
        self.measure("fake/price/costs", "--level", "quick", "--price")
        self.assertEqual(self.prices, {})
        self.assertIn("no case ran together with its deterministic counterpart", self.text)

    def test_pairs_without_a_price(self):
        """They are counted where nobody asks why."""
        self.measure("fake/price/mute*", "fake/price/failing*", "--level", "quick", "--axis", "repeat", "--price")
        self.assertIn("usual one, median [95 %]\n  2 pairs have no price, --verbose says why\n", self.text)

    def test_rounds_by_level(self):
        for level, rounds in (("default", 31), ("deep", 101)):
            self.measure(*ONE, "--level", level, "--axis", "repeat", "--runs", "2", "--seeds", "1", "--price")
            self.assertEqual(self.prices["costs"]["rounds"], rounds)

    def test_dry_run(self):
        plan = self.detprobe("run", *ONE, "--level", "quick", "--price", "--dry-run")
        self.assertIn("; 1 pairs timed in 15 rounds; about ", plan.stdout)
        self.assertNotIn("pairs timed", self.detprobe("run", *ONE, "--level", "quick", "--dry-run").stdout)

    def test_options(self):
        for arguments, word in ((("--price", "--budget", "10s"), "exclude each other"),
                                (("--price", "--resume", self.log), "price from the log")):
            done = self.detprobe("run", *(ONE if "--resume" not in arguments else ()), *arguments)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertIn(word, done.stderr)

    def test_resumed_run(self):
        """Cut before, within and after the rounds: the same prices, the same digest."""
        report = self.measure(*ONE, "fake/price/apart*", "--level", "quick", "--price")
        prices = report["measurements"]["prices"]
        lines = self.log.read_text().splitlines(keepends=True)
        rounds = [i for i, line in enumerate(lines) if "|price|" in line]
        self.assertEqual(len(rounds), 2 * 2 * 15)
        for cut in (rounds[0], rounds[0] + 1, rounds[31], rounds[-1], len(lines)):
            self.log.write_text("".join(lines[:cut]))
            done = self.detprobe("run", "--resume", self.log)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            resumed = self.load()
            self.assertEqual(resumed["digest"], report["digest"])
            self.assertEqual(resumed["measurements"]["prices"], prices)

    def test_formats(self):
        """Everything that shows the report shows the price."""
        self.measure(*ONE, "--level", "quick", "--price")
        for form, words in (("text", "1.50\u00d7 [1.50, 1.50]"), ("markdown", "Price of determinism: 1"),
                            ("html", '<h2 id="h-price">Price of determinism</h2>')):
            shown = self.detprobe("show", self.file, "--format", form).stdout
            self.assertIn(words, shown)
        self.assertEqual(json.loads(self.detprobe("show", self.file, "--json").stdout), self.load())
        self.assertIn("150 \u00b5s against 100 \u00b5s, 15 rounds", self.detprobe("show", "-v", self.file).stdout)

    def test_beyond_a_million(self):
        """A price is no page of digits, nor zero."""
        report = self.measure(*ONE, "--level", "quick", "--price")
        for ratio, text in ((2e300, "2e+300\u00d7 [2e+300, 2e+300]"), (4e-9, "4e-09\u00d7 [4e-09, 4e-09]")):
            row = {**report["measurements"]["prices"][0], "ratio": ratio, "low": ratio, "high": ratio}
            self.file.write_text(json.dumps({**report, "measurements": {**report["measurements"], "prices": [row]}}))
            self.assertIn(text, self.detprobe("show", "-v", self.file).stdout)

    def test_own_reports(self):
        """A price that contradicts itself or its report is refused."""
        report = self.measure(*ONE, "--level", "quick", "--price")
        for member, value, word in (("ratio", 2, "its interval"), ("low", 1.6, "its interval"),
                                    ("pair", "fake/price/costs", "two cases"), ("case", "fake/price/x", "two cases")):
            row = {**report["measurements"]["prices"][0], member: value}
            self.file.write_text(json.dumps({**report, "measurements": {**report["measurements"], "prices": [row]}}))
            done = self.detprobe("show", self.file)
            self.assertEqual((done.returncode, done.stdout), (65, ""))
            self.assertIn(word, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
