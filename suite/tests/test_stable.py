# SPDX-License-Identifier: Apache-2.0
"""What a quick run says of a case, it says each time.

usage: test_stable.py DETPROBE [--runs N] [--select SELECTOR]... [TEST...]

The own loops are sized so that what can vary does so in every quick run: 50 of them, each with another seed, must
find the same word for every case and control, and 10 more while every core is busy. Two full runs with one seed must
have one digest. Offenders are printed with how often each word was found. Exit 77: nothing here runs.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import surroundings

OWN_LOOPS = ("cpu/atomics/*", "cpu/host/*", "cpu/reduce/*", "cpu/scatter/*")
NOTHING_RAN = 77


def parse(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("detprobe", type=pathlib.Path)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--select", action="append")
    return parser.parse_known_args(arguments)


OPTIONS, TESTS = parse(sys.argv[1:])
DETPROBE = OPTIONS.detprobe.resolve()
SELECTORS = OPTIONS.select or OWN_LOOPS


def quick(*arguments):
    """The report of a quick run over the build's own probes; its findings decide no exit code here."""
    variables = surroundings.real()
    with tempfile.TemporaryDirectory(prefix="detprobe-stable-") as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [DETPROBE, "run", *arguments, "--level", "quick", "--fail-on", "never", "--quiet", "--output", report]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600)
        # 2: controls misbehave, which the report says in more words than the code
        if done.returncode not in (0, 2, NOTHING_RAN):
            raise AssertionError(f"exit code {done.returncode}: {done.stderr or done.stdout}")
        return json.loads(report.read_text()) if done.returncode != NOTHING_RAN else None


def words(report):
    """What was found of each case, and of each control with whether it behaved."""
    found = {row["case"]: row["observed"] for row in report["body"]["results"]}
    for row in report["body"]["controls"]:
        found[row["name"]] = f"{row['observed']}, {'behaved' if row['behaved'] else 'misbehaved'}"
    return found


@contextlib.contextmanager
def busy_cores():
    """One process that never sleeps for each core this one may use."""
    spin = [sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(spin) for _ in os.sched_getaffinity(0)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def offenders(found):
    """A line for each case of which not every run says the same, or whose control misbehaved."""
    lines = []
    for case, counts in sorted(found.items()):
        wrong = [word for word in counts if word.endswith("misbehaved") or word in ("error", "wrong", "untested")]
        if len(counts) > 1 or wrong:
            said = ", ".join(f"{word} in {number}" for word, number in counts.most_common())
            lines.append(f"{case}: {said} of {counts.total()} runs")
    return lines


class Case(unittest.TestCase):
    maxDiff = None

    def check_none(self, lines):
        if lines:
            self.fail("\n".join([f"{len(lines)} do not say the same each time:", *lines]))


class Stable(Case):
    def count_words(self, runs):
        found = collections.defaultdict(collections.Counter)
        for seed in range(1, runs + 1):
            report = quick(*SELECTORS, "--axis", "repeat", "--seed", str(seed))
            if report is None:
                self.skipTest("no own loop can run here")
            for case, word in words(report).items():
                found[case][word] += 1
        self.assertGreater(len(found), 0)
        self.check_none(offenders(found))
        return {case: next(iter(counts)) for case, counts in found.items()}

    def test_idle(self):
        found = self.count_words(OPTIONS.runs)
        varying = sum(word.startswith("varies") for word in found.values())
        print(f"{OPTIONS.runs} quick runs: {varying} of {len(found)} vary each time, the others never")

    def test_busy(self):
        with busy_cores():
            self.count_words(-(-OPTIONS.runs // 5))


class Digest(Case):
    def test_one_seed_one_digest(self):
        """Without PyTorch, which this machine's Python may have: its races vary when they like."""
        first, second = (quick("--all", "--exclude", "@pytorch", "--seed", "1") for _ in range(2))
        if first is None:
            self.skipTest("nothing can run here")
        before, after = words(first), words(second)
        moved = [f"{case}: {before[case]}, then {after.get(case)}" for case in before if before[case] != after.get(case)]
        self.check_none(moved)
        self.assertEqual(first["body"], second["body"])
        self.assertEqual(first["digest"], second["digest"])


if __name__ == "__main__":
    program = unittest.main(argv=[sys.argv[0], "-v", *TESTS], exit=False)
    outcome = program.result
    nothing = outcome.testsRun > 0 and len(outcome.skipped) == outcome.testsRun
    sys.exit(NOTHING_RAN if nothing else not outcome.wasSuccessful())
