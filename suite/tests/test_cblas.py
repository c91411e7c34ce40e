# SPDX-License-Identifier: Apache-2.0
"""The role cblas of its programs: by which names a library's functions are called, what the report says of it, and
on axis threads that the count that a library runs is the count that the answer states, whatever it says itself.

usage: test_cblas.py GEMM BLIS OPENMP STUBBORN WHEEL UNTHREADED MKL [unittest arguments]
"""

import hashlib
import os
import struct
import sys
import unittest
import unittest.mock

import speak

GEMM, BLIS, OPENMP, STUBBORN, WHEEL, UNTHREADED, MKL = (sys.argv.pop(1) for _ in range(7))
SHAPE = {"routine": "sgemm", "trans": "nn", "m": 4, "n": 5, "k": 6}


def converse(library, settings):
    """Hello, and the answers at these thread counts; None is the base setting."""
    axes = [{"axis": "threads", "setting": str(s)} if s else {} for s in settings]
    requests = [speak.request("gemm", SHAPE, **axis) for axis in axes]
    return speak.converse(GEMM, requests, DETPROBE_LIB_CBLAS=library)[:2]


def digest(threads):
    """Of a result that holds the thread count everywhere."""
    return hashlib.sha256(struct.pack("<f", threads) * (SHAPE["m"] * SHAPE["n"])).hexdigest()


class Threads(unittest.TestCase):
    def expect(self, library, settings, counts):
        for answers, count in zip(converse(library, settings)[1], counts):
            self.assertEqual(speak.observation(answers)["threads"], count)
            self.assertEqual(speak.digests(answers), {"c": digest(count)})

    def refused(self, library, settings, runs):
        base, *others = converse(library, [None, *settings])[1]
        self.assertEqual(speak.digests(base), {"c": digest(runs)})
        for setting, (answer,) in zip(settings, others):
            self.assertEqual((answer["type"], answer["reason"], answer["text"]),
                             ("skip", "unsupported", f"threads {setting}: the library runs {runs}"))

    def test_blis_starts_with_one_and_comes_back_to_it(self):
        self.expect(BLIS, [None, 4, None, 8], [1, 4, 1, 8])

    def test_openblas_follows_its_openmp_runtime(self):
        self.expect(OPENMP, [None, 1, 4, 8, None], [2, 1, 4, 8, 2])

    def test_openblas_of_a_wheel(self):
        self.expect(WHEEL, [None, 1, 4, None], [2, 1, 4, 2])

    def test_mkl_beyond_its_own_choice(self):
        self.expect(MKL, [None, 8, None, 1, 4], [2, 8, 2, 1, 4])

    def test_a_count_that_does_not_take_is_no_setting(self):
        self.refused(STUBBORN, [4], 2)
        self.refused(UNTHREADED, [2, 4], 1)


class Libraries(unittest.TestCase):
    def said(self, library):
        row = converse(library, [])[0]["libraries"][0]
        self.assertEqual((row["role"], row["path"]), ("cblas", os.path.realpath(library)))
        return row["name"], row.get("version", ""), row.get("config", "")

    def test_wheel(self):
        self.assertEqual(self.said(WHEEL), ("OpenBLAS", "0.3.31.188.0", "OpenBLAS 0.3.31.188.0  USE64BITINT DYNAMIC_ARCH "
                                            "MAX_THREADS=64 core=Zen symbols=scipy_*64_"))

    def test_mkl(self):
        name, version, config = self.said(MKL)
        self.assertEqual((name, version), ("MKL", "2024.1"))
        self.assertTrue(config.endswith("for Intel(R) 64 cbwr=avx2,strict"), config)

    def test_branches_of_mkl(self):
        """A branch that it refuses is `auto`, not the branch that it was asked for."""
        for wanted, is_on in (("SSE2", "sse2"), ("SSE3", "sse3"), ("SSSE3", "ssse3"), ("AVX", "avx"), ("OFF", "off"),
                              ("AVX512", "auto")):
            with unittest.mock.patch.dict(os.environ, MKL_CBWR=wanted):
                row = converse(MKL, [])[0]["libraries"][0]
            self.assertEqual(row["isa"], is_on)

    def test_others(self):
        self.assertEqual(self.said(BLIS)[0], "BLIS")
        self.assertEqual(self.said(STUBBORN)[0], "OpenBLAS")


if __name__ == "__main__":
    unittest.main(verbosity=1)
