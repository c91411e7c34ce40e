# SPDX-License-Identifier: Apache-2.0
"""Memory does not grow with the number of runs: 10 and 10 000 of them have one peak.

usage: test_memory.py DETPROBE PROBES_FOLDER FAKES_FOLDER [TEST...]

A program that kept its outputs would hold 10 000 of 64 KiB. Exit 77: the programs are not built here.
"""

import pathlib
import sys
import unittest

import peak
import speak

DETPROBE, PROBES, FAKES = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
FEW, MANY = 10, 10000
SPREAD = 1 << 20  # between two processes that do the same: pages of the allocator and of libraries
SCATTER = {"dtype": "f32", "groups": 1, "width": 1, "multiplicity": 0, "n": 16384, "rows": 16384}
NOTHING_RAN = 77


class Memory(unittest.TestCase):
    def check(self, few, many):
        self.assertLess(abs(many - few), SPREAD, f"{few / 1e6:.1f} MB for {FEW} runs, {many / 1e6:.1f} MB for {MANY}")

    def program_peaks(self, choice, least, most):
        """The program that asks for these counts of distinct outputs in the many runs."""
        program = PROBES / "cpu" / "scatter"
        if not program.is_file():
            self.skipTest("cpu/scatter is not built")
        peaks = []
        for runs in (FEW, MANY):
            request = speak.request("scatter-add", SCATTER, choice=choice, runs=runs)
            held, answers = peak.of_program(program, request)
            peaks.append(held)
        distinct = speak.distinct(answers)
        self.assertTrue(least <= distinct <= most, f"{distinct} distinct outputs")
        return peaks

    def test_repeating_program(self):
        self.check(*self.program_peaks("sorted", 1, 1))

    def test_varying_program(self):
        self.check(*self.program_peaks("atomic", 2, 1024))

    def test_suite(self):
        def held(runs):
            cases = ("fake/good/repeats", "fake/varies/always")
            return peak.of_suite(DETPROBE, *cases, "--level", "quick", "--axis", "repeat", "--runs", str(runs),
                                 DETPROBE_PROBE_PATH=str(FAKES))

        self.check(held(FEW), held(MANY))


if __name__ == "__main__":
    program = unittest.main(argv=[sys.argv[0], "-v", *sys.argv[4:]], exit=False)
    nothing = len(program.result.skipped) == program.result.testsRun > 0
    sys.exit(NOTHING_RAN if nothing else not program.result.wasSuccessful())
