# SPDX-License-Identifier: Apache-2.0
"""Hostile files from outside, every kind through every command that reads it: one line that names the file and the
place, the code of bad input, and nothing is written, replaced or followed.

usage: test_hostile.py DETPROBE SOURCE_FOLDER [TEST...]
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import surroundings

DETPROBE, SOURCE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
CORPUS = SOURCE / "suite" / "tests" / "fuzz" / "corpus"
GOOD = CORPUS / "report" / "good-findings.json"
CLIMB = "../../../detprobe-was-here"


def seal(report):
    """Summary and digest are the reader's last checks: what comes before them is to be tried."""
    body = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**report, "digest": hashlib.sha256(body.encode()).hexdigest()}


def changed(change):
    report = json.loads(GOOD.read_text())
    change(report)
    return json.dumps(seal(report))


class Case(unittest.TestCase):
    """Works in `deep`, far below the folder whose whole tree is held against what it was."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="detprobe-test-"))
        self.deep = self.folder / "a" / "b" / "c" / "d"
        self.deep.mkdir(parents=True)
        shutil.copy(GOOD, self.deep / "good.json")
        openssl = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.deep / "k.pem"]
        subprocess.run(openssl, check=True, capture_output=True)
        subprocess.run(["openssl", "pkey", "-in", self.deep / "k.pem", "-pubout", "-out", self.deep / "p.pem"],
                       check=True, capture_output=True)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, name, content):
        path = self.deep / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def tree(self):
        return {path.relative_to(self.folder): path.read_bytes() if path.is_file() else None
                for path in self.folder.rglob("*")}

    def run_in(self, *arguments, probes=""):
        variables = surroundings.plain()
        variables["DETPROBE_PROBE_PATH"] = str(probes)
        before = self.tree()
        done = subprocess.run([DETPROBE, *map(str, arguments)], cwd=self.deep, env=variables, capture_output=True,
                              timeout=60)
        self.assertEqual(self.tree(), before, arguments)
        for text in (done.stdout, done.stderr):
            text.decode()
            self.assertFalse([byte for byte in text if byte < 32 and byte != 10 or byte == 127], (arguments, text))
        return done

    def refused(self, done, name, *words):
        self.assertEqual((done.returncode, done.stdout), (65, b""), (name, done.stderr))
        self.assertEqual(done.stderr.count(b"\n"), 1, done.stderr)
        for word in (name, *words):
            self.assertIn(word, done.stderr.decode())

    def commands(self, kind, path):
        """Every command that reads a file of this kind."""
        return {
            "report": [("show", path), ("show", path, "--format", "html"), ("validate", path),
                       ("diff", path, "good.json"), ("diff", "good.json", path),
                       ("diff", "good.json", "good.json", path), ("gate", path),
                       ("baseline", "good.json", path), ("sign", "--key", "k.pem", path, "-o", "-")],
            "baseline": [("gate", "good.json", "--baseline", path)],
            "policy": [("gate", "good.json", "--policy", path),
                       ("gate", "good.json", "--policy", path, "--baseline", "good.json")],
            "signature": [("verify", "--key", "p.pem", path),
                          ("gate", "--require-signed", "--key", "p.pem", path)],
            "runlog": [("run", "--resume", path)],
        }[kind]


class Corpus(Case):
    """What the fuzzers begin with. A command takes it, or refuses it with a line that names the file."""

    def check(self, kind):
        taken = refused = 0
        for source in sorted((CORPUS / kind).iterdir()):
            name = source.name.replace(".jsonl", ".json.log.jsonl")
            path = self.write(f"input-{name}", source.read_bytes())
            for command in self.commands(kind, path.name):
                done = self.run_in(*command)
                # A policy may ask for the baseline that the command line does not name.
                self.assertIn(done.returncode, (0, 1, 2, 64, 65), (command, done.stderr))
                self.assertTrue(done.returncode != 64 or b"--baseline" in done.stderr, done.stderr)
                if done.returncode == 65:
                    words = () if b"comparable" in done.stderr or command[0] == "baseline" else (path.name,)
                    self.refused(done, "detprobe: ", *words)
                taken, refused = taken + (done.returncode != 65), refused + (done.returncode == 65)
            path.unlink()
        return taken, refused

    def test_reports(self):
        taken, refused = self.check("report")
        self.assertTrue(taken > 20 and refused > 50, (taken, refused))

    def test_baselines(self):
        self.assertTrue(all(self.check("baseline")))

    def test_policies(self):
        self.assertTrue(all(self.check("policy")))

    def test_signatures(self):
        self.assertEqual(self.check("signature")[0], 0)

    def test_run_logs(self):
        self.assertEqual(self.check("runlog")[0], 0)

    def test_catalogues(self):
        folder = self.deep / "probes"
        folder.mkdir()
        (folder / "probe").write_text("#!/bin/sh\n")
        (folder / "probe").chmod(0o755)
        codes = set()
        for source in sorted((CORPUS / "catalogue").iterdir()):
            path = folder / source.name
            path.write_bytes(source.read_bytes())
            done = self.run_in("list", "--json", probes=folder)
            codes.add(done.returncode)
            if done.returncode != 0:
                self.refused(done, source.name)
            path.unlink()
        self.assertEqual(codes, {0, 65})


class Places(Case):
    """What is wrong is named with its place."""

    def test_no_json(self):
        text = GOOD.read_text()
        rows = {"truncated": (text[:3000], "line"), "duplicate": ('{"a": 1,\n "a": 2}', "line 2"),
                "nan": ('{"a":\nNaN}', "line 2"), "infinite": ('{"a": 1e999}', "line 1"),
                "integer": ('{"a": 99999999999999999999}', "line 1"), "utf8": (b'{"a": "\xff"}', "line 1"),
                "nul": (b'{"a": "\0"}', "NUL"), "deep": ("[" * 100000, "line 1"), "empty": ("", "line 1"),
                "rest": ("{} {}", "line 1")}
        for name, (content, place) in rows.items():
            for kind in ("report", "baseline", "policy", "signature"):
                path = self.write(f"{name}.json", content)
                for command in self.commands(kind, path.name):
                    with self.subTest(command=command):
                        self.refused(self.run_in(*command), path.name, place)

    def test_huge(self):
        path = self.deep / "huge.json"
        with open(path, "wb") as file:
            file.truncate((512 << 20) + 1)
        self.tree = lambda: None  # not to be read into memory each time
        for kind in ("report", "baseline", "policy", "signature"):
            for command in self.commands(kind, path.name):
                self.refused(self.run_in(*command), path.name, "larger than")

    def test_versions(self):
        path = self.write("version.json", changed(lambda report: report.update(schema_version="2.0")))
        for command in self.commands("report", path.name) + self.commands("baseline", path.name):
            self.refused(self.run_in(*command), path.name, "'2.0'")
        path = self.write("version.json", '{"schema_version": "2.0"}')
        self.refused(self.run_in("gate", "good.json", "--policy", path.name), path.name, "'2.0'")

        def newer(report):
            report.update(schema_version="1.99", later={"x": 1.5})
            report["measurements"]["started"] = "2026-01-01T00:00:00Z"  # of another run
            report["body"]["results"][0]["later"] = [1]

        path = self.write("version.json", changed(newer))
        for command in self.commands("report", path.name):
            if command[0] == "validate":
                self.refused(self.run_in(*command), path.name, "'1.99'")
            else:
                self.assertIn(self.run_in(*command).returncode, (0, 1, 2), command)

    def test_values(self):
        rows = [(lambda report: report["body"]["plan"].update(runs=-1), "/body/plan/runs"),
                (lambda report: report["body"]["plan"].update(runs=2**63 - 1), "/body/plan/runs"),
                (lambda report: report["body"]["results"][3].update(observed="perhaps"), "/body/results/3"),
                (lambda report: report["body"]["results"][3].update(later=1), "/body/results/3"),
                (lambda report: report["body"]["results"][3].update(case=f"cpu/gemm/{CLIMB}"), "/body/results/3/case"),
                (lambda report: report["measurements"].update(started=CLIMB), "/measurements/started")]
        for change, place in rows:
            path = self.write("value.json", changed(change))
            for command in self.commands("report", path.name) + self.commands("baseline", path.name):
                with self.subTest(command=command, place=place):
                    self.refused(self.run_in(*command), path.name, place)


class Names(Case):
    """Names in a file lead nowhere."""

    def test_in_a_report(self):
        def climb(report):
            environment = report["body"]["environment"]
            for library in environment["libraries"]:
                library.update(name=CLIMB, path=CLIMB, role="cblas")
            environment["variables"]["OMP_NUM_THREADS"] = CLIMB
            report["measurements"]["host_name"] = CLIMB
            report["body"]["plan"]["left_out"][0]["reason"] = CLIMB

        path = self.write("climb.json", changed(climb))
        for command in self.commands("report", path.name) + self.commands("baseline", path.name):
            self.assertIn(self.run_in(*command).returncode, (0, 1, 2, 65), command)
        for form in ("markdown", "junit", "github", "tap", "sarif", "prometheus", "json"):
            self.assertEqual(self.run_in("show", path.name, "--format", form).returncode, 0, form)

    def test_in_a_catalogue(self):
        folder = self.deep / "probes"
        folder.mkdir()
        (self.folder / "program").write_text("#!/bin/sh\ntouch detprobe-was-here\n")
        (self.folder / "program").chmod(0o755)
        case = {"id": "cpu/a/b", "op": "x", "guarantee": {"level": "unstated"}}
        rows = [({"program": "../../../../../program"}, "/program"),
                ({"program": str(self.folder / "program")}, "/program"),
                ({"program": ".."}, "/program"), ({"program": "missing"}, "missing"),
                ({"cases": [{**case, "id": f"cpu/a/{CLIMB}"}]}, "/cases/0/id"),
                ({"variants": [{**case, "id": "cpu/a/{n}", "vary": {"n": [CLIMB]}}]}, "id"),
                ({"cases": [{**case, "environment": {"LD_PRELOAD": CLIMB}}]}, "LD_PRELOAD"),
                ({"cases": [{**case, "environment": {"CUBLAS_WORKSPACE_CONFIG": CLIMB}}]}, "CUBLAS_WORKSPACE_CONFIG")]
        (folder / "probe").write_text("#!/bin/sh\n")
        (folder / "probe").chmod(0o755)
        for change, place in rows:
            text = {"schema_version": "1.0", "program": "probe", "cases": [case], **change}
            (folder / "climb.json").write_text(json.dumps(text))
            for command in (("list",), ("run", "cpu/a/*", "--dry-run"), ("doctor",)):
                self.refused(self.run_in(*command, probes=folder), "climb.json", place)

    def begin(self, folder):
        """The plan in the log of a run that has one case, of a program that dies at once."""
        (folder / "probe").write_text("#!/bin/sh\n")
        (folder / "probe").chmod(0o755)
        case = {"id": "cpu/dies/x", "op": "x", "guarantee": {"level": "unstated"}}
        file = {"schema_version": "1.0", "program": "probe", "cases": [case]}
        (folder / "probe.json").write_text(json.dumps(file))
        environment = {**surroundings.plain(), "DETPROBE_PROBE_PATH": str(folder)}
        subprocess.run([DETPROBE, "run", case["id"], "--level", "quick", "-o", folder / "begun.out"], env=environment,
                       capture_output=True, timeout=60)
        return json.loads((folder / "begun.out.log.jsonl").read_text().splitlines()[0])["plan"]

    def test_in_a_run_log(self):
        options = {"level": CLIMB, "seed": "1", "seeds": 0, "runs": 0, "fresh": -1, "budget_ns": 0, "axes": [],
                   "include": [CLIMB], "exclude": [], "stack": CLIMB, "force": False}
        plan = {"options": options, "catalogue_sha256": "0" * 64, "version": "0.1.0", "environment": {}}
        hello = {"hello": {"program": CLIMB, "message": {"type": "hello", "program": CLIMB, "protocol": 1}}}
        path = self.write("climb.json.log.jsonl", f"{json.dumps({'plan': plan})}\n{json.dumps(hello)}\n")
        self.refused(self.run_in("run", "--resume", path.name), path.name)
        probes = self.deep / "probes"
        probes.mkdir()
        begun = self.begin(probes)
        for change, place in (({"level": "x"}, "line 1"), ({"seeds": 10**6}, "'seeds'"), ({"seed": "-1"}, "'seed'"),
                              ({"axes": ["x"]}, "line 1"), ({"budget_ns": 1e9}, "'budget_ns'"),
                              ({"stack": 7}, "'stack'"), ({"costs": {CLIMB: -1}}, "'costs'")):
            own = {**begun, "options": {**begun["options"], **change}}
            path = self.write("climb.json.log.jsonl", json.dumps({"plan": own}) + "\n")
            self.refused(self.run_in("run", "--resume", path.name, probes=probes), path.name, place)
        path = self.write("good.json.log.jsonl", "not a log\n")
        self.refused(self.run_in("run", "--resume", path.name), path.name, "line 1")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
