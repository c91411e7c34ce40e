# SPDX-License-Identifier: Apache-2.0
"""Training and resume: held to a reference, and what is left out of a checkpoint must be seen.

usage: test_train.py TRAIN WRONG-BLAS [unittest arguments]

WRONG-BLAS fills products with one number, whatever their factors are.
"""

import subprocess
import sys
import unittest

import speak

TRAIN, WRONG = (sys.argv.pop(1) for _ in range(2))
SMALL = {"net": "conv", "order": "shuffled", "noise": "sample", "n": 4, "steps": 4}
STATES = ("weights", "optimiser", "position", "generator")
SKIP = 77


def outputs(op, variables=None, **params):
    request = speak.request(op, {**SMALL, **params}, set="unit", arithmetic="transform", bound=0.2)
    _, (answers,), _ = speak.converse(TRAIN, [request], **(variables or {}))
    return {row["name"]: row for row in speak.observation(answers)["outputs"]}


class Train(unittest.TestCase):
    def test_every_step_is_an_output(self):
        found = outputs("train")
        self.assertEqual({name: row["shape"] for name, row in found.items()},
                         {"loss": [4], "gradient1": [4, 10, 8], "gradient2": [4, 13 * 13 * 8 + 1, 10],
                          "weights1": [4, 10, 8], "weights2": [4, 13 * 13 * 8 + 1, 10]})
        self.assertTrue(all(row["error_over_bound"] <= 1 for row in found.values()), found)

    def test_wrong_products_are_seen(self):
        found = outputs("train", {"DETPROBE_LIB_CBLAS": WRONG})
        self.assertTrue(all(row["error_over_bound"] > 1 for row in found.values()), found)

    def test_racing_loaders_have_no_reference(self):
        found = outputs("train-racing", order="arrival")
        self.assertFalse([name for name, row in found.items() if row.get("error_over_bound") is not None])

    def test_races_are_of_their_own_op(self):
        """Else what races would be held to one right result, and called wrong."""
        for op in ("train", "resume"):
            for race in ({"order": "arrival"}, {"noise": "shared"}):
                params = {**SMALL, "left_out": "nothing", **race}
                params = params if op == "resume" else {k: v for k, v in params.items() if k != "left_out"}
                _, (answers,), _ = speak.converse(TRAIN, [speak.request(op, params)])
                self.assertEqual(answers[0]["type"], "failure", answers)
                self.assertRegex(answers[0]["text"], "^bad params: .* use op 'train-racing'$")


class Resume(unittest.TestCase):
    def error(self, left_out, variables=None):
        return outputs("resume", variables, left_out=left_out)["differing"]["error_over_bound"]

    def test_whole(self):
        self.assertEqual(self.error("nothing"), 0)

    def test_each_state_left_out_is_seen(self):
        for state in STATES:
            with self.subTest(state):
                self.assertEqual(self.error(state), 0)

    def test_what_cannot_be_seen_is_wrong(self):
        """With gradients that follow from nothing, the images and dropout make no difference to the weights."""
        for state in ("position", "generator"):
            with self.subTest(state):
                self.assertGreater(self.error(state, {"DETPROBE_LIB_CBLAS": WRONG}), 1)


if __name__ == "__main__":
    if subprocess.run([TRAIN], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60).returncode == 127:
        print("skipped: no CBLAS here")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
