# SPDX-License-Identifier: Apache-2.0
"""Unmodified CUDA probe programs on the emulated stack: each injection gives its rows and no other.

usage: test_emulation.py DETPROBE EMULATION-FOLDER [TEST...]
NVRTC is the real one; without it there is nothing to test.
"""

import ctypes
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import surroundings
from loader import nvrtc

DETPROBE, EMULATION = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
SKIP = 77

KEPT, ALLOWED, BROKEN = ("repeats", "kept"), ("varies", "allows"), ("varies", "broken")
UNSTATED = ("varies", "none")
# What each case says when nothing is injected.
CASES = {
    "cuda/gemm/sgemm-nt-128x96x777": KEPT,
    "cuda/gemm/dgemm-nn-16x16x16": KEPT,
    "cuda/gemm/gemmex-bf16-nn-128x96x777": KEPT,
    "cuda/gemm/gemmex-s8-s32-nt-128x96x768": KEPT,
    "cuda/gemm/sgemmgroupedbatched-4x2x16x64x512": KEPT,
    "cuda/gemm/gemmgroupedbatchedex-bf16-8x1x7x48x2048": KEPT,
    "cuda/gemm-lt/ltmatmul-f32-nt-128x96x776": KEPT,
    "cuda/gemm-lt/ltmatmul-bf16-nn-32x32x2048-inplace": UNSTATED,
    "cuda/blas/sdot-1000": KEPT,
    "cuda/blas/ssymv-lower-1000": KEPT,
    "cuda/blas/ssymv-lower-1000-atomics": ALLOWED,
    "cuda/blas/chemv-lower-100": KEPT,
    "cuda/blas/zhemv-upper-100": KEPT,
    "cuda/blas/chemv-lower-1000-atomics": ALLOWED,
    "cuda/conv/forward-implicit-gemm-f32-nchw-n2c32h9k16r3s1g1": KEPT,
    "cuda/conv/backward-data-algo-1-f16-nhwc-n2c32h9k16r3s1g1": KEPT,
    "cuda/conv/backward-filter-algo-0-f32-nchw-n2c32h9k16r3s1g1": ALLOWED,
    "cuda/atomics/atom-f32-16x4096": ALLOWED,
    "cuda/atomics/atom-bf16-1024x64": ALLOWED,
    "cuda/atomics/red-f16x2-256x256": ALLOWED,
    "cuda/atomics/red-bf16x2-1024x64": ALLOWED,
    "cuda/atomics/red-s64-16x4096": KEPT,
    "cuda/atomics/atom-s32-16x4096": KEPT,
    "cuda/atomics/max-s64-16x4096": KEPT,
    "cuda/atomics/append-s64-16384": ALLOWED,
    "cuda/atomics/last-block-index-16x65536": KEPT,
    "cuda/atomics/last-block-arrival-16x65536": ALLOWED,
    "cuda/atomics/block-sum-512x256": KEPT,
    "cuda/scatter/scatter-add-atomic-f32-1024x32-rows64": ALLOWED,
    "cuda/scatter/scatter-add-sorted-f32-1024x32-rows64": KEPT,
    "cuda/scatter/scatter-add-atomic-s32-1024x32-rows64": KEPT,
    "cuda/scatter/index-add-packed-bf16-rows128x32": ALLOWED,
    "cuda/scatter/index-add-sorted-bf16-rows128x32": KEPT,
    "cuda/scatter/index-put-unordered-s64-rows1024": ALLOWED,
    "cuda/scatter/index-put-sorted-s64-rows1024": KEPT,
    "cuda/scatter/embedding-backward-packed-f16-vocabulary512x32-padding": ALLOWED,
    "cuda/scatter/histogram-weighted-privatized-f32-bins256": ALLOWED,
    "cuda/scatter/histogram-atomic-f32-bins256": KEPT,
    "cuda/scatter/segment-sum-atomic-f32-m2": KEPT,
    "cuda/scatter/segment-sum-atomic-f32-m3": ALLOWED,
    "cuda/resample/upsample-bilinear2d-corners-backward-atomic-f32-n2c16-33x33-65x65": ALLOWED,
    "cuda/resample/upsample-bilinear2d-corners-backward-gather-f64-n2c16-33x33-65x65": KEPT,
    "cuda/resample/upsample-bilinear2d-nhwc-backward-packed-bf16-n2c16-32x32-64x64": ALLOWED,
    "cuda/resample/reflection-pad2d-backward-gather-f16-n4c32-16x16-pad15": KEPT,
    "cuda/resample/replication-pad2d-backward-atomic-bf16-n4c32-16x16-pad7": ALLOWED,
    "cuda/resample/adaptive-avg-pool2d-nhwc-backward-gather-f16-n4c32-16x16-27x27": KEPT,
    "cuda/resample/roi-align-backward-atomic-f32-n2c16-32x32-boxes16": ALLOWED,
    "cuda/resample/grid-sampler2d-input-backward-atomic-f16-n2c8-16x16-points1024": ALLOWED,
    "cuda/resample/grid-sampler2d-grid-backward-gather-f32-n2c32-16x16-points1024": KEPT,
    "cuda/resample/max-pool2d-backward-gather-f64-n2c16-28x28-r5s1": KEPT,
    "cuda/resample/max-pool2d-three-addends-backward-atomic-f32-planes512": ALLOWED,
    "cuda/resample/max-pool2d-three-addends-backward-gather-f32-planes512": KEPT,
    "cuda/column/layer-norm-backward-atomic-f32-4096x128": ALLOWED,
    "cuda/column/layer-norm-backward-last-block-bf16-4096x128": KEPT,
    "cuda/column/bias-backward-nhwc-two-pass-f64-n16c64p784": KEPT,
    "cuda/column/bias-backward-nchw-atomic-f16-n16c32p784": ALLOWED,
    "cuda/column/bias-backward-nchw-last-block-f32-n16c32p784": KEPT,
    "cuda/pool/poolingforward-average-exclude-nhwc-f32-n4c16h28r3s2": KEPT,
    "cuda/pool/poolingbackward-max-nchw-f32-n4c16h28r3s2": ALLOWED,
    "cuda/pool/poolingbackward-max-deterministic-nchw-f32-n4c16h28r3s2": KEPT,
    "cuda/pool/poolingbackward-average-include-nhwc-f32-n4c16h28r3s2": KEPT,
}
GEMM = [case for case in CASES if case.startswith("cuda/gemm/")]
POOL = [case for case in CASES if case.startswith("cuda/pool/")]


class Emulated(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.log = pathlib.Path(self.folder.name, "calls")

    def tearDown(self):
        self.folder.cleanup()

    def detprobe(self, *arguments, injection="", environment=None):
        variables = surroundings.plain()
        variables["LD_LIBRARY_PATH"] = f"{EMULATION}:{variables.get('LD_LIBRARY_PATH', '')}"
        variables["DETPROBE_EMULATE"] = injection
        variables["DETPROBE_EMULATE_LOG"] = str(self.log)
        variables["LD_BIND_NOW"] = "1"
        variables.update(environment or {})
        return subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True,
                              timeout=600)

    def algorithms(self, case):
        report = pathlib.Path(self.folder.name, "report.json")
        done = self.detprobe("run", "--level", "quick", "--seeds", 2, "--runs", 3, "--axis", "algorithm", "-o", report,
                             case)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        body = json.loads(report.read_text())["body"]
        self.assertEqual(self.rows({"body": body}), {case: KEPT})
        return body["results"][0].get("sensitive_to", [])

    def lines(self, name):
        return [line for line in self.log.read_text().splitlines() if line.startswith(name + " ")]

    def run_cases(self, cases, code, injection="", axis="repeat", level="quick", **options):
        """A run whose exit status is known: the report."""
        file = pathlib.Path(self.folder.name, "report.json")
        done = self.detprobe("run", "--level", level, "--axis", axis, "-o", file, *cases, injection=injection,
                             **options)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.text = done.stdout
        return json.loads(file.read_text())

    def rows(self, report):
        return {row["case"]: (row["observed"], row.get("guarantee", {}).get("status"))
                for row in report["body"]["results"]}

    def measured(self, report, case):
        return next(row for row in report["measurements"]["cases"] if row["case"] == case)["axes"]

    def expect(self, code, injection, changed, cases=None, controls=(), **options):
        """All cases as without injection but those in `changed`; all controls behave but `controls`."""
        cases = cases or list(CASES)
        report = self.run_cases(cases, code, injection, **options)
        self.assertEqual(self.rows(report), {case: changed.get(case, CASES[case]) for case in cases})
        misbehaved = {row["name"] for row in report["body"]["controls"] if not row["behaved"]}
        self.assertEqual(misbehaved, {f"cuda/control/{name}" for name in controls})
        return report


def main():
    """Runs the tests of the file that calls this."""
    if not nvrtc():
        print("skipped: no NVRTC")
        sys.exit(SKIP)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)


class Rows(Emulated):
    def test_nothing_injected(self):
        report = self.expect(0, "", {})
        for row in report["body"]["results"]:
            self.assertEqual(row.get("checked", "full"), "full", row)
        self.assertEqual(len(report["body"]["controls"]), 10)
        devices = report["body"]["environment"]["devices"]
        self.assertEqual(len(devices), 1, "one device, however many programs")
        self.assertTrue(devices[0]["emulated"])
        self.assertTrue(devices[0]["name"].startswith("emulated "))
        self.assertIn("unproven on hardware", self.text)
        again = self.run_cases(list(CASES), 0)
        self.assertEqual(again["digest"], report["digest"])

    def test_reordering(self):
        self.expect(1, "reorder=cublasSgemm_v2", {"cuda/gemm/sgemm-nt-128x96x777": BROKEN})

    def test_reordering_of_integers_does_not_show(self):
        self.expect(1, "reorder=cublasGemmEx", {"cuda/gemm/gemmex-bf16-nn-128x96x777": BROKEN}, GEMM)

    def test_bit_flip(self):
        case = "cuda/gemm/sgemm-nt-128x96x777"
        # one bit of an exact sum is no rounding: wrong, beside varying
        report = self.expect(1, "bitflip=cublasSgemm_v2", {case: ("wrong", "broken")}, GEMM)
        measured = next(row for row in report["measurements"]["cases"] if row["case"] == case)
        self.assertEqual(measured["mismatch"]["elements"], 1)
        self.assertEqual(measured["mismatch"]["max_ulp"], "1")

    def test_unwritten(self):
        self.expect(1, "unwritten=cublasSgemm_v2", {"cuda/gemm/sgemm-nt-128x96x777": ("wrong", "kept")}, GEMM)

    def test_wrong(self):
        self.expect(1, "wrong=cublasDgemm", {"cuda/gemm/dgemm-nn-16x16x16": ("wrong", "kept")}, GEMM)

    def test_failing_call(self):
        report = self.expect(2, "status=cublasSgemm_v2", {"cuda/gemm/sgemm-nt-128x96x777": ("error", None)}, GEMM)
        self.assertIn("sgemm failed: the function failed to launch", json.dumps(report))

    def test_algorithms(self):
        """What another choice computes is sensitivity, never a finding; without another result there is none."""
        self.assertEqual(self.algorithms("cuda/gemm/sgemm-nt-128x96x777"), ["algorithm"])  # split by the workspace
        self.assertEqual(self.algorithms("cuda/gemm/dgemm-nn-16x16x16"), [])  # too short to be split

    def test_alignment(self):
        """Other bits at another address are sensitivity; none are seen where the library looks at no address."""
        case = "cuda/gemm/sgemm-nt-128x96x777"
        for injection, axes in (("", []), ("align=cublasSgemm_v2", ["align"])):
            report = self.run_cases([case], 0, injection, axis="align")
            self.assertEqual(self.rows(report), {case: KEPT})
            self.assertEqual(report["body"]["results"][0]["sensitive_to"], axes)
            self.assertNotIn("align", report["body"]["results"][0]["not_measured"])

    def test_one_order_makes_the_run_insensitive(self):
        vary = ("float-atomics", "split-k-float-atomics", "split-k-half-atomics", "split-k-half2-atomics")
        cases = ["cuda/atomics/atom-s32-16x4096", "cuda/atomics/atom-f32-16x4096",
                 "cuda/scatter/scatter-add-atomic-f32-1024x32-rows64", "cuda/scatter/scatter-add-sorted-f32-1024x32-rows64"]
        report = self.run_cases(cases, 2, "order=fixed")
        self.assertEqual({row["observed"] for row in report["body"]["results"]}, {"untested"})
        misbehaved = {row["name"].rsplit("/", 1)[1] for row in report["body"]["controls"] if not row["behaved"]}
        self.assertEqual(misbehaved, set(vary))

    def test_racing_threads(self):
        self.expect(0, "order=race", {}, ["cuda/atomics/atom-f32-16x4096", "cuda/atomics/atom-s32-16x4096",
                                          "cuda/atomics/last-block-index-16x65536",
                                          "cuda/scatter/segment-sum-atomic-f32-m3",
                                          "cuda/scatter/index-put-unordered-s64-rows1024",
                                          "cuda/scatter/index-put-sorted-s64-rows1024"])

    def test_sorted_sums_have_the_bits_of_the_cpu(self):
        """One problem in one order: a device and a CPU agree to the bit."""
        if not (DETPROBE.parents[1] / "probes" / "cpu" / "scatter").exists():
            self.skipTest("cpu/scatter was not built: no OpenMP")
        names = ["scatter/scatter-add-sorted-f32-bins1024", "scatter/index-add-sorted-f64-rows128x32",
                 "scatter/index-put-sorted-f32-rows1024"]
        outputs = [[row.get("outputs") for row in self.run_cases([f"{backend}/{name}" for name in names], code,
                                                                 injection)["body"]["results"]]
                   for backend, code, injection in (("cpu", 0, ""), ("cuda", 0, "seed=3"))]
        self.assertTrue(all(outputs[0]), "the program of the CPU ran")
        self.assertEqual(*outputs)

    def test_blind_comparison(self):
        report = self.run_cases(GEMM, 2, "blind=1")
        self.assertEqual(set(self.rows(report).values()), {("error", None)})
        self.assertIn("the comparison on the device is wrong", json.dumps(report))

    def test_sticky_error_costs_one_request(self):
        """The context is lost in the middle; a new process does the rest."""
        cases = ["cuda/gemm/dgemm-nn-16x16x16", "cuda/gemm/sgemm-nn-16x16x16", "cuda/gemm/dgemm-nt-128x96x777"]
        report = self.run_cases(cases, 2, "sticky=400")
        observed = [row["observed"] for row in report["body"]["results"]]
        self.assertIn("error", observed)
        self.assertIn("CUDA_ERROR_ILLEGAL_ADDRESS", json.dumps(report))
        crashed = [row for row in report["body"]["results"] if row.get("reason") == "crash"]
        self.assertEqual(crashed, [], "the process ends after its answer, never before")

    def test_every_sticky_error_costs_one_request(self):
        """Also those that a header of the oldest toolkit does not name."""
        cases = ["cuda/gemm/dgemm-nn-16x16x16", "cuda/gemm/sgemm-nn-16x16x16", "cuda/gemm/dgemm-nt-128x96x777"]
        for error in (226, 721):
            report = self.run_cases(cases, 2, f"sticky=400,error={error}")
            observed = [row["observed"] for row in report["body"]["results"]]
            self.assertEqual(observed.count("error"), 1, observed)
            self.assertIn(f"({error})", json.dumps(report))


class Pooling(Emulated):
    FORWARD, MAX, DETERMINISTIC, AVERAGE = POOL

    def test_reordering(self):
        """Sums of gradients show it; a maximum does not, so neither does the forward pass of its backward."""
        self.expect(1, "reorder=cudnnPoolingBackward", {self.DETERMINISTIC: BROKEN, self.AVERAGE: BROKEN}, POOL)
        self.expect(1, "reorder=cudnnPoolingForward", {self.FORWARD: BROKEN}, POOL)

    def test_without_atomics_the_default_form_repeats(self):
        self.expect(0, "atomics=no", {self.MAX: ("repeats", "allows")}, POOL)

    def test_bit_flip(self):
        """Where no gradient goes a bit is wrong; in a sum of shares, which no set makes exact, it only differs."""
        self.expect(1, "bitflip=cudnnPoolingBackward", {self.MAX: ("wrong", "allows"), self.AVERAGE: BROKEN,
                                                        self.DETERMINISTIC: ("wrong", "broken")}, POOL)

    def test_wrong(self):
        self.expect(1, "wrong=cudnnPoolingBackward", {self.MAX: ("wrong", "allows"), self.AVERAGE: ("wrong", "kept"),
                                                      self.DETERMINISTIC: ("wrong", "kept")}, POOL)
        # the maxima that backward is given are not those of its input
        self.expect(1, "wrong=cudnnPoolingForward", {case: ("wrong", CASES[case][1]) for case in POOL
                                                     if case != self.AVERAGE}, POOL)

    def test_unwritten(self):
        self.expect(1, "unwritten=cudnnPooling", {case: ("wrong", CASES[case][1]) for case in POOL}, POOL)

    def test_failing_call(self):
        report = self.expect(2, "status=cudnnPoolingBackward", {case: ("error", None) for case in POOL[1:]}, POOL)
        self.assertIn("cudnnPoolingBackward failed: CUDNN_STATUS_EXECUTION_FAILED", json.dumps(report))

    def test_refusals(self):
        """What the real library refuses is refused, so that no probe passes here with a call that is wrong there."""
        driver, cudnn = (ctypes.CDLL(str(EMULATION / name)) for name in ("libcuda.so.1", "libcudnn.so.9"))
        handle, window, x, y, other, memory = (ctypes.c_void_p() for _ in range(6))
        cudnn.cudnnCreate(ctypes.byref(handle))
        cudnn.cudnnCreatePoolingDescriptor(ctypes.byref(window))
        cudnn.cudnnSetPooling2dDescriptor(window, 0, 0, 3, 3, 1, 1, 2, 2)
        for tensor, size, strides in ((x, 8, (64, 64, 8, 1)), (y, 4, (16, 16, 4, 1)), (other, 4, (16, 1, 4, 4))):
            cudnn.cudnnCreateTensorDescriptor(ctypes.byref(tensor))
            cudnn.cudnnSetTensor4dDescriptorEx(tensor, 0, 1, 1, size, size, *strides)
        driver.cuMemAlloc_v2(ctypes.byref(memory), 4 * 64)
        host, one, zero = (ctypes.c_float * 64)(), ctypes.c_float(1), ctypes.c_float(0)

        def forward(alpha=one, x_tensor=x, x_memory=memory, y_tensor=y, y_memory=memory):
            return cudnn.cudnnPoolingForward(handle, window, ctypes.byref(alpha), x_tensor, x_memory, ctypes.byref(zero),
                                             y_tensor, y_memory)

        def backward(dy_tensor=y, dx_tensor=x, dx_memory=memory):
            return cudnn.cudnnPoolingBackward(handle, window, ctypes.byref(one), y, memory, dy_tensor, memory, x, memory,
                                              ctypes.byref(zero), dx_tensor, dx_memory)

        self.assertEqual((forward(), backward()), (0, 0))
        bad = 2000  # CUDNN_STATUS_BAD_PARAM
        self.assertEqual([forward(alpha=ctypes.c_double(1)), forward(x_memory=host), forward(y_memory=host),
                          forward(x_memory=ctypes.c_void_p(memory.value + 64)), forward(x_tensor=y, y_tensor=x),
                          backward(dx_memory=host), backward(dx_tensor=y), backward(dy_tensor=other)], [bad] * 8)

    def test_calls(self):
        self.run_cases(POOL, 0)
        lines = self.log.read_text().splitlines()
        calls = [re.sub(r" stream=0x[0-9a-f]+$", "", line) for line in lines if line.startswith("cudnnPooling")]
        # f32 is data type 0; nan=0: CUDNN_NOT_PROPAGATE_NAN
        window = "nan=0 window=3x3 pad=1x1 stride=2x2"
        backward = {f"mode=0 {window} x=nchw y=nchw dtype=0", f"mode=3 {window} x=nchw y=nchw dtype=0",
                    f"mode=1 {window} x=nhwc y=nhwc dtype=0"}
        forward = {f"mode=2 {window} x=nhwc y=nhwc dtype=0", *backward}
        self.assertEqual({call.split(" ", 1)[1] for call in calls if call.startswith("cudnnPoolingForward")}, forward)
        self.assertEqual({call.split(" ", 1)[1] for call in calls if call.startswith("cudnnPoolingBackward")},
                         backward, "and none without a stream")
        for before, call in zip(calls, calls[1:]):
            if call.startswith("cudnnPoolingBackward"):
                self.assertEqual(before, call.replace("Backward", "Forward"), "y is made from the same x")
        self.assertEqual(lines.count("cudnnCreate"), 1, "one handle in a process")


class Refusals(Emulated):
    def skipped(self, injection, reason, words, code=77, **options):
        report = self.run_cases(GEMM, code, injection, **options)
        for row in report["body"]["results"]:
            self.assertEqual((row["observed"], row["reason"]), ("skipped", reason))
            self.assertIn(words, row.get("text", ""))

    def test_no_device(self):
        self.skipped("devices=0", "no_device", "sees no GPU")
        required = self.detprobe("run", "--level", "quick", "--require", "cuda", *GEMM, injection="devices=0")
        self.assertEqual(required.returncode, 2)

    def test_old_driver(self):
        self.skipped("driver=12040", "version", "supports CUDA 12.4; this")

    def test_modes(self):
        self.skipped("mode=2", "device_busy", "PROHIBITED")
        self.skipped("mode=3", "device_busy", "EXCLUSIVE_PROCESS")
        self.skipped("mode=3", "device_busy", "--force")
        required = self.detprobe("run", "--level", "quick", "--require", "cuda", *GEMM, injection="mode=3")
        self.assertEqual(required.returncode, 2, "a pipeline must not pass on a device that it could not use")

    def test_memory(self):
        self.skipped("memory=1048576", "memory", "MiB")

    def test_missing_libraries(self):
        for role in ("NVRTC", "CUBLAS"):
            self.skipped("", "library_missing", role.lower(),
                         environment={f"DETPROBE_LIB_{role}": "/nonexistent/library.so"})

    def test_too_old_a_device(self):
        self.skipped("capability=70", "version", "sm_70")
        self.skipped("capability=61", "unsupported", "own kernels need compute capability 7.0, the device has 6.1")


class Calls(Emulated):
    def test_modes_are_set_on_purpose(self):
        self.run_cases(["cuda/gemm/sgemm-nt-128x96x777", "cuda/gemm/sgemm-tf32-nn-128x96x777"], 0)
        seen = {line.split("stream=")[0] for line in self.lines("cublasSgemm_v2")}
        # row-major A (128x777) times B^T (96x777): cuBLAS sees 96x128, its first operand transposed
        plain = "cublasSgemm_v2 tn m=96 n=128 k=777 lda=777 ldb=777 ldc=96 compute=68 math=0 atomics=0 workspace=0 "
        tf32 = "cublasSgemm_v2 nn m=96 n=128 k=777 lda=96 ldb=777 ldc=96 compute=68 math=3 atomics=0 workspace=0 "
        self.assertEqual(seen, {plain, tf32})
        self.assertFalse([line for line in self.lines("cublasSgemm_v2") if line.endswith("stream=(nil)")])
        self.assertTrue(self.lines("cuModuleLoadDataEx")[0].endswith("cubin"))

    def test_one_handle_a_process(self):
        self.run_cases(GEMM, 0)
        creations = self.log.read_text().splitlines().count("cublasCreate")
        self.assertEqual(creations, 1, "one for the one process of axis repeat")

    def test_workspace_of_the_caller(self):
        self.run_cases(["cuda/gemm/sgemm-nn-128x128x4096-workspace-4mib"], 0)
        sizes = {line.split("workspace=")[1].split()[0] for line in self.lines("cublasSgemm_v2")}
        self.assertEqual(sizes, {"4194304"})

    def test_newer_device_gets_ptx(self):
        self.run_cases(["cuda/atomics/atom-s32-16x4096"], 0, "capability=199")
        self.assertTrue(self.lines("cuModuleLoadDataEx")[0].endswith("ptx"))


if __name__ == "__main__":
    main()
