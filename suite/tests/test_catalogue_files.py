# SPDX-License-Identifier: Apache-2.0
"""Catalogue files from outside: `validate` against the published schema, and `list` against both.

usage: test_catalogue_files.py DETPROBE SCHEMA_FOLDER PROBES_FOLDER
A file that uses every member is changed at every place; `validate` must find a fault of form exactly where
python3-jsonschema does. What `validate` says beyond that (a key that `sources` lacks, an id twice) are its own
further checks and name no place "at '/...'".
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import surroundings

DETPROBE, SCHEMAS, PROBES = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
CATALOGUE = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "catalogue.schema.json").read_text()))
LIST = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "list.schema.json").read_text()))

EVERYTHING = {
    "schema_version": "1.0",
    "program": "p",
    "description": "words",
    "sources": {"doc": "Document, section 1"},
    "defaults": {"op": "o", "arithmetic": "direct", "guarantee": {"level": "run_to_run", "source": "doc"}},
    "cases": [
        {
            "id": "cpu/family/name-1",
            "op": "other",
            "params": {"n": 1, "mode": "fast", "flag": True},
            "environment": {"NVIDIA_TF32_OVERRIDE": "0", "CUBLAS_WORKSPACE_CONFIG": None},
            "choice": "c",
            "batch": "n",
            "problem": "family/{n}",
            "arithmetic": "none",
            "bound": 1.5,
            "bound_source": "doc",
            "guarantee": {
                "level": "gpu_to_gpu",
                "source": "doc",
                "covers": ["repeat", "fresh"],
                "invariant": ["batch"],
                "conditions": {"version": ">= 2", "streams": 1, "archs": ["a", 2, True]},
                "library": "cudnn",
                "versions": {"cudnn": {"name": "cuDNN", "since": "9.1", "until": "10"}, "sm": {"since": "89"}},
                "otherwise": [
                    {"level": "not_guaranteed", "source": "doc", "versions": {"cudnn": {"since": "8"}}},
                    {"level": "unstated", "source": "doc"},
                ],
            },
            "reveals": "words",
            "remedy": {"text": "t", "setting": "S=1", "api": "f()", "source": "doc", "since": "1.2"},
            "remedy_along": {"threads": {"text": "t", "setting": "S=1", "source": "doc"}},
            "used_by": ["aten::add"],
            "pair": "cpu/family/name-2",
            "cost": 10,
            "tags": ["control", "x"],
            "expected": {"observed": "varies", "axis": "repeat", "mismatches": 2, "runs": 100},
        }
    ],
    "variants": [{"id": "cpu/family/v-{a}-{m}", "vary": {"a": ["x", 1, False], "shape": [{"m": 1, "cost": 5}]}}],
}
CITING = ("source", "bound_source")  # members that name a key of `sources`
# axis -> the member of a case that opens it
MEMBERS = {"batch": "batch", "align": "align", "algorithm": "choices", "isa": "isa"}
# tag -> library whose files say the same words under the same key
LIBRARIES = {"blas": "BLAS", "cblas": "BLAS", "lapack": "BLAS", "onednn": "oneDNN", "cublas": "cuBLAS"}
REPLACEMENTS = [None, True, 0, -1, 3, 1.5, 1.0, 10**10, "", "x", "A/B", "repeat", "x" * 300, [], ["x"], ["x", "x"], {}]


def places(value, path=()):
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*path, key))


def at(document, path):
    for key in path:
        document = document[key]
    return document


def mutants():
    """Every place with another value, without it, with a stranger in it, with an element twice."""
    for path in places(EVERYTHING):
        if not path:
            continue
        for value in REPLACEMENTS:
            document = copy.deepcopy(EVERYTHING)
            at(document, path[:-1])[path[-1]] = value
            yield document
        document = copy.deepcopy(EVERYTHING)
        del at(document, path[:-1])[path[-1]]
        yield document
        inner = at(EVERYTHING, path)
        document = copy.deepcopy(EVERYTHING)
        if isinstance(inner, dict):
            at(document, path)["stranger"] = {"deep": 1.5}
            yield document
        elif isinstance(inner, list) and inner:
            at(document, path).append(inner[0])
            yield document


def run(*arguments, **variables):
    return subprocess.run(
        [DETPROBE, *map(str, arguments)],
        env={**surroundings.plain(), **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


class Validate(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, name, document):
        path = self.folder / name
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        return path

    def test_agrees_with_the_schema(self):
        documents = [EVERYTHING, *mutants()]
        # A file without cases and variants is no catalogue file to `validate`.
        documents = [document for document in documents if {"cases", "variants"} & set(document)]
        paths = [self.write(f"{number}.json", document) for number, document in enumerate(documents)]
        done = run("validate", *paths)
        self.assertEqual(done.returncode, 65)
        good = {line.split("'")[1] for line in done.stdout.splitlines()}
        faults = {line.split("'")[1]: line for line in done.stderr.splitlines()}
        self.assertEqual(len(good) + len(faults), len(paths))
        self.assertIn(str(paths[0]), good)
        invalid = 0
        for path, document in zip(paths, documents):
            expected = CATALOGUE.is_valid(document)
            invalid += not expected
            line = faults.get(str(path), "")
            self.assertEqual(expected, ": at '/" not in line, f"{line}\n{json.dumps(document)}")
        self.assertGreater(invalid, 500)
        self.assertGreater(len(documents) - invalid, 50)

    def test_every_shipped_file_is_valid(self):
        paths = sorted(path for path in PROBES.glob("*/*.json"))
        self.assertGreater(len(paths), 3)
        for path in paths:
            CATALOGUE.validate(json.loads(path.read_text()))
        done = run("validate", *paths)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("ok: "), len(paths))

    def test_every_source_is_cited(self):
        for path in sorted(PROBES.glob("*/*.json")):
            document = json.loads(path.read_text())
            cited = {at(document, place) for place in places(document) if place and place[-1] in CITING}
            with self.subTest(file=path.name):
                self.assertEqual(sorted(set(document.get("sources", {})) - cited), [], "no case cites these sources")

    def test_files_of_a_library_agree(self):
        """What several files say of one library, they say in the same words: a correction reaches all of them."""
        said, shared = {}, 0
        for path in sorted(PROBES.glob("*/*.json")):
            document = json.loads(path.read_text())
            defaults = document.get("defaults", {})
            libraries = {LIBRARIES[tag] for tag in defaults.get("tags", []) if tag in LIBRARIES}
            words = {("source", key): text for key, text in document.get("sources", {}).items()}
            for axis, remedy in defaults.get("remedy_along", {}).items():
                words[axis, remedy.get("setting"), remedy.get("api"), remedy["source"]] = remedy["text"]
            for library in libraries:
                for key, text in words.items():
                    with self.subTest(file=path.name, key=key):
                        shared += (library, key) in said
                        self.assertEqual(text, said.setdefault((library, key), text))
        self.assertGreater(shared, 50)

    def test_variables_are_documented_and_recorded(self):
        """The closed list stands in the page on catalogue files, and a run tells what a user has set of it."""
        names = CATALOGUE.schema["$defs"]["environment"]["properties"]
        page = (SCHEMAS.parents[1] / "probes" / "README.md").read_text()
        rows = page.partition("| variable that a case may set |")[2].partition("\n\n")[0]
        self.assertEqual(re.findall(r"^\| `([A-Z0-9_]+)` \|", rows, re.M), sorted(names))
        recorded = (SCHEMAS.parents[1] / "suite" / "base" / "host.c").read_text()
        for name in names:
            self.assertIn(f'"{name}"', recorded)

    def test_all_files_are_looked_at(self):
        good = self.write("good.json", EVERYTHING)
        bad = self.write("bad.json", "{")
        strange = self.write("strange\x1b[31m.json", "[1]")
        done = run("validate", bad, self.folder / "absent.json", strange, good)
        self.assertEqual(done.returncode, 65)
        self.assertEqual(done.stdout, f"ok: '{good}' is a valid catalogue file\n")
        self.assertEqual(len(done.stderr.splitlines()), 3)
        self.assertNotIn("\x1b", done.stderr)
        for line in done.stderr.splitlines():
            self.assertTrue(line.startswith("detprobe: "), line)

    def test_usage(self):
        for arguments in ((), ("--frob", "x")):
            done = run("validate", *arguments)
            self.assertEqual(done.returncode, 64)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(run("validate", "--help").returncode, 0)


class List(unittest.TestCase):
    def rows(self, *arguments):
        done = run("list", "--json", *arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        rows = json.loads(done.stdout)
        LIST.validate(rows)
        return rows

    def test_json(self):
        rows = self.rows()
        ids = [row["id"] for row in rows]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertFalse([row["id"] for row in rows if row["control"]])
        for row in rows:
            self.assertEqual(row["id"].split("/")[:2], [row["backend"], row["family"]])
            self.assertNotIn("{", row["id"] + row["problem"])
            self.assertTrue("pair" not in row or row["pair"] in ids, row)

    def test_pairs(self):
        """Of two forms that get the same inputs, and so are timed, no number is another: neither does more work."""
        rows = {row["id"]: row for row in self.rows()}
        priced = [(row, rows[row["pair"]]) for row in rows.values()
                  if "pair" in row and rows[row["pair"]]["problem"] == row["problem"]]
        self.assertGreater(len(priced), 100)
        for pair in priced:
            sizes = [{name: value for name, value in row["params"].items()
                      if isinstance(value, (int, list)) and not isinstance(value, bool)} for row in pair]
            self.assertEqual(*sizes, [row["id"] for row in pair])

    def test_what_to_do(self):
        """What may vary, or change along an axis, has a remedy with a source, and says who uses it.

        Along an axis a library's case has one of its own: what helps against other threads is of no use for another
        batch. Own loops that say at `reveals` why an axis cannot move them have none.
        """
        own = {"cpu/reduce", "cpu/rng", "cpu/sort", "cpu/libm"}
        threaded = {"blas", "cblas", "lapack", "onednn", "fftw"}
        rows = self.rows()
        taken = {}  # family -> axes that a member of some case opens; what defaults say holds for those cases
        for row in rows:
            family = f"{row['backend']}/{row['family']}"
            taken.setdefault(family, {"threads"}).update(axis for axis, member in MEMBERS.items() if member in row)
        for row in rows:
            family = f"{row['backend']}/{row['family']}"
            remedy, along = row.get("remedy", {}), row.get("remedy_along", {})
            held = {*row["guarantee"]["covers"], *row["guarantee"]["invariant"]}
            axes = {axis for axis, member in MEMBERS.items() if member in row}
            if threaded & set(row["tags"]) or family in ("python/numpy", "python/pytorch"):
                axes.add("threads")
            axes = axes & {"isa"} if family in own else axes
            with self.subTest(case=row["id"]):
                if row["guarantee"]["level"] == "not_guaranteed":
                    self.assertIn("text", remedy, "it may vary: say what to do in 'remedy'")
                else:
                    self.assertLessEqual(axes - held, set(along), "say in 'remedy_along' what to do along these axes")
                self.assertLessEqual(set(along), taken[family], "no case of the family takes these axes")
                self.assertFalse("isa" in along and "isa" not in row, "it cannot take axis isa: no remedy along it")
                for one in (remedy, *along.values()):
                    self.assertTrue(not one or one.get("source"), "a remedy has a source")
                if remedy or along:
                    self.assertTrue(row["used_by"], "say who uses it in 'used_by'")

    def test_variables_of_a_process(self):
        rows = {row["id"]: row.get("environment") for row in self.rows()}
        shown = {line.split()[0]: line.partition("  with ")[2].partition("  (not built")[0]
                 for line in run("list").stdout.splitlines()}
        case = "cuda/gemm/sgemm-tf32-nn-32x64x16384-tf32-override-0"
        self.assertEqual(rows[case], {"NVIDIA_TF32_OVERRIDE": "0"})
        self.assertEqual(rows["cuda/blas/sdot-200000-streams"], {"CUBLAS_WORKSPACE_CONFIG": None})
        for name, variables in rows.items():
            words = " ".join(f"{key} unset" if value is None else f"{key}={value}"
                             for key, value in sorted((variables or {}).items()))
            self.assertEqual(shown[name], words, name)

    def test_text_has_the_same_cases(self):
        done = run("list")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        *lines, last = done.stdout.splitlines()
        rows = self.rows()
        self.assertEqual([line.split()[:2] for line in lines], [[row["id"], row["guarantee"]["level"]] for row in rows])
        self.assertTrue(last.startswith(f"{len(rows)} cases"), last)

    def test_selectors(self):
        everything = {row["id"] for row in self.rows()}
        python = {row["id"] for row in self.rows("@python")}
        self.assertTrue(python)
        self.assertEqual(python, {name for name in everything if name.startswith("python/")})
        self.assertEqual({row["id"] for row in self.rows("--exclude", "@python")}, everything - python)
        one = sorted(python)[0]
        self.assertEqual([row["id"] for row in self.rows(one)], [one])
        self.assertEqual({row["id"] for row in self.rows("@mpi")}, {name for name in everything if name.startswith("mpi/")})

    def test_controls(self):
        rows = self.rows("@python", "--controls")
        controls = [row for row in rows if row["control"]]
        self.assertTrue(controls)
        self.assertEqual({row["backend"] for row in rows}, {"python"})
        for row in controls:
            self.assertIn("expected", row)
        self.assertEqual({row["backend"] for row in self.rows("@mpi", "--controls")}, {"mpi"})

    def test_errors(self):
        for arguments, code in ((("@nonsense",), 64), (("python/stdlib",), 64), (("--jsn",), 64)):
            done = run("list", *arguments)
            self.assertEqual(done.returncode, code)
            self.assertEqual(done.stdout, "")
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        done = run("list", DETPROBE_PROBE_PATH="/nonexistent")
        self.assertEqual(done.returncode, 65)
        self.assertIn("'/nonexistent'", done.stderr)

    def test_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([DETPROBE, "list"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "detprobe: cannot write 'standard output': no space left on device\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
