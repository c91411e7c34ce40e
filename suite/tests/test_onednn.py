# SPDX-License-Identifier: Apache-2.0
"""The choices of operations on the real oneDNN: its implementations by name, its deterministic attribute.

usage: test_onednn.py PROBE-FOLDER [unittest arguments]
Exit status 77: built without oneDNN.
"""

import functools
import pathlib
import sys
import unittest

import speak

PROBES = pathlib.Path(sys.argv.pop(1))
SKIP = 77
CONV = {"n": 2, "c": 8, "h": 9, "w": 9, "k": 8, "window": 3, "stride": 1, "pad": 1, "groups": 1, "layout": "any"}
POOL = {"n": 2, "c": 8, "h": 9, "w": 9, "window": 3, "stride": 2, "pad": 1, "levels": 0, "layout": "plain"}
PRODUCT = {"m": 5, "n": 7, "k": 512, "dtype": "f32", "weights": "plain"}
RECURRENT = {"cell": "lstm", "direction": "left2right", "layers": 1, "t": 2, "n": 2, "c": 8, "h": 8, "dtype": "f32",
             "weights": "plain"}
# One operation of each way to be made: program, op, params, how many implementations at least.
OPERATIONS = {
    "forward": ("conv", "conv-forward", CONV, 2),
    "backward data": ("conv", "conv-backward-data", CONV, 2),
    "backward weights": ("conv", "conv-backward-weights", CONV, 2),
    "pool": ("pool", "pool-forward", {**POOL, "kind": "max"}, 2),
    "after forward": ("pool", "max-pool-backward", {**POOL, "kind": "max"}, 2),
    "layer": ("matmul", "matmul", PRODUCT, 2),
    "layer backward": ("matmul", "inner-product-backward-data", PRODUCT, 2),
    "layer after forward": ("norm", "batch-norm-backward", {"n": 2, "c": 8, "h": 5, "w": 5, "layout": "plain"}, 2),
    "reduction": ("onednn-reduce", "reduction", {"rows": 9, "columns": 33, "kind": "sum", "along": "rows"}, 1),
    "recurrent": ("rnn", "rnn-forward-training", RECURRENT, 1),
}
MOST = 18  # more than any library offers for these


def ask(name, *changes):
    program, op, params, _ = OPERATIONS[name]
    base = {"arithmetic": "transform", "bound": 100}
    requests = [speak.request(op, params, **{**base, **change}) for change in changes]
    hello, answers, _ = speak.converse(PROBES / program, requests, OMP_WAIT_POLICY="passive")
    version = next(item["version"] for item in hello["libraries"] if item["role"] == "onednn")
    return tuple(int(part) for part in version.split(".")), answers


@functools.lru_cache(maxsize=None)
def every(name):
    """(version, answer at the base setting, the answers of all implementations)."""
    settings = [{"axis": "algorithm", "setting": str(i), "runs": 2} for i in range(1, MOST)]
    version, (base, *answers) = ask(name, {}, *settings)
    return version, base, answers


class Implementations(unittest.TestCase):
    def test_each_is_run_once(self):
        for name, (_, _, _, least) in OPERATIONS.items():
            with self.subTest(name):
                _, base, answers = every(name)
                ran = [answer for answer in answers if answer[0]["type"] == "observation"]
                self.assertGreaterEqual(len(ran), least)
                rest = answers[len(ran):]
                self.assertTrue(rest, "more than the library can offer were asked for")
                for number, (skip,) in enumerate(rest, len(ran) + 1):
                    self.assertEqual((skip["reason"], skip["text"]),
                                     ("unsupported", f"algorithm {number}: the library offers {len(ran) + 1}"))
                chosen = [speak.observation(answer)["chosen"] for answer in ran]
                self.assertEqual(len(set(chosen)), len(chosen), chosen)
                self.assertEqual(chosen[0], speak.observation(base)["chosen"], "the library's own comes first")
                self.assertEqual(speak.digests(ran[0]), speak.digests(base))

    def test_all_are_right(self):
        for name in OPERATIONS:
            count = sum(answer[0]["type"] == "observation" for answer in every(name)[2])
            settings = [{"axis": "algorithm", "setting": str(i), "runs": 2, "set": "unit"} for i in range(1, count + 1)]
            _, answers = ask(name, *settings)
            for (answer,) in answers:
                with self.subTest(name, chosen=answer["chosen"]):
                    for output in answer["outputs"]:
                        self.assertLessEqual(output.get("error_over_bound", 0), 1)

    def test_selection_is_the_same_and_a_long_sum_is_not(self):
        _, _, maxima = every("pool")
        digests = [speak.digests(answer)["dst"] for answer in maxima if answer[0]["type"] == "observation"]
        self.assertEqual(len(set(digests)), 1)
        _, _, sums = every("layer")
        digests = [speak.digests(answer)["dst"] for answer in sums if answer[0]["type"] == "observation"]
        self.assertGreater(len(set(digests)), 1)

    def test_by_name(self):
        _, _, answers = every("forward")
        names = [answer[0]["chosen"] for answer in answers if answer[0]["type"] == "observation"]
        _, named = ask("forward", *({"choice": name} for name in names))
        self.assertEqual([speak.observation(answer)["chosen"] for answer in named], names)
        self.assertEqual([speak.digests(answer) for answer in named],
                         [speak.digests(answer) for answer in answers[:len(names)]])
        _, ((skip,),) = ask("forward", {"choice": "abacus"})
        self.assertEqual((skip["reason"], skip["text"]), ("unsupported", "the library offers no choice 'abacus'"))


class Deterministic(unittest.TestCase):
    def test_attribute(self):
        """Since 3.4; before that nothing runs under its name."""
        for name in OPERATIONS:
            with self.subTest(name):
                version, (base, by_name, by_number) = ask(
                    name, {}, {"choice": "deterministic"}, {"axis": "algorithm", "setting": "0"})
                if version < (3, 4):
                    text = f"oneDNN {version[0]}.{version[1]} has no deterministic attribute, 3.4 is the first that has"
                    for (skip,) in (by_name, by_number):
                        self.assertEqual((skip["type"], skip["reason"], skip["text"]), ("skip", "version", text))
                else:
                    self.assertEqual(speak.digests(by_name), speak.digests(by_number))
                    self.assertEqual(speak.distinct(by_name), 1)
                self.assertEqual(speak.distinct(base), 1)


if __name__ == "__main__":
    if not (PROBES / "conv").exists():
        print("skipped: built without oneDNN")
        sys.exit(SKIP)
    unittest.main(verbosity=2)
