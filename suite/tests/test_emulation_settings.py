# SPDX-License-Identifier: Apache-2.0
"""Settings of a run and of a case on the emulated stack: variables that a case sets for its process, `--force`.

usage: test_emulation_settings.py DETPROBE EMULATION-FOLDER [TEST...]
"""

import json
import pathlib

from test_emulation import BROKEN, GEMM, KEPT, Emulated, main


class Settings(Emulated):
    """Variables that a case sets: one process for each set of them, and what the library makes of them."""

    PLAIN = "cuda/gemm/sgemm-nn-128x96x777"
    TF32 = "cuda/gemm/sgemm-tf32-nn-128x96x777"
    LONG = "cuda/gemm/sgemm-nn-32x64x16384"

    def digests(self, report):
        """Of each case's outputs: the digest on the first inputs of the set that decides bits."""
        return {row["case"]: next(output["sha256"] for output in row["outputs"]
                                  if (output["seed"], output["set"]) == ("1/0", "wide"))
                for row in report["body"]["results"]}

    def settings(self):
        lines = self.log.read_text().splitlines()
        return sorted(line for line in lines if line.startswith("settings "))

    def measure(self, *cases, injection="", **options):
        report = self.run_cases(cases, 0, injection, **options)
        self.assertEqual(set(self.rows(report).values()), {KEPT})
        return report, self.digests(report)

    def test_tf32_override(self):
        off, on = f"{self.TF32}-tf32-override-0", f"{self.PLAIN}-tf32-override-1"
        report, bits = self.measure(self.PLAIN, self.TF32, off, on)
        self.assertNotEqual(bits[self.PLAIN], bits[self.TF32])
        self.assertEqual(bits[off], bits[self.PLAIN], "0 wins over the program")
        self.assertEqual(bits[on], bits[self.PLAIN], "1 leaves the choice to the program")
        shown = {row["case"]: row.get("environment") for row in report["body"]["results"]}
        self.assertEqual(shown, {self.PLAIN: None, self.TF32: None, off: {"NVIDIA_TF32_OVERRIDE": "0"},
                                 on: {"NVIDIA_TF32_OVERRIDE": "1"}})
        self.assertEqual(self.settings(), [f"settings CUBLAS_WORKSPACE_CONFIG=unset NVIDIA_TF32_OVERRIDE={value}"
                                           for value in ("0", "1", "unset")])

    def test_tf32_that_the_setting_forces(self):
        on = f"{self.PLAIN}-tf32-override-1"
        _, bits = self.measure(self.PLAIN, self.TF32, on, injection="tf32=forced")
        self.assertEqual(bits[on], bits[self.TF32])
        self.assertNotEqual(bits[on], bits[self.PLAIN])

    def test_workspace_config(self):
        few, many = (f"{self.LONG}-workspace-config-{name}" for name in ("16-8", "4096-8"))
        # another routine of the same process: its handle is the same one
        bf16 = "cuda/gemm/gemmex-bf16-nn-32x64x16384-workspace-config-16-8"
        _, bits = self.measure(self.LONG, few, many, bf16)
        self.assertNotEqual(bits[few], bits[self.LONG])
        self.assertEqual(bits[many], bits[self.LONG])
        self.assertEqual(self.settings(), [f"settings CUBLAS_WORKSPACE_CONFIG={value} NVIDIA_TF32_OVERRIDE=unset"
                                           for value in (":16:8", ":4096:8", "unset")])

    def test_variable_of_the_user(self):
        """It holds for the cases that say nothing, and for no other; the table says so."""
        off = f"{self.TF32}-tf32-override-0"
        report, bits = self.measure(self.PLAIN, self.TF32, off, environment={"NVIDIA_TF32_OVERRIDE": "1"})
        self.assertEqual(bits[off], bits[self.PLAIN])
        self.assertEqual(report["body"]["environment"]["variables"]["NVIDIA_TF32_OVERRIDE"], "1")
        self.assertIn("NVIDIA_TF32_OVERRIDE=1 does not hold for 1 operation that sets its own", self.text)
        _, bits = self.measure(self.PLAIN, self.TF32, environment={"NVIDIA_TF32_OVERRIDE": "0"})
        self.assertEqual(bits[self.TF32], bits[self.PLAIN])
        self.assertNotIn("does not hold", self.text)

    def test_reordering_shows_in_the_case_that_is_reordered(self):
        cases = [self.PLAIN, f"{self.PLAIN}-tf32-override-1", "cuda/gemm/gemmex-tf32-nn-128x96x777-tf32-override-0"]
        report = self.run_cases(cases, 1, "reorder=cublasGemmEx")
        self.assertEqual(self.rows(report), dict(zip(cases, (KEPT, KEPT, BROKEN))))
        self.assertIn("with NVIDIA_TF32_OVERRIDE=0", self.text)


class Force(Emulated):
    def test_force(self):
        """It reaches the programs, stands in the report, and a resumed run has it from the log."""
        report = self.run_cases([GEMM[0], "--force"], 0, "mode=3")
        self.assertEqual(self.rows(report)[GEMM[0]], KEPT)
        self.assertEqual(report["body"]["environment"]["variables"]["DETPROBE_FORCE"], "1")
        self.assertIn("measured with --force", self.text)
        log = pathlib.Path(self.folder.name, "report.json.log.jsonl")
        log.write_text("".join(log.read_text().splitlines(keepends=True)[:3]))
        done = self.detprobe("run", "--resume", log, injection="mode=3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        resumed = json.loads(pathlib.Path(self.folder.name, "report.json").read_text())
        self.assertEqual(resumed["digest"], report["digest"])
        report = self.run_cases(GEMM[:1] + ["--force"], 77, "mode=2")
        self.assertIn("PROHIBITED", report["body"]["results"][0]["text"])
        plain = self.run_cases(GEMM[:1], 0)
        self.assertNotIn("DETPROBE_FORCE", plain["body"]["environment"]["variables"])
        self.assertNotIn("--force", self.text)


if __name__ == "__main__":
    main()
