# SPDX-License-Identifier: Apache-2.0
"""What CUDA probe programs record on the emulated stack: kernels that were launched, devices, own kernels.

usage: test_emulated_devices.py DETPROBE EMULATION-FOLDER [TEST...]
"""

import json
import pathlib

from test_emulation import BROKEN, KEPT, Emulated, main


class Kernels(Emulated):
    """Names of the kernels that were launched, from CUPTI where it is there."""

    SGEMM, ATOMIC = "cuda/gemm/sgemm-nt-128x96x777", "cuda/atomics/atom-f32-16x4096"

    def launched(self, report, case):
        measured = next(row for row in report["measurements"]["cases"] if row["case"] == case)
        return [{row["name"]: row["launches"] for row in rows["launched"]} for rows in measured.get("kernels", [])]

    def test_names(self):
        report = self.run_cases([self.SGEMM, self.ATOMIC], 0, axis="fresh")
        # once, though the launch shows at the runtime's function and at the driver's; in all processes the same
        self.assertEqual(self.launched(report, self.SGEMM), [{"emulated_cublasSgemm_v2": 1}])
        names = self.launched(report, self.ATOMIC)
        self.assertEqual(len(names), 1)
        self.assertTrue(names[0])
        self.assertFalse({"kit_fill", "kit_compare"} & set(names[0]), "the kit's own are not the operation's")
        roles = {row["role"] for row in report["body"]["environment"]["libraries"]}
        self.assertIn("cupti", roles)
        without = self.run_cases([self.SGEMM, self.ATOMIC], 0, "cupti=39", axis="fresh")
        self.assertEqual(without["digest"], report["digest"], "names are no part of the verdict")

    def test_selection(self):
        """Each process repeats its bits; another one launches another kernel."""
        report = self.run_cases([self.SGEMM, "cuda/gemm/dgemm-nn-16x16x16"], 1, "select=cublasSgemm", axis="fresh")
        self.assertEqual(self.rows(report), {self.SGEMM: BROKEN, "cuda/gemm/dgemm-nn-16x16x16": KEPT})
        row = next(row for row in report["body"]["results"] if row["case"] == self.SGEMM)
        self.assertEqual(row["difference"], "selection")
        self.assertGreater(len(self.launched(report, self.SGEMM)), 1)
        self.assertIn("kernel emulated_cublasSgemm_v2_variant_", " ".join(self.text.split()))

    def test_selection_that_cannot_be_seen(self):
        """The same without names: another process, other bits, and no word of what was chosen."""
        report = self.run_cases([self.SGEMM], 1, "select=cublasSgemm,cupti=39", axis="fresh")
        row = report["body"]["results"][0]
        self.assertEqual((row["observed"], row["difference"]), ("varies", "execution"))
        self.assertEqual(self.launched(report, self.SGEMM), [])
        tries = [line for line in self.log.read_text().splitlines() if line.startswith("cuptiSubscribe")]
        processes = len([line for line in self.log.read_text().splitlines() if line.startswith("cuModuleLoad")])
        self.assertLessEqual(len(tries), processes, "asked once a process")

    def test_no_library(self):
        report = self.run_cases([self.SGEMM], 0, environment={"DETPROBE_LIB_CUPTI": "/nonexistent/library.so"})
        self.assertEqual(self.rows(report), {self.SGEMM: KEPT})
        self.assertEqual(self.launched(report, self.SGEMM), [])
        self.assertNotIn("cupti", {row["role"] for row in report["body"]["environment"]["libraries"]})


class Devices(Emulated):
    """Axis device: every other GPU of the machine, in a process of its own."""

    CASES = ["cuda/gemm/sgemm-nt-128x96x777", "cuda/gemm/dgemm-nn-16x16x16", "cuda/atomics/atom-s32-16x4096"]
    SGEMM = CASES[0]

    def settings(self, report, case=SGEMM):
        """Of the first seed: setting -> why it was dropped, or None."""
        measured = next(row for row in report["measurements"]["cases"] if row["case"] == case)
        return {row["setting"]: row.get("dropped") for row in measured["axes"]["device"]["settings"]
                if row["seed"] == "1/0"}

    def test_equal_devices(self):
        report = self.expect(0, "devices=2", {}, self.CASES, axis="device")
        for row in report["body"]["results"]:
            self.assertNotIn("device", row["not_measured"])
            self.assertEqual(row["sensitive_to"], [])
            self.assertEqual(self.settings(report, row["case"]), {"1": None})
        self.assertIn("device", report["body"]["plan"]["axes"])
        again = self.expect(0, "devices=2", {}, self.CASES, axis="device")
        self.assertEqual(again["digest"], report["digest"])

    def test_device_with_other_bits(self):
        """Each device repeats its bits; cuBLAS promises the same ones on both."""
        report = self.expect(1, "devices=2,device1-select=cublasSgemm", {self.SGEMM: BROKEN}, self.CASES,
                             axis="device")
        measured = next(row for row in report["measurements"]["cases"] if row["case"] == self.SGEMM)
        self.assertTrue(measured["axes"]["device"]["moved"])
        self.assertIn("another one of its class gives others", " ".join(self.text.split()))
        self.assertEqual({row["axis"] for row in measured["kernels"]}, {"repeat", "device"})

    def test_device_that_does_not_repeat(self):
        self.expect(1, "devices=3,device2-reorder=cublasSgemm", {self.SGEMM: BROKEN}, self.CASES, axis="device")
        self.expect(1, "devices=2,device0-reorder=cublasSgemm", {self.SGEMM: BROKEN}, self.CASES, axis="device")

    def test_one_device(self):
        report = self.expect(0, "", {}, self.CASES, axis="device")
        for row in report["body"]["results"]:
            self.assertIn("device", row["not_measured"])
            reason = self.settings(report, row["case"])["0"]
            self.assertIn("one device", reason)

    def test_another_class(self):
        report = self.expect(0, "devices=3,class1=80,device1-select=cublasSgemm", {}, self.CASES, axis="device")
        settings = self.settings(report)
        self.assertIn("another class of device than 0: emulated sm_80 device", settings["1"])
        self.assertIsNone(settings["2"])

    def test_device_that_is_taken(self):
        """It costs its own setting: not the other device's, nor the case."""
        report = self.expect(0, "devices=3,taken=1", {}, self.CASES, axis="device")
        settings = self.settings(report)
        self.assertIn("device_busy", settings["1"])
        self.assertIsNone(settings["2"])

    def test_base_device(self):
        report = self.expect(0, "devices=2", {}, self.CASES, axis="device", environment={"DETPROBE_DEVICE": "1"})
        self.assertEqual(self.settings(report), {"0": None})
        for bad in ("2", "-1", "x"):
            report = self.run_cases(self.CASES, 77, "devices=2", environment={"DETPROBE_DEVICE": bad})
            self.assertIn(f"no device '{bad}': the driver shows 2", json.dumps(report))

    def test_resumed_run(self):
        for injection in ("devices=2", "devices=2,class1=80"):
            report = self.expect(0, injection, {}, self.CASES[:2], axis="device")
            log = pathlib.Path(self.folder.name, "report.json.log.jsonl")
            lines = log.read_text().splitlines(keepends=True)
            later = [i for i, line in enumerate(lines) if '"axis":"device"' in line or "|device|" in line]
            for cut in (len(lines) // 2, later[0] + 1, later[-1]):
                log.write_text("".join(lines[:cut]))
                done = self.detprobe("run", "--resume", log, injection=injection)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                resumed = json.loads(pathlib.Path(self.folder.name, "report.json").read_text())
                self.assertEqual(resumed["digest"], report["digest"])


class Facts(Emulated):
    """What a report says of the devices and of own kernels."""

    CASES = ["cuda/atomics/atom-s32-16x4096", "cuda/gemm/dgemm-nn-16x16x16"]

    def test_devices(self):
        report = self.run_cases(self.CASES, 0, "mps=1")
        device = report["body"]["environment"]["devices"][0]
        self.assertEqual((device["ordinal"], device["compute_mode"], device["mps"]), (0, "default", True))
        state = report["measurements"]["devices"]
        self.assertEqual(state, [{"ordinal": 0, "pci_bus_id": "0000:40:00.0",
                                  "uuid": "GPU-abababab-abab-abab-abab-ababababab00"}])
        self.assertNotIn("uuid", json.dumps(report["body"]), "two equal machines have equal bodies")
        self.assertFalse(self.run_cases(self.CASES, 0)["body"]["environment"]["devices"][0]["mps"])

    def test_every_device_is_listed(self):
        report = self.run_cases(self.CASES, 0, "devices=3")
        devices = report["body"]["environment"]["devices"]
        self.assertEqual([device["ordinal"] for device in devices], [0, 1, 2])
        self.assertEqual(len(report["measurements"]["devices"]), 3)
        self.assertIn("emulated sm_90 device (3 of them)", " ".join(self.text.split()))

    def test_own_kernels(self):
        """The same text and compiler, the same digests; another architecture, another image."""
        def kernels(injection):
            report = self.run_cases(self.CASES, 0, injection)
            return {row["program"]: row for row in report["body"]["environment"]["own_kernels"]}
        first, again, other = kernels(""), kernels(""), kernels("capability=80")
        self.assertEqual(first, again)
        self.assertEqual(set(first), {"cuda/atomics", "cuda/control", "cuda/gemm"})
        self.assertEqual(len({row["source"] for row in first.values()}), 3, "each program has kernels of its own")
        for program, row in first.items():
            self.assertEqual(row["kind"], "cubin")
            self.assertEqual(row["source"], other[program]["source"])
            self.assertNotEqual(row["image"], other[program]["image"])
        self.assertEqual({row["kind"] for row in kernels("capability=199").values()}, {"ptx"})


if __name__ == "__main__":
    main()
