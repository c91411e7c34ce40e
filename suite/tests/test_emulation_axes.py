# SPDX-License-Identifier: Apache-2.0
"""Axes that act on each run, on the emulated stack: other work beside it, and other runs at once.

usage: test_emulation_axes.py DETPROBE EMULATION-FOLDER [TEST...]
"""

import json
import pathlib

from test_emulation import ALLOWED, BROKEN, KEPT, Emulated, main


class Busy(Emulated):
    CASE = "cuda/gemm/sgemm-nt-128x96x777"
    FEW = [CASE, "cuda/gemm/dgemm-nn-16x16x16"]

    def not_measured(self, report):
        return {axis for row in report["body"]["results"] for axis in row["not_measured"]}

    def test_nothing_injected(self):
        report = self.expect(0, "", {}, self.FEW, axis="busy", level="default")
        self.assertNotIn("busy", self.not_measured(report))
        works = {line.split()[1] for line in self.log.read_text().splitlines() if line.startswith("kit_occupy")}
        self.assertEqual(works, {"compute", "memory"}, "and none was waited for until its limit")

    def test_reordering_beside_other_work(self):
        report = self.expect(1, "busy-reorder=cublasSgemm_v2", {self.CASE: BROKEN}, self.FEW, axis="busy")
        axes = self.measured(report, self.CASE)
        self.assertEqual(axes["repeat"]["distinct"], 1)
        self.assertEqual({row["distinct"] for row in axes["busy"]["settings"]}, {8})
        self.assertIn("alone it repeats, beside other work it does not", self.text)
        report = self.expect(0, "busy-reorder=cublasSgemm_v2", {}, self.FEW)
        self.assertIn("busy", self.not_measured(report))

    def test_launches_that_wait(self):
        """Nothing was beside the runs, so nothing is said of it."""
        report = self.expect(0, "blocking=1,busy-reorder=cublasSgemm_v2", {}, self.FEW, axis="busy")
        self.assertIn("busy", self.not_measured(report))
        dropped = self.measured(report, self.CASE)["busy"]["settings"][0]["dropped"]
        self.assertIn("nothing runs beside another kernel", dropped)

    def test_failure_beside_other_work(self):
        """It costs the setting, and the work is not left behind for what comes after."""
        report = self.expect(0, "busy-status=cublasSgemm_v2", {}, self.FEW, axis="busy")
        dropped = self.measured(report, self.CASE)["busy"]["settings"][0]["dropped"]
        self.assertIn("failed to launch", dropped)
        self.assertEqual(self.measured(report, self.FEW[1])["busy"]["settings"][0]["distinct"], 1)

    def test_resumed_run(self):
        report = self.expect(0, "", {}, self.FEW, axis="busy")
        log = pathlib.Path(self.folder.name, "report.json.log.jsonl")
        lines = log.read_text().splitlines(keepends=True)
        log.write_text("".join(lines[: len(lines) // 2]))
        done = self.detprobe("run", "--resume", log)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        resumed = json.loads(pathlib.Path(self.folder.name, "report.json").read_text())
        self.assertEqual(resumed["digest"], report["digest"])

    def test_quick_does_not_ask_cores(self):
        """There it costs time, and a device is no place for another process."""
        def axes(case, level):
            return self.detprobe("run", "--dry-run", case, "--level", level).stdout.splitlines()[-1]
        self.assertNotIn("busy", axes("cpu/gemm/*", "quick"))
        self.assertIn("busy", axes("cpu/gemm/*", "default"))
        self.assertIn("busy", axes("cuda/gemm/*", "quick"))


class Streams(Emulated):
    """Several streams on one handle: `streams=` gives a call on the third and later ones less workspace."""
    PLAIN = "cuda/gemm/sgemm-nn-32x64x16384"
    VOID = f"{PLAIN}-streams"
    SMALL, LARGE = f"{VOID}-workspace-config-16-8", f"{VOID}-workspace-config-4096-8"
    OWN, EACH = f"{VOID}-workspace-32mib", f"{VOID}-handle-each"
    SDOT = [f"cuda/blas/sdot-200000-streams{form}" for form in ("", "-workspace-config-4096-8", "-handle-each")]
    ALL = [PLAIN, VOID, SMALL, LARGE, OWN, EACH, *SDOT]
    UNSEEN = ("repeats", "allows")

    def run_streams(self, injection, cases, **changed):
        report = self.run_cases(cases, 0, injection, axis="concurrency")
        usual = {case: self.UNSEEN if case in (self.VOID, self.SDOT[0]) else KEPT for case in cases}
        self.assertEqual(self.rows(report), usual | {getattr(self, name): row for name, row in changed.items()})
        self.assertTrue(all("concurrency" not in row["not_measured"] for row in report["body"]["results"]))
        self.assertNotIn("waited for", self.log.read_text())
        return report

    def sensitive(self, report):
        return [row["case"] for row in report["body"]["results"] if "concurrency" in row.get("sensitive_to", [])]

    def test_nothing_injected(self):
        report = self.run_streams("", self.ALL)
        self.assertEqual(self.sensitive(report), [])

    def test_workspace_that_streams_compete_for(self):
        report = self.run_streams("streams=cublasSgemm_v2", self.ALL, VOID=ALLOWED)
        axes = self.measured(report, self.VOID)
        self.assertEqual(axes["repeat"]["distinct"], 1)
        self.assertEqual({row["distinct"] for row in axes["concurrency"]["settings"]}, {2})
        self.assertIn("one at a time it repeats, several at once do not", self.text)
        self.assertIn("have one size of workspace", self.text)
        # nothing is promised of streams to the plain case, so it is none of its guarantee's business
        self.assertEqual(self.sensitive(report), [self.PLAIN])

    def test_two_streams_find_two_large_ones(self):
        report = self.run_cases([self.SDOT[0]], 0, "streams=cublasSdot", axis="concurrency", level="default")
        settings = self.measured(report, self.SDOT[0])["concurrency"]["settings"]
        distinct = {row["setting"]: row["distinct"] for row in settings}
        self.assertEqual(distinct, {"2": 1, "4": 2, "8": 2, "16": 2})
        self.assertEqual(self.rows(report), {self.SDOT[0]: ALLOWED})

    def test_promise_that_is_not_kept(self):
        """A fault on the streams of a case that is promised otherwise is a finding, confirmed in new processes."""
        report = self.run_cases(self.SDOT, 1, "gate-reorder=cublasSdot", axis="concurrency")
        self.assertEqual(self.rows(report), dict(zip(self.SDOT, (ALLOWED, BROKEN, BROKEN))))
        for case in self.SDOT:
            self.assertEqual(self.measured(report, case)["repeat"]["distinct"], 1)

    def test_not_at_once(self):
        report = self.run_cases(self.SDOT, 0, "blocking=1,gate-reorder=cublasSdot", axis="concurrency")
        for row in report["body"]["results"]:
            self.assertIn("concurrency", row["not_measured"])
            self.assertEqual(row["observed"], "repeats")

    def test_calls(self):
        self.run_streams("", [self.VOID, self.OWN, self.EACH])
        lines = self.log.read_text().splitlines()
        gates = [i for i, line in enumerate(lines) if line.startswith("kit_occupy waits")]
        self.assertEqual(len(gates), 3 * 2 * 8, "cases, inputs, rounds")
        streams = set()
        for gate in gates:
            calls = [line for line in lines[gate:gate + 9] if line.startswith("cublasSgemm_v2")][:4]
            seen = [line.split("stream=")[1] for line in calls]
            self.assertEqual(len(set(seen)), 4, "one call on each stream behind the gate")
            streams |= set(seen)
        self.assertEqual(len(streams), 4)
        # a workspace of its own for each stream, set after the stream
        given = {line.split()[1]: line.split("stream=")[1] for line in lines if line.startswith("cublasSetWorkspace")}
        self.assertEqual(set(given.values()), streams)
        self.assertEqual(lines.count("cublasCreate"), 5, "one without the variable, one that streams share, three more")


if __name__ == "__main__":
    main()
