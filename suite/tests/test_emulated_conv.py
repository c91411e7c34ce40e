# SPDX-License-Identifier: Apache-2.0
"""Convolutions of the unmodified probe program on the emulated cuDNN.

usage: test_emulated_conv.py DETPROBE EMULATION-FOLDER [TEST...]
"""

import json
import pathlib
import re

from test_emulation import ALLOWED, BROKEN, EMULATION, KEPT, Emulated, main

SHAPE = "n2c32h9k16r3s1g1"
FORWARD, DATA, FILTER = "cudnnConvolutionForward", "cudnnConvolutionBackwardData", "cudnnConvolutionBackwardFilter"
VARIED = ("repeats", "allows")  # nothing is promised, nothing was seen


def name(text, shape=SHAPE):
    return f"cuda/conv/{text}-{shape}"


# What each case says when nothing is injected, on the axis repeat.
CASES = {
    name("forward-implicit-gemm-f32-nchw"): KEPT,
    name("forward-fft-tiling-f32-nchw"): KEPT,
    name("forward-heuristics-f32-nchw"): KEPT,
    name("backward-data-algo-0-f32-nchw"): ALLOWED,
    name("backward-data-algo-1-f32-nchw"): KEPT,
    name("backward-data-winograd-f32-nchw"): KEPT,
    name("backward-filter-algo-0-f32-nchw"): ALLOWED,
    name("backward-filter-algo-1-f32-nchw"): KEPT,
    name("backward-filter-algo-3-f32-nchw"): ALLOWED,
    name("backward-filter-find-f32-nchw"): VARIED,
}
PASSES = {FORWARD: "forward-", DATA: "backward-data-", FILTER: "backward-filter-"}

# Shapes small enough for a CPU: strides, 1 x 1, depthwise, groups and dilation.
GEOMETRIES = [
    {"n": 2, "c": 3, "h": 17, "w": 17, "k": 8, "window": 7, "stride": 2, "pad": 3, "groups": 1},
    {"n": 2, "c": 24, "h": 6, "w": 6, "k": 16, "window": 1, "stride": 1, "pad": 0, "groups": 1},
    {"n": 2, "c": 16, "h": 9, "w": 9, "k": 16, "window": 3, "stride": 1, "pad": 1, "groups": 16},
    {"n": 2, "c": 16, "h": 9, "w": 9, "k": 8, "window": 3, "stride": 2, "pad": 1, "groups": 4},
    {"n": 2, "c": 8, "h": 11, "w": 11, "k": 8, "window": 3, "stride": 1, "pad": 2, "groups": 1, "dilation": 2},
]
NAMED = {"forward": "implicit-precomp-gemm", "backward-data": "algo-1", "backward-filter": "algo-1"}


class Convolutions(Emulated):
    def expect(self, code, injection, changed, cases=None, controls=()):
        cases = cases or list(CASES)
        report = self.run_cases(cases, code, injection)
        self.assertEqual(self.rows(report), {case: changed.get(case, CASES[case]) for case in cases})
        return report

    def results(self, report):
        return {row["case"]: row for row in report["body"]["results"]}

    def calls(self, routine):
        """What the log says of each call: a dict of its words."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith(routine + " ")]
        return [dict(word.split("=") for word in line.split()[1:]) for line in lines]


class Rows(Convolutions):
    def test_nothing_injected(self):
        report = self.expect(0, "", {})
        results = self.results(report)
        for case, row in results.items():
            self.assertEqual(row.get("checked"), "full", row)
            atomics = re.search("algo-[03]-", case)
            self.assertEqual(row["declared"], "nondeterministic" if atomics else "deterministic", row)
        chosen = results[name("backward-filter-algo-1-f32-nchw")]["chosen"]
        self.assertEqual(chosen, "CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1, FMA math, 18432 bytes of workspace")
        library = next(row for row in report["body"]["environment"]["libraries"] if row["role"] == "cudnn")
        self.assertRegex(library["version"], r"^9\.\d+\.\d+$")
        self.assertEqual(library["config"], "CUDA runtime 13.0 inside")
        self.assertEqual(pathlib.Path(library["path"]).parent, EMULATION)

    def test_reordering_of_one_pass(self):
        for routine, prefix in PASSES.items():
            ours = [case for case in CASES if f"/{prefix}" in case][-3:]
            other = next(case for case in CASES if f"/{prefix}" not in case)
            changed = {case: BROKEN if CASES[case] == KEPT else ALLOWED for case in ours}
            report = self.expect(1, f"reorder={routine}", changed, [*ours, other])
            self.assertIn("the library declares it deterministic", self.text)
            for case in ours:
                self.assertEqual(self.results(report)[case]["difference"], "execution")

    def test_reordering_of_one_algorithm(self):
        """Heuristics and Find never prefer those that use atomics."""
        self.expect(0, "atomics=no", {case: VARIED for case in CASES if re.search("algo-[03]-", case)})
        self.assertNotIn("the library declares it deterministic", self.text)

    def test_words_on_one_algorithm_are_not_on_another(self):
        """The heuristics' first choice is deterministic; another one, which they name too, is not."""
        case = name("backward-data-heuristics-f32-nchw")
        report = self.run_cases([case], 0, axis="algorithm")
        self.assertEqual(self.rows(report), {case: ALLOWED})
        self.assertEqual(self.results(report)[case]["declared"], "deterministic")
        self.assertIn("the base setting repeats, another setting does not", self.text)
        self.assertNotIn("the library declares it", self.text)

    def test_faults(self):
        flipped, unwritten, wrong = (name(text) for text in ("backward-data-winograd-f32-nchw",
                                                             "backward-filter-algo-1-f32-nchw",
                                                             "forward-implicit-gemm-f32-nchw"))
        self.expect(1, f"bitflip={DATA},unwritten={FILTER},wrong={FORWARD}",
                    {flipped: BROKEN, unwritten: ("wrong", "kept"), wrong: ("wrong", "kept")},
                    [flipped, unwritten, wrong])

    def test_failing_call(self):
        case, other = name("backward-filter-algo-1-f32-nchw"), name("forward-implicit-gemm-f32-nchw")
        report = self.expect(2, f"status={FILTER}", {case: ("error", None)}, [case, other])
        self.assertIn("cudnnConvolutionBackwardFilter failed: CUDNN_STATUS_EXECUTION_FAILED (5000): injected in two lines",
                      json.dumps(report))

    def test_what_no_algorithm_does(self):
        cases = [name("forward-direct-f32-nchw"), name("backward-filter-winograd-f32-nchw")]
        for row in self.run_cases(cases, 77)["body"]["results"]:
            self.assertEqual((row["observed"], row["reason"]), ("skipped", "unsupported"))
            self.assertIn("CUDNN_STATUS_NOT_SUPPORTED", row["text"])

    def test_every_geometry_is_right(self):
        """Layouts, types, strides, groups and dilation against the reference: all of it repeats and none is wrong."""
        cases = []
        for data, layout in (("f32", "nchw"), ("tf32", "nhwc"), ("f16", "nhwc"), ("bf16", "nchw")):
            for number, geometry in enumerate(GEOMETRIES):
                for pas, choice in NAMED.items():
                    case = {"id": f"cuda/conv/mine-{pas}-{data}-{layout}-{number}", "op": f"conv-{pas}",
                            "choice": choice, "arithmetic": "direct" if data == "f32" else "reduced", "bound": 4,
                            "guarantee": {"level": "run_to_run", "source": "a test asks for it"},
                            "params": {"data": data, "layout": layout, **geometry}}
                    cases.append(case if pas == "backward-filter" else {**case, "batch": "n"})
        folder = pathlib.Path(self.folder.name, "mine")
        folder.mkdir()
        (folder / "mine.json").write_text(json.dumps({"schema_version": "1.0", "program": "conv", "cases": cases}))
        report = self.run_cases(["cuda/conv/mine-*"], 0, environment={"DETPROBE_PROBE_PATH": str(folder)})
        self.assertEqual(self.rows(report), {case["id"]: KEPT for case in cases})
        self.assertEqual({row["checked"] for row in report["body"]["results"]}, {"full"})


class Environment(Convolutions):
    CASE = name("forward-implicit-precomp-gemm-f32-default-nchw", "n4c16h14k32r1s1g1-tf32-override-0")

    def test_tf32_override(self):
        """The default math type rounds operands; the variable forbids it, and where it did not the bound would tell."""
        report = self.run_cases([self.CASE], 0)
        self.assertEqual(self.rows(report), {self.CASE: KEPT})
        self.assertEqual({call["math"] for call in self.calls(FORWARD)}, {"0"})
        report = self.run_cases([self.CASE], 1, "tf32=allowed")
        self.assertEqual(self.rows(report), {self.CASE: ("wrong", "kept")})


class Selection(Convolutions):
    FIND = [name(f"{pas}-find-f32-nchw") for pas in NAMED]

    def test_find_chooses_the_same(self):
        report = self.run_cases(self.FIND, 0, axis="fresh")
        self.assertEqual(self.rows(report), {case: VARIED for case in self.FIND})

    def test_find_chooses_anew_in_each_process(self):
        report = self.run_cases(self.FIND, 0, "select=cudnnFind", axis="fresh")
        self.assertEqual(self.rows(report), {case: ALLOWED for case in self.FIND})
        for row in report["body"]["results"]:
            self.assertEqual(row["difference"], "selection")
            self.assertNotIn("declared", row)
        self.assertIn("a new one chose another algorithm", self.text)

    def test_find_is_asked_once_in_a_process(self):
        self.run_cases(self.FIND, 0, axis="poison")
        for routine in ("Forward", "BackwardData", "BackwardFilter"):
            self.assertEqual(len(self.calls(f"cudnnFindConvolution{routine}AlgorithmEx")), 1)


class Calls(Convolutions):
    TYPES = {"f32": "0", "tf32": "0", "f16": "2", "bf16": "9"}
    MATHS = {"f32": "3", "tf32": "0", "f16": "1", "bf16": "1"}  # FMA, default, tensor operations

    def test_arguments(self):
        wanted = {"f32": ("nchw", "fft", "4"), "tf32": ("nhwc", "implicit-gemm", "0"),
                  "f16": ("nhwc", "implicit-precomp-gemm", "1"), "bf16": ("nchw", "implicit-precomp-gemm", "1")}
        self.run_cases([name(f"forward-{choice}-{data}-{layout}") for data, (layout, choice, _) in wanted.items()], 0)
        calls = self.calls(FORWARD)
        seen = {(call["type"], call["math"], call["layout"], call["algorithm"]) for call in calls}
        self.assertEqual(seen, {(self.TYPES[data], self.MATHS[data], layout, algorithm)
                                for data, (layout, _, algorithm) in wanted.items()})
        for call in calls:
            self.assertEqual(call["mode"], "1", "cross-correlation")
            self.assertEqual(call["workspace"], call["needed"], "as large as the library asks for")
            self.assertNotEqual(call["stream"], "(nil)")

    def test_tf32_stays_out(self):
        """A list may call what it found for FMA the default math type, which would let tf32 in."""
        cases = [name("forward-find-f32-nchw"), name("backward-data-algo-1-f32-nchw")]
        cases += [name("forward-heuristics-f32-nchw")]
        self.run_cases(cases, 0, "listed=0")
        for routine in (FORWARD, DATA):
            self.assertEqual({call["math"] for call in self.calls(routine)}, {"3"})

    def test_workspace_of_odd_size(self):
        case = name("forward-implicit-precomp-gemm-f16-nhwc")
        self.assertEqual(self.rows(self.run_cases([case], 0, "odd=3")), {case: KEPT})
        for call in self.calls(FORWARD):
            self.assertEqual((call["workspace"], int(call["workspace"]) % 4), (call["needed"], 3))

    def test_one_handle_a_process(self):
        self.run_cases(list(CASES)[:4], 0)
        self.assertEqual(self.log.read_text().splitlines().count("cudnnCreate"), 1)

    def test_find_gets_what_the_largest_algorithm_asks_for(self):
        self.run_cases([name("forward-find-f32-nchw")], 0)
        largest = 8 * 4 * 16 * 32 * 3 * 3  # of FFT: eight floats for each element of the filter
        self.assertEqual({call["workspace"] for call in self.calls("cudnnFindConvolutionForwardAlgorithmEx")},
                         {str(largest)})


class Refusals(Convolutions):
    CASE = name("forward-implicit-gemm-f32-nchw")

    def skipped(self, injection, reason, words, case=CASE, **options):
        row = self.run_cases([case], 77, injection, **options)["body"]["results"][0]
        self.assertEqual((row["observed"], row["reason"]), ("skipped", reason))
        self.assertIn(words, row.get("text", ""))

    def test_newer_runtime_than_the_driver(self):
        self.skipped("cudart=14000", "version", "supports CUDA 13.0; this cuDNN needs 14.0")

    def test_no_memory_for_a_handle(self):
        self.skipped("status=cudnnCreate", "memory", "cudnnCreate")

    def test_no_tf32_on_an_old_device(self):
        self.skipped("capability=75", "unsupported", "TF32", name("forward-implicit-gemm-tf32-nchw"))

    def test_half_an_installation(self):
        """The front with all of its parts but one: named, before any call that would end the process."""
        parts = [file.name[len("libcudnn_"):-len(".so.9")] for file in EMULATION.glob("libcudnn_*.so.9")]
        missing = "engines_precompiled"
        folder = pathlib.Path(self.folder.name, missing)
        folder.mkdir()
        for file in ["libcudnn.so.9"] + [f"libcudnn_{part}.so.9" for part in parts if part != missing]:
            (folder / file).symlink_to(EMULATION / file)
        self.skipped("", "library_missing", f"lacks its part libcudnn_{missing}.so.9",
                     environment={"DETPROBE_LIB_CUDNN": str(folder / "libcudnn.so.9")})


if __name__ == "__main__":
    main()
