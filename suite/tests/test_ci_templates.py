# SPDX-License-Identifier: Apache-2.0
"""The templates of ci/: linted with schemas of others, their commands executed against recorded reports.

usage: test_ci_templates.py DETPROBE FAKES_FOLDER SOURCE_FOLDER KEPT_FOLDER [TEST...]
KEPT_FOLDER keeps what was fetched. Exit status 77 where every test named was skipped: a linter cannot be had.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree as ElementTree

import fetched

DETPROBE, FAKES, SOURCE, KEPT = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
CORPUS = SOURCE / "suite" / "tests" / "corpus"
TEMPLATES = {
    "github": SOURCE / "ci" / "github" / "action.yml",
    "gitlab": SOURCE / "ci" / "gitlab" / "detprobe.gitlab-ci.yml",
    "jenkins": SOURCE / "ci" / "jenkins" / "Jenkinsfile",
}
# How each service starts a script; with -u on top, so that nothing unset is used.
SHELLS = {
    "github": (("bash", "--noprofile", "--norc", "-euo", "pipefail"),),
    "gitlab": (("bash", "-euo", "pipefail"), ("sh", "-eu")),
    "jenkins": (("sh", "-xeu"), ("bash", "-eu")),
}
NOBODY = 65534

# Stands for the program: a run replays a recorded report in what formats are asked for, and ends as a run does
# that was told to fail never; everything else is the program itself.
REPLAY = r"""#!/usr/bin/env bash
set -eu
[ "$1" = run ] || exec "$HERE/detprobe" "$@"
printf '%s\n' "$*" >>"$HERE/commands"
shift
reports=() output=''
while [ $# -gt 0 ]; do
    case $1 in
    -o) output=$2; shift ;;
    --report) reports+=(--report "$2"); shift ;;
    --level | --require | --fail-on) shift ;;
    esac
    shift
done
cp "$HERE/recorded.json" "$output"
"$HERE/detprobe" show "$output" "${reports[@]}"
exit "$(cat "$HERE/code")"
"""


def digested(report):
    body = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**report, "digest": hashlib.sha256(body.encode()).hexdigest()}


def block_after(text, line):
    """The indented lines below one, as YAML's '|' and Groovy's quotes have them."""
    start = re.search(rf"(?m)^( *){line}\n((?:\1 +\S.*\n|\n)+)", text)
    return textwrap.dedent(start.group(2))


def script_of(name):
    text = TEMPLATES[name].read_text()
    if name == "jenkins":  # a backslash at a line's end joins lines there already
        return block_after(text.replace("\\\n", " "), "sh '''").removesuffix("'''\n")
    return block_after(text, "- \\|" if name == "gitlab" else "run: \\|")


class Commands(unittest.TestCase):
    """Each shell block, as each service would start it, by somebody who is not root."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.folder = pathlib.Path(self.temporary.name)
        self.here, self.work = self.folder / "program", self.folder / "work"
        self.here.mkdir()
        self.work.mkdir()
        shutil.copy(DETPROBE, self.here / "detprobe")
        replay = self.here / "replay"
        replay.write_text(REPLAY)
        for file in (replay, self.here / "detprobe", self.folder, self.here):
            file.chmod(0o755)
        self.here.chmod(0o777)
        if os.getuid() == 0:
            os.chown(self.work, NOBODY, NOBODY)
        self.variables = {"DETERMINISM_PROGRAM": str(replay), "DETERMINISM_SELECT": "cpu/* @python",
                          "DETERMINISM_LEVEL": "quick", "DETERMINISM_REQUIRE": "", "DETERMINISM_POLICY": "",
                          "DETERMINISM_BASELINE": "", "HERE": str(self.here), "PATH": os.environ["PATH"],
                          "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""), "HOME": "/nonexistent"}

    def tearDown(self):
        self.temporary.cleanup()

    def record(self, report, code=0):
        shutil.copy(report, self.here / "recorded.json")
        (self.here / "recorded.json").chmod(0o644)
        (self.here / "code").write_text(str(code))

    def execute(self, name, shell, variables):
        command = [*shell, "-c", script_of(name)]
        if os.getuid() == 0:
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs", *command]
        self.summary = self.work / "summary.md"
        variables = {key: value for key, value in {**self.variables, **variables}.items() if value is not None}
        if name == "github":
            variables["GITHUB_STEP_SUMMARY"] = str(self.summary)
        return subprocess.run(command, cwd=self.work, env=variables, capture_output=True, text=True, timeout=120,
                              check=False)

    def each(self, code, **variables):
        """Every template in every shell ends so."""
        for name, shells in SHELLS.items():
            for shell in shells:
                if not shutil.which(shell[0]):
                    continue
                print(f"  {name}: {' '.join(shell)}", file=sys.stderr, flush=True)
                done = self.execute(name, shell, variables)
                self.assertEqual(done.returncode, code, f"{name}: {done.stdout}{done.stderr}")
                yield name, done

    def assert_results(self, name):
        results = self.work / "determinism"
        json.loads((results / "report.json").read_text())
        self.assertIn("<html", (results / "report.html").read_text()[:1000])
        return ElementTree.parse(results / "junit.xml").getroot()

    def test_a_report_that_passes(self):
        self.record(CORPUS / "good-clean.json")
        for name, done in self.each(0):
            root = self.assert_results(name)
            self.assertEqual((root.get("failures"), root.get("errors")), ("0", "0"))
            self.assertNotIn("::error", done.stdout)

    def test_a_report_that_fails(self):
        self.record(CORPUS / "good-findings.json")
        for name, done in self.each(1):
            self.assertGreater(int(self.assert_results(name).get("failures")), 0)
            if name == "github":
                self.assertIn("\n::error title=", done.stdout)
                summary = self.summary.read_text()
                self.assertIn("**detprobe run**", summary)
                self.assertIn("gate failed", summary)
                self.summary.unlink()

    def test_no_verdict(self):
        """A required backend that is absent, or busy: no verdict fails the job, and the report is still there."""
        self.record(CORPUS / "good-clean.json", code=2)
        for _ in self.each(2, DETERMINISM_REQUIRE="cuda"):
            self.assertTrue((self.work / "determinism" / "report.json").exists())
            root = ElementTree.parse(self.work / "determinism" / "junit.xml").getroot()
            self.assertEqual(root.get("name"), "detprobe run", "nothing was decided")

    def test_baseline_and_policy(self):
        policy, same, other = (self.work / f"a {name}.json" for name in ("policy", "baseline", "different baseline"))
        policy.write_text(json.dumps({"schema_version": "1.0", "fail": ["changed_digest"]}))
        shutil.copy(CORPUS / "good-clean.json", same)
        report = json.loads(same.read_text())
        for row in report["body"]["results"]:
            for output in row["outputs"]:
                output["sha256"] = "0" * 64
        other.write_text(json.dumps(digested(report)))
        self.record(CORPUS / "good-clean.json")
        for code, variables in ((0, {"POLICY": policy.name, "BASELINE": same.name}), (0, {"BASELINE": other.name}),
                                (1, {"POLICY": policy.name, "BASELINE": other.name}), (64, {"POLICY": policy.name}),
                                (65, {"BASELINE": "missing.json"})):
            for _ in self.each(code, **{f"DETERMINISM_{name}": value for name, value in variables.items()}):
                pass

    def test_what_is_allowed_is_shown_as_passed(self):
        """A service that counts failures in JUnit says what the exit code says."""
        policy = self.work / "policy.json"
        entries = [{"case": case, "reason": "a test", "expires": "2999-12-31"} for case in ("cpu/*", "python/*")]
        policy.write_text(json.dumps({"allow": entries, "fail": ["varies"]}))
        report = json.loads((CORPUS / "good-findings.json").read_text())
        keep = [row for row in report["body"]["results"] if row["observed"] == "varies" and
                row["guarantee"]["status"] != "broken"]
        report["body"]["results"] = keep
        names = [row["case"] for row in keep]
        counts = {word: 0 for word in report["body"]["summary"]["counts"]} | {"varies": len(keep)}
        statuses = [row["guarantee"]["status"] for row in keep]
        report["body"]["summary"] = {
            "counts": counts, "nondeterministic": names, "wrong": [], "broken": [],
            "guarantees": {word: statuses.count(word) for word in ("none", "allows", "kept", "broken")}}
        report["measurements"]["cases"] = [row for row in report["measurements"]["cases"] if row["case"] in names]
        file = self.folder / "varies.json"
        file.write_text(json.dumps(digested(report)))
        self.record(file)
        for name, _ in self.each(0, DETERMINISM_POLICY=policy.name):
            root = self.assert_results(name)
            self.assertEqual((root.get("name"), root.get("failures")), ("detprobe gate", "0"))
            self.assertGreater(int(root.get("tests")), 1)

    def test_arguments(self):
        """Selectors are words and no patterns of file names; what is not set is left out."""
        (self.work / "cpu").mkdir()
        (self.work / "cpu" / "x").touch()
        self.record(CORPUS / "good-clean.json")
        for _ in self.each(0, DETERMINISM_REQUIRE="cpu python"):
            pass
        for _ in self.each(0, DETERMINISM_REQUIRE=None, DETERMINISM_POLICY=None, DETERMINISM_BASELINE=None):
            pass
        lines = set((self.here / "commands").read_text().splitlines())
        heads = {line.split(" --fail-on")[0] for line in lines}
        self.assertEqual(heads, {"run cpu/* @python --level quick --require cpu --require python",
                                 "run cpu/* @python --level quick"})

    def test_nothing_of_the_last_job_is_left(self):
        self.record(CORPUS / "good-clean.json")
        for _ in self.each(0):
            pass
        (self.here / "recorded.json").unlink()
        for _ in self.each(1):
            self.assertFalse((self.work / "determinism" / "report.json").exists())

    def test_the_program_itself(self):
        """No replay: the fake programs, run, gated and refused."""
        fakes = self.here / "fakes"
        shutil.copytree(FAKES, fakes)
        (self.folder / "probes").mkdir()
        (self.folder / "probes" / "programs.json").write_text('{"programs": {}}')
        real = {"DETERMINISM_PROGRAM": str(self.here / "detprobe"), "DETPROBE_PROBE_PATH": str(fakes)}
        for name, _ in self.each(0, **real, DETERMINISM_SELECT="fake/good/repeats fake/varies/always"):
            self.assert_results(name)
        for name, _ in self.each(1, **real, DETERMINISM_SELECT="fake/good/repeats fake/varies/always-promised"):
            self.assert_results(name)
        for _ in self.each(2, **real, DETERMINISM_SELECT="fake/good/repeats", DETERMINISM_REQUIRE="cuda"):
            self.assertTrue((self.work / "determinism" / "junit.xml").exists())
        for _ in self.each(64, **real, DETERMINISM_SELECT="fake/good/repeat"):
            pass


class Files(unittest.TestCase):
    def test_blocks_are_one(self):
        """What is measured and how it is decided is the same everywhere; only what is shown differs."""
        def core(name):
            words = re.sub(r"\s*\\\n\s*|\s+", " ", script_of(name))
            return re.sub(r' --report ("[^"]*"|\S+)', "", words).strip()

        self.assertEqual(core("gitlab"), core("github"))
        self.assertEqual(core("jenkins"), core("github"))

    def test_expressions_stay_out_of_scripts(self):
        """What a service puts into a script before a shell sees it could be a command."""
        for name in TEMPLATES:
            self.assertNotIn("${{", script_of(name))

    def test_kept_and_shown_whatever_happens(self):
        github, gitlab, jenkins = (TEMPLATES[name].read_text() for name in ("github", "gitlab", "jenkins"))
        self.assertRegex(github, r"if: always\(\)\n\s+uses: actions/upload-artifact@v\d+\n\s+with:\n\s+name: \w+\n"
                                 r"\s+path: determinism\n")
        self.assertIn("summary:$GITHUB_STEP_SUMMARY", github)
        self.assertRegex(gitlab, r"when: always\n")
        self.assertRegex(gitlab, r"junit: determinism/junit\.xml")
        self.assertRegex(jenkins, r"always \{\n\s+junit 'determinism/junit\.xml'\n\s+archiveArtifacts artifacts: "
                                  r"'determinism/\*\*'")

    def test_inputs_are_used(self):
        for name, text in ((name, file.read_text()) for name, file in TEMPLATES.items()):
            used = set(re.findall(r"\$\{?(DETERMINISM_\w+)", script_of(name)))
            self.assertEqual(used, set(re.findall(r"(?m)^\s+(DETERMINISM_\w+)(?=:| =)", text)), name)
        action = TEMPLATES["github"].read_text()
        self.assertEqual(set(re.findall(r"inputs\.(\w+)", action)), set(re.findall(r"(?m)^  (\w+):\n    desc", action)))
        workflow = (SOURCE / "ci" / "github" / "workflow.yml").read_text()
        given = re.findall(r"(?m)^          (\w+):", workflow.split("with:\n")[1])
        self.assertLessEqual(set(given), set(re.findall(r"inputs\.(\w+)", action)))

    def test_jenkinsfile_is_declarative(self):
        """No parser of Groovy is at hand: strings and braces end, and what must be there is, in its place."""
        text = TEMPLATES["jenkins"].read_text()
        code = re.sub(r"'''.*?'''|'[^'\n]*'", "''", re.sub(r"(?m)//.*$", "", text), flags=re.S)
        self.assertNotIn("'''", code)
        depth, path, seen = 0, [], set()
        for name, brace in re.findall(r"(\w+)?(?:\([^()]*\))?\s*([{}])", code):
            path = path[:-1] if brace == "}" else [*path, name]
            depth += 1 if brace == "{" else -1
            self.assertGreaterEqual(depth, 0)
            seen.add("/".join(path))
        self.assertEqual(depth, 0)
        self.assertLessEqual({"pipeline/agent", "pipeline/stages/stage/steps", "pipeline/stages/stage/post/always"}, seen)


class Schemas(unittest.TestCase):
    """The schemas that editors and services check these files with."""

    # A schema, a file, and what breaks it.
    CHECKS = (("vendor.github-actions", SOURCE / "ci" / "github" / "action.yml", "using: composite", "using: x"),
              ("vendor.github-workflows", SOURCE / "ci" / "github" / "workflow.yml", "runs-on:", "runs:"),
              ("vendor.gitlab-ci", SOURCE / "ci" / "gitlab" / "detprobe.gitlab-ci.yml", "when: always", "when: x"))

    def check(self, modules, schema, file):
        return subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file],
                              env={**os.environ, "PYTHONPATH": str(modules)}, capture_output=True, text=True, timeout=120,
                              check=False)

    def test_schemas(self):
        modules = fetched.modules(KEPT, "check-jsonschema==0.33.0")
        if not modules:
            self.skipTest("check-jsonschema cannot be fetched")
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as scratch:
            for schema, file, good, bad in self.CHECKS:
                # of GitLab's hidden jobs, with a dot before their names, the schema checks nothing
                text = file.read_text().replace(".detprobe", "detprobe")
                for code, changed in ((0, text), (1, text.replace(good, bad))):
                    copy = pathlib.Path(scratch) / file.name
                    copy.write_text(changed)
                    done = self.check(modules, schema, copy)
                    self.assertEqual(done.returncode, code, f"{schema}: {done.stdout}{done.stderr}")


if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2, exit=False).result
    skipped = result.testsRun > 0 and len(result.skipped) == result.testsRun
    sys.exit(fetched.SKIP if skipped else 0 if result.wasSuccessful() else 1)
