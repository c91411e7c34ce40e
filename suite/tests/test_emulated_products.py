# SPDX-License-Identifier: Apache-2.0
"""Products of the unmodified probe programs on the emulated cuBLASLt, and groups of them on the emulated cuBLAS.

usage: test_emulated_products.py DETPROBE EMULATION-FOLDER [TEST...]
"""

import json

from test_emulation import BROKEN, EMULATION, GEMM, KEPT, UNSTATED, Emulated, main
from test_emulation import CASES as USUAL

# What each case of cuBLASLt says when nothing is injected.
CASES = {
    "cuda/gemm-lt/ltmatmul-f32-nt-128x96x776": KEPT,
    "cuda/gemm-lt/ltmatmul-bf16-nn-32x32x2048-compute-type": KEPT,
    "cuda/gemm-lt/ltmatmul-bf16-nn-32x32x2048-inplace": UNSTATED,
    "cuda/gemm-lt/ltmatmul-f16-nn-32x32x2048-split-4-output-type": KEPT,
    "cuda/gemm-lt/ltmatmul-e4m3-f32-nt-128x96x768": KEPT,
    "cuda/gemm-lt/ltmatmul-s8-s32-nt-128x96x768": KEPT,
}
GROUPED = [case for case in GEMM if "grouped" in case]
MATMUL = [case for case in CASES if case.startswith("cuda/gemm-lt/")]
MATMUL_F32, _, MATMUL_INPLACE, MATMUL_STORED, MATMUL_F8, MATMUL_S32 = MATMUL
SMALL = "cuda/gemm-lt/ltmatmul-f32-nn-32x32x2048"


class Products(Emulated):
    def expect(self, code, injection, changed, cases):
        report = self.run_cases(cases, code, injection)
        usual = {**USUAL, **CASES}
        self.assertEqual(self.rows(report), {case: changed.get(case, usual[case]) for case in cases})
        return report


class Grouped(Products):
    """Groups of products in one call."""

    def test_reordering(self):
        self.expect(1, "reorder=cublasSgemmGroupedBatched", {GROUPED[0]: BROKEN}, GEMM)

    def test_unwritten(self):
        self.expect(1, "unwritten=cublasGemmGroupedBatchedEx", {GROUPED[1]: ("wrong", "kept")}, GEMM)

    def test_failing_call(self):
        self.expect(2, "status=cublasGemmGroupedBatchedEx", {GROUPED[1]: ("error", None)}, GROUPED)

    def test_library_without_the_routines(self):
        """An older cuBLAS lacks them alone: those cases are skipped, the others run."""
        report = self.run_cases(GEMM, 0, environment={"DETPROBE_LIB_CUBLAS": f"{EMULATION}/libcublas_older.so"})
        skipped = {row["case"]: row for row in report["body"]["results"] if row["observed"] == "skipped"}
        self.assertEqual(set(skipped), set(GROUPED))
        self.assertEqual({row["reason"] for row in skipped.values()}, {"version"})
        self.assertEqual(skipped[GROUPED[0]]["text"], "sgemmgroupedbatched needs cuBLAS 12.5 or later")
        self.assertEqual({row for case, row in self.rows(report).items() if case not in skipped}, {KEPT})

    def test_calls(self):
        """Groups of unequal height, each product of which finds its matrices through the device's pointers."""
        self.run_cases(GROUPED[:1], 0)
        seen = {line.split(" compute=")[0] for line in self.lines("cublasSgemmGroupedBatched")}
        self.assertEqual(seen, {"cublasSgemmGroupedBatched groups=4 products=8"} | {
            f"cublasSgemmGroupedBatched nn m=64 n={rows} k=512 lda=64 ldb=512 ldc=64" for rows in (16, 32, 48, 64)})


class Matmul(Products):
    """cuBLASLt."""

    def test_nothing_injected(self):
        report = self.expect(0, "", {}, MATMUL)
        self.assertEqual({row.get("checked", "full") for row in report["body"]["results"]}, {"full"})

    def test_reordering(self):
        rows = dict.fromkeys(MATMUL, BROKEN)
        self.expect(1, "reorder=cublasLtMatmul", {**rows, MATMUL_INPLACE: UNSTATED, MATMUL_S32: KEPT}, MATMUL)

    def test_in_place_without_atomics(self):
        self.expect(0, "atomics=no", {MATMUL_INPLACE: ("repeats", "none")}, MATMUL)

    def test_bit_flip(self):
        # operands of 8 bits, and sums stored in 16, leave errors in which one bit is lost
        lost = {MATMUL_F8: BROKEN, MATMUL_STORED: BROKEN, MATMUL_INPLACE: UNSTATED}
        rows = dict.fromkeys(MATMUL, ("wrong", "broken"))
        self.expect(1, "bitflip=cublasLtMatmul", {**rows, **lost}, MATMUL)

    def test_unwritten(self):
        rows = dict.fromkeys(MATMUL, ("wrong", "kept"))
        self.expect(1, "unwritten=cublasLtMatmul", {**rows, MATMUL_INPLACE: ("wrong", "none")}, MATMUL)

    def test_wrong(self):
        self.expect(1, "wrong=cublasLtMatmul", dict.fromkeys([MATMUL_F32, MATMUL_S32], ("wrong", "kept")),
                    [MATMUL_F32, MATMUL_S32, MATMUL_INPLACE])

    def test_failing_call(self):
        report = self.expect(2, "status=cublasLtMatmul", dict.fromkeys(MATMUL, ("error", None)), MATMUL)
        self.assertIn("cublasLtMatmul failed: the function failed to launch", json.dumps(report))

    def test_heuristic_results_differ(self):
        """Each result of the heuristics is another algorithm; those that split k otherwise give other bits."""
        report = self.run_cases([f"{SMALL}*"], 0, "atomics=no")
        rows = {row["case"].removeprefix(SMALL): row for row in report["body"]["results"]}
        chosen = {name: row["chosen"] for name, row in rows.items() if "chosen" in row}
        self.assertTrue(chosen[""].startswith("algorithm=6 tile=18 stages="), chosen[""])
        self.assertIn(" split-k=4 reduction=compute-type swizzle=0 custom=0 inner=0 cluster=0 workspace=16384",
                      chosen[""])
        tried = [""] + [f"-heuristic-{i}" for i in range(1, 5)]
        self.assertEqual(len({chosen[name] for name in tried}), 5)
        digests = [rows[name]["outputs"][0]["sha256"] for name in tried]
        self.assertEqual([digests.index(digest) for digest in digests], [0, 1, 2, 3, 3], "two tiles of one sum")
        self.assertEqual(digests[3], rows["-none"]["outputs"][0]["sha256"])
        self.assertEqual(digests[0], rows["-split-4-compute-type"]["outputs"][0]["sha256"])
        for name in ("-heuristic-5", "-heuristic-7"):
            self.assertEqual((rows[name]["observed"], rows[name]["reason"], rows[name]["text"]),
                             ("skipped", "unsupported", "the heuristics name 5 algorithms"))

    def test_algorithms(self):
        self.assertEqual(self.algorithms(SMALL), ["algorithm"])
        self.assertEqual(self.algorithms(MATMUL_S32), [])

    def test_no_8_bit_floats(self):
        report = self.run_cases([MATMUL_F8, MATMUL_S32], 0, "capability=86")
        skipped = report["body"]["results"][0]
        self.assertEqual((skipped["observed"], skipped["reason"]), ("skipped", "unsupported"))
        self.assertEqual(skipped["text"], "8-bit floats need compute capability 8.9, the device has 8.6")
        self.assertEqual(self.rows(report)[MATMUL_S32], KEPT)

    def test_missing_cublaslt(self):
        report = self.run_cases([MATMUL_F32], 77,
                                environment={"DETPROBE_LIB_CUBLASLT": "/nonexistent/library.so"})
        self.assertEqual(report["body"]["results"][0]["reason"], "library_missing")

    def test_calls(self):
        """Operands change places; what the heuristics are asked for; nothing of the library's own defaults."""
        self.run_cases([MATMUL_F32, MATMUL_F8, "cuda/gemm-lt/ltmatmul-bf16-tn-128x128x4096-bgradb"], 0)
        seen = {line.split(" stream=")[0] for line in self.lines("cublasLtMatmul")}
        self.assertEqual(seen, {
            "cublasLtMatmul tn m=96 n=128 k=776 types=0,0,0 compute=68 scale=0 algorithm=6 split-k=4 reduction=2 "
            "epilogue=1 workspace=196608",
            "cublasLtMatmul tn m=96 n=128 k=768 types=28,28,0 compute=68 scale=0 algorithm=6 split-k=4 reduction=2 "
            "epilogue=1 workspace=196608",
            "cublasLtMatmul nt m=128 n=128 k=4096 types=14,14,14 compute=68 scale=0 algorithm=6 split-k=4 reduction=2 "
            "epilogue=512 workspace=262144"})
        self.assertFalse([line for line in self.lines("cublasLtMatmul") if line.endswith("stream=(nil)")])
        self.assertEqual(set(self.lines("cublasLtMatmulAlgoGetHeuristic")), {
            "cublasLtMatmulAlgoGetHeuristic requested=1 workspace=33554432 schemes=7 alignment=256,256,256,256"})
        self.assertEqual(self.log.read_text().splitlines().count("cublasLtCreate"), 1)

    def test_workspace_limits(self):
        stem = "cuda/gemm-lt/ltmatmul-f32-nn-32x64x16384-workspace-"
        report = self.run_cases([f"{stem}0kib", f"{stem}64kib"], 0)
        chosen = {row["case"].removeprefix(stem): row["chosen"] for row in report["body"]["results"]}
        self.assertTrue(chosen["0kib"].endswith(" workspace=0"), chosen)
        self.assertTrue(chosen["64kib"].endswith(" workspace=32768"), chosen)


if __name__ == "__main__":
    main()
