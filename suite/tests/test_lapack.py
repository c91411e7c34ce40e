# SPDX-License-Identifier: Apache-2.0
"""The role lapack: computed on the library of role cblas, or missing; what is said to be open is what is.

usage: test_lapack.py LAPACK OTHER-BLAS [unittest arguments]
"""

import os
import re
import subprocess
import sys
import unittest

import speak

LAPACK, OTHER = (sys.argv.pop(1) for _ in range(2))
SHAPE = {"routine": "sgetrf", "m": 5, "n": 4}
SKIP = 77


def starts(**variables):
    """How the program ends when nothing is asked of it, and its last words."""
    done = subprocess.run([LAPACK], env=speak.environment(variables), stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


class Role(unittest.TestCase):
    def test_another_blas_is_not_measured_under_its_name(self):
        code, words = starts(DETPROBE_LIB_CBLAS=OTHER)
        self.assertEqual(code, 127, words)
        other = re.escape(os.path.realpath(OTHER))
        self.assertRegex(words, rf"LAPACK '.*' does not compute on '{other}', the library of role cblas")

    def test_named_file(self):
        code, words = starts(DETPROBE_LIB_LAPACK="/nonexistent/liblapack.so.3")
        self.assertEqual(code, 127, words)
        self.assertIn("cannot open library '/nonexistent/liblapack.so.3' for role lapack", words)

    def test_hello_names_both(self):
        hello, _, _ = speak.converse(LAPACK, [])
        libraries = {row["role"]: row for row in hello["libraries"]}
        self.assertIn("cblas", libraries)
        self.assertRegex(libraries["lapack"]["version"], r"^3\.\d+\.\d+$")


class Factors(unittest.TestCase):
    def test_pivots_are_an_output_of_the_width_of_integers(self):
        request = speak.request("getrf", SHAPE, set="unit", arithmetic="transform", bound=2)
        _, (answers,), _ = speak.converse(LAPACK, [request])
        a, pivots = speak.observation(answers)["outputs"]
        self.assertEqual((a["name"], a["shape"]), ("a", [5, 4]))
        self.assertEqual((pivots["name"], pivots["shape"]), ("pivots", [4]))
        self.assertIn(pivots["dtype"], ("s32", "s64"))
        self.assertEqual(pivots["error_over_bound"], 0)
        self.assertLessEqual(a["error_over_bound"], 1)


if __name__ == "__main__":
    if starts()[0] == 127:
        print("skipped: no LAPACK on the library of role cblas here")
        sys.exit(SKIP)
    unittest.main(verbosity=1)
