# SPDX-License-Identifier: Apache-2.0
"""The program that measures PyTorch: with the real one from pinned wheels, and with one that misbehaves (fake_torch.py).

usage: test_pytorch.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Nothing asserted depends on the processor: bits are compared with bits of the same machine.
"""

import contextlib
import hashlib
import importlib.util
import io
import json
import pathlib
import struct
import sys
import tempfile
import unittest
from unittest import mock

import frameworks_lab as lab

CASE = "python/pytorch/"
FAKE = pathlib.Path(__file__).with_name("fake_torch.py")


class Verdicts(unittest.TestCase):
    """What becomes of a PyTorch that varies, refuses, warns or fails."""

    def run_fake(self, *names, expect, **variables):
        with lab.module("torch", FAKE.read_text()) as importing:
            cases = [CASE + name for name in names]
            self.report, self.text = lab.run(lab.UNHARMED, *cases, "--level", "quick", expect=(expect,), **importing,
                                             **variables)
        rows = lab.results(self.report)
        self.assertEqual(rows.pop(lab.UNHARMED)["observed"], "repeats")
        return {case.removeprefix(CASE): row for case, row in rows.items()}

    def test_a_flag_that_does_nothing_breaks_its_promise(self):
        rows = self.run_fake("index-put-cpu-o*", expect=1)
        self.assertEqual({name: (row["observed"], row["guarantee"]["status"]) for name, row in rows.items()},
                         {"index-put-cpu-on": ("varies", "broken"), "index-put-cpu-off": ("varies", "allows")})

    def test_what_is_refused_did_not_run(self):
        rows = self.run_fake("put-cpu-*", expect=0)
        self.assertEqual(set(rows), {"put-cpu-off", "put-cpu-warn", "put-cpu-on"})
        on = rows["put-cpu-on"]
        self.assertEqual((on["observed"], on["reason"]), ("skipped", "unsupported"))
        self.assertEqual(on["text"], "PyTorch refuses: put_ does not have a deterministic implementation")
        self.assertIn(on["text"], " ".join(self.text.split()))
        self.assertNotIn("outputs", on)
        self.assertEqual([rows[name]["observed"] for name in ("put-cpu-off", "put-cpu-warn")], ["repeats"] * 2)
        self.assertEqual({name: row.get("declared") for name, row in rows.items()},
                         {"put-cpu-off": None, "put-cpu-warn": "nondeterministic", "put-cpu-on": None})

    def test_any_other_error_is_an_error(self):
        row = self.run_fake("index-copy-cpu-on", expect=2)["index-copy-cpu-on"]
        self.assertEqual(row["observed"], "error")
        self.assertIn("RuntimeError: no deterministic thought", self.text)

    def test_switches_are_set_and_put_back(self):
        """Also after a case that was refused, one process serving all of them in the order of their ids."""
        rows = self.run_fake("empty-cpu-on-unfilled", "put-cpu-on", "scatter-cpu-o*", expect=0)
        self.assertEqual(rows["empty-cpu-on-unfilled"]["observed"], "repeats")
        for name, switches in (("scatter-cpu-off", (0, 0, 0, 1)), ("scatter-cpu-on", (1, 0, 0, 1))):
            expected = hashlib.sha256(struct.pack("<4f", *switches)).hexdigest()
            self.assertEqual({found for found, in lab.digests(rows[name]).values()}, {expected}, name)

    def test_every_case_names_what_there_is(self):
        """Also those of devices that this machine has not."""
        fake = importlib.util.module_from_spec(importlib.util.spec_from_file_location("torch", FAKE))
        with mock.patch.dict(sys.modules, torch=fake), mock.patch.object(sys, "path", [str(lab.PROBES), *sys.path]):
            with contextlib.redirect_stdout(io.StringIO()):
                fake.__spec__.loader.exec_module(fake)
            spec = importlib.util.spec_from_file_location("probe", lab.PROBES / "pytorch-probe.py")
            spec.loader.exec_module(probe := importlib.util.module_from_spec(spec))
            import kit
            import pytorch_common as common
        tables = {"layer": ("function", probe.LAYERS), "update": ("function", probe.UPDATES),
                  "select": ("function", probe.SELECTIONS), "uninitialized": ("function", probe.EMPTIES),
                  "random": ("draw", probe.DRAWS), "dropout": ("device", ("cpu", "cuda"))}
        used = set()
        for case, row in lab.cases(CASE + "*").items():
            params = row["params"]
            name, table = tables[row["op"]]
            used.add((row["op"], params[name]))
            self.assertIn(params[name], table, case)
            self.assertIn(row["op"], kit.OPS)
            self.assertIn(params.get("deterministic", "off"), common.MODES, case)
            self.assertIn(params.get("how", "unseeded"), {*probe.SEEDS, "unseeded"}, case)
        self.assertEqual(used, {(op, key) for op, (_, table) in tables.items() for key in table}, "each is in some case")

    def test_a_device_of_ones_own(self):
        """Any device that PyTorch has a word for, in a catalogue file of the user's."""
        case = {"id": "python/pytorch/mine", "op": "layer", "params": {"function": "linear", "device": "xpu"}}
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            pathlib.Path(folder, "mine.json").write_text(json.dumps(
                {"schema_version": "1.0", "program": "pytorch-probe.py", "cases": [case]}))
            row = self.run_fake("mine", expect=0, DETPROBE_PROBE_PATH=folder)["mine"]
        self.assertEqual(row["text"], "PyTorch cannot use device 'xpu': not compiled with xpu")

    def test_without_the_device(self):
        rows = self.run_fake("linear-cuda-*", "bincount-cuda-warn", expect=0)
        self.assertGreater(len(rows), 2)
        for row in rows.values():
            self.assertEqual((row["observed"], row["reason"]), ("skipped", "no_device"))
            self.assertEqual(row["text"], "PyTorch cannot use device 'cuda': not compiled with cuda")

    def test_threads_are_read_back(self):
        self.run_fake("scatter-add-cpu-off", expect=0)
        (axes,) = (row["axes"] for row in self.report["measurements"]["cases"] if row["case"].startswith(CASE))
        self.assertEqual({s["setting"] for s in axes["threads"]["settings"] if "dropped" not in s}, {"1", "2", "4"})

    def test_libraries(self):
        self.run_fake("scatter-add-cpu-off", expect=0)
        found = {row["role"]: row for row in self.report["body"]["environment"]["libraries"]}
        self.assertEqual((found["torch"]["version"], found["torch"]["config"]), ("2.15.0", "cpu=NONE cuda=none"))
        self.assertEqual((found["torch-onednn"]["name"], found["torch-onednn"]["version"]), ("oneDNN", "1.2.3"))
        self.assertNotIn("torch-mkl", found)


class Real(lab.Quick):
    PINS, ROOM, SELECTORS = "pytorch.txt", 9, (CASE + "*",)
    ROLES = ("torch",)

    def may_be(self, case):
        """Of what has a promise that it either repeats or raises, the second is as good."""
        return ("repeats", "varies", *(["skipped"] if case.endswith("-on") else []))

    def row(self, name):
        return self.rows[CASE + name]

    def test_what_is_refused(self):
        refused = {case.removeprefix(CASE): row for case, row in self.rows.items() if row.get("reason") == "unsupported"}
        self.assertIn("put-cpu-on", refused)
        for name, row in refused.items():
            self.assertTrue(name.endswith("-on"), name)
            self.assertRegex(row["text"], "^PyTorch refuses: .* does not have a deterministic implementation$")
            if name.removesuffix("-on") + "-warn" in {case.removeprefix(CASE) for case in self.rows}:
                self.assertEqual(self.row(name.removesuffix("-on") + "-warn")["declared"], "nondeterministic")

    def test_the_flag_changes_nothing_that_repeats(self):
        """Nor do inputs depend on it: where nothing is summed in another order, the bits are those without it."""
        for name in ("gather-cpu", "embedding-cpu", "nll-loss2d-cpu", "median-cpu"):
            self.assertEqual(lab.digests(self.row(f"{name}-on")), lab.digests(self.row(f"{name}-off")), name)

    def test_what_nobody_has_written(self):
        for name in ("empty", "resize"):
            found = [self.row(f"{name}-cpu-{how}")["observed"] for how in ("off", "on-unfilled", "on")]
            self.assertEqual(found, ["varies", "varies", "repeats"], name)

    def test_every_way_of_seeding_gives_the_same_draws(self):
        for draw, ways in (("rand", ("generator", "forked")), ("randperm", ("generator", "resumed")),
                           ("randn", ("resumed",))):
            one = "manual-seed" if draw != "randn" else "generator"
            for way in ways:
                self.same(f"{CASE}random-{draw}-{way}-cpu", f"{CASE}random-{draw}-{one}-cpu")
        for draw in ("rand", "randperm"):
            self.assertEqual(self.row(f"random-{draw}-unseeded-cpu")["observed"], "varies")

    def test_autocast_rounds(self):
        for name in ("linear", "conv2d"):
            for set_, same in (("wide", False), ("unit", False)):
                plain, reduced = (lab.digests(self.row(f"{name}-cpu-off{how}")) for how in ("", "-autocast"))
                self.assertTrue(all((plain[key] == reduced[key]) == same for key in plain if key[1] == set_), name)

    def test_threads_are_set(self):
        axes = {row["case"]: row["axes"]["threads"] for row in self.report["measurements"]["cases"]
                if "threads" in row["axes"]}
        settings = axes[CASE + "layer-norm-cpu-off"]["settings"]
        self.assertEqual({s["setting"] for s in settings if "dropped" not in s}, {"1", "2", "4"})


if __name__ == "__main__":
    lab.main()
