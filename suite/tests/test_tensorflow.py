# SPDX-License-Identifier: Apache-2.0
"""The program that measures TensorFlow: with the real one from pinned wheels, and with one that misbehaves
(fake_tensorflow.py).

usage: test_tensorflow.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Nothing asserted depends on the processor: bits are compared with bits of the same machine.
"""

import pathlib
import unittest

import frameworks_lab as lab

CASE = "python/tensorflow/"
FAKE = pathlib.Path(__file__).with_name("fake_tensorflow.py").read_text()
SEEDLESS = "TensorFlow refuses: Random ops require a seed to be set when determinism is enabled."
UNSUPPORTED = "TensorFlow refuses: Determinism is not yet supported in this op."


class Verdicts(unittest.TestCase):
    """What becomes of a TensorFlow that varies, refuses or fails."""

    def run_fake(self, *names, expect):
        with lab.module("tensorflow", FAKE) as variables:
            self.report, self.text = lab.run(lab.UNHARMED, *(CASE + name for name in names), "--level", "quick",
                                             expect=(expect,), **variables)
        rows = lab.results(self.report)
        self.assertEqual(rows.pop(lab.UNHARMED)["observed"], "repeats")
        return {case.removeprefix(CASE): row for case, row in rows.items()}

    def test_a_setting_that_does_nothing_breaks_its_promise(self):
        rows = self.run_fake("random-shuffle-unseeded*", expect=1)
        self.assertEqual({name: (row["observed"], row["guarantee"]["status"]) for name, row in rows.items()},
                         {"random-shuffle-unseeded-deterministic": ("varies", "broken"),
                          "random-shuffle-unseeded": ("varies", "allows")})

    def test_what_is_refused_did_not_run(self):
        """And only in the processes of the cases that ask for it: the setting holds for a whole one."""
        rows = self.run_fake("random-normal-unseeded", "random-normal-unseeded-*", "random-stateless-uniform", expect=0)
        self.assertEqual(rows["random-normal-unseeded"]["observed"], "varies")
        for name, why in (("random-normal-unseeded-deterministic", SEEDLESS),
                          ("random-normal-unseeded-variable", SEEDLESS), ("random-stateless-uniform", UNSUPPORTED)):
            row = rows[name]
            self.assertEqual((row["observed"], row["reason"], row["text"]), ("skipped", "unsupported", why), name)
            self.assertNotIn("outputs", row)

    def test_a_variable_set_too_late_does_not_count(self):
        rows = self.run_fake("random-normal-unseeded-late-variable", "random-normal-unseeded-variable", expect=0)
        self.assertEqual({name.removeprefix("random-normal-unseeded-"): row["observed"] for name, row in rows.items()},
                         {"late-variable": "varies", "variable": "skipped"})

    def test_any_other_error_is_an_error(self):
        row = self.run_fake("random-dropout-unseeded-deterministic", expect=2)["random-dropout-unseeded-deterministic"]
        self.assertEqual(row["observed"], "error")
        self.assertIn("RuntimeError: no thought was given to this", self.text)

    def test_without_the_device(self):
        rows = self.run_fake("*-cuda*", expect=0)
        self.assertGreater(len(rows), 20)
        for name, row in rows.items():
            self.assertEqual((row["observed"], row["reason"]), ("skipped", "no_device"), name)
            self.assertEqual(row["text"], "TensorFlow finds no device of kind 'GPU'")


class Real(lab.Quick):
    PINS, ROOM, SELECTORS = "tensorflow.txt", 4, ("@tensorflow",)
    ROLES = ("tensorflow",)
    REFUSED = ("max-pool-gradients-xla-deterministic", "random-normal-unseeded-deterministic",
               "random-dropout-unseeded-deterministic", "random-shuffle-unseeded-deterministic",
               "random-normal-unseeded-variable")

    def row(self, name):
        return self.rows[CASE + name]

    def may_be(self, case):
        return ("skipped",) if case.removeprefix(CASE) in self.REFUSED else ("repeats", "varies")

    def test_what_is_refused(self):
        for name in self.REFUSED:
            self.assertEqual(self.row(name)["reason"], "unsupported", name)
            self.assertRegex(self.row(name)["text"], "^TensorFlow refuses: .*determinis", name)

    def test_what_varies(self):
        """Of draws and of elements as they come; of sums only what threads add up at once, where there are several."""
        varied = {case.removeprefix(CASE) for case, row in self.rows.items() if row["observed"] == "varies"}
        always = {"random-normal-unseeded", "random-dropout-unseeded", "random-shuffle-unseeded",
                  "data-shuffle-unseeded", "random-normal-unseeded-late-variable", "random-normal-op-seed-alone",
                  "random-normal-op-seed-alone-deterministic", "random-keras-global-seed",
                  "random-keras-unseeded-deterministic", "data-map-unordered", "data-map-random",
                  "data-interleave-unordered"}
        maybe = {"crop-and-resize-gradient", "crop-and-resize-gradient-late-variable"}
        self.assertEqual({name for name in varied - maybe if "-cuda" not in name}, always)

    def test_determinism_keeps_the_order_of_elements(self):
        """In its own order whatever the pipeline says, which is that of the ordered one."""
        for pipeline in ("map", "interleave"):
            self.same(f"{CASE}data-{pipeline}-unordered-deterministic", f"{CASE}data-{pipeline}-ordered")
        self.same(f"{CASE}data-map-default", f"{CASE}data-map-ordered")

    def test_inputs_do_not_depend_on_settings(self):
        for name in ("scatter-nd-3000x8", "gather-gradient-3000x8"):
            self.same(f"{CASE}{name}", f"{CASE}{name}-deterministic")
        self.same(f"{CASE}crop-and-resize-gradient-variable", f"{CASE}crop-and-resize-gradient-deterministic")


if __name__ == "__main__":
    lab.main()
