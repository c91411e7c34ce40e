# SPDX-License-Identifier: Apache-2.0
"""The programs that measure NumPy and JAX, with the real ones from pinned wheels.

usage: test_frameworks.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Nothing asserted depends on the processor: bits are compared with bits of the same machine.
"""

import json
import unittest

import frameworks_lab as lab
from frameworks_lab import digests, results, run


class Real(lab.Quick):
    """NumPy and JAX."""

    PINS, SELECTORS = "jax-numpy2.txt", ("@numpy", "@jax")
    ROLES = ("numpy", "jax", "jaxlib", "scipy")

    def test_what_varies(self):
        varied = {case for case, row in self.rows.items() if row["observed"] == "varies" and "-cuda" not in case}
        self.assertEqual(varied, {"python/numpy/random-unseeded"})

    def test_the_blas_is_named(self):
        found = {row["role"]: row for row in self.report["body"]["environment"]["libraries"]}
        self.assertEqual(found["cblas"]["name"], "OpenBLAS")
        self.assertRegex(found["cblas"]["version"], r"^0\.3\.[0-9]+")
        self.assertIn("core=", found["cblas"]["config"])

    def test_threads_are_set_in_the_library(self):
        axes = {row["case"]: row["axes"]["threads"] for row in self.report["measurements"]["cases"]
                if "threads" in row["axes"]}
        settings = {s["setting"]: s for s in axes["python/numpy/matmul-f64-cc-256x64x512"]["settings"]}
        self.assertEqual(set(settings), {"1", "2", "4"})
        self.assertFalse([s for s in settings.values() if "dropped" in s])
        self.assertIn("threads", self.rows["python/jax/sum-axis-0-300x500"]["not_measured"])

    def test_a_restored_generator_goes_on_with_the_stream(self):
        for stream in ("pcg64", "philox", "sfc64", "mt19937"):
            for draw in ("random", "normal"):
                self.same(f"python/numpy/random-{stream}-{draw}-resumed", f"python/numpy/random-{stream}-{draw}")

    def test_streams_differ(self):
        found = [json.dumps(sorted(map(str, digests(self.rows[f"python/numpy/random-{name}"]).items())))
                 for name in ("pcg64-random", "philox-random", "sfc64-random", "mt19937-random", "pcg64-spawned",
                              "legacy-random")]
        self.assertEqual(len(set(found)), len(found))

    def test_a_key_draws_the_same_compiled_or_not(self):
        for draw in ("bits", "uniform", "normal", "permutation", "split", "dropout"):
            self.same(f"python/jax/random-threefry2x32-{draw}-jit", f"python/jax/random-threefry2x32-{draw}-eager")

    def test_stable_sorts_agree(self):
        self.same("python/numpy/argsort-stable-ties-float64-5000", "python/numpy/argsort-stable-ties-int32-5000")

    def test_inputs_show_an_order(self):
        """Along the slow axis NumPy adds one row to the next, along the fast one pairwise: the same values in another
        order in memory are other bits where sums round, and the same where they do not."""
        one, other = (digests(self.rows[f"python/numpy/sum-f32-{layout}-axis-0-300x500"]) for layout in "cf")
        sets = {name for _, name in one}
        self.assertTrue({"wide", "exact"} <= sets)
        for key, found in one.items():
            if key[1] in ("wide", "exact"):
                self.assertEqual(found == other[key], key[1] == "exact", key)

    def test_variables_of_a_case(self):
        asked = {case: row["environment"] for case, row in lab.cases("@jax").items() if "environment" in row}
        self.assertEqual(asked["python/jax/conv-gradients-one-thread"], {"NPROC": "1"})
        self.assertEqual(self.rows["python/jax/psum-4-devices-20000"]["observed"], "repeats", "four devices on any machine")


class NumPy1(unittest.TestCase):
    def test_frozen_streams(self):
        """What NumPy promises to keep between versions, over its largest step."""
        stacks = [lab.stack(pins) for pins in ("numpy1.txt", Real.PINS)]
        old, new = (results(run("python/numpy/random-*", "python/numpy/dot-*", "--level", "quick", "--axis", "fresh",
                                "--stack", stack)[0]) for stack in stacks)
        for case, row in old.items():
            self.assertEqual(row["observed"], new[case]["observed"], case)
        for name in ("legacy-random", "legacy-permutation", "pcg64-random", "philox-random", "mt19937-random"):
            case = f"python/numpy/random-{name}"
            self.assertEqual(digests(old[case]), digests(new[case]), case)


if __name__ == "__main__":
    lab.main()
