# SPDX-License-Identifier: Apache-2.0
"""detprobe diff from outside: reports of fake programs, changed by hand; words, formats, exit codes.

usage: test_diff.py DETPROBE FAKES_FOLDER SCHEMA_FOLDER [TEST...]
"""

import copy
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import surroundings

DETPROBE, FAKES, SCHEMAS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
MATRIX = json.loads((SCHEMAS / "matrix.schema.json").read_text())
SCHEMA = json.loads((SCHEMAS / "diff.schema.json").read_text())
CASES = ("fake/good/repeats", "fake/good/repeats-promised")


def detprobe(*arguments):
    variables = surroundings.plain()
    variables["DETPROBE_PROBE_PATH"] = str(FAKES)
    return subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True,
                          timeout=120)


class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.before = cls.folder / "before.json"
        done = detprobe("run", *CASES, "--level", "quick", "-o", cls.before)
        assert done.returncode == 0, done.stderr
        cls.report = json.loads(cls.before.read_text())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def changed(self, change, name="after.json"):
        """The report with a change done to it, and the digest that goes with it."""
        report = copy.deepcopy(self.report)
        change(report)
        body = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        report["digest"] = hashlib.sha256(body.encode()).hexdigest()
        file = self.folder / name
        file.write_text(json.dumps(report))
        return file

    def other_bits(self, report):
        report["body"]["results"][0]["outputs"][0]["sha256"] = "0" * 64

    def other_library(self, report):
        report["body"]["environment"]["libraries"][0]["version"] = "2.0"

    def one_line(self, done, code, *words):
        self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (code, 1, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_two_runs_agree(self):
        after = self.folder / "again.json"
        self.assertEqual(detprobe("run", *CASES, "--level", "quick", "-o", after).returncode, 0)
        done = detprobe("diff", self.before, after)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.splitlines()[-1], "the results agree in 2 cases")

    def test_environment_alone(self):
        done = detprobe("diff", self.before, self.changed(self.other_library))
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.splitlines()[-1], "the results agree in 2 cases, the environments differ")
        self.assertIn("→ 2.0", done.stdout)

    def test_bits_under_their_cause(self):
        def change(report):
            self.other_bits(report)
            self.other_library(report)

        after = self.changed(change)
        done = detprobe("diff", self.before, after)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(done.stdout.splitlines()[-1], "the results differ: 1 case repeats with other bits")
        self.assertIn("1 case repeats with other bits: fake/good 1", done.stdout)
        document = json.loads(detprobe("diff", self.before, after, "--json").stdout)
        jsonschema.Draft202012Validator(SCHEMA).validate(document)
        self.assertEqual([change["kind"] for change in document["changes"]], ["other_bits"])
        self.assertIn("2.0", document["causes"][0]["cause"])
        self.assertEqual(document["causes"][0]["cases"], [self.report["body"]["results"][0]["case"]])
        self.assertEqual(document["changes"][0]["cause"], 0)
        kept = self.folder / "diff.json"
        kept.write_text(json.dumps(document))
        self.assertEqual(detprobe("validate", kept).stdout, f"ok: '{kept}' is a valid comparison\n")

    def test_markdown_and_file(self):
        page = self.folder / "page.md"
        done = detprobe("diff", self.before, self.changed(self.other_bits), "--format", "markdown", "-o", page)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("| fake/good/repeats | other&#95;bits |", page.read_text())

    def test_other_catalogues(self):
        """A case that another catalogue defines otherwise is named, and no comparison of nothing agrees."""
        def one(report):
            report["body"]["results"][0]["definition"] = "0" * 64

        def both(report):
            for result in report["body"]["results"]:
                result["definition"] = "0" * 64

        done = detprobe("diff", self.before, self.changed(one))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("\nNOT COMPARED, the catalogues define it differently: 1 case\n        fake/good/repeats\n", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "the results agree in 1 case, 1 could not be compared")
        done = detprobe("diff", self.before, self.changed(one), "--format", "markdown")
        self.assertIn("| not compared | because |", done.stdout)
        self.one_line(detprobe("diff", self.before, self.changed(both)), 65, "not comparable", "catalogue")

    def test_one_sided(self):
        after = self.changed(lambda report: report["body"]["results"].pop())
        done = detprobe("diff", self.before, after)
        self.assertEqual(done.returncode, 65, "a summary that does not fit its results is no report")

    def test_matrix(self):
        def zen(report):
            self.other_bits(report)
            report["body"]["environment"]["variables"]["OPENBLAS_CORETYPE"] = "Zen"

        third = self.changed(zen, "run-zen.json")
        first, second = (self.changed(lambda report: None, f"run-{name}.json") for name in ("haswell", "skylakex"))
        done = detprobe("diff", first, second, third)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, r"(?m)^equal letters, equal bits +haswell +skylakex +zen$")
        self.assertRegex(done.stdout, r"(?m)^fake/good/repeats +a +a +b$")
        self.assertIn("OPENBLAS_CORETYPE — haswell, skylakex: none; zen: Zen", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "the results differ in 1 of 2 cases")
        document = json.loads(detprobe("diff", first, second, third, "--json").stdout)
        jsonschema.Draft202012Validator(MATRIX).validate(document)
        self.assertEqual([group["cells"] for group in document["groups"]], [["a", "a", "b"]])
        page, document = self.folder / "page.md", self.folder / "matrix.json"
        self.assertEqual(detprobe("diff", first, second, third, "--json", "-o", document).returncode, 1)
        self.assertEqual(detprobe("validate", document).stdout, f"ok: '{document}' is a valid matrix\n")
        document.write_text(document.read_text().replace('"1.0"', '"1.1"', 1))
        self.one_line(detprobe("validate", document), 65, "not a valid matrix", "unknown schema version '1.1'")
        done = detprobe("diff", first, second, third, "--report", f"markdown:{page}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("| fake/good/repeats | a | a | b |", page.read_text())
        for option in (("--format", "junit"), ("--report", "junit:x.xml")):
            done = detprobe("diff", first, second, third, *option)
            self.assertEqual((done.returncode, done.stdout), (64, ""))
            self.assertIn("'junit' cannot show a comparison of three reports or more, expected text|", done.stderr)
        done = detprobe("diff", first, second, first)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stdout.splitlines()[-1], "the results agree in 2 cases of 3 reports")
        self.assertRegex(done.stdout, r"(?m)^ +R3 .*run-haswell")  # no two columns of one name

        def other_seed(report):
            report["body"]["plan"]["seed"] = "7"

        self.one_line(detprobe("diff", first, second, self.changed(other_seed)), 65, "not comparable", "after.json")

    def test_other_versions(self):
        def newer(report):
            report["schema_version"] = "1.7"
            report["body"]["results"][0]["later"] = "x"

        def other(report):
            report["schema_version"] = "2.0"

        after = self.changed(newer)
        done = detprobe("diff", self.before, after)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(detprobe("show", after).returncode, 0)
        self.one_line(detprobe("validate", after), 65, "unknown schema version '1.7'")
        after = self.changed(other)
        for command in (("diff", self.before, after), ("diff", after, self.before), ("show", after), ("validate", after)):
            self.one_line(detprobe(*command), 65, "unknown schema version '2.0'", "after.json")

    def test_refusals(self):
        def other_seed(report):
            report["body"]["plan"]["seed"] = "7"

        self.one_line(detprobe("diff", self.before, self.changed(other_seed)), 65, "not comparable",
                      'seed "1" against "7"')
        self.one_line(detprobe("diff", self.before), 64, "1 is named")
        self.one_line(detprobe("diff", *[self.before] * 27), 64, "27 are named")
        self.one_line(detprobe("diff", *[self.before] * 3, "--format", "junit"), 64, "junit", "text|json|markdown")
        self.one_line(detprobe("diff", *[self.before] * 3, "--report", f"sarif:{self.folder}/x"), 64, "sarif")
        self.one_line(detprobe("diff", self.before, self.folder / "nothing.json"), 65, "nothing.json")
        damaged = self.folder / "damaged.json"
        damaged.write_bytes(self.before.read_bytes()[:-50])
        self.one_line(detprobe("diff", damaged, self.before), 65, "damaged.json")
        self.one_line(detprobe("diff", self.before, self.before, "-o", "/dev/full"), 2, "/dev/full")
        self.one_line(detprobe("diff", self.before, self.before, "--format", "pdf"), 64, "pdf")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
