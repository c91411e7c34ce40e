# SPDX-License-Identifier: Apache-2.0
"""`detprobe guarantees` and judging by versions from outside, over fake probe programs whose library is fakelib 1.0.

usage: test_guarantees.py DETPROBE FAKES_FOLDER SCHEMA_FOLDER [TEST...]
"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import surroundings

DETPROBE, FAKES, SCHEMAS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
TABLE = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "guarantees.schema.json").read_text()))
REPORT = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "report.schema.json").read_text()))

# Promised since 1.0, documented as varying before that and since 0.9; nobody says anything of 0.8 and 2.0.
PROMISE = {
    "level": "run_to_run",
    "source": "new",
    "library": "fake",
    "versions": {"fake": {"since": "1.0", "until": "2"}},
    "otherwise": [{"level": "not_guaranteed", "source": "old", "versions": {"fake": {"since": "0.9", "until": "1.0"}}}],
}
LATER = {**PROMISE, "versions": {"fake": {"since": "1.0.1"}},
         "otherwise": [{"level": "not_guaranteed", "source": "old"}]}
BEFORE = {"level": "run_to_run", "source": "new", "library": "fake", "versions": {"fake": {"until": "1.0"}}}
DEVICE = {"level": "run_to_run", "source": "new", "library": "fake", "versions": {"sm": {"since": "90"}}}
CASES = {
    "fake/versions/promised": ("varies", PROMISE),
    "fake/versions/later": ("varies", LATER),
    "fake/versions/before": ("varies", BEFORE),
    "fake/versions/device": ("varies", DEVICE),
    "fake/versions/keeps": ("repeats", PROMISE),
    "fake/versions/unseen": ("repeats", LATER),
}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="detprobe-test-"))
        self.probes = self.folder / "probes"
        self.probes.mkdir()
        shutil.copy(FAKES / "fakes", self.probes / "versioned")
        catalogue = {
            "schema_version": "1.0",
            "program": "versioned",
            "sources": {"new": "Manual, section 2", "old": "Manual, section 1"},
            "defaults": {"arithmetic": "direct", "cost": 100},
            "cases": [{"id": case, "op": op, "guarantee": guarantee} for case, (op, guarantee) in CASES.items()],
        }
        (self.probes / "versioned.json").write_text(json.dumps(catalogue))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def detprobe(self, *words, code=0, folders=(), **options):
        variables = surroundings.plain()
        variables["DETPROBE_PROBE_PATH"] = ":".join(map(str, (FAKES, self.probes, *folders)))
        done = subprocess.run([DETPROBE, *map(str, words)], env=variables, capture_output=True, text=True, timeout=120,
                              check=False, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def table(self, *words, **options):
        document = json.loads(self.detprobe("guarantees", *words, "--json", **options).stdout)
        TABLE.validate(document)
        return document

    def levels(self, *words, **options):
        return {row["case"].split("/")[-1]: row["level"] for row in self.table("@versions", *words, **options)["rows"]}

    def refused(self, *words, code, says):
        done = self.detprobe("guarantees", *words, code=code)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("detprobe: "), done.stderr)
        self.assertIn(says, done.stderr)

    def run_report(self, *words, code):
        file = self.folder / "report.json"
        self.detprobe("run", *words, "--level", "quick", "--timeout", "10s", "-o", file, code=code)
        report = json.loads(file.read_text())
        REPORT.validate(report)
        return file, {row["case"]: row for row in report["body"]["results"]}, report


class Documented(Case):
    HERE = {"promised": "run_to_run", "later": "not_guaranteed", "before": "unstated", "device": "unstated",
            "keeps": "run_to_run", "unseen": "not_guaranteed"}

    def test_what_is_here(self):
        self.assertEqual(self.levels(), self.HERE)
        rows = {row["case"].split("/")[-1]: row for row in self.table("@versions")["rows"]}
        self.assertEqual(rows["promised"]["library"], {"role": "fake", "name": "fakelib", "version": "1.0"})
        self.assertEqual(rows["promised"]["source"], "Manual, section 2")
        self.assertEqual(rows["promised"]["said_of"], "fakelib since 1.0 and before 2")
        self.assertEqual(rows["later"]["source"], "Manual, section 1")
        self.assertEqual(rows["before"]["reason"], "said of fakelib before 1.0, here is 1.0")
        self.assertEqual(rows["device"]["depends_on"], ["sm"])
        self.assertEqual(len(rows["promised"]["alternatives"]), 2)

    def test_assumed(self):
        run, may, none = "run_to_run", "not_guaranteed", "unstated"
        for version, promised, later in (("1.0", run, may), ("1.0.0", run, may), ("1.0.1", run, run), ("1.0.1+cu13", run, run),
                                         ("1.99", run, run), ("2", none, run), ("2.0.0", none, run), ("0.9.9", may, may),
                                         ("0.9", may, may), ("0.8", none, may)):
            levels = self.levels("--assume", f"fake={version}")
            self.assertEqual((levels["promised"], levels["later"]), (promised, later), version)
        self.assertEqual(self.levels("--assume", "sm=90")["device"], "run_to_run")
        self.assertEqual(self.levels("--assume", "sm=120")["device"], "run_to_run")
        self.assertEqual(self.levels("--assume", "sm=89")["device"], "unstated")
        row = self.table("fake/versions/promised", "--assume", "fake=other/0.9,sm=90")["rows"][0]
        self.assertEqual(row["library"], {"role": "fake", "name": "other", "version": "0.9", "from": "assumed"})
        text = self.detprobe("guarantees", "fake/versions/promised", "--assume", "sm=90", "--assume", "fake=0.9").stdout
        self.assertIn("fake 0.9 (assumed)\n", text)
        self.assertIn("not_guaranteed", text)
        self.assertEqual(text.splitlines()[-1], "1 case: 1 not_guaranteed")

    def test_a_program_starts_only_where_it_matters(self):
        own = self.folder / "own"
        own.mkdir()
        (own / "leaves").write_text(f"#!/bin/sh\ntouch {own}/started\nexit 1\n")
        (own / "leaves").chmod(0o755)
        case = {"id": "fake/leaves/a", "op": "o", "guarantee": {"level": "run_to_run", "source": "a manual",
                                                                "versions": {"fake": {"since": "1"}}}}
        plain = {"id": "fake/leaves/plain", "op": "o", "guarantee": {"level": "run_to_run", "source": "a manual"}}
        catalogue = {"schema_version": "1.0", "program": "leaves", "cases": [case, plain]}
        (own / "leaves.json").write_text(json.dumps(catalogue))
        self.table("fake/leaves/a", "--assume", "fake=1", folders=(own,))
        self.table("fake/leaves/plain", folders=(own,))
        self.assertFalse((own / "started").exists())
        row = self.table("fake/leaves/a", folders=(own,))["rows"][0]
        self.assertTrue((own / "started").exists())
        self.assertEqual(row["depends_on"], ["fake"])  # it said nothing

    def test_refused(self):
        for words, says in {
            "--assume fkae=1": "unknown role 'fkae', did you mean 'fake'?",
            "--assume zzzzzzzz=1": "unknown role 'zzzzzzzz', expected one of ",
            "--assume fake": "'fake' is no ROLE=VERSION, as in cudnn=9.1",
            "--assume fake=": "'fake=' is no ROLE=VERSION",
            "--assume =1": "'=1' is no ROLE=VERSION",
            "--assume fake=1,": "'' is no ROLE=VERSION",
            "--assume fake=v1": "'v1' is no version of 'fake'",
            "--assume fake=1..2": "'1..2' is no version of 'fake'",
            "--assume fake=1.": "'1.' is no version of 'fake'",
            "--assume fake=/1": "'/1' is no version of 'fake'",
            "--assume fake=1,fake=2": "'fake' has two versions",
            "--assume fake=1 --assume fake=1": "'fake' has two versions",
            "--assume sm=9.0": "write compute capability 9.0 as sm=90",
            "--assume sm=9": "write compute capability 9.0 as sm=90",
            "--assume sm=90a": "write compute capability 9.0 as sm=90",
            "--broken": "name it with '--observed REPORT'",
            "--broken --allows --observed x": "'--broken' and '--allows' name different cases",
            "--observed x --assume fake=1": "'--assume' does not go with '--observed'",
            "--observed x --stack /usr": "'--stack' does not go with '--observed'",
            "fake/version/a": "no case matches 'fake/version/a'",
            "--format html": "unknown word 'html', expected text|json|markdown",
            "--report html:a": "'html' cannot show a table of guarantees",
            "--report text:a --report json:a": "two reports into one file 'a'",
        }.items():
            with self.subTest(words):
                self.refused(*words.split(), code=64, says=says)

    def test_allows(self):
        self.assertEqual(set(self.levels("--allows")), {"later", "unseen"})
        self.assertEqual(set(self.levels("--allows", "--assume", "fake=0.9", "--exclude", "*/keeps")),
                         {"promised", "later", "unseen"})

    def test_formats(self):
        files = {name: self.folder / f"table.{name}" for name in ("text", "json", "markdown")}
        words = [f"--report={name}:{file}" for name, file in files.items()]
        shown = self.detprobe("guarantees", "@versions", "--format", "markdown", *words).stdout
        self.assertEqual(shown, files["markdown"].read_text())
        self.assertEqual(json.loads(files["json"].read_text()), self.table("@versions"))
        self.assertIn("is a valid table of guarantees", self.detprobe("validate", files["json"]).stdout)
        damaged = json.loads(files["json"].read_text())
        damaged["rows"][0]["level"] = "sure"
        (self.folder / "damaged.json").write_text(json.dumps(damaged))
        self.assertIn("at '/rows/0/level'", self.detprobe("validate", self.folder / "damaged.json", code=65).stderr)
        self.detprobe("guarantees", "@versions", "-o", self.folder / "out")
        self.assertEqual((self.folder / "out").read_text(), files["text"].read_text())
        with open("/dev/full", "w", encoding="utf-8") as full:
            variables = {**surroundings.plain(), "DETPROBE_PROBE_PATH": str(self.probes)}
            done = subprocess.run([DETPROBE, "guarantees", "@versions"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  env=variables, check=False)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)

    def test_catalogues(self):
        """What is shipped: everything is told with its source, and NVIDIA's part without a device."""
        table = self.table("@cuda", "--assume", "cudnn=9.1,cublas=13.1,cublaslt=13.1,sm=90")
        self.assertEqual(table["summary"]["depends_on"], [])
        self.assertTrue(all(row["source"] for row in table["rows"]))
        level = {row["case"]: row["level"] for row in table["rows"]}
        old = {row["case"]: row["level"] for row in
               self.table("@cuda", "--assume", "cudnn=10,cublas=12.4,cublaslt=12.4,sm=80")["rows"]}
        changed = {case for case in level if level[case] != old[case]}
        self.assertTrue(all(old[case] == "unstated" for case in changed))
        families = {case.rsplit("/", 1)[0] for case in changed}
        self.assertEqual(families, {"cuda/conv", "cuda/pool", "cuda/gemm", "cuda/gemm-lt"})
        self.assertEqual({case.rsplit("/", 1)[0] for case in level} - families,
                         {"cuda/atomics", "cuda/blas", "cuda/column", "cuda/resample", "cuda/scatter"})
        fill = "python/pytorch/empty-cpu-on"
        for version, expected in {"2.2.0a0+git1": "run_to_run", "2.1.2": "not_guaranteed"}.items():
            self.assertEqual(self.table(fill, "--assume", f"torch={version}")["rows"][0]["level"], expected)


class Judged(Case):
    """A run judges by the same versions."""

    def test_promise_of_another_version(self):
        _, results, _ = self.run_report("@versions", code=1)
        words = {case.split("/")[-1]: (row["observed"], row["guarantee"]["level"], row["guarantee"]["status"])
                 for case, row in results.items()}
        self.assertEqual(words, {
            "promised": ("varies", "run_to_run", "broken"),
            "later": ("varies", "not_guaranteed", "allows"),
            "before": ("varies", "unstated", "none"),
            "device": ("varies", "unstated", "none"),
            "keeps": ("repeats", "run_to_run", "kept"),
            "unseen": ("repeats", "not_guaranteed", "allows"),
        })
        self.assertEqual(results["fake/versions/before"]["guarantee"]["source"],
                         "Manual, section 2; said of fakelib before 1.0, here is 1.0")
        self.assertEqual({name: level for name, (_, level, _) in words.items()}, self.levels())

    def test_nothing_broken_without_the_promise(self):
        self.run_report("fake/versions/later", "fake/versions/before", "fake/versions/device", code=0)


class Observed(Case):
    def setUp(self):
        super().setUp()
        self.file, self.results, self.report = self.run_report("@versions", "fake/good/repeats-allowed", code=1)

    def test_joined(self):
        table = self.table("--observed", self.file)
        self.assertEqual(table["report"], self.report["digest"])
        self.assertEqual(table["summary"], {
            "cases": 7, "levels": {"not_guaranteed": 3, "run_to_run": 2, "gpu_to_gpu": 0, "unstated": 2},
            "depends_on": [], "broken": ["fake/versions/promised"],
            "never_seen": ["fake/good/repeats-allowed", "fake/versions/unseen"], "seen": 1, "not_run": 0})
        measured = {entry["case"]: entry for entry in self.report["measurements"]["cases"]}
        for row in table["rows"]:
            repeat = measured[row["case"]]["axes"]["repeat"]
            self.assertEqual(row["comparisons"], repeat["comparisons"])
            self.assertEqual(row.get("bound"), repeat.get("bound"))
            self.assertEqual(row["status"], self.results[row["case"]]["guarantee"]["status"])
            self.assertGreater(row["comparisons"], 0)

    def test_filters(self):
        broken = self.table("--observed", self.file, "--broken")
        self.assertEqual([row["case"] for row in broken["rows"]], ["fake/versions/promised"])
        allows = self.table("--observed", self.file, "--allows")
        self.assertEqual([row["case"] for row in allows["rows"]],
                         ["fake/good/repeats-allowed", "fake/versions/later", "fake/versions/unseen"])
        text = self.detprobe("guarantees", "--observed", self.file, "--allows", "--exclude", "@good").stdout
        comparisons = next(row for row in allows["rows"] if row["case"].endswith("unseen"))["comparisons"]
        self.assertIn("fakelib 1.0\n", text)
        self.assertIn(f"not seen to vary in {comparisons} comparisons (rate below", " ".join(text.split()))
        self.assertIn("no busy runs", text)
        self.assertEqual(text.splitlines()[-1],
                         "no guarantee broken; of 2 operations documented as varying 1 did and 1 did not")

    def test_a_case_that_the_catalogue_lacks(self):
        (self.probes / "versioned.json").unlink()
        rows = {row["case"]: row for row in self.table("--observed", self.file)["rows"]}
        self.assertEqual(rows["fake/versions/promised"]["level"], "run_to_run")
        self.assertNotIn("library", rows["fake/versions/promised"])
        self.assertEqual(len(self.table("fake/versions/*", "--observed", self.file)["rows"]), len(CASES))

    def test_bad_reports(self):
        damaged = dict(self.report, digest="0" * 64)
        for name, text in {"empty": "", "no-json": "{", "other": "[]", "damaged": json.dumps(damaged)}.items():
            file = self.folder / name
            file.write_text(text)
            self.refused("--observed", file, code=65, says=str(file))
        self.refused("--observed", self.folder / "absent", code=65, says="no such file")
        self.refused("--observed", self.file, "-o", self.file, code=64, says="would be written over")

    def test_standard_input(self):
        with open(self.file, "rb") as report:
            self.assertEqual(self.table("--observed", "-", stdin=report), self.table("--observed", self.file))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
