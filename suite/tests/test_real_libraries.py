# SPDX-License-Identifier: Apache-2.0
"""The real cuDNN and cuBLAS without a GPU, whole and in part, and libraries that end the process: what each costs.

usage: test_real_libraries.py DETPROBE EMULATION-FOLDER [TEST...]
The driver alone is emulated, so that programs come as far as opening and calling the libraries. NVRTC is the real
one. Exit status 77: NVRTC, cuDNN or its headers are not here.
"""

import ctypes
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import surroundings
from loader import nvrtc, real_file

DETPROBE, EMULATION = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
SKIP = 77
POOL = "cuda/pool/poolingbackward-max-nchw-f32-n4c16h28r3s2"
GEMM = "cuda/gemm/sgemm-nt-128x96x777"
ATOMICS = "cuda/atomics/atom-s32-16x4096"  # no library but NVRTC
TIMEOUT = 300  # of a run; one takes seconds


def without_emulation():
    """Starts anew where the loader would find the emulated libraries, which a build system may see to."""
    paths = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    kept = [path for path in paths if path and pathlib.Path(path).resolve() != EMULATION]
    if kept != [path for path in paths if path]:
        os.environ["LD_LIBRARY_PATH"] = ":".join(kept)
        os.execv(sys.executable, [sys.executable, *sys.argv])


without_emulation()
CUDNN = real_file("libcudnn.so.9")
CUBLAS = real_file("libcublas.so.13", "libcublas.so.12")
NVRTC = nvrtc()


class Real(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.driver = self.path / "driver"
        self.driver.mkdir()
        (self.driver / "libcuda.so.1").symlink_to(EMULATION / "libcuda.so.1")

    def run_cases(self, cases, code, **environment):
        variables = surroundings.real()
        variables["LD_LIBRARY_PATH"] = f"{self.driver}:{variables.get('LD_LIBRARY_PATH', '')}"
        variables.update(environment)
        report = self.path / "report.json"
        done = subprocess.run([DETPROBE, "run", "--level", "quick", "--axis", "repeat", "-o", report, *cases],
                              env=variables, capture_output=True, text=True, timeout=TIMEOUT)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        body = json.loads(report.read_text())["body"]
        self.assertEqual({row["name"] for row in body["controls"] if not row["behaved"]}, set())
        self.text = " ".join(done.stdout.split())
        return {row["case"]: row for row in body["results"]}

    def missing(self, code, words, cases=(POOL,), **environment):
        row = self.run_cases(cases, code, **environment)[POOL]
        self.assertEqual((row["observed"], row["reason"]), ("skipped", "library_missing"), row)
        for word in words:
            self.assertIn(word, row["text"])


class Half(Real):
    """cuDNN is a front that opens its parts when it is called, and aborts where one is missing."""

    def front(self):
        folder = self.path / "half"
        folder.mkdir()
        shutil.copy(CUDNN, folder / "libcudnn.so.9")
        return folder

    def test_front_alone(self):
        folder = self.front()
        self.missing(77, [str(folder), "libcudnn_graph.so.9", "cannot open shared object file"],
                     DETPROBE_LIB_CUDNN=str(folder / "libcudnn.so.9"))

    def test_one_part_too_few(self):
        folder = self.front()
        (folder / "libcudnn_graph.so.9").symlink_to(CUDNN.parent / "libcudnn_graph.so.9")
        self.missing(77, [str(folder), "libcudnn_ops.so.9"], DETPROBE_LIB_CUDNN=str(folder / "libcudnn.so.9"))

    def test_part_that_was_not_written_to_its_end(self):
        folder = self.front()
        whole = (CUDNN.parent / "libcudnn_graph.so.9").read_bytes()
        part, given = folder / "libcudnn_graph.so.9", {"DETPROBE_LIB_CUDNN": str(folder / "libcudnn.so.9")}
        part.write_bytes(whole[:10])
        self.missing(77, [str(part), "file too short"], **given)
        part.write_bytes(whole[:1000])  # the loader itself reads beyond the end
        rows = self.run_cases([POOL, ATOMICS], 2, **given)
        self.assertEqual({case: row["observed"] for case, row in rows.items()}, {POOL: "error", ATOMICS: "repeats"})
        self.assertIn("SIGBUS", self.text)

    def test_parts_that_are_not_installed(self):
        for part in ("graph", "ops"):
            self.missing(77, [f"libcudnn_{part}.so.9"], HIDDEN=f"libcudnn_{part}.so",
                         LD_AUDIT=str(EMULATION / "libhiding.so"))

    def test_stack_borrows_no_part(self):
        """The parts that the machine has beside are another installation's."""
        stack = self.path / "stack"
        (stack / "lib").mkdir(parents=True)
        shutil.copy(CUDNN, stack / "lib" / "libcudnn.so.9")
        (stack / "lib" / ".".join(NVRTC.name.split(".")[:3])).symlink_to(NVRTC)
        self.missing(77, [str(stack / "lib"), "libcudnn_graph.so.9"], [POOL, "--stack", str(stack)])

    def test_the_others_run_on(self):
        folder = self.front()
        self.missing(0, [], [POOL, ATOMICS], DETPROBE_LIB_CUDNN=str(folder / "libcudnn.so.9"))

    def test_without_the_check_the_process_would_end(self):
        """Else these tests prove nothing."""
        call = f"import ctypes; ctypes.CDLL({str(CUDNN)!r}).cudnnGetVersion()"
        variables = {**os.environ, "HIDDEN": "libcudnn_graph.so", "LD_AUDIT": str(EMULATION / "libhiding.so")}
        done = subprocess.run([sys.executable, "-c", call], env=variables, capture_output=True, timeout=TIMEOUT)
        self.assertLess(done.returncode, 0, "killed by a signal")


class Whole(Real):
    @unittest.skipUnless(CUBLAS, "no cuBLAS")
    def test_emulated_driver(self):
        """The CUDA runtime inside the libraries does not take it for a driver: a sentence, and nothing hangs."""
        rows = self.run_cases([POOL, GEMM, ATOMICS], 2)
        self.assertEqual({case: row["observed"] for case, row in rows.items()},
                         {POOL: "error", GEMM: "error", ATOMICS: "repeats"})
        self.assertEqual((rows[POOL]["reason"], rows[GEMM]["reason"]), ("failure", "failure"))
        self.assertIn("cudnnCreate failed: CUDNN_STATUS_NOT_INITIALIZED", self.text)
        self.assertIn("cublasCreate failed: ", self.text)

    def test_no_driver(self):
        try:
            ctypes.CDLL("libcuda.so.1")
            self.skipTest("there is a driver here")
        except OSError:
            (self.driver / "libcuda.so.1").unlink()
        for row in self.run_cases(["@cuda"], 77).values():
            self.assertEqual((row["observed"], row["reason"]), ("skipped", "no_device"), row)
        self.assertIn("no CUDA driver", self.text)
        self.run_cases([POOL, "--require", "cuda"], 2)


# A tensor (data type, extents, strides), a pooling (mode, NaN, window, padding, stride): statuses, and the extents
# of the output, as a library sees them. No handle is needed, so neither is a GPU.
DESCRIBE = """
import ctypes, json, sys
library, answers = ctypes.CDLL(sys.argv[1]), []
tensor, pooling = ctypes.c_void_p(), ctypes.c_void_p()
library.cudnnCreateTensorDescriptor(ctypes.byref(tensor))
library.cudnnCreatePoolingDescriptor(ctypes.byref(pooling))
for shape, window in json.loads(sys.argv[2]):
    made = [ctypes.c_int() for _ in range(4)]
    status = (library.cudnnSetTensor4dDescriptorEx(tensor, *shape)
              or library.cudnnSetPooling2dDescriptor(pooling, *window)
              or library.cudnnGetPooling2dForwardOutputDim(pooling, tensor, *map(ctypes.byref, made)))
    answers.append([status, None if status else [extent.value for extent in made]])
print(json.dumps(answers))
"""
NCHW, NHWC = (0, 4, 16, 28, 28, 12544, 784, 28, 1), (2, 4, 16, 28, 28, 12544, 1, 448, 16)
PLAIN = (0, 0, 3, 3, 1, 1, 2, 2)
GOOD = {(NCHW, PLAIN): 14, (NHWC, PLAIN): 14, ((9, *NHWC[1:]), (3, *PLAIN[1:])): 14, (NCHW, (1, 1, *PLAIN[2:])): 14,
        (NCHW, (2, 0, 3, 3, 0, 0, 1, 1)): 26, (NCHW, (0, 0, 28, 28, 0, 0, 1, 1)): 1, (NCHW, (1, 0, 5, 5, 2, 2, 1, 1)): 28,
        (NCHW, (0, 0, 2, 2, 0, 0, 2, 2)): 14, (NCHW, (0, 0, 3, 3, 0, 0, 2, 2)): 13}
BAD = [((77, *NCHW[1:]), PLAIN), ((0, 0, *NCHW[2:]), PLAIN), ((*NCHW[:5], 0, 0, 0, 0), PLAIN), (NCHW, (4, *PLAIN[1:])),
       (NCHW, (0, 2, *PLAIN[2:])), (NCHW, (0, 0, 0, 3, 1, 1, 2, 2)), (NCHW, (0, 0, 3, 3, 1, 1, 0, 2)),
       (NCHW, (0, 0, 40, 40, 0, 0, 1, 1)), (NCHW, (0, 0, 29, 29, 0, 0, 2, 2))]


class Descriptors(Real):
    def test_the_emulated_library_answers_as_the_real_one(self):
        wanted = [*([0, [4, 16, extent, extent]] for extent in GOOD.values()), *([2000, None] for _ in BAD)]
        for library in (CUDNN, EMULATION / "libcudnn.so.9"):
            done = subprocess.run([sys.executable, "-c", DESCRIBE, library, json.dumps([*GOOD, *BAD])],
                                  capture_output=True, text=True, check=True, timeout=TIMEOUT)
            self.assertEqual(json.loads(done.stdout), wanted, library)


class Dying(Real):
    """A library that ends the process costs the cases that need it."""

    def dies(self, when, how, words):
        library = EMULATION / f"libcudnn_dies_at_{when}_by_{how}.so"
        rows = self.run_cases([POOL, ATOMICS], 2, DETPROBE_LIB_CUDNN=str(library))
        self.assertEqual({case: row["observed"] for case, row in rows.items()}, {POOL: "error", ATOMICS: "repeats"})
        self.assertIn(words, self.text)

    def test_abort_at_load(self):
        self.dies("load", "abort", "SIGABRT")

    def test_exit_at_load(self):
        self.dies("load", "exit", "exited with status 0 before hello")

    def test_abort_at_the_first_call(self):
        self.dies("call", "abort", "SIGABRT")

    def test_exit_at_the_first_call(self):
        self.dies("call", "exit", "exited with status 0")


if __name__ == "__main__":
    built = (EMULATION / "libcudnn.so.9").exists()
    if not built or not CUDNN or not NVRTC:
        print("skipped: no NVRTC, no cuDNN, or built without its headers")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
