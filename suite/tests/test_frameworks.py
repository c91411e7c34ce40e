# SPDX-License-Identifier: Apache-2.0
"""The programs that measure Python frameworks: with the real ones from pinned wheels, and with broken ones.

usage: test_frameworks.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Nothing asserted depends on the processor: bits are compared with bits of the same machine.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import frameworks_lab as lab
from frameworks_lab import PROBES, UNHARMED, digests, results, run


class Harm(unittest.TestCase):
    """A framework that is half installed or misbehaves on import costs its own cases only."""

    def with_module(self, text, *cases, expect):
        with lab.module("numpy", text) as variables:
            report, self.text = run(UNHARMED, *cases, "--level", "quick", "--axis", "fresh", expect=expect, **variables)
        self.assertEqual(results(report)[UNHARMED]["observed"], "repeats")
        self.assertTrue(all(control["behaved"] for control in report["body"]["controls"]))
        return results(report)

    def test_what_cannot_be_imported_is_missing(self):
        for text, why in (("import nothing_like_it", "no module 'nothing_like_it'"),
                          ("print('loading ' * 9999)\nraise ImportError('libgfortran.so.5: no such file')", "libgfortran.so.5"),
                          ("import sys; sys.exit(0)", "SystemExit"), ("raise MemoryError", "MemoryError")):
            found = self.with_module(text, "python/numpy/dot-*", "python/jax/sum-*", expect=(0,))
            del found[UNHARMED]
            self.assertEqual(len({case.split("/")[1] for case in found}), 2)
            for case, row in found.items():
                self.assertEqual((row["observed"], row["reason"]), ("skipped", "library_missing"), row)
                self.assertNotIn("\n", row["text"])
                if "/numpy/" in case:
                    self.assertIn("cannot import 'numpy'", row["text"])
                    self.assertIn(why, row["text"])

    def test_what_ends_the_process_is_an_error(self):
        for text, why in (("import os; os.kill(os.getpid(), 9)", "signal 9"), ("import os; os._exit(3)", "status 3")):
            row = self.with_module(text, "python/numpy/dot-f64-c-100000", expect=(2,))["python/numpy/dot-f64-c-100000"]
            self.assertEqual(row["observed"], "error")
            self.assertIn(why, self.text)

    def test_what_attributes_are_missing_is_an_error(self):
        """An empty package, as a broken installation leaves it."""
        row = self.with_module("", "python/numpy/dot-f64-c-100000", expect=(2,))["python/numpy/dot-f64-c-100000"]
        self.assertEqual(row["observed"], "error")

    def test_noise_threads_and_children(self):
        """Output on import is log; a thread and a child that outlives the program keep nobody waiting."""
        module = ("import os, sys, threading, time\nprint('{\"type\": \"hello\"}')\nsys.stderr.write('warning\\n' * 5000)\n"
                  "threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n"
                  "if os.fork() == 0:\n    time.sleep(600)\n    os._exit(0)\n")
        probe = ("import kit\nkit.require('noisy')\n@kit.op('one')\ndef one(params, inputs):\n    print('running')\n"
                 "    return {'y': kit.from_memory(inputs.array('x', 9))}\nkit.main('loud')\n")
        catalogue = {"schema_version": "1.0", "program": "loud.py", "cases": [{"id": "python/loud/one", "op": "one"}]}
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            for name, text in (("noisy.py", module), ("loud.py", probe), ("kit.py", (PROBES / "kit.py").read_text()),
                               ("loud.json", json.dumps(catalogue))):
                pathlib.Path(folder, name).write_text(text)
            start = time.monotonic()
            report, _ = run("python/loud/one", UNHARMED, "--level", "quick", DETPROBE_PROBE_PATH=folder)
        self.assertLess(time.monotonic() - start, 300)
        for case in ("python/loud/one", UNHARMED):
            self.assertEqual(results(report)[case]["observed"], "repeats")

    def test_an_environment_without_it(self):
        """The stack's own Python is asked, so the machine's modules do not stand in."""
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
            report, text = run("python/numpy/dot-*", UNHARMED, "--level", "quick", "--axis", "fresh", "--stack", folder)
        rows = results(report)
        self.assertEqual(rows.pop(UNHARMED)["observed"], "repeats")
        self.assertEqual({row["text"] for row in rows.values()},
                         {"cannot import 'numpy': this Python has no module 'numpy'"})
        self.assertEqual(text.count("library_missing"), 1, "one line for all of them")


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
