# SPDX-License-Identifier: Apache-2.0
"""The program from outside, over fake probe programs: words, exit codes, files, kills, full disks.

usage: test_cli.py DETPROBE FAKES_FOLDER SCHEMA_FOLDER [TEST...]
Every report that any test makes is checked against the published schema by python3-jsonschema.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jsonschema

import surroundings

DETPROBE, FAKES, SCHEMAS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
REPORT_SCHEMA = json.loads((SCHEMAS / "report.schema.json").read_text())
LIST_SCHEMA = json.loads((SCHEMAS / "list.schema.json").read_text())
QUICK = ("--level", "quick", "--timeout", "10s")


def detprobe(*arguments, folders=("",), environment=None, **options):
    """Runs the program over the fakes in FAKES/FOLDER; returns the completed process."""
    variables = surroundings.plain()
    variables["DETPROBE_PROBE_PATH"] = ":".join(str(FAKES / folder) for folder in folders)
    variables.update(environment or {})
    return subprocess.run(
        [DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True, timeout=120, **options
    )


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="detprobe-test-"))
        self.file = self.folder / "report.json"

    def tearDown(self):
        subprocess.run(["rm", "-rf", self.folder], check=True)

    def load(self, path=None):
        report = json.loads((path or self.file).read_text())
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(report)
        checked = detprobe("validate", path or self.file)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        return report

    def run_fakes(self, *arguments, code, folders=("",), **options):
        """A run whose exit code is known; returns the report and the process."""
        done = detprobe("run", *arguments, *QUICK, "-o", self.file, folders=folders, **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return self.load(), done

    def one_line(self, done, code, *words):
        """One clear line on stderr, nothing on stdout, the documented code."""
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("detprobe: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")


def runs_fakes(cmdline):
    """Whether /proc/PID/cmdline is of a fake program; one that ended meanwhile is not."""
    try:
        return cmdline.read_bytes().startswith(str(FAKES / "fakes").encode())
    except OSError:
        return False


def result(report, case):
    return next(row for row in report["body"]["results"] if row["case"] == case)


def words(report, case):
    row = result(report, case)
    return row["observed"], row.get("guarantee", {}).get("status")


class Words(Case):
    """Each case of the well-behaved fakes gets exactly its two words."""

    EXPECTED = {
        "fake/good/repeats": ("repeats", "none"),
        "fake/good/repeats-promised": ("repeats", "kept"),
        "fake/good/repeats-allowed": ("repeats", "allows"),
        "fake/good/bits-only": ("repeats", "kept"),
        "fake/varies/always": ("varies", "allows"),
        "fake/varies/always-promised": ("varies", "broken"),
        "fake/varies/always-unstated": ("varies", "none"),
        "fake/varies/first-call": ("varies", "broken"),
        "fake/varies/permutation": ("varies", "allows"),
        "fake/varies/restart": ("varies", "broken"),
        "fake/varies/restart-selection": ("varies", "allows"),
        "fake/sensitive/above-two-threads": ("repeats", "kept"),
        "fake/sensitive/above-two-threads-invariant": ("repeats", "broken"),
        "fake/sensitive/batch": ("repeats", "kept"),
        "fake/sensitive/poison": ("varies", "broken"),
        "fake/sensitive/poison-allowed": ("varies", "allows"),
        "fake/wrong/unwritten": ("wrong", "kept"),
        "fake/wrong/guard": ("wrong", "kept"),
        "fake/wrong/out-of-bound": ("wrong", "kept"),
        "fake/skip/base-failure": ("error", None),
        "fake/rude/flood": ("repeats", "none"),
    }
    SENSITIVE = {
        "fake/sensitive/above-two-threads": ["threads"],
        "fake/sensitive/above-two-threads-invariant": ["threads"],
        "fake/sensitive/batch": ["batch"],
        "fake/good/repeats": [],
    }

    def test_every_word(self):
        report, _ = self.run_fakes(*self.EXPECTED, code=1)
        self.assertEqual({case: words(report, case) for case in self.EXPECTED}, self.EXPECTED)
        for case, axes in self.SENSITIVE.items():
            self.assertEqual(result(report, case)["sensitive_to"], axes, case)
        self.assertEqual(result(report, "fake/varies/restart-selection")["difference"], "selection")
        self.assertEqual(result(report, "fake/varies/restart")["difference"], "execution")
        self.assertEqual(result(report, "fake/good/bits-only")["checked"], "bits")
        for row in report["body"]["results"]:
            if row["observed"] == "varies":
                for member in ("outputs", "chosen", "sensitive_to"):
                    self.assertNotIn(member, row)

    def test_rare_variation_needs_runs(self):
        """One run in 64: eight runs cannot show it, 200 must."""
        rare, _ = self.run_fakes("fake/varies/one-in-64", "--axis", "repeat", code=0)
        self.assertEqual(words(rare, "fake/varies/one-in-64"), ("repeats", "kept"))
        seen, _ = self.run_fakes("fake/varies/one-in-64", "--axis", "repeat", "--runs", 200, code=1)
        self.assertEqual(words(seen, "fake/varies/one-in-64"), ("varies", "broken"))

    def test_seen_once_is_no_verdict(self):
        """A difference that never comes again in new processes breaks no guarantee and is no pass either."""
        state = self.folder / "once"
        report, _ = self.run_fakes("fake/varies/once", code=2, environment={"FAKE_ONCE": str(state)})
        self.assertEqual(words(report, "fake/varies/once")[0], "untested")

    def test_one_digest(self):
        """Two runs that behave the same have the same digest; another seed has another."""
        chosen = [case for case in self.EXPECTED if "harm" not in case]
        first, _ = self.run_fakes(*chosen, code=1)
        second, _ = self.run_fakes(*chosen, "--jobs", 2, code=1)
        other, _ = self.run_fakes(*chosen, "--seed", 2, code=1)
        self.assertEqual(first["digest"], second["digest"])
        self.assertNotEqual(first["digest"], other["digest"])


class Controls(Case):
    def test_good_controls_are_reported_apart(self):
        report, _ = self.run_fakes("fake/good/repeats", code=0)
        self.assertEqual([row["case"] for row in report["body"]["results"]], ["fake/good/repeats"])
        self.assertEqual(len(report["body"]["controls"]), 5)
        self.assertTrue(all(row["behaved"] for row in report["body"]["controls"]))

    def test_backend_that_cannot_vary(self):
        report, _ = self.run_fakes("numb/good/repeats", code=2, folders=("controls",))
        self.assertEqual(words(report, "numb/good/repeats")[0], "untested")
        self.run_fakes("numb/good/repeats", "--allow-insensitive", code=0, folders=("controls",))
        report, _ = self.run_fakes("numb/varies/always", code=1, folders=("controls",))
        self.assertEqual(words(report, "numb/varies/always"), ("varies", "broken"))

    def test_misbehaving_control_is_never_green(self):
        for backend in ("drift", "miscount"):
            with self.subTest(backend=backend):
                report, _ = self.run_fakes(f"@{backend}", "--fail-on", "never", code=2, folders=("controls",))
                self.assertIn(False, [row["behaved"] for row in report["body"]["controls"]])


class ExitCodes(Case):
    def test_fail_on(self):
        self.run_fakes("fake/varies/always", code=0)
        self.run_fakes("fake/varies/always", "--fail-on", "varies", code=1)
        self.run_fakes("fake/varies/always-promised", "--fail-on", "never", code=0)
        self.run_fakes("fake/wrong/unwritten", code=1)

    def test_nothing_ran(self):
        report, _ = self.run_fakes("fake/start-missing/*", code=77, folders=("starts",))
        self.assertEqual(words(report, "fake/start-missing/one")[0], "skipped")
        done = detprobe("run", "@mpi", "--level", "quick", environment={"PATH": "/nowhere"})
        self.assertEqual(done.returncode, 77, done.stderr)

    def test_machine_without_python(self):
        """Its cases are skipped as those of a library that is not there, and nobody else pays for it."""
        done = detprobe(
            "run", "python/stdlib/*", "fake/good/repeats", *QUICK, "-o", self.file, environment={"PATH": "/nowhere"}
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for row in self.load()["body"]["results"]:
            expected = ("skipped", "library_missing") if row["backend"] == "python" else ("repeats", None)
            self.assertEqual((row["observed"], row.get("reason")), expected)

    def test_require(self):
        _, done = self.run_fakes("fake/good/repeats", "--require", "cuda", code=2)
        self.assertIn("'cuda'", done.stderr)

    def test_error_without_finding(self):
        self.run_fakes("fake/good/repeats", "fake/skip/base-failure", code=2)


class BadInput(Case):
    def test_words_on_the_command_line(self):
        table = {
            ("run", "fake/good/repeat"): ("'fake/good/repeat'", "fake/good/repeats"),
            ("run", "@fakes-of-mine"): ("'@fakes-of-mine'",),
            ("run", "--levle", "quick"): ("'--levle'", "--level"),
            ("run", "--level", "quik"): ("'quik'", "quick"),
            ("run", "--runs", "1"): ("'1'",),
            ("run", "--runs", "many"): ("'many'",),
            ("run", "--axis", "thread"): ("'thread'", "threads"),
            ("run", "--axis", "iso"): ("'iso'", "isa"),
            ("run", "--budget", "5 apples"): ("'5 apples'",),
            ("run", "--budget", "0"): ("'--budget'",),
            ("run", "--timeout", "0ms"): ("'--timeout'",),
            ("run", "--axis", "fresh", "--fresh", "0"): ("'fresh'",),
            ("run", "--resume", "x.log.jsonl", "--runs", "9"): ("'--resume'",),
            ("run", "--resume", "x.log.jsonl", "--level", "deep"): ("'--resume'",),
            ("run", "--all", "fake/good/repeats"): ("'--all'",),
            ("run", "--dry-run", "--json"): ("'--dry-run'",),
            ("run", "--costs", "report.json"): ("'--costs'", "'--budget"),
            ("run", "--resume", "x.log.jsonl", "--costs", "report.json"): ("'--resume'",),
            ("run", "--exclude", "no/such/*"): ("'no/such/*'",),
            ("run", "--require", "gpu"): ("option '--require': unknown backend 'gpu'", "cuda"),
            ("run", "-o"): ("'-o'",),
            ("runn",): ("'runn'", "run"),
            ("list", "--jsn"): ("'--jsn'", "--json"),
            ("show",): (),
            ("doctor", "please"): ("'please'",),
        }
        for arguments, expected in table.items():
            with self.subTest(arguments=arguments):
                self.one_line(detprobe(*arguments), 64, *expected)

    def test_hostile_words_do_not_reach_the_terminal(self):
        done = detprobe("run", "\x1b[31mred\x07")
        self.assertNotIn("\x1b", done.stderr)
        self.assertEqual(done.returncode, 64)

    def catalogue(self, text, name="bad.json"):
        (self.folder / name).write_text(text)
        return detprobe("list", environment={"DETPROBE_PROBE_PATH": str(self.folder)})

    def test_catalogue_files(self):
        good = {"id": "fake/x/one", "op": "x", "params": {}, "guarantee": {"level": "unstated", "source": "s"}}
        top = {"schema_version": "1.0", "program": "prog", "sources": {"s": "somewhere"}, "cases": [good]}
        (self.folder / "prog").write_text("#!/bin/sh\n")
        (self.folder / "prog").chmod(0o755)

        def changed(**members):
            return json.dumps({**top, **members})

        def case(**members):
            return changed(cases=[{**good, **members}])

        table = {
            "not json": ("{", "bad.json"),
            "duplicate member": ('{"program": "a", "program": "b"}', "program"),
            "unknown member": (changed(colour="red"), "colour"),
            "unknown case member": (case(colour="red"), "colour"),
            "unknown level": (case(guarantee={"level": "maybe", "source": "s"}), "maybe"),
            "unknown source": (case(guarantee={"level": "run_to_run", "source": "t"}), "'t'"),
            "bad id": (case(id="NOT AN ID"), "id"),
            "duplicate id": (changed(cases=[good, good]), "fake/x/one"),
            "missing program": (changed(program="absent"), "absent"),
            "missing pair": (case(pair="fake/x/two"), "fake/x/two"),
            "deep": ("[" * 100000, "bad.json"),
        }
        self.assertEqual(self.catalogue(json.dumps(top)).returncode, 0)
        for name, (text, word) in table.items():
            with self.subTest(name=name):
                self.one_line(self.catalogue(text), 65, word)

    def test_what_is_no_catalogue_file(self):
        """A pipe would never end, and a name that JSON cannot hold would lose the program's libraries."""
        pipe = self.folder / "pipe.json"
        os.mkfifo(pipe)
        self.one_line(detprobe("list", environment={"DETPROBE_PROBE_PATH": str(self.folder)}), 65, "pipe.json")
        pipe.unlink()
        pipe.mkdir()
        self.one_line(detprobe("list", environment={"DETPROBE_PROBE_PATH": str(self.folder)}), 65, "pipe.json")
        pipe.rmdir()
        pipe.symlink_to("pipe.json")
        self.one_line(detprobe("list", environment={"DETPROBE_PROBE_PATH": str(self.folder)}), 65, "pipe.json")
        for name in (b"\xff", b"\x1b[31m", b"a\nb"):
            folder = os.path.join(os.fsencode(self.folder), name)
            os.mkdir(folder)
            done = detprobe("list", environment={"DETPROBE_PROBE_PATH": os.fsdecode(folder)})
            self.one_line(done, 65, "printable")
            self.assertNotIn("\x1b", done.stderr)

    def test_report_files(self):
        report, _ = self.run_fakes("fake/good/repeats", code=0)
        report["body"]["plan"]["seeds"] += 1
        table = {
            "digest": json.dumps(report),
            "major": json.dumps({**report, "schema_version": "2.0"}),
            "array": "[]",
            "empty": "",
            "binary": "\x00\x01\x02",
        }
        for name, text in table.items():
            with self.subTest(name=name):
                bad = self.folder / f"{name}.json"
                bad.write_text(text)
                self.one_line(detprobe("show", bad), 65, f"{name}.json")
        self.one_line(detprobe("show", self.folder / "absent.json"), 65, "absent.json")

    def test_unwritable(self):
        self.one_line(detprobe("run", "fake/good/repeats", *QUICK, "-o", "/proc/no/such/report.json"), 2, "/proc/no")

    def test_file_size_limit(self):
        """Beyond `ulimit -f` a write fails; the table still comes out, and the exit code says that data is lost."""
        line = f'ulimit -f 8; exec "{DETPROBE}" run "fake/good/*" --level quick -o report.json'
        variables = {**surroundings.plain(), "DETPROBE_PROBE_PATH": str(FAKES)}
        done = subprocess.run(
            ["bash", "-c", line], env=variables, cwd=self.folder, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("report.json", done.stderr)
        self.assertIn("no guarantee broken", done.stdout)

    def test_full_disk(self):
        """The table still comes out, and the exit code says that the report is lost."""
        done = detprobe("run", "fake/good/repeats", *QUICK, "-o", "/dev/full")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("/dev/full", done.stderr)
        self.assertIn("no guarantee broken", done.stdout)
        for more in ((), ("--quiet",)):
            done = detprobe("run", "fake/good/repeats", *QUICK, "-o", "/dev/full", *more)
            self.assertEqual(done.stdout.splitlines()[-1], "no verdict: the report could not be written")
        self.assertFalse(pathlib.Path("/dev/full.log.jsonl").exists())


class OwnShapes(Case):
    """A catalogue file alone, for a program that is built in, and what says that an axis was not measured."""

    def test_own_shape_of_a_built_in_program(self):
        case = {"id": "python/stdlib/mine", "op": "list-sum", "params": {}}
        rows = json.loads(detprobe("list", "python/stdlib/list-sum", "--json").stdout)
        case.update({name: rows[0][name] for name in ("op", "params")})
        (self.folder / "mine.json").write_text(
            json.dumps({"schema_version": "1.0", "program": "stdlib", "cases": [case]})
        )
        done = detprobe(
            "run", "*mine", *QUICK, "-o", self.file, environment={"DETPROBE_PROBE_PATH": str(self.folder)}
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.file.rename(self.folder.parent / "own-shapes.json")
        report = self.load(self.folder.parent / "own-shapes.json")
        self.assertEqual(words(report, "python/stdlib/mine")[0], "repeats")

    def test_axis_that_nothing_varied_is_told(self):
        """A fake that knows no threads: 'repeats' must not read as if they had been tried."""
        report, done = self.run_fakes("fake/start-repeat-only/one", "--axis", "threads", code=0, folders=("starts",))
        self.assertIn("threads", result(report, "fake/start-repeat-only/one")["not_measured"])
        self.assertIn("threads (1)", done.stdout)


class Harm(Case):
    """Programs that break the protocol: each costs itself, never its neighbours."""

    def test_harm_costs_itself_only(self):
        report, _ = self.run_fakes("fake/harm/*", "fake/good/*", code=2, folders=("", "harm"))
        for row in report["body"]["results"]:
            if row["family"] == "good":
                self.assertEqual(row["observed"], "repeats", row["case"])
        expected_error = ("segv", "abort", "sigill", "bad-json", "long-line", "hang", "hang-deaf", "no-answer")
        for name in expected_error:
            row = result(report, f"fake/harm/{name}")
            self.assertEqual(row["observed"], "error", name)
            self.assertTrue(row["reason"], name)

    def test_no_child_is_left(self):
        self.run_fakes("fake/rude/leaves-*", code=0)
        time.sleep(0.2)
        left = [path for path in pathlib.Path("/proc").glob("[0-9]*/cmdline") if runs_fakes(path)]
        self.assertEqual(left, [])


class Libraries(Case):
    """What a report says was measured is what was measured."""

    PROGRAM = """#!/usr/bin/env python3
import json, os, pathlib
count = pathlib.Path(os.environ["COUNT"])
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
version = str(number) if number >= int(os.environ["SWAP_AFTER"]) else "same"
out = os.fdopen(int(os.environ["DETPROBE_OUT_FD"]), "w")
def send(**message):
    print(json.dumps(message), file=out, flush=True)
library = {"role": "x", "name": "libx", "version": version, "path": "/x"}
send(type="hello", program="swaps", protocol=1, axes=[], libraries=[library])
for line in os.fdopen(int(os.environ["DETPROBE_IN_FD"])):
    request = json.loads(line)
    classes = [{"sha256": "0" * 64, "runs": request["runs"], "first_run": 0}]
    output = {"name": "c", "dtype": "f32", "shape": [1], "classes": classes}
    send(type="observation", id=request["id"], outputs=[output])
    send(type="done", id=request["id"])
"""
    FILE = {
        "schema_version": "1.0",
        "program": "swaps",
        "defaults": {"op": "x"},
        "cases": [{"id": "swaps/x/one"}, {"id": "swaps/x/two"}],
    }

    def test_library_that_is_exchanged_between_processes(self):
        probes = self.folder / "probes"
        probes.mkdir()
        (probes / "swaps.json").write_text(json.dumps(self.FILE))
        (probes / "swaps").write_text(self.PROGRAM)
        (probes / "swaps").chmod(0o755)
        for after, code, observed in ((99, 0, "repeats"), (1, 2, "error")):
            (self.folder / "count").unlink(missing_ok=True)
            variables = {
                "DETPROBE_PROBE_PATH": str(probes),
                "COUNT": str(self.folder / "count"),
                "SWAP_AFTER": str(after),
            }
            done = detprobe("run", "swaps/*", *QUICK, "-o", self.file, environment=variables)
            self.assertEqual(done.returncode, code, done.stderr)
            report = self.load()
            self.assertEqual([row["version"] for row in report["body"]["environment"]["libraries"]], ["same"])
            for row in report["body"]["results"]:
                self.assertEqual(row["observed"], observed, done.stdout)
                if code:
                    self.assertEqual(row["reason"], "protocol")


class Settings(Case):
    """Variables that a case sets for its process."""

    ALL = ("fake/settings/*", "--exclude", "fake/settings/crash")
    PLAIN = "NVIDIA_TF32_OVERRIDE unset CUBLAS_WORKSPACE_CONFIG unset"

    def run_settings(self, *arguments, code=1, **options):
        return self.run_fakes(*(arguments or self.ALL), code=code, folders=("settings",), **options)

    def chosen(self, report):
        return {row["case"].rsplit("/", 1)[1]: row.get("chosen") for row in report["body"]["results"]}

    def test_each_case_has_its_own(self):
        report, done = self.run_settings("-v", *self.ALL)
        both = "NVIDIA_TF32_OVERRIDE=1 CUBLAS_WORKSPACE_CONFIG=:16:8"
        off = "NVIDIA_TF32_OVERRIDE=0 CUBLAS_WORKSPACE_CONFIG unset"
        self.assertEqual(self.chosen(report), {"plain": self.PLAIN, "plain-too": self.PLAIN, "off": off, "off-too": off,
                                               "both": both, "both-too": both, "unset": self.PLAIN, "varies": None})
        self.assertEqual(result(report, "fake/settings/both")["environment"],
                         {"NVIDIA_TF32_OVERRIDE": "1", "CUBLAS_WORKSPACE_CONFIG": ":16:8"})
        self.assertEqual(result(report, "fake/settings/unset")["environment"], {"NVIDIA_TF32_OVERRIDE": None})
        self.assertNotIn("environment", result(report, "fake/settings/plain"))
        self.assertIn("    with CUBLAS_WORKSPACE_CONFIG=:16:8 NVIDIA_TF32_OVERRIDE=1\n", done.stdout)
        self.assertIn("    with NVIDIA_TF32_OVERRIDE unset\n", done.stdout)
        self.assertNotIn("does not hold", done.stdout)
        again, _ = self.run_settings("--jobs", 3, *self.ALL)
        self.assertEqual(again["digest"], report["digest"])

    def test_variable_of_the_user(self):
        """It reaches the cases that say nothing, and the table says where it does not."""
        report, done = self.run_settings(environment={"NVIDIA_TF32_OVERRIDE": "1"})
        chosen = self.chosen(report)
        self.assertEqual(chosen["plain"], self.PLAIN.replace(" unset", "=1", 1))
        self.assertEqual(chosen["unset"], self.PLAIN)
        self.assertEqual(chosen["off"], self.PLAIN.replace(" unset", "=0", 1))
        self.assertEqual(report["body"]["environment"]["variables"]["NVIDIA_TF32_OVERRIDE"], "1")
        # those that set 1 themselves agree with the user
        self.assertIn("NVIDIA_TF32_OVERRIDE=1 does not hold for 4 operations that set their own\n", done.stdout)

    def test_crash_costs_its_own(self):
        report, _ = self.run_settings("fake/settings/*")
        observed = {row["case"].rsplit("/", 1)[1]: row["observed"] for row in report["body"]["results"]}
        self.assertEqual([name for name, word in observed.items() if word != "repeats"], ["crash", "varies"])

    def test_resume(self):
        whole, _ = self.run_settings()
        log = self.folder / "report.json.log.jsonl"
        lines = log.read_text().splitlines(keepends=True)
        self.assertGreater(len([line for line in lines if line.startswith('{"hello"')]), 3)
        for kept in range(1, len(lines), 7):
            log.write_text("".join(lines[:kept]))
            self.file.unlink(missing_ok=True)
            done = detprobe("run", "--resume", log, "--timeout", "10s", folders=("settings",))
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(self.load()["digest"], whole["digest"])


def dear(report, case):
    """The same report, but the case's requests took long."""
    next(row for row in report["measurements"]["cases"] if row["case"] == case)["spent_seconds"] = 500.0
    return report


class Costs(Case):
    """A budget is planned with what cases cost in a former report."""

    def planned(self, *arguments, budget="20s", code=0):
        done = detprobe("run", *arguments, "--level", "quick", "--dry-run", "--budget", budget)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout.splitlines()

    def test_what_requests_took(self):
        report, _ = self.run_fakes("fake/good/slow", "fake/good/repeats", code=0)
        log = (self.folder / "report.json.log.jsonl").read_text().splitlines()
        for case in report["measurements"]["cases"]:
            answers = [json.loads(line)["answer"] for line in log if f'"key":"{case["case"]}|' in line]
            spent = sum(answer["spent_ns"] for answer in answers) / 1e9
            self.assertAlmostEqual(case["spent_seconds"], spent, places=6)
            self.assertGreater(case["spent_seconds"], case["seconds"])
            if case["case"] == "fake/good/slow":  # 20 ms at least for each request, of which its times say nothing
                self.assertGreater(case["spent_seconds"], 0.02 * len(answers))

    def test_what_is_left_out(self):
        former = self.folder / "former.json"
        report, _ = self.run_fakes("fake/good/*", code=0)
        former.write_text(json.dumps(dear(report, "fake/good/repeats")))
        without, given = self.planned("fake/good/*"), self.planned("fake/good/*", "--costs", former)
        self.assertIn("fake/good/repeats", without)
        self.assertNotIn("fake/good/repeats", given)
        self.assertIn("fake/good/*: 1 left out: budget", given)
        each = self.planned("fake/good/*", "--costs", former, "--verbose")
        self.assertIn("fake/good/repeats left out: budget", each)
        self.assertFalse([line for line in each if "*" in line])

    def test_what_was_skipped_for_good_is_free(self):
        self.run_fakes("fake/skip/*", "fake/good/repeats", "-x", "fake/skip/base-failure", code=0)
        kept = self.folder / "kept.json"
        self.file.rename(kept)
        asked = ("fake/skip/*", "--seeds", "1000", "--runs", "200")  # more than the budget, each
        without = self.planned(*asked, code=64)
        free = [f"fake/skip/{reason}" for reason in ("library_missing", "no_device", "not_built", "unsupported")]
        self.assertEqual(without, [])
        self.assertEqual([line for line in self.planned(*asked, "--costs", kept) if line in free], free)
        self.assertIn("fake/skip/*: 5 left out: budget", self.planned(*asked, "--costs", kept))

    def test_bad_reports(self):
        report, _ = self.run_fakes("fake/good/repeats", code=0)
        report["measurements"]["report_of"] = "baseline of 2 reports"
        for text in (None, "{", "{}", json.dumps(report)):
            self.file.unlink(missing_ok=True)
            if text is not None:
                self.file.write_text(text)
            for more in ((), ("--dry-run",)):
                done = detprobe("run", "fake/good/*", *QUICK, "--budget", "9s", "--costs", self.file, *more)
                self.one_line(done, 65, "report.json")


class Kill(Case):
    """A stopped run leaves a valid report or a log from which the same report can be made."""

    CHOSEN = ("fake/good/*", "fake/varies/always")

    def start(self, *more):
        log = self.folder / "report.json.log.jsonl"
        log.unlink(missing_ok=True)
        variables = {**surroundings.plain(), "DETPROBE_PROBE_PATH": str(FAKES)}
        command = [DETPROBE, "run", *self.CHOSEN, *QUICK, *more, "-o", self.file]
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not log.exists() or log.read_text().count("\n") < 5:
            time.sleep(0.01)
        return process, log

    def test_interrupt_and_terminate(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number):
                process, _ = self.start()
                process.send_signal(number)
                process.communicate(timeout=30)
                self.assertEqual(process.returncode, 128 + number)
                report = self.load()
                self.assertTrue(report["measurements"]["interrupted"])
                self.assertNotIn("repeats", words(report, "fake/good/slow")[:1])

    def test_resume_to_the_same_digest(self):
        whole, _ = self.run_fakes(*self.CHOSEN, code=0)
        process, log = self.start()
        process.kill()
        process.communicate()
        with log.open("a") as broken:
            broken.write('{"request": 3, "key": "half a li')
        self.file.unlink()
        done = detprobe("run", "--resume", log, "--timeout", "10s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.load()["digest"], whole["digest"])

    def test_resume_with_the_costs(self):
        """They are in the log: the former report may be gone, and the plan is the same."""
        former = self.folder / "former.json"
        former.write_text(json.dumps(dear(self.run_fakes(*self.CHOSEN, code=0)[0], "fake/varies/always")))
        budget = ("--budget", "20s", "--costs", former)
        whole, _ = self.run_fakes(*self.CHOSEN, *budget, code=0)
        self.assertEqual([row["case"] for row in whole["body"]["plan"]["left_out"]], ["fake/varies/always"])
        process, log = self.start(*budget)
        process.kill()
        process.communicate()
        self.file.unlink()
        former.unlink()
        done = detprobe("run", "--resume", log, "--timeout", "10s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.load()["digest"], whole["digest"])

    def test_resume_refuses_another_environment(self):
        """Half a run with one setting of the library and half with another is no result of either."""
        process, log = self.start()
        process.kill()
        process.communicate()
        before = log.read_text()
        done = detprobe("run", "--resume", log, environment={"OPENBLAS_CORETYPE": "Haswell"})
        self.one_line(done, 65, "OPENBLAS_CORETYPE")
        self.assertEqual(log.read_text(), before)

    def test_resume_refuses_other_logs(self):
        for text in ("", "{}\n", '{"plan": 3}\n', "\x00\n", "[" * 5000 + "\n"):
            log = self.folder / "other.log.jsonl"
            log.write_text(text)
            self.one_line(detprobe("run", "--resume", log), 65, "other.log.jsonl")


class Output(Case):
    def test_json_on_stdout(self):
        done = detprobe("run", "fake/good/repeats", *QUICK, "--json")
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(json.loads(done.stdout))
        self.assertEqual(done.stderr, "")

    def test_quiet_is_one_line(self):
        done = detprobe("run", "fake/good/repeats", *QUICK, "--quiet")
        self.assertEqual(done.stdout.count("\n"), 1)
        self.assertEqual(done.stderr, "")

    def test_last_line_says_it(self):
        _, good = self.run_fakes("fake/good/repeats", code=0)
        _, bad = self.run_fakes("fake/varies/always-promised", code=1)
        self.assertTrue(good.stdout.splitlines()[-1].startswith("no guarantee broken"))
        self.assertFalse(bad.stdout.splitlines()[-1].startswith("no guarantee broken"))

    def test_dry_run_writes_nothing(self):
        done = detprobe("run", "fake/good/repeats", *QUICK, "-o", self.file, "--dry-run")
        self.assertEqual(done.returncode, 0)
        self.assertIn("fake/good/repeats", done.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_list_json(self):
        done = detprobe("list", "--json")
        rows = json.loads(done.stdout)
        jsonschema.Draft202012Validator(LIST_SCHEMA).validate(rows)
        self.assertIn("fake/good/repeats", [row["id"] for row in rows])

    def test_help_of_every_command(self):
        for command in ((), ("run",), ("list",), ("show",), ("validate",), ("doctor",)):
            done = detprobe(*command, "--help")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("usage: detprobe", done.stdout)
            done = detprobe(*command, "--version")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertRegex(done.stdout, r"^detprobe \d+\.\d+\.\d+\n$")

    def test_budget_says_what_it_left_out(self):
        report, done = self.run_fakes("--budget", "1s", "fake/good/*", "fake/varies/*", code=1)
        left_out = [row["case"] for row in report["body"]["plan"]["left_out"]]
        self.assertTrue(left_out)
        for case in left_out:
            self.assertIn(case, done.stdout)

    def test_standard_output_that_is_full(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([DETPROBE, "list"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(done.returncode, 2, done.stderr)

    def test_symbolic_link_is_followed(self):
        real = self.folder / "real.json"
        self.file.symlink_to(real)
        self.run_fakes("fake/good/repeats", code=0)
        self.assertTrue(self.file.is_symlink())
        self.assertTrue(real.exists())


class Descriptors(Case):
    """Standard descriptors that are closed, full, gone, or the report itself: nothing lands in the wrong file."""

    def shell(self, line, **variables):
        environment = {**surroundings.plain(), "DETPROBE_PROBE_PATH": str(FAKES), "DETPROBE": str(DETPROBE),
                       **variables}
        return subprocess.run(
            ["bash", "-c", line], env=environment, cwd=self.folder, capture_output=True, text=True, timeout=60
        )

    RUN = '"$DETPROBE" run fake/good/repeats --level quick'

    def test_closed_descriptors(self):
        """What is printed must not reach the log or the report, which would get the free numbers."""
        done = self.shell(f"{self.RUN} --verbose -o report.json <&- >/dev/null 2>&-")
        self.assertEqual(done.returncode, 0)
        self.load()
        for line in (self.folder / "report.json.log.jsonl").read_text().splitlines():
            json.loads(line)
        done = self.shell(f"{self.RUN} -o report.json <&- >&-")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("standard output", done.stderr)
        self.load()

    def test_full_standard_output_is_told(self):
        (self.folder / "good.json").write_text(json.dumps(self.run_fakes("fake/good/repeats", code=0)[0]))
        for words in (
            "--version", "--help", "run --help", "doctor", "list", "run fake/good/repeats --dry-run",
            "run fake/good/repeats --level quick --quiet", "show good.json", "validate good.json",
        ):
            with self.subTest(words=words):
                done = self.shell(f'"$DETPROBE" {words} >/dev/full')
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_reader_that_goes_away_costs_no_report(self):
        self.shell(f"{self.RUN} --verbose -o report.json | true")
        self.load()

    def test_report_where_standard_output_is(self):
        for target in ("-o /dev/stdout > report.json", "-o /dev/stdout | cat > report.json",
                       "-o report.json > report.json", "-o - > report.json", "-o >(cat > report.json); sleep 0.2"):
            with self.subTest(target=target):
                self.file.unlink(missing_ok=True)
                done = self.shell(f"{self.RUN} {target}")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.load()
        self.assertFalse(pathlib.Path("/dev/stdout.log.jsonl").exists())

    def test_interrupt_ends_the_wait_for_a_reader(self):
        os.mkfifo(self.folder / "pipe")
        variables = {**surroundings.plain(), "DETPROBE_PROBE_PATH": str(FAKES)}
        command = [DETPROBE, "run", "fake/good/repeats", *QUICK, "--quiet", "-o", self.folder / "pipe"]
        process = subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)
        self.assertIn("no guarantee broken", process.stdout.readline())
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=10)
        self.assertEqual(process.returncode, -signal.SIGINT)

    def test_output_that_cannot_be_is_told_before_the_run(self):
        self.one_line(detprobe("run", "fake/good/repeats", "-o", self.folder), 2, str(self.folder))
        self.one_line(detprobe("run", "fake/good/repeats", "-o", ""), 64, "'--output'")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
