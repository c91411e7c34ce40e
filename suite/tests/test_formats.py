# SPDX-License-Identifier: Apache-2.0
"""Formats for CI services, read by what others wrote; and where --report puts them.

usage: test_formats.py DETPROBE FAKES_FOLDER SOURCE_FOLDER KEPT_FOLDER [TEST...]
KEPT_FOLDER keeps what was fetched. Exit status 77 where every test named was skipped: a reader cannot be had.
"""

import copy
import hashlib
import itertools
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree

import jsonschema

import fetched
import surroundings

DETPROBE, FAKES, SOURCE, KEPT = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
TESTS = SOURCE / "suite" / "tests"
FORMATS = ("junit", "github", "summary", "markdown", "tap", "sarif", "prometheus")
# What a report may hold in its free texts.
HOSTILE = ("<script>alert('x')</script> ]]> & \" %0A::error::x", "x # SKIP \\# y", "a, b: c::d {e=\"f\"} |g|",
           "::error title=a::b", "\u202e\ufffe\uffff\u20ac\U0001f600", "not ok 1 - x", "---", "...")


def detprobe(*arguments, **options):
    variables = surroundings.plain()
    variables["DETPROBE_PROBE_PATH"] = str(FAKES)
    return subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True,
                          timeout=120, check=False, **options)


def digested(report):
    body = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    report["digest"] = hashlib.sha256(body.encode()).hexdigest()
    return report


def poisoned(report):
    """The report with a hostile text in each place that takes free text, another one in each."""
    texts = itertools.cycle(HOSTILE)
    report = copy.deepcopy(report)
    for row in report["body"]["results"]:
        row["guarantee"]["source"] = next(texts)
        if "remedy" in row:
            row["remedy"].update(text=next(texts), source=next(texts), setting=next(texts))
        for remedy in row.get("remedy_along", {}).values():
            remedy.update(text=next(texts), source=next(texts), setting=next(texts))
        if row["observed"] in ("repeats", "varies", "wrong"):
            row["used_by"] = [next(texts), next(texts)]
        if row["observed"] == "skipped":
            row["text"] = next(texts)
        if row["observed"] in ("wrong", "untested"):
            row["reason"] = next(texts)
    for library in report["body"]["environment"]["libraries"]:
        library["name"], library["version"] = next(texts), next(texts)
    for row in report["measurements"]["cases"]:
        if "error" in row:
            row["error"].update(text="\033[31m\n" + next(texts), log=next(texts) + "\ny")
    report["measurements"]["host_name"] = next(texts)
    return digested(report)


class Documents(unittest.TestCase):
    """Files of each kind of document, and each of them in each format."""

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.reports = {name: TESTS / "corpus" / f"good-{name}.json" for name in ("clean", "findings", "empty")}
        cls.reports["measured"] = SOURCE / "reports" / "measured" / "cpu-debian12-quick.json"
        cls.reports["hostile"] = cls.folder / "hostile.json"
        cls.reports["hostile"].write_text(json.dumps(poisoned(json.loads(cls.reports["findings"].read_text()))))
        other = json.loads(cls.reports["findings"].read_text())
        for row in other["body"]["results"]:
            for output in row.get("outputs", ()):
                output["sha256"] = "0" * 64
        cls.reports["other"] = cls.folder / "other.json"
        cls.reports["other"].write_text(json.dumps(digested(other)))
        cls.commands = {name: ("show", file) for name, file in cls.reports.items()}
        cls.commands["diff"] = ("diff", cls.reports["findings"], cls.reports["other"])
        cls.commands["no-diff"] = ("diff", cls.reports["clean"], cls.reports["clean"])
        cls.commands["gate"] = ("gate", cls.reports["findings"])
        cls.commands["hostile-gate"] = ("gate", cls.reports["hostile"])
        cls.commands["passed-gate"] = ("gate", cls.reports["clean"])

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def written(self, name, form):
        """The file that --format FORM makes of a document."""
        file = self.folder / f"{name}.{form}"
        file.unlink(missing_ok=True)
        done = detprobe(*self.commands[name], "--format", form, "-o", file)
        self.assertIn(done.returncode, (0, 1, 2), done.stderr)
        self.assertEqual((done.stdout, done.stderr), ("", ""))
        return file

    def each(self, form):
        for name in self.commands:
            print(f"  {form} of {name}", file=sys.stderr, flush=True)
            yield name, self.written(name, form)


def needed(command):
    if not shutil.which(command):
        raise unittest.SkipTest(f"no {command} here")
    return command


def wanted(file):
    if not file:
        raise unittest.SkipTest("it cannot be fetched")
    return file


class Junit(Documents):
    def outcome(self, name):
        root = ElementTree.parse(self.written(name, "junit")).getroot()
        return {child.tag: sum(1 for _ in root.iter(child.tag)) for case in root.iter("testcase") for child in case}

    def test_counts_and_names(self):
        for name, file in self.each("junit"):
            root = ElementTree.parse(file).getroot()
            self.assertEqual(root.tag, "testsuites")
            cases = list(root.iter("testcase"))
            names = [(case.get("classname"), case.get("name")) for case in cases]
            self.assertEqual(len(set(names)), len(names), "a service drops the second of two equal names")
            for total, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
                self.assertEqual(int(root.get(total)), sum(1 for _ in root.iter(tag)), total)
                self.assertEqual(int(root.get(total)), sum(int(suite.get(total)) for suite in root), total)
            for suite in root:
                self.assertEqual(int(suite.get("skipped")), sum(1 for _ in suite.iter("skipped")))

    def test_outcomes(self):
        for name, fails in (("clean", False), ("findings", True), ("measured", False), ("empty", False),
                            ("diff", True), ("no-diff", False), ("gate", True), ("passed-gate", False)):
            outcome = self.outcome(name)
            self.assertEqual("failure" in outcome, fails, name)
        self.assertNotIn("error", self.outcome("clean"))
        self.assertIn("error", self.outcome("findings"))
        self.assertIn("skipped", self.outcome("findings"))

    def test_first_lines(self):
        root = ElementTree.parse(self.written("findings", "junit")).getroot()
        for failure in root.iter("failure"):
            lines = failure.text.split("\n")
            self.assertEqual(lines[0], failure.get("message"))
            if failure.get("type") != "verdict":
                self.assertRegex(lines[1], r"^reproduce: .*detprobe run ")

    def test_well_formed(self):
        needed("xmllint")
        for _, file in self.each("junit"):
            done = subprocess.run(["xmllint", "--noout", "--nonet", file], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


class JunitSchema(Documents):
    def test_schema_of_jenkins(self):
        needed("xmllint")
        schema = wanted(fetched.of_pypi(KEPT, "junit-10.xsd"))
        files = [file for _, file in self.each("junit")]
        command = ["xmllint", "--noout", "--nonet", "--schema", schema]
        done = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        broken = self.folder / "broken.xml"
        broken.write_text(files[0].read_text().replace(" tests=", " tests_=", 1))
        self.assertNotEqual(subprocess.run([*command, broken], capture_output=True, check=False).returncode, 0,
                            "the schema lets everything pass")


class SarifSchema(Documents):
    def test_schema_of_oasis(self):
        schema = json.loads(wanted(fetched.of_pypi(KEPT, "sarif-2.1.0.json")).read_text())
        validator = jsonschema.Draft4Validator(schema)
        for _, file in self.each("sarif"):
            validator.validate(json.loads(file.read_text()))
        broken = json.loads(self.written("findings", "sarif").read_text())
        broken["runs"][0]["results"][0]["level"] = "failure"
        self.assertFalse(validator.is_valid(broken), "the schema lets everything pass")


class Sarif(Documents):
    def test_rules_levels_locations(self):
        for name, file in self.each("sarif"):
            log = json.loads(file.read_text())
            (run,) = log["runs"]
            rules = run["tool"]["driver"]["rules"]
            self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
            prints = [result["partialFingerprints"]["detprobe/v1"] for result in run["results"]]
            self.assertEqual(len(set(prints)), len(prints), "two alerts would be one")
            for result in run["results"]:
                self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
                (place,) = result["locations"]
                self.assertFalse(place["physicalLocation"]["artifactLocation"]["uri"].startswith(("/", "..")))
        levels = [result["level"] for result in
                  json.loads(self.written("findings", "sarif").read_text())["runs"][0]["results"]]
        self.assertEqual(levels, sorted(levels), "errors before notes")
        self.assertEqual(set(levels), {"error", "note"})
        (clean,) = json.loads(self.written("clean", "sarif").read_text())["runs"]
        self.assertEqual((clean["results"], clean["invocations"][0]["executionSuccessful"]), ([], True))


PERL = r"""
use strict; use TAP::Parser; use JSON::PP;
my $text = do { local $/; open my $f, '<', $ARGV[0] or die; <$f> };
# Before version 3.45 the parser refuses the number 14; what it reads is the same.
$text =~ s/^TAP version 14$/TAP version 13/m if $TAP::Parser::VERSION < 3.45;
my $parser = TAP::Parser->new({ tap => $text });
my ($unknown, $blocks) = (0, 0);
while (my $result = $parser->next) { $unknown++ if $result->is_unknown; $blocks++ if $result->is_yaml; }
print encode_json({
    errors => [$parser->parse_errors], unknown => $unknown, blocks => $blocks, planned => $parser->tests_planned,
    run => $parser->tests_run, failed => scalar($parser->failed), skipped => scalar($parser->skipped),
    todo => scalar($parser->todo) });
"""


class Tap(Documents):
    def read_by_perl(self, file):
        done = subprocess.run([needed("perl"), "-e", PERL, file], capture_output=True, text=True, check=False)
        if "Can't locate" in done.stderr:
            raise unittest.SkipTest("no TAP::Parser here")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return json.loads(done.stdout)

    def test_read_by_perl(self):
        for name, file in self.each("tap"):
            seen = self.read_by_perl(file)
            self.assertEqual((seen["errors"], seen["unknown"], seen["todo"]), ([], 0, 0), name)
            self.assertEqual(seen["planned"], seen["run"])
            counts = ElementTree.parse(self.written(name, "junit")).getroot()
            self.assertEqual(seen["run"], int(counts.get("tests")))
            self.assertEqual(seen["failed"], int(counts.get("failures")) + int(counts.get("errors")))
            self.assertEqual(seen["skipped"], sum(1 for _ in counts.iter("skipped")))
            self.assertGreaterEqual(seen["blocks"], seen["failed"])

    def test_read_by_meson(self):
        """A test of protocol 'tap' for each document: good, failing, all of it skipped."""
        project = self.folder / "project"
        project.mkdir()
        lines = ["project('recorded')", "cat = find_program('cat')"]
        for name, file in self.each("tap"):
            lines.append(f"test('{name}', cat, args: ['{file}'], protocol: 'tap')")
        (project / "meson.build").write_text("\n".join(lines) + "\n")
        for command in (("setup", "build"), ("test", "-C", "build")):
            done = subprocess.run(["meson", *command], cwd=project, capture_output=True, text=True, check=False)
        log = (project / "build" / "meson-logs" / "testlog.json").read_text()
        results = {entry["name"]: entry["result"] for entry in map(json.loads, log.splitlines())}
        bad = {name for name in results if "hostile" in name} | {"findings", "other", "diff", "gate"}
        expected = {name: "FAIL" if name in bad else "OK" for name in self.commands}
        self.assertEqual(results, expected | {"empty": "SKIP"}, done.stdout)


class Prometheus(Documents):
    def test_shape(self):
        """HELP and TYPE of a metric are the same in every file, and come before its samples, once."""
        seen = {}
        for name, file in self.each("prometheus"):
            told = {}
            for line in file.read_text().splitlines():
                comment = re.fullmatch(r"# (HELP|TYPE) (detprobe_[a-z_]+) (.+)", line)
                if comment:
                    self.assertNotIn(comment.group(1, 2), told, "told twice")
                    told[comment.group(1, 2)] = comment.group(3)
                    continue
                sample = re.fullmatch(r"(detprobe_[a-z_]+)(\{[a-z]+=\"[a-z0-9_]*\"(,[a-z]+=\"[a-z0-9_]*\")*\})? "
                                      r"-?[0-9.]+(e[+-][0-9]+)?", line)
                self.assertIsNotNone(sample, line)
                self.assertIn(("TYPE", sample.group(1)), told)
            for key, value in told.items():
                self.assertEqual(seen.setdefault(key, value), value)

    def test_values(self):
        clean, findings = (self.written(name, "prometheus").read_text() for name in ("clean", "findings"))
        self.assertIn("\ndetprobe_run_valid 1\n", clean)
        self.assertIn('\ndetprobe_guarantees{status="broken"} 0\n', clean)
        counts = json.loads(self.reports["findings"].read_text())["body"]["summary"]["guarantees"]
        self.assertIn(f'\ndetprobe_guarantees{{status="broken"}} {counts["broken"]}\n', findings)
        self.assertIn("\ndetprobe_run_valid 0\n", self.written("empty", "prometheus").read_text())
        for name, passed in (("passed-gate", 1), ("gate", 0)):
            self.assertIn(f"\ndetprobe_gate_passed {passed}\n", self.written(name, "prometheus").read_text())


class Promtool(Documents):
    def test_read_by_promtool(self):
        tool = wanted(fetched.promtool(KEPT))
        for _, file in self.each("prometheus"):
            done = subprocess.run([tool, "check", "metrics"], input=file.read_text(), capture_output=True, text=True,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        broken = subprocess.run([tool, "check", "metrics"], input="detprobe-x 1\n", capture_output=True, text=True,
                                check=False)
        self.assertNotEqual(broken.returncode, 0, "it lets everything pass")


def commands_of(text):
    """Workflow commands as GitHub's documentation has them; a line that is none is an error."""
    found = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(error|warning|notice)(?: ([^:]*))?::(.*)", line)
        if not match:
            raise AssertionError(f"no workflow command: {line}")
        properties = dict(part.split("=", 1) for part in match.group(2).split(",")) if match.group(2) else {}
        if not set(properties) <= {"title", "file", "line", "endLine", "col", "endColumn"}:
            raise AssertionError(f"unknown property: {line}")
        if re.search(r"%(?!25|0D|0A|3A|2C)", line):
            raise AssertionError(f"unknown escape: {line}")
        found.append((match.group(1), properties["title"], match.group(3)))
    return found


class Github(Documents):
    def test_annotations(self):
        for name, file in self.each("github"):
            found = commands_of(file.read_text())
            self.assertLessEqual(len(found), 10)
            severities = [severity for severity, _, _ in found]
            self.assertEqual(severities, sorted(severities), "errors first")
            self.assertEqual("error" in severities, name not in ("clean", "measured", "empty", "no-diff", "passed-gate"))

    def test_nothing_to_say(self):
        self.assertEqual(self.written("clean", "github").read_text(), "")


class Deliveries(Documents):
    """--report FORMAT:FILE."""

    def one_line(self, done, code, *words):
        self.assertEqual((done.returncode, done.stderr.count("\n")), (code, 1), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def reports_to(self, folder):
        return [word for form in FORMATS for word in ("--report", f"{form}:{folder / form}")]

    def test_every_format_of_every_document(self):
        for name, command in self.commands.items():
            folder = self.folder / f"all-{name}"
            folder.mkdir()
            done = detprobe(*command, *self.reports_to(folder))
            self.assertIn(done.returncode, (0, 1, 2))
            self.assertEqual(done.stderr, "")
            self.assertEqual(sorted(os.listdir(folder)), sorted(FORMATS), "nothing else is left there")
            for form in FORMATS:
                self.assertEqual((folder / form).read_bytes(), self.written(name, form).read_bytes(), form)

    def test_run(self):
        folder = self.folder / "run"
        folder.mkdir()
        report = self.folder / "run.json"
        cases = ("fake/good/repeats", "fake/varies/always", "fake/varies/always-promised", "fake/wrong/guard")
        done = detprobe("run", *cases, "--level", "quick", "-o", report, *self.reports_to(folder))
        self.assertEqual(done.returncode, 1, done.stderr)
        for form in FORMATS:
            again = self.folder / f"again.{form}"
            self.assertEqual(detprobe("show", report, "--format", form, "-o", again).returncode, 0)
            if form != "sarif":  # it points at the report, by another name
                self.assertEqual((folder / form).read_bytes(), again.read_bytes(), form)
        root = ElementTree.parse(folder / "junit").getroot()
        self.assertEqual({case.get("name") for case in root.iter("testcase") if case.find("failure") is not None},
                         {"always-promised", "guard", "run"})

    def test_run_that_ran_nothing(self):
        file = self.folder / "nothing.tap"
        done = detprobe("run", "@cuda", "--level", "quick", "--report", f"tap:{file}")
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertRegex(file.read_text(), r"(?m)^ok 1 - detprobe/run # SKIP nothing ran")

    def test_standard_output(self):
        done = detprobe("show", self.reports["findings"], "--report", "github:-", "-o", self.folder / "text")
        self.assertEqual(done.stdout, self.written("findings", "github").read_text())

    def test_summary_is_appended(self):
        file = self.folder / "step"
        file.write_text("what another command wrote")
        summary = self.written("findings", "summary").read_text()
        for _ in range(2):
            self.assertEqual(detprobe("show", self.reports["findings"], "--report", f"summary:{file}",
                                      "-o", "/dev/null").returncode, 0)
        self.assertEqual(file.read_text(), f"what another command wrote\n{summary}\n{summary}")

    def test_summary_within_the_limit(self):
        file = self.folder / "full-step"
        file.write_text("x" * 899000 + "\n")
        detprobe("show", self.reports["measured"], "--report", f"summary:{file}", "-o", "/dev/null")
        self.assertLessEqual(file.stat().st_size, 900000)
        self.assertIn("This summary is cut", file.read_text())

    def test_not_written(self):
        """The exit code says it, and the other reports are written all the same."""
        good = self.folder / "good.xml"
        for form in FORMATS:
            for bad in ("/dev/full", self.folder / "missing" / "file", self.folder):
                good.unlink(missing_ok=True)
                done = detprobe("show", self.reports["clean"], "--report", f"{form}:{bad}", "--report",
                                f"junit:{good}", "-o", "/dev/null")
                if (form, bad) == ("github", "/dev/full"):
                    self.assertEqual(done.returncode, 0, "there is nothing to write")
                else:
                    self.one_line(done, 2, f"cannot write '{bad}'")
                self.assertTrue(good.exists())
        self.assertFalse((self.folder / "missing").exists())

    def test_old_file_stays_where_the_disk_is_full(self):
        """A limit on the size of files is a disk that is full in the middle of one."""
        for form in ("junit", "summary"):
            file = self.folder / f"old.{form}"
            file.write_text("the old one\n")
            done = detprobe("show", self.reports["measured"], "--report", f"{form}:{file}", "-o", "/dev/null",
                            preexec_fn=limit_files)
            self.one_line(done, 2, f"cannot write '{file}'")
            self.assertEqual(file.read_text(), "the old one\n")

    def test_bad_usage(self):
        file = self.folder / "twice"
        for words, code in ((("--report", f"junit:{file}", "--report", f"tap:{file}"), "two reports into one file"),
                            (("--report", "junit"), "names no file"), (("--report", "junit:"), "names no file"),
                            (("--report", f"pdf:{file}"), "unknown format 'pdf'"),
                            (("--report", f":{file}"), "unknown format ''")):
            for command in (("show", self.reports["clean"]), ("run", "fake/good/repeats"), self.commands["no-diff"],
                            self.commands["gate"]):
                self.one_line(detprobe(*command, *words), 64, code)
        self.assertFalse(file.exists())

    def test_one_file_by_two_names(self):
        file, link = self.folder / "one.xml", self.folder / "link"
        link.symlink_to(self.folder)
        other = link / "one.xml"
        for words in (("-o", file, "--report", f"junit:{file}"), ("-o", file, "--report", f"junit:{other}"),
                      ("--report", f"tap:{self.folder}/../{self.folder.name}/one.xml", "--report", f"junit:{other}")):
            for command in (("show", self.reports["clean"]), ("run", "fake/good/repeats"), self.commands["gate"],
                            self.commands["no-diff"]):
                self.one_line(detprobe(*command, *words), 64, "two reports into one file")
        self.assertFalse(file.exists())


def limit_files():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2, exit=False).result
    skipped = result.testsRun > 0 and len(result.skipped) == result.testsRun
    sys.exit(fetched.SKIP if skipped else 0 if result.wasSuccessful() else 1)
