# SPDX-License-Identifier: Apache-2.0
"""detprobe gate, baseline and run --gate from outside: reports of fake programs, changed by hand.

usage: test_gate.py DETPROBE FAKES_FOLDER SCHEMA_FOLDER [TEST...]
"""

import copy
import hashlib
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import surroundings

DETPROBE, FAKES, SCHEMAS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
GATE_SCHEMA, REPORT_SCHEMA, POLICY_SCHEMA = (
    json.loads((SCHEMAS / f"{name}.schema.json").read_text()) for name in ("gate", "report", "policy"))
CASES = ("fake/good/repeats", "fake/varies/always")
RUN = ("run", *CASES, "--level", "quick")
OBSERVED = "repeats varies wrong error untested skipped".split()
STATUS = "none allows kept broken".split()


def detprobe(*arguments, stdin=None, cwd=None):
    variables = surroundings.plain()
    variables["DETPROBE_PROBE_PATH"] = str(FAKES)
    return subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True,
                          timeout=120, input=stdin, cwd=cwd)


def sealed(report):
    """Summary and digest as they follow from the results."""
    results = report["body"]["results"]
    states = [result["guarantee"].get("status") for result in results]
    seen = [result["observed"] for result in results]
    names = [result["case"] for result in results]
    report["body"]["summary"] = {
        "counts": {word: seen.count(word) for word in OBSERVED},
        "guarantees": {word: states.count(word) for word in STATUS},
        "nondeterministic": [name for name, word in zip(names, seen) if word == "varies"],
        "wrong": [name for name, word in zip(names, seen) if word == "wrong"],
        "broken": [name for name, word in zip(names, states) if word == "broken"],
    }
    body = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**report, "digest": hashlib.sha256(body.encode()).hexdigest()}


def wrong(report):
    result = report["body"]["results"][0]
    for name in ("outputs", "sensitive_to", "chosen"):
        result.pop(name, None)
    result.update(observed="wrong", reason="off by one")


def other_bits(report):
    report["body"]["results"][0]["outputs"][0]["sha256"] = "0" * 64


def skipped(report):
    result = report["body"]["results"][0]
    kept = {name: result[name] for name in ("case", "backend", "family", "guarantee") if name in result}
    kept["guarantee"].pop("status")
    kept.update(observed="skipped", reason="no_device")
    report["body"]["results"][0] = kept


def rate(mismatches, interval):
    """The varying case as if so many of its comparisons had differed."""
    def change(report):
        tally = report["measurements"]["cases"][1]["axes"]["repeat"]
        tally.update(mismatches=mismatches, interval=interval)
    return change


def repeating(report):
    """The varying case as if no difference had been seen in its comparisons."""
    first, second = report["body"]["results"]
    second.pop("difference", None)
    second.update(observed="repeats", sensitive_to=[], outputs=first["outputs"])
    measured = report["measurements"]["cases"][1]
    tally = measured["axes"]["repeat"]
    tally.pop("interval", None)
    tally.update(mismatches=0, distinct=1, seeds_varied=0, bound=1 - 0.05 ** (1 / tally["comparisons"]))
    for name in ("classes", "worst", "mismatch"):
        measured.pop(name, None)


class Reports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.plain = cls.folder / "plain.json"
        done = detprobe(*RUN, "-o", cls.plain)
        assert done.returncode == 0, done.stderr
        cls.report = json.loads(cls.plain.read_text())

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def changed(self, *changes, name="changed.json"):
        report = copy.deepcopy(self.report)
        for change in changes:
            change(report)
        file = self.folder / name
        file.write_text(json.dumps(sealed(report)))
        return file

    def policy(self, **members):
        file = self.folder / "policy.json"
        file.write_text(json.dumps(members))
        return file

    def one_line(self, done, code, *words):
        self.assertEqual((done.returncode, done.stderr.count("\n"), done.stdout), (code, 1, ""), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def gate(self, code, *arguments):
        """The decision, checked against the schema, and the text of it."""
        done = detprobe("gate", *arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (code, ""))
        document = json.loads(done.stdout)
        jsonschema.Draft202012Validator(GATE_SCHEMA).validate(document)
        text = detprobe("gate", *arguments)
        self.assertEqual(text.returncode, code)
        self.assertLessEqual(text.stdout.count("\n"), 10)
        self.assertTrue(text.stdout.splitlines()[-1].endswith(document["reason"]), text.stdout)
        self.assertEqual(document["passed"], code == 0)
        return document, text.stdout

    def kinds(self, document):
        return [finding["kind"] for finding in document["findings"] if "allowed" not in finding]


class Gate(Reports):
    def test_plain(self):
        document, text = self.gate(0, self.plain)
        self.assertEqual(text, "gate passed: 2 cases, no finding\n")
        self.assertEqual(document["report"]["digest"], self.report["digest"])
        document, text = self.gate(1, self.plain, "--fail-on", "varies")
        self.assertEqual(self.kinds(document), ["varies"])
        self.assertEqual(text.splitlines()[-1], "gate failed: 1 finding in 2 cases")
        self.gate(0, self.plain, "--fail-on", "never")
        document, text = self.gate(1, self.changed(wrong))
        self.assertIn("off by one", text)
        self.gate(0, self.changed(wrong), "--fail-on", "never")

    def test_the_command_reproduces(self):
        document, text = self.gate(1, self.plain, "--fail-on", "varies")
        words = shlex.split(document["findings"][0]["reproduce"])
        command = list(itertools.dropwhile(lambda word: "=" in word, words))  # behind the variables of the report
        self.assertIn(document["findings"][0]["reproduce"], text)
        self.assertEqual(command[:2], ["detprobe", "run"])
        again = self.folder / "again.json"
        self.assertEqual(detprobe(*command[1:], "-o", again).returncode, 0)
        results = json.loads(again.read_text())["body"]["results"]
        self.assertEqual([(result["case"], result["observed"]) for result in results],
                         [("fake/varies/always", "varies")])

    def test_runs_that_are_not_valid(self):
        def interrupted(report):
            report["measurements"].update(interrupted=True, exit={"code": 143, "reason": "stopped"})

        def lying_control(report):
            control = next(control for control in report["body"]["controls"] if control["expected"] == "repeats")
            control.update(observed="varies", behaved=False, reason="it varied")

        def no_verdict(report):
            report["measurements"]["exit"] = {"code": 2, "reason": "a required backend is absent"}

        for change, words in ((interrupted, "interrupted"), (lying_control, "misbehaved: it varied"),
                              (no_verdict, "a required backend is absent")):
            for others in ((), (wrong,)):
                document, text = self.gate(2, self.changed(change, *others))
                self.assertIn(words, text)
                self.assertEqual(document["verdict"], "no_verdict")
        self.one_line(detprobe("gate", self.plain, "--baseline", self.changed(interrupted)), 65, "interrupted")

    def test_allow_list(self):
        entry = {"case": "fake/varies/*", "reason": "a fake", "expires": "2999-12-31"}
        document, text = self.gate(0, self.plain, "--policy", self.policy(fail=["varies"], allow=[entry]))
        self.assertEqual(text, "gate passed: 2 cases, no finding; 1 allowed until 2999-12-31\n")
        self.assertEqual(document["findings"][0]["allowed"], {"reason": "a fake", "expires": "2999-12-31"})
        entry["expires"] = "2000-02-29"
        document, text = self.gate(1, self.plain, "--policy", self.policy(fail=["varies"], allow=[entry]))
        self.assertIn("allow entry 'fake/varies/*' expired on 2000-02-29", text)
        entry.update(case="other/*", expires="2999-12-31")
        document, text = self.gate(0, self.plain, "--policy", self.policy(allow=[entry]))
        self.assertIn("allow entry 'other/*' fits no finding, remove it", text)
        entry.update(case="fake/varies/*", kind="wrong")
        document, text = self.gate(1, self.plain, "--policy", self.policy(fail=["varies"], allow=[entry]))
        self.assertIn("allow entry 'fake/varies/*' fits no finding, remove it", text)

    def test_amounts(self):
        for members, code in (({"minimum_cases": 2}, 0), ({"minimum_cases": 3}, 2), ({"minimum_runs": 24}, 0),
                              ({"minimum_runs": 10 ** 9}, 2), ({"require": ["cuda"]}, 2), ({"levels": ["deep"]}, 2)):
            self.gate(code, self.plain, "--policy", self.policy(**members))
        for members, code in (({"minimum_cases": 2}, 2), ({"minimum_cases": 1}, 0), ({"maximum_skipped": 0}, 2),
                              ({"maximum_skipped": 1}, 0), ({"maximum_skipped_share": 0.4}, 2)):
            document, _ = self.gate(code, self.changed(skipped), "--policy", self.policy(**members))
            self.assertEqual((document["summary"]["checked"], document["summary"]["skipped"]), (1, 1))

    def test_against_a_baseline(self):
        self.gate(0, self.plain, "--baseline", self.plain, "--fail-on", "changes")
        self.gate(0, self.plain, "--baseline", self.plain, "--fail-on", "varies")
        for change, kind in ((other_bits, "changed_digest"), (skipped, "missing"), (wrong, "wrong")):
            document, text = self.gate(1, self.changed(change), "--baseline", self.plain, "--fail-on", "changes")
            self.assertEqual(self.kinds(document), [kind])
            self.assertTrue(text.splitlines()[-1].startswith("gate failed: 1 finding in"), text)
            self.assertIn(", 1 of them new", text)
            self.gate(0, self.plain, "--baseline", self.changed(change), "--policy", self.policy(fail=["missing"]))
        document, _ = self.gate(1, self.changed(wrong), "--baseline", self.changed(wrong, name="was.json"))
        self.assertEqual([finding["new"] for finding in document["findings"]], [False])

    def test_it_does_not_flap(self):
        """A rare difference, seen now and not then, is what one rate explains: both ways the gate passes. One that
        no rate explains fails."""
        rarely, always = rate(1, [0.001, 0.238]), rate(21, [0.839, 1.0])
        never = self.changed(repeating, name="never.json")
        for fail_on in ("changes", "varies"):
            self.gate(0, self.changed(rarely), "--baseline", never, "--fail-on", fail_on)
            self.gate(0, never, "--baseline", self.changed(rarely), "--fail-on", fail_on)
            self.gate(1, self.changed(always), "--baseline", never, "--fail-on", fail_on)
            self.gate(0, never, "--baseline", self.changed(always), "--fail-on", fail_on)

    def test_a_baseline_that_did_not_look(self):
        """What moves along an axis that the baseline never varied is new: no rate of it is known."""
        def sensitive(report):
            report["body"]["results"][0]["sensitive_to"] = ["threads"]

        def along_fresh(report):
            result, tally = report["body"]["results"][0], report["measurements"]["cases"][0]["axes"]["fresh"]
            for name in ("outputs", "sensitive_to", "chosen"):
                result.pop(name, None)
            result.update(observed="varies", difference="execution")
            tally.pop("bound")
            tally.update(mismatches=tally["comparisons"], interval=[0.4, 1.0])

        def unmeasured(report):
            report["measurements"]["cases"] = []

        narrow = self.folder / "narrow.json"
        self.assertEqual(detprobe(*RUN, "--axis", "repeat", "-o", narrow).returncode, 0)
        policy = self.policy(fail=["varies", "sensitive"])
        for how in (("--policy", policy), ("--fail-on", "changes")):
            for change, axis, kind in ((sensitive, "threads", "sensitive"), (along_fresh, "fresh", "varies")):
                for baseline in (narrow, self.changed(unmeasured, name="unmeasured.json")):
                    document, text = self.gate(1, self.changed(change), "--baseline", baseline, *how)
                    self.assertEqual(self.kinds(document), [kind])
                    self.assertEqual(document["findings"][0]["detail"], f"the baseline did not measure {axis}")
                    self.assertTrue(document["findings"][0]["new"])
            self.gate(0, self.plain, "--baseline", narrow, *how)
            self.gate(0, self.changed(sensitive), "--baseline", self.changed(sensitive, name="was.json"), *how)
            self.gate(0, self.changed(along_fresh), "--baseline", self.plain, *how)  # 4 of 4 after 0 of 4: too few

    def test_left_out_with_a_result(self):
        """A case that the baseline has a result of is not excused as one that its reports disagree in."""
        def left_out(report):
            report["body"]["plan"]["left_out"].append({"case": CASES[1], "reason": "varies in 1, repeats in 1"})

        baseline = self.changed(repeating, left_out, name="both.json")
        document, _ = self.gate(1, self.plain, "--baseline", baseline, "--fail-on", "varies")
        self.assertEqual(self.kinds(document), ["varies"])

    def test_another_device(self):
        def elsewhere(report):
            report["body"]["environment"]["host"]["cpu_model"] = "Another Processor"
            for result in report["body"]["results"]:
                result.update(backend="cpu", case=result["case"].replace("fake/", "cpu/"))
            for measured in report["measurements"]["cases"]:
                measured["case"] = measured["case"].replace("fake/", "cpu/")

        def here(report):
            elsewhere(report)
            report["body"]["environment"]["host"]["cpu_model"] = "This Processor"

        report, baseline = self.changed(here), self.changed(elsewhere, name="elsewhere.json")
        self.one_line(detprobe("gate", report, "--baseline", baseline), 65, "Another Processor", "--any-device")
        self.gate(0, report, "--baseline", baseline, "--any-device")
        self.gate(0, report, "--baseline", self.changed(here, name="here.json"))

    def test_refusals(self):
        def other_seed(report):
            report["body"]["plan"]["seed"] = "7"

        self.one_line(detprobe("gate"), 64, "no report named")
        self.one_line(detprobe("gate", self.plain, self.plain), 64, "more than one")
        self.one_line(detprobe("gate", self.plain, "--fail-on", "changes"), 64, "'changes' needs a baseline")
        self.one_line(detprobe("gate", self.plain, "--policy", self.policy(fail=["missing"])), 64, "'missing'")
        self.one_line(detprobe("gate", self.plain, "--fail-on", "change"), 64, "changes")
        self.one_line(detprobe("gate", self.folder / "no.json"), 65, "no.json")
        self.one_line(detprobe("gate", self.plain, "--baseline", self.folder / "no.json"), 65, "no.json")
        self.one_line(detprobe("gate", self.plain, "--baseline", self.changed(other_seed)), 65, "seed")
        self.one_line(detprobe("gate", self.plain, "-o", "/dev/full"), 2, "/dev/full")
        self.one_line(detprobe("gate", self.plain, "--report", "pdf:x"), 64, "pdf")

    def test_hostile_policies(self):
        file = self.folder / "hostile.json"
        entry = '{"case":"*","reason":"x","expires":"%s"}'
        for text, *words in (
                ("", "line 1"), ("[]", "expected an object"), ("{", "line 1"), ("[" * 100000, "line 1"),
                ('{"fail":' + "[" * 1000 + "]" * 1000 + "}", "at '/fail"), ('{"minimum_cases":NaN}', "line 1"),
                ('{"minimum_cases":1e999}', "line 1"), ('{"maximum_skipped_share":-0.1}', "/maximum_skipped_share"),
                ('{"fail":[],"fail":[]}', "duplicate"), ('{"fail":["wrogn"]}', "did you mean 'wrong'?"),
                ('{"alow":[]}', "did you mean 'allow'?"), ('{"allow":[%s]}' % (entry % "2027-02-30"), "2027-02-30"),
                ('{"allow":[%s]}' % ",".join([entry % "2027-02-28"] * 1001), "at '/allow'"),
                ('{"allow":[{"case":"a[","reason":"x","expires":"2027-01-01"}]}', "never closed"),
                ('{"allow":[{"case":"%s","reason":"x","expires":"2027-01-01"}]}' % ("*" * 300), "/allow/0/case"),
                ('{"fail":["\x1b[31m"]}', "line 1"), ('{"schema_version":"9.0"}', "9.0"), ("\0", "NUL"),
                ("{" + " " * (5 << 20) + "}", "larger than")):
            file.write_text(text)
            done = detprobe("gate", self.plain, "--policy", file)
            self.one_line(done, 65, "hostile.json", *words)
            self.assertNotIn("\x1b", done.stderr)
        file.write_bytes(b'{"fail":["\xff\xfe"]}')
        self.one_line(detprobe("gate", self.plain, "--policy", file), 65, "hostile.json")

    def test_validate(self):
        policy = self.policy(fail=["broken"], allow=[{"case": "@gemm", "reason": "x", "expires": "2027-01-01"}])
        jsonschema.Draft202012Validator(POLICY_SCHEMA).validate(json.loads(policy.read_text()))
        gate = self.folder / "gate.json"
        self.assertEqual(detprobe("gate", self.plain, "--json", "-o", gate).returncode, 0)
        done = detprobe("validate", policy, gate, self.plain)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual([line.rsplit(" ", 1)[1] for line in done.stdout.splitlines()], ["policy", "gate", "report"])
        done = detprobe("validate", self.policy(fail=["broke"]))
        self.one_line(done, 65, "not a valid policy", "did you mean 'broken'?")
        document = json.loads(gate.read_text())
        document["verdict"] = "green"
        gate.write_text(json.dumps(document))
        self.one_line(detprobe("validate", gate), 65, "not a valid gate", "/verdict")

    def test_formats_together(self):
        page, document = self.folder / "page.md", self.folder / "gate.json"
        done = detprobe("gate", self.plain, "--fail-on", "varies", "--report", f"markdown:{page}", "--report",
                        f"json:{document}")
        self.assertEqual(done.returncode, 1)
        self.assertIn("| fake/varies/always | varies |", page.read_text())
        jsonschema.Draft202012Validator(GATE_SCHEMA).validate(json.loads(document.read_text()))

    def test_what_is_read_is_not_written_over(self):
        """A run that failed and became its own baseline would let the next one pass."""
        report, policy = self.changed(name="read.json"), self.policy(fail=["varies"])
        linked, hard = self.folder / "linked.json", self.folder / "hard.json"
        linked.symlink_to(report)
        hard.hardlink_to(report)
        run = RUN + ("--quiet", "--baseline", report)
        for place in (report, linked, hard):
            before = report.read_text()
            for command in (("gate", report, "-o", place), ("gate", report, "--report", f"junit:{place}"),
                            ("gate", self.plain, "--baseline", report, "--report", f"summary:{place}"),
                            ("show", report, "-o", place), ("diff", self.plain, report, "--report", f"html:{place}"),
                            ("baseline", self.plain, report, "-o", place), run + ("-o", place),
                            run + ("--report", f"json:{place}")):
                self.one_line(detprobe(*command), 64, "written over", place.name)
                self.assertEqual(report.read_text(), before)
                self.assertFalse((self.folder / (place.name + ".log.jsonl")).exists())
        self.one_line(detprobe("gate", self.plain, "--policy", policy, "-o", policy), 64, "policy.json")
        self.assertEqual(detprobe("gate", "-", "-o", "/dev/null", stdin=self.plain.read_text()).returncode, 0)

    def test_a_file_that_may_not_grow(self):
        """Beyond `ulimit -f` a write fails, and leaves nothing."""
        folder = self.folder / "small"
        folder.mkdir()
        for command in (("gate", self.plain, "-o", "page", "-f", "html"), ("baseline", self.plain, "-o", "baseline"),
                        ("show", self.plain, "--report", "html:page")):
            done = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$@"', "-", DETPROBE, *command], cwd=folder,
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn("file too large", done.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_from_standard_input(self):
        done = detprobe("gate", "-", stdin=self.plain.read_text())
        self.assertEqual((done.returncode, done.stdout), (0, "gate passed: 2 cases, no finding\n"))


class Baseline(Reports):
    """Made of reports of which some are changed by hand."""

    def baseline(self, *files):
        file = self.folder / "baseline.json"
        done = detprobe("baseline", *files, "-o", file)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        report = json.loads(file.read_text())
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(report)
        self.assertEqual(detprobe("validate", file).returncode, 0)
        return file, report, done.stderr

    def later(self, report):
        report["measurements"]["started"] = "2030-01-01T00:00:00Z"

    def test_of_runs(self):
        again = self.folder / "again.json"
        self.assertEqual(detprobe(*RUN, "-o", again).returncode, 0)
        file, report, told = self.baseline(self.plain, again)
        self.assertEqual(told, "detprobe: baseline of 2 reports: 2 cases, 0 left out\n")
        self.assertEqual(report["body"]["results"], self.report["body"]["results"])
        tallies = [report["measurements"]["cases"][0]["axes"]["repeat"]
                   for report in (report, self.report, json.loads(again.read_text()))]
        self.assertEqual(tallies[0]["comparisons"], tallies[1]["comparisons"] + tallies[2]["comparisons"])
        self.assertLess(tallies[0]["bound"], tallies[1]["bound"])
        self.gate(0, again, "--baseline", file, "--fail-on", "changes")
        self.assertEqual(detprobe("diff", self.plain, file).returncode, 0)
        self.assertEqual(detprobe("show", file).returncode, 0)

    def test_another_environment_is_told(self):
        def other_library(report):
            report["body"]["environment"]["libraries"][0]["version"] = "99.0"

        file, report, told = self.baseline(self.plain, self.changed(self.later, other_library))
        self.assertIn("was measured in another environment than", told)
        self.assertIn("99.0", told)
        self.assertEqual(report["body"]["environment"], self.report["body"]["environment"])

    def test_what_they_disagree_in(self):
        file, report, told = self.baseline(self.plain, self.changed(self.later, other_bits))
        self.assertEqual([result["case"] for result in report["body"]["results"]], ["fake/varies/always"])
        self.assertIn("left out 'fake/good/repeats': other bits from report to report\n", told)
        self.assertEqual(report["body"]["plan"]["left_out"],
                         [{"case": "fake/good/repeats", "reason": "other bits from report to report"}])
        file, report, told = self.baseline(self.plain, self.changed(self.later, repeating))
        self.assertIn("left out 'fake/varies/always': varies in 1, repeats in 1\n", told)
        self.gate(0, self.plain, "--baseline", file, "--fail-on", "varies")

    def test_refused(self):
        def other_plan(report):
            self.later(report)
            report["body"]["plan"]["runs"] = 9

        self.one_line(detprobe("baseline"), 64, "no report named")
        self.one_line(detprobe("baseline", self.plain, self.plain), 65, "is the same run as")
        self.one_line(detprobe("baseline", self.plain, self.changed(other_plan)), 65, "changed.json", "runs differs")
        self.one_line(detprobe("baseline", self.plain, self.folder / "no.json"), 65, "no.json")
        self.one_line(detprobe("baseline", self.plain, "-o", "/dev/full"), 2, "/dev/full")


class RunGate(Reports):
    """run --gate and --baseline: the gate decides the exit code, and what it needs is read before the run."""

    def test_decides(self):
        done = detprobe(*RUN, "--gate", self.policy(fail=["varies"]))
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "gate failed: 1 finding in 2 cases")
        done = detprobe(*RUN, "--gate", self.policy(fail=["broken"]), "--fail-on", "varies")
        self.assertEqual(done.returncode, 1)
        done = detprobe(*RUN, "--gate", self.policy(fail=["varies"]), "--fail-on", "never")
        self.assertEqual(done.returncode, 0)
        done = detprobe(*RUN, "--gate", self.policy(minimum_cases=3), "--quiet")
        self.assertEqual((done.returncode, done.stdout),
                         (2, "gate without a verdict: 2 cases gave a verdict, the policy asks for 3\n"))

    def test_baseline(self):
        file = self.folder / "now.json"
        done = detprobe(*RUN, "--baseline", self.plain, "--fail-on", "changes", "-o", file)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(file.exists())
        done = detprobe(*RUN, "--baseline", self.changed(other_bits), "--fail-on", "changes", "--json")
        self.assertEqual(done.returncode, 1)
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(json.loads(done.stdout))
        self.assertIn("gate failed: 1 finding in 2 cases, 1 of them new", done.stderr)

    def test_formats_show_what_decides(self):
        junit, page, tap = (self.folder / name for name in ("run.xml", "run.md", "run.tap"))
        formats = [word for pair in (("junit", junit), ("markdown", page), ("tap", tap))
                   for word in ("--report", f"{pair[0]}:{pair[1]}")]
        for policy, failures in ((["varies"], 1), (["broken"], 0)):
            done = detprobe(*RUN, "--gate", self.policy(fail=policy), *formats)
            self.assertEqual(done.returncode, failures, done.stderr)
            self.assertEqual("<failure" in junit.read_text(), failures == 1, policy)
            self.assertEqual("\nnot ok" in tap.read_text(), failures == 1, policy)
            self.assertNotIn("gate", page.read_text(), "Markdown shows what was measured")
        detprobe(*RUN, *formats)
        self.assertNotIn("<failure", junit.read_text(), "what may vary is no failure of a run without a gate")

    def test_what_a_run_alone_would_say(self):
        """The report holds the run's own end, whatever the gate makes of it."""
        file = self.folder / "now.json"
        self.assertEqual(detprobe(*RUN, "--gate", self.policy(fail=["varies"]), "-o", file).returncode, 1)
        self.assertEqual(json.loads(file.read_text())["measurements"]["exit"], {"code": 0, "reason": "no finding"})

    def test_resumed(self):
        """A killed run that is resumed is judged as it would have been, from whatever folder."""
        file, log = self.folder / "killed.json", self.folder / "killed.json.log.jsonl"
        whole = os.path.relpath(self.policy(fail=["varies"]))
        for code, *ending in ((1, "--gate", whole), (1, "--fail-on", "varies"), (2, "--require", "cuda"), (0,),
                              (1, "--baseline", self.changed(other_bits), "--fail-on", "changes")):
            self.assertEqual(detprobe(*RUN, *ending, "-o", file).returncode, code)
            lines = log.read_text().splitlines(keepends=True)
            for count in (1, len(lines) // 2, len(lines)):
                log.write_text("".join(lines[:count]))
                file.unlink(missing_ok=True)
                done = detprobe("run", "--resume", log, cwd=self.folder)
                self.assertEqual((done.returncode, file.exists()), (code, True), done.stdout + done.stderr)
            self.assertEqual(detprobe("run", "--resume", log, "--fail-on", "never").returncode,
                             2 if "--require" in ending else 0)  # unless it is told otherwise
        plan, *rest = lines
        for ending in ({"fail_on": "nothing"}, {"fail_on": 1}, {"gate": None}, {"gate": "/no/policy.json"},
                       {"require": "cpu"}, {"require": [None]}):
            changed = json.loads(plan)
            changed["plan"]["ending"] = ending
            log.write_text(json.dumps(changed) + "\n" + "".join(rest))
            self.one_line(detprobe("run", "--resume", log), 65)

    def test_refused_before_the_run(self):
        file = self.folder / "never.json"
        policy, baseline = self.policy(fail=["vary"]), self.folder / "no.json"
        for code, *arguments in ((65, "--gate", policy), (65, "--baseline", baseline), (64, "--fail-on", "changes"),
                                 (65, "--baseline", self.plain, "--seed", "2"),
                                 (65, "--baseline", self.plain, "--seeds", "2"),
                                 (65, "--baseline", self.plain, "--exclude", "fake/good/repeats", "--exclude",
                                  "fake/varies/always", "fake/good/slow")):
            self.one_line(detprobe(*RUN, *arguments, "-o", file), code)
            self.assertFalse(file.exists() or (self.folder / "never.json.log.jsonl").exists())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
