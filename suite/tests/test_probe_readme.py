# SPDX-License-Identifier: Apache-2.0
"""The examples of probes/README.md do what the page says: driven by hand, then through detprobe itself.

usage: test_probe_readme.py PAGE FOLDER_OF_THE_PYTHON_KIT C_EXAMPLE DETPROBE [unittest arguments]
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import readme_block
import speak

PAGE, KIT, C_EXAMPLE, DETPROBE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(4))


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name, "my-probes")
        cls.folder.mkdir()
        for language, name in (("python", "losses.py"), ("json", "losses.json"), ("json", "rowsum.json")):
            (cls.folder / name).write_text(readme_block.block(PAGE, language, name))
        shutil.copy(KIT / "kit.py", cls.folder)
        shutil.copy(C_EXAMPLE, cls.folder / "rowsum")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def detprobe(self, *arguments, status=0, **environment):
        changes = {"DETPROBE_PROBE_PATH": str(self.folder), "PYTHONHASHSEED": None, **environment}
        done = subprocess.run([DETPROBE, *arguments], text=True, capture_output=True, cwd=self.folder,
                              env=speak.environment(changes), stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def results(self, selector, **environment):
        """{case: result} of a quick run."""
        report = self.folder.parent / "report.json"
        self.detprobe("run", selector, "--level", "quick", "-o", str(report), **environment)
        return {r["case"]: r for r in json.loads(report.read_text())["body"]["results"]}

    def test_transcript(self):
        lines = readme_block.block(PAGE, "transcript", "losses.py").splitlines()
        requests = [json.loads(line[2:]) for line in lines if line.startswith("> ")]
        wanted = [json.loads(line[2:]) for line in lines if line.startswith("< ")]
        _, answers, status = speak.converse(self.folder / "losses.py", requests)
        got = [{k: v for k, v in m.items() if k != "time"} for a in answers for m in a]
        self.assertEqual(status, 0)
        self.assertEqual([m for m in wanted if m["type"] != "done"], got)
        self.assertEqual(len(requests), sum(m["type"] == "done" for m in wanted))

    def test_python_example_through_detprobe(self):
        results = self.results("python/losses/*")
        in_dict, in_set = results["python/losses/mean-of-dict"], results["python/losses/mean-of-set"]
        self.assertEqual((in_dict["observed"], in_dict["guarantee"]["status"]), ("repeats", "kept"))
        self.assertEqual((in_set["observed"], in_set["guarantee"]["status"]), ("varies", "allows"))
        self.assertEqual(in_dict["checked"], "bits")

    def test_python_remedy_through_detprobe(self):
        results = self.results("python/losses/*", PYTHONHASHSEED="0")
        self.assertEqual({r["observed"] for r in results.values()}, {"repeats"})

    def test_c_example_by_hand(self):
        params = {"order": "pairwise", "rows": 4, "columns": 100}
        requests = [speak.request("rowsum", params, set=name) for name in ("wide", "unit", "exact")]
        hello, answers, status = speak.converse(self.folder / "rowsum", requests)
        self.assertEqual((hello["program"], status), ("rowsum", 0))
        for answer in answers:
            (output,) = speak.observation(answer)["outputs"]
            self.assertEqual((output["distinct"], output["guard"], output["shape"]), (1, "intact", [4]))
        for answer in answers[1:]:
            (output,) = speak.observation(answer)["outputs"]
            self.assertEqual(output["unwritten"], 0)
            self.assertLessEqual(output["error_over_bound"], 1)

    def test_c_example_orders_differ(self):
        """The inputs show an order: the two fixed ones give different bits, on exact sums the same."""
        orders = [{"order": order, "rows": 4, "columns": 100} for order in ("left", "pairwise")]
        for name, same in (("wide", False), ("exact", True)):
            requests = [speak.request("rowsum", params, set=name) for params in orders]
            _, (left, pairwise), _ = speak.converse(self.folder / "rowsum", requests)
            self.assertEqual(speak.digests(left) == speak.digests(pairwise), same, name)

    def test_c_example_through_detprobe(self):
        results = self.results("cpu/rowsum/*")
        self.assertEqual(sorted(results), ["cpu/rowsum/left-16x1000", "cpu/rowsum/pairwise-16x1000"])
        for result in results.values():
            self.assertEqual((result["observed"], result["guarantee"]["status"]), ("repeats", "kept"))
            self.assertEqual((result["checked"], result["sensitive_to"]), ("full", []))

    def test_catalogue_files_are_valid(self):
        self.detprobe("validate", "losses.json", "rowsum.json")
        broken = json.loads((self.folder / "losses.json").read_text())
        broken["cases"][0]["gurantee"] = {}
        os.makedirs(self.folder / "bad", exist_ok=True)
        (self.folder / "bad" / "losses.json").write_text(json.dumps(broken))
        self.detprobe("validate", "bad/losses.json", status=65)


if __name__ == "__main__":
    unittest.main(verbosity=1)
