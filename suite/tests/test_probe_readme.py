# SPDX-License-Identifier: Apache-2.0
"""probes/README.md is followed from an empty folder: its files written, its changes made, its commands run, and what
they print held against what the page shows. Then what the page says of the two kits, with the probes made on the way.

usage: test_probe_readme.py PAGE DETPROBE LOAD SCHEMA_FOLDER [TEST...]
LOAD is what a program that is a shared object is run by.
"""

import doctest
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import readme_block
import speak

PAGE, DETPROBE, LOAD, SCHEMAS = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
REPORT = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "report.schema.json").read_text()))
# What a reader's shell does not set.
UNSET = dict.fromkeys(("DETPROBE_PROBE_PATH", "PYTHONHASHSEED", "CC", "CFLAGS", "LDFLAGS", "MAKEFLAGS"))
CHECKER = doctest.OutputChecker()


def transactions(text):
    """(command, what it prints) of a console block."""
    return re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE)


def changed(folder, diff):
    """Applies a diff without line numbers: a hunk is where its old lines are, once."""
    for name, hunks in re.findall(r"^--- (\S+)\n\+\+\+ .*\n((?:(?!--- ).*\n)+)", diff, re.MULTILINE):
        text = (folder / name).read_text()
        for hunk in re.split(r"^@@\n", hunks, flags=re.MULTILINE):
            lines = [line or " " for line in hunk.splitlines()]
            old, new = ("".join(line[1:] + "\n" for line in lines if line[0] in marks) for marks in (" -", " +"))
            if text.count(old) != 1:
                raise LookupError(f"{name} has {text.count(old)} times\n{old}")
            text = text.replace(old, new)
        (folder / name).write_text(text)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for tool in ("c++", "cc", "make"):
            if not shutil.which(tool):
                raise unittest.SkipTest(f"{tool} is not installed")
        holder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        cls.printed = []  # (command, what the page shows, what it printed)
        for language, name, text in readme_block.blocks(PAGE):
            if language == "console":
                cls.printed += [(command, shown, cls.shell(command)[1]) for command, shown in transactions(text)]
            elif language == "diff":
                changed(cls.folder, text)
            elif "/" in name and language != "transcript":
                (cls.folder / name).parent.mkdir(exist_ok=True)
                (cls.folder / name).write_text(text)

    @classmethod
    def shell(cls, command, **variables):
        environment = speak.environment({**UNSET, **variables})
        environment["PATH"] = f"{DETPROBE.parent}:{environment['PATH']}"
        done = subprocess.run(["sh", "-c", command], cwd=cls.folder, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)
        return done.returncode, done.stdout

    def results(self, command, status=0, **variables):
        """{case: result} of a run."""
        found, said = self.shell(command + " -o report.json", **variables)
        self.assertEqual(found, status, said)
        report = json.loads((self.folder / "report.json").read_text())
        REPORT.validate(report)
        return {r["case"]: r for r in report["body"]["results"]}

    def commands(self, word):
        found = [command for command, _, _ in self.printed if word in command]
        self.assertTrue(found, word)
        return found


class Followed(Page):
    def test_what_is_printed(self):
        self.assertGreater(len(self.printed), 10)
        for command, shown, printed in self.printed:
            with self.subTest(command):
                if not CHECKER.check_output(shown, printed, doctest.ELLIPSIS):
                    self.fail(f"the page shows\n{shown}\nprinted was\n{printed}")

    def test_every_report_is_one(self):
        for command in self.commands("detprobe run"):
            promised = "mine" in command  # the page ends with a promise that does not hold
            results = self.results(command.split(";")[0], status=1 if promised else 0)
            self.assertEqual(sorted(r["observed"] for r in results.values()), ["repeats", "varies"])

    def test_the_remedy_of_the_kernel_holds(self):
        results = self.results(self.commands("'python/bias/")[0])
        ordered = results["python/bias/bias_gradient_ordered-64x1024"]
        self.assertEqual((ordered["guarantee"]["status"], ordered["sensitive_to"]), ("kept", []))
        self.assertNotIn("threads", ordered["not_measured"])

    def test_shapes_of_ones_own(self):
        (listed,) = self.commands("detprobe list")
        results = self.results(listed.replace("list", "run --level quick"), status=0 if self.has_blas() else 77)
        self.assertEqual(set(results), {"cpu/gemm/mine-300x7x2048"})

    def has_blas(self):
        return self.shell("detprobe run cpu/gemm/sgemm-nn-64x64x64 --level quick --runs 2 --seeds 1")[0] != 77


class Kits(Page):
    """What the page says of the kits, of the probes that its reader has made."""

    def test_transcript(self):
        ((_, name, text),) = [block for block in readme_block.blocks(PAGE) if block[0] == "transcript"]
        requests = [json.loads(line[2:]) for line in text.splitlines() if line.startswith("> ")]
        wanted = [json.loads(line[2:]) for line in text.splitlines() if line.startswith("< ")]
        _, answers, status = speak.converse([sys.executable, self.folder / name], requests)
        got = [{k: v for k, v in m.items() if k != "time"} for a in answers for m in a]
        self.assertEqual(status, 0)
        self.assertEqual([m for m in wanted if m["type"] != "done"], got)
        self.assertEqual(len(requests), sum(m["type"] == "done" for m in wanted))

    def test_python_remedy(self):
        results = self.results(self.commands("'python/mine/")[0], PYTHONHASHSEED="0")
        self.assertEqual({r["observed"] for r in results.values()}, {"repeats"})

    def converse(self, requests):
        return speak.converse([LOAD, self.folder / "bias-in-c" / "bias.so"], requests)

    def test_c_by_hand(self):
        params = {"order": "fixed", "rows": 100, "columns": 4}
        hello, answers, status = self.converse([speak.request("sum", params, set=s) for s in ("wide", "unit", "exact")])
        self.assertEqual((hello["program"], status), ("bias", 0))
        for answer in answers:
            (output,) = speak.observation(answer)["outputs"]
            self.assertEqual((output["distinct"], output["guard"], output["shape"]), (1, "intact", [4]))
        for answer in answers[1:]:
            (output,) = speak.observation(answer)["outputs"]
            self.assertEqual(output["unwritten"], 0)
            self.assertLessEqual(output["error_over_bound"], 1)

    def test_c_orders_differ(self):
        """The inputs show an order: on arrival there are other bits than in one, of exact sums the same."""
        orders = [{"order": order, "rows": 64, "columns": 1024} for order in ("fixed", "arrival")]
        for name, same in (("wide", False), ("exact", True)):
            _, answers, _ = self.converse([speak.request("sum", params, set=name) for params in orders])
            fixed, arrival = ({c["sha256"] for c in speak.observation(answer)["outputs"][0]["classes"]}
                              for answer in answers)
            self.assertEqual(len(fixed), 1)
            self.assertEqual(fixed == arrival, same, name)

    def test_catalogue_files_are_valid(self):
        self.assertEqual(self.shell("detprobe validate */*.json")[0], 0)
        broken = json.loads((self.folder / "mine/mine.json").read_text())
        broken["cases"][0]["gurantee"] = {}
        (self.folder / "broken.json").write_text(json.dumps(broken))
        self.assertEqual(self.shell("detprobe validate broken.json")[0], 65)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=1)
