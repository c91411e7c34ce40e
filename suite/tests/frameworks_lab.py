# SPDX-License-Identifier: Apache-2.0
"""What the tests of Python frameworks share: runs whose reports are valid, environments of pinned wheels, and what is
asked of every framework alike.

A test's arguments are DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]. KEPT_FOLDER keeps the virtual
environments. Exit status 77 where every test named was skipped: the index cannot be had.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import fetched
import surroundings

DETPROBE, SCHEMAS, REQUIREMENTS, KEPT = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
REPORT = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "report.schema.json").read_text()))
PROBES = DETPROBE.parents[1] / "probes" / "python"
UNHARMED = "python/stdlib/list-sum"


def run(*arguments, expect=(0,), prefix=(), **variables):
    """The report of a run, checked against the schema, and what it printed. `prefix` is a command that runs it."""
    with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
        file = pathlib.Path(folder) / "report.json"
        command = [*prefix, DETPROBE, "run", *map(str, arguments), "--output", file]
        done = subprocess.run(command, env={**surroundings.plain(), **variables}, capture_output=True, text=True,
                              timeout=1500, check=False)
        if done.returncode not in expect:
            raise AssertionError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
        report = json.loads(file.read_text())
    REPORT.validate(report)
    return report, done.stdout


@contextlib.contextmanager
def module(name, text):
    """A package that stands in for a framework; gives the variables of a run that imports it."""
    with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
        package = pathlib.Path(folder) / name
        package.mkdir()
        (package / "__init__.py").write_text(text)
        yield {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}


def results(report):
    return {row["case"]: row for row in report["body"]["results"]}


def digests(row):
    """{(seed, set): [SHA-256 of each output]} of a case that repeats."""
    found = {}
    for output in row["outputs"]:
        found.setdefault((output["seed"], output["set"]), []).append(output["sha256"])
    return found


def cases(*selectors):
    """The catalogue's members of the cases, by id."""
    done = subprocess.run([DETPROBE, "list", *selectors, "--json"], capture_output=True, check=True)
    return {row["id"]: row for row in json.loads(done.stdout)}


def stack(pins, room=0):
    """The virtual environment with what the file `pins` names, for which `room` GB have to be free. Skips without."""
    found = fetched.environment(KEPT, REQUIREMENTS / pins, room)
    if not found:
        where = f", or {room} GB to put them in" if room else ""
        raise unittest.SkipTest(f"{pins}: its wheels cannot be had{where}")
    return found.resolve()


class Quick(unittest.TestCase):
    """A quick run of a framework's cases with pinned wheels, and what holds of each framework."""

    PINS, ROOM, SELECTORS = "", 0, ()
    ROLES = ()  # libraries whose version is pinned

    @classmethod
    def setUpClass(cls):
        cls.stack = stack(cls.PINS, cls.ROOM)
        cls.report, cls.text = run(*cls.SELECTORS, "--level", "quick", "--seeds", 2, "--runs", 4, "--stack", cls.stack)
        cls.rows = results(cls.report)
        pins = (REQUIREMENTS / cls.PINS).read_text().splitlines()
        cls.pins = dict(line.split("==") for line in pins if "==" in line)

    def same(self, one, other):
        self.assertEqual(digests(self.rows[one]), digests(self.rows[other]), f"{one} and {other}")

    def test_every_case_runs(self):
        gpus = {case for case in self.rows if "-cuda" in case}
        self.assertTrue(gpus)
        for case, row in self.rows.items():
            with self.subTest(case=case):
                if case in gpus and row["observed"] == "skipped":
                    self.assertEqual(row["reason"], "no_device")
                else:
                    self.assertIn(row["observed"], self.may_be(case), row)

    def may_be(self, _case):
        return ("repeats", "varies")

    def test_promises_are_kept(self):
        for case, row in self.rows.items():
            if row["observed"] != "skipped" and row["guarantee"]["level"] == "run_to_run":
                self.assertEqual(row["guarantee"]["status"], "kept", case)

    def test_libraries_are_those_of_the_environment(self):
        found = {row["role"]: row for row in self.report["body"]["environment"]["libraries"]}
        for role in self.ROLES:
            self.assertEqual(found[role]["version"].split("+")[0], self.pins[role])
            self.assertTrue(found[role]["path"].startswith(str(self.stack)), found[role])


def main():
    program = unittest.main(argv=[sys.argv[0], "-v", *sys.argv[5:]], exit=False)
    outcome = program.result
    ran = outcome.testsRun - len(outcome.skipped)
    if not outcome.wasSuccessful():
        sys.exit(1)
    sys.exit(0 if ran > 0 else fetched.SKIP)
