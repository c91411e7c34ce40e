# SPDX-License-Identifier: Apache-2.0
"""The axis threads of the CBLAS programs: the count that a library runs is the count that the answer states,
whatever the library says of itself.

usage: test_cblas_threads.py GEMM BLIS OPENMP STUBBORN [unittest arguments]
"""

import hashlib
import struct
import sys
import unittest

import speak

GEMM, BLIS, OPENMP, STUBBORN = (sys.argv.pop(1) for _ in range(4))
SHAPE = {"routine": "sgemm", "trans": "nn", "m": 4, "n": 5, "k": 6}


def ask(library, settings):
    """The answers at these thread counts; None is the base setting."""
    axes = [{"axis": "threads", "setting": str(s)} if s else {} for s in settings]
    requests = [speak.request("gemm", SHAPE, **axis) for axis in axes]
    return speak.converse(GEMM, requests, DETPROBE_LIB_CBLAS=library)[1]


def digest(threads):
    """Of a result that holds the thread count everywhere."""
    return hashlib.sha256(struct.pack("<f", threads) * (SHAPE["m"] * SHAPE["n"])).hexdigest()


class Threads(unittest.TestCase):
    def expect(self, library, settings, counts):
        for answers, count in zip(ask(library, settings), counts):
            self.assertEqual(speak.observation(answers)["threads"], count)
            self.assertEqual(speak.digests(answers), {"c": digest(count)})

    def test_blis_starts_with_one_and_comes_back_to_it(self):
        self.expect(BLIS, [None, 4, None, 8], [1, 4, 1, 8])

    def test_openblas_follows_its_openmp_runtime(self):
        self.expect(OPENMP, [None, 1, 4, 8, None], [2, 1, 4, 8, 2])

    def test_a_count_that_does_not_take_is_no_setting(self):
        base, two, four = ask(STUBBORN, [None, 2, 4])
        self.assertEqual(speak.digests(base), speak.digests(two))
        self.assertEqual([(a["type"], a["reason"]) for a in four], [("skip", "unsupported")])


if __name__ == "__main__":
    unittest.main(verbosity=1)
