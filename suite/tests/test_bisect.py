# SPDX-License-Identifier: Apache-2.0
"""detprobe bisect: of two environments that differ in many things those that change bits by construction are found, and
what cannot be changed here is named.

usage: test_bisect.py DETPROBE SCHEMA_FOLDER FETCHED-FOLDER [TEST...]
"""

import hashlib
import json
import pathlib
import sys
import unittest

import fetched
import jsonschema
from attribution_lab import Lab

DETPROBE, SCHEMAS, FETCHED = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
SCHEMA = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "bisect.schema.json").read_text()))
Lab.detprobe = DETPROBE

# Known settings, so that a report's values are taken; the fake reads them as its cases say.
MOVES = {"OMP_SCHEDULE": "static", "OMP_DYNAMIC": "true", "OMP_NUM_THREADS": "3"}
PROGRAM_EDIT = ('    if op == "threads"', '''    if op == "settings":
        seen = [os.environ.get(name) for name in p["names"].split()]
        values = [int(hashlib.sha256(repr(seen).encode()).hexdigest()[:8], 16) if None not in seen else 0] * m["runs"]
    if op == "unsteady" and os.environ.get("OMP_DYNAMIC") == "true": values = list(range(m["runs"]))
    if op == "version": values = [int(os.environ.get("DETPROBE_LIB_FAKE", "/0")[-1])] * m["runs"]
    if op == "threads"''')
CASES = [
    {"id": f"fake/moves/{name}", "op": op, "arithmetic": "direct", "params": params, "reveals": "it", "cost": 10}
    for name, op, params in (
        ("one", "settings", {"names": "OMP_DYNAMIC"}), ("two", "settings", {"names": "OMP_DYNAMIC OMP_SCHEDULE"}),
        ("none", "settings", {"names": "LD_NOTHING"}), ("unsteady", "unsteady", {}), ("skips", "skips", {}),
        ("threads", "threads", {}), ("varies", "varies", {"names": "LD_NOTHING"}))
]


class Bisect(Lab):
    def setUp(self):
        super().setUp()
        program = (self.probes / "moves.py").read_text()
        (self.probes / "moves.py").write_text(program.replace(*PROGRAM_EDIT))
        self.write_cases(CASES)
        self.before, self.after = self.folder / "before.json", self.folder / "after.json"

    def pair(self, case, before=(), after=()):
        level = ("--level", "quick", "--axis", "repeat", "--runs", "2", "--seeds", "1")
        self.measure(case, file=self.before, level=level, status=(0, 1, 77), **dict(before))
        self.measure(case, file=self.after, level=level, status=(0, 1, 77), **dict(after))

    def bisect(self, case, *options, status=1, **environment):
        process = self.start("bisect", self.before, self.after, case, "--json", *options, **environment)
        out, errors = process.communicate(timeout=300)
        self.assertEqual((process.returncode, errors), (status, ""), out)
        document = json.loads(out)
        SCHEMA.validate(document)
        return document

    def edit(self, file, change):
        """A report whose body says something else, with the digest that belongs to it."""
        report = json.loads(file.read_text())
        change(report)
        text = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        report["digest"] = hashlib.sha256(text.encode()).hexdigest()
        file.write_text(json.dumps(report))

    @staticmethod
    def changes(rows):
        return [(row["name"], row["from"], row["to"]) for row in rows]


class Fakes(Bisect):
    def test_one_of_three(self):
        self.pair("fake/moves/one", after=MOVES)
        document = self.bisect("fake/moves/one")
        self.assertEqual((document["outcome"], self.changes(document["change"])), ("found", [("OMP_DYNAMIC", None, "true")]))
        self.assertEqual(document["here"], {"before": "as_in_report", "after": "as_in_report"})
        self.assertEqual({name for name, _, _ in self.changes(document["without_effect"])}, set(MOVES) - {"OMP_DYNAMIC"})
        self.assertEqual(self.shell(document["reproduce"]).returncode, 1)
        self.assertEqual(self.shell(document["reproduce"].replace("OMP_DYNAMIC", "OMP_OTHER")).returncode, 0)
        text = self.call("bisect", self.before, self.after, "fake/moves/one", status=1)
        self.assertIn("changed by  OMP_DYNAMIC not set → true\n", text)
        self.assertIn("no effect   OMP_NUM_THREADS not set → 3\n", text)

    def test_two_together_and_back(self):
        self.pair("fake/moves/two", before=MOVES)
        document = self.bisect("fake/moves/two")
        self.assertEqual(document["outcome"], "found")
        self.assertIn(self.changes(document["change"]), ([("OMP_DYNAMIC", "true", None)], [("OMP_SCHEDULE", "static", None)]))
        self.before, self.after = self.after, self.before
        document = self.bisect("fake/moves/two")
        self.assertEqual(sorted(self.changes(document["change"])),
                         [("OMP_DYNAMIC", None, "true"), ("OMP_SCHEDULE", None, "static")])

    def test_what_both_set_stays_set(self):
        """OMP_SCHEDULE is the same on both sides, and without it OMP_DYNAMIC would move nothing."""
        self.pair("fake/moves/two", before={"OMP_SCHEDULE": "static"}, after=MOVES)
        document = self.bisect("fake/moves/two")
        self.assertEqual(self.changes(document["change"]), [("OMP_DYNAMIC", None, "true")])
        self.assertEqual(self.shell(document["reproduce"]).returncode, 1)

    def test_same_bits(self):
        self.pair("fake/moves/none", after=MOVES)
        self.assertEqual(self.bisect("fake/moves/none", status=0)["outcome"], "same_bits")
        self.assertIn("the same bits in both reports", self.call("bisect", self.before, self.after, "fake/moves/none"))

    def test_what_begins_to_vary(self):
        self.pair("fake/moves/unsteady", after=MOVES)
        self.assertEqual(self.changes(self.bisect("fake/moves/unsteady")["change"]), [("OMP_DYNAMIC", None, "true")])
        self.before, self.after = self.after, self.before
        self.assertEqual(self.changes(self.bisect("fake/moves/unsteady")["change"]), [("OMP_DYNAMIC", "true", None)])

    def test_what_does_not_vary_here(self):
        """Nothing keeps bits that repeat here anyway."""
        self.pair("fake/moves/none", after=MOVES)
        def varied(report):
            (result,), summary = report["body"]["results"], report["body"]["summary"]
            result.update(observed="varies", difference="execution")
            for member in ("outputs", "sensitive_to"):
                del result[member]
            summary["nondeterministic"] = [result["case"]]
            summary["counts"].update(repeats=0, varies=1)
        self.edit(self.before, varied)
        document = self.bisect("fake/moves/none", status=2)
        self.assertEqual((document["outcome"], document["here"]), ("elsewhere", {"before": "repeats", "after": "as_in_report"}))
        self.before, self.after = self.after, self.before
        self.assertEqual(self.bisect("fake/moves/none", status=2)["outcome"], "elsewhere")

    def test_number_of_threads(self):
        """Reports that say how many ran, where no variable does."""
        self.pair("fake/moves/threads")
        for file, count in ((self.before, 2), (self.after, 4)):
            def change(report, count=count):
                report["measurements"]["cases"][0]["threads"] = count
                report["body"]["environment"]["host"]["cores_allowed"] = count
                for row in report["body"]["results"][0]["outputs"]:
                    row["sha256"] = hashlib.sha256(f"{count} {row['seed']} {row['set']}".encode()).hexdigest()
            self.edit(file, change)
        document = self.bisect("fake/moves/threads")
        self.assertEqual(self.changes(document["change"]), [("threads", "2", "4")])
        self.assertEqual(document["here"], {"before": "as_in_report", "after": "as_in_report"})

    def test_elsewhere(self):
        """Bits that changed with the kernel of the machine, as far as the reports say."""
        self.pair("fake/moves/none", after=MOVES)
        def other(report):
            report["body"]["environment"]["host"]["kernel"] = "99.1"
            for row in report["body"]["results"][0]["outputs"]:
                row["sha256"] = "a" * 64
        self.edit(self.after, other)
        document = self.bisect("fake/moves/none", status=2)
        self.assertEqual((document["outcome"], document["here"]),
                         ("elsewhere", {"before": "as_in_report", "after": "other_bits"}))
        self.assertIn("99.1", json.dumps(document["cannot_change"]))
        self.assertEqual({row["name"] for row in document["without_effect"]}, set(MOVES))
        def neither(report):
            for row in report["body"]["results"][0]["outputs"]:
                row["sha256"] = "b" * 64
        self.edit(self.before, neither)
        self.assertEqual(self.bisect("fake/moves/none", status=2)["outcome"], "not_reproduced")

    def test_files_are_loaded_only_when_asked_for(self):
        self.pair("fake/moves/none")
        files = [self.folder / f"fake.so.{n}" for n in "12"]
        for report, file in zip((self.before, self.after), files):
            file.touch()
            def change(content, file=file):
                content["body"]["environment"]["libraries"][0]["path"] = str(file)
                for row in content["body"]["results"][0]["outputs"]:
                    row["sha256"] = str(file)[-1] * 64
            self.edit(report, change)
        document = self.bisect("fake/moves/none", status=2)
        self.assertIn("--load-libraries", json.dumps(document["cannot_change"]))
        self.assertEqual(document["without_effect"], [])
        document = self.bisect("fake/moves/none", "--load-libraries", status=2)
        self.assertEqual(self.changes(document["without_effect"]), [("DETPROBE_LIB_FAKE", *map(str, files))])
        files[0].unlink()
        document = self.bisect("fake/moves/none", "--load-libraries", status=2)
        self.assertEqual(document["without_effect"], [])
        self.assertIn("not both here", json.dumps(document["cannot_change"]))

    def test_hostile_variables(self):
        """What is no known setting, or names a file, is never set."""
        evil = {"OMP_TOOL_LIBRARIES": "/nowhere.so", "OPENBLAS_CORETYPE": "$(id)", "LD_PRELOAD": "/nowhere.so",
                "OMP_SCHEDULE": "static", "OMP_WAIT_POLICY": "passive"}
        self.pair("fake/moves/none")
        def change(report):
            report["body"]["environment"]["variables"] = evil
            for row in report["body"]["results"][0]["outputs"]:
                row["sha256"] = "a" * 64
        self.edit(self.after, change)
        document = self.bisect("fake/moves/none", status=2)
        self.assertEqual(self.changes(document["without_effect"]), [("OMP_SCHEDULE", None, "static")])
        self.assertEqual(len(document["cannot_change"]), 3)


class Input(Bisect):
    def test_bad_input(self):
        self.pair("fake/moves/one", after=MOVES)
        arguments = ("bisect", self.before, self.after)
        self.call(*arguments, status=64)
        self.assertIn("did you mean 'fake/moves/one'", self.call(*arguments, "fake/moves/on", status=64))
        self.call("bisect", self.before, self.folder / "none.json", "fake/moves/one", status=65)
        self.measure("fake/moves/one", file=self.after, level=("--level", "quick", "--seed", "2"), **MOVES)
        self.call(*arguments, "fake/moves/one", status=65)

    def test_nothing_to_compare(self):
        self.pair("fake/moves/skips")
        self.assertIn("'skipped' there", self.call("bisect", self.before, self.after, "fake/moves/skips", status=65))
        self.pair("fake/moves/varies", after=MOVES)
        self.assertIn("varies by itself in both", self.call("bisect", self.before, self.after, "fake/moves/varies", status=2))


class Real(Bisect):
    def test_openblas(self):
        """Two kernel sets, by the variable, and by what the library says that it ran on."""
        found = fetched.openblas(FETCHED)
        if not found:
            self.skipTest("OpenBLAS cannot be fetched")
        case, named = "cpu/blas/sdot-1000", {"DETPROBE_LIB_CBLAS": str(found)}
        self.pair(case, before={**named, "OPENBLAS_CORETYPE": "Prescott", "OMP_DYNAMIC": "true"}, after=named)
        if self.call("diff", self.before, self.after, status=(0, 1)).find("bits") < 0:
            self.skipTest("this processor runs one kernel set of sdot alone")
        document = self.bisect(case, **named)
        self.assertEqual(self.changes(document["change"]), [("OPENBLAS_CORETYPE", "Prescott", None)])
        done = self.shell(document["reproduce"], **named)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for file in (self.before, self.after):
            self.edit(file, lambda report: report["body"]["environment"]["variables"].clear())
        document = self.bisect(case, **named)
        self.assertEqual(self.changes(document["change"]), [("isa", "openblas/Prescott", "")])


if __name__ == "__main__":
    unittest.main()
