# SPDX-License-Identifier: Apache-2.0
"""The BLAS of a Python process: found by what it exports, its threads set and read back.

usage: test_python_blas.py FOLDER_OF_THE_BUILT_PYTHON_PROGRAMS BLIS OPENMP STUBBORN WHEEL UNTHREADED MKL FRONT [unittest arguments]
The libraries are fakes that run the number of threads that is in force, whatever they say of it.
"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys
import unittest

FOLDER, BLIS, OPENMP, STUBBORN, WHEEL, UNTHREADED, MKL, FRONT = (
    pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(8))
sys.path.insert(0, str(FOLDER))
import blas  # noqa: E402
SAY = """
import ctypes, json, sys
sys.path.insert(0, sys.argv[1])
import blas
handles = [ctypes.CDLL(path) for path in sys.argv[2:]]
found = blas.loaded()
threads = blas.threads_of(found)
print(json.dumps([[library.library() for library in found], threads(0), threads(4), threads(0)]))
"""


def say(*libraries):
    """[libraries, threads at first, of 4 wanted, afterwards] of a process that has loaded these files."""
    command = [sys.executable, "-c", SAY, FOLDER, *libraries]
    return json.loads(subprocess.run(command, text=True, capture_output=True, check=True).stdout)


class Blas(unittest.TestCase):
    def expect(self, library, name, counts):
        found, *seen = say(library)
        self.assertEqual([(row["role"], row["name"], row["path"]) for row in found], [("cblas", name, str(library))])
        self.assertEqual(seen, counts)
        return found[0]

    def test_blis_runs_one_thread_until_it_is_told(self):
        self.expect(BLIS, "BLIS", [1, 4, 4])

    def test_openblas_follows_its_openmp_runtime(self):
        self.expect(OPENMP, "OpenBLAS", [2, 4, 4])

    def test_a_count_that_does_not_take_is_read_back(self):
        self.expect(STUBBORN, "OpenBLAS", [2, 2, 2])

    def test_names_of_a_wheel(self):
        library = self.expect(WHEEL, "OpenBLAS", [2, 4, 4])
        self.assertEqual(library["version"], "0.3.31.188.0")
        self.assertEqual(library["config"].split()[-1], "core=Zen")

    def test_without_threads_there_is_one(self):
        self.expect(UNTHREADED, "BLIS", [1, 1, 1])

    def test_a_library_that_chooses_is_forbidden_to(self):
        """Only where it must be: of two it runs two, of four two unless it may not choose, and it may choose again."""
        self.expect(MKL, "MKL", [2, 4, 4])
        library = ctypes.CDLL(str(MKL))
        held = blas.Blas(blas.KINDS[1], "MKL_{}", library)
        for wanted, dynamic in ((4, 0), (2, 1), (4, 0)):
            self.assertEqual((held.threads(wanted), library.MKL_Get_Dynamic()), (wanted, dynamic))

    def test_names_are_those_of_the_other_programs(self):
        """What stands around a name: of the CBLAS programs, of a stack's roles and of Python's libraries."""
        source = pathlib.Path(__file__).resolve().parents[2]
        listed = re.search(r"affixes\[\] = \{(.*?)\};", (source / "probes/cpu/cblas.c").read_text(), re.S)
        pairs = [*zip(*[iter(re.findall(r'"(.*?)"', listed[1]))] * 2)]
        self.assertEqual(pairs, [*blas.AFFIXES])
        stack = (source / "suite/run/stack.c").read_text()
        for role, name in (("cblas", "cblas_sgemm"), ("lapack", "sgetrf_")):
            row = re.search(rf'\.role = "{role}",.*?\.symbols = \{{(.*?)\}}', stack, re.S)
            self.assertEqual(re.findall(r'"(.*?)"', row[1]), [f"{before}{name}{after}" for before, after in pairs])

    def test_a_library_in_front_of_another_is_not_a_second_one(self):
        """As Debian's libblas.so.3 is, of whose functions some are in a library behind it."""
        found, *seen = say(FRONT)
        self.assertEqual([row["path"] for row in found], [str(BLIS)])
        self.assertEqual(seen, [1, 4, 4])

    def test_several_must_agree(self):
        found, *seen = say(BLIS, STUBBORN)
        self.assertEqual((len(found), seen), (2, [0, 0, 0]))

    def test_none(self):
        self.assertEqual(say(), [[], 0, 0, 0])

    def test_the_fakes_are_what_they_say(self):
        """The count in force of the OpenMP one is the runtime's: its own setter alone moves nothing."""
        library = ctypes.CDLL(str(OPENMP))
        library.openblas_set_num_threads(7)
        self.assertEqual(library.omp_get_max_threads(), 2)


if __name__ == "__main__":
    unittest.main(verbosity=1)
