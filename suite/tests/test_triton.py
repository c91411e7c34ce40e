# SPDX-License-Identifier: Apache-2.0
"""The Triton kernel of probes/README.md, with the real Triton from pinned wheels.

usage: test_triton.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Triton's interpreter takes one program after the other, so nothing can vary there: what is tested is the probe.
"""

import pathlib
import subprocess
import tempfile
import unittest

import frameworks_lab as lab
import readme_block

PAGE = pathlib.Path(__file__).resolve().parents[2] / "probes" / "README.md"
CASES = ("python/fused/bias-on-arrival-64x1024", "python/fused/bias-in-order-64x1024")


class Real(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stack = lab.stack("pytorch.txt", 9)
        holder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder = pathlib.Path(holder.name)
        subprocess.run([lab.DETPROBE, "new-probe", "fused"], cwd=cls.folder, check=True, capture_output=True)
        readme_block.write_files(PAGE, cls.folder, "fused/")

    def run_quick(self, **variables):
        report, _ = lab.run("python/fused/*", "--level", "quick", "--stack", self.stack, expect=(0, 77),
                            DETPROBE_PROBE_PATH=str(self.folder / "fused"), **variables)
        (triton,) = [row for row in report["body"]["environment"]["libraries"] if row["role"] == "triton"]
        return lab.results(report), triton

    def test_interpreted(self):
        rows, triton = self.run_quick(TRITON_INTERPRET="1")
        self.assertEqual({case: row["observed"] for case, row in rows.items()}, dict.fromkeys(CASES, "repeats"))
        self.assertEqual(triton["config"], "interpreter")
        # The rows one after the other in both: the same sums, and of what was put in.
        self.assertEqual(lab.digests(rows[CASES[0]]), lab.digests(rows[CASES[1]]))
        self.assertGreater(len({tuple(found) for found in lab.digests(rows[CASES[0]]).values()}), 1)

    def test_compiled(self):
        rows, triton = self.run_quick(TRITON_INTERPRET="0")
        self.assertEqual(triton["config"], "compiled")
        self.assertEqual(set(rows), set(CASES))
        for row in rows.values():
            if row["observed"] == "skipped":
                self.assertEqual(row["reason"], "no_device")
            else:
                self.assertIn(row["observed"], ("repeats", "varies"))


if __name__ == "__main__":
    lab.main()
