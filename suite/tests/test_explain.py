# SPDX-License-Identifier: Apache-2.0
"""detprobe explain: what moves bits by construction is found, nothing else is, and the command that it prints shows it.

usage: test_explain.py DETPROBE SCHEMA_FOLDER FETCHED-FOLDER [TEST...]
"""

import json
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import fetched
import jsonschema
from attribution_lab import MANY, Lab

DETPROBE, SCHEMAS, FETCHED = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
SCHEMA = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "explain.schema.json").read_text()))
Lab.detprobe = DETPROBE


class Explain(Lab):
    def explain(self, name, *options, status=1, measured=True, **environment):
        case = name if "/" in name else f"fake/moves/{name}"
        if measured:
            self.measure(case, **environment)
        document = json.loads(self.call("explain", self.report, case, "--json", *options, status=status, **environment))
        SCHEMA.validate(document)
        self.assertEqual(document["case"], case)
        return document

    def causes(self, document):
        """The changes of each cause, "threads=4" and "OMP_FAKE_A=1", with its effect."""
        return [(*(f"{item['name']}={item['to']}" for item in cause["change"]), cause["effect"]) for cause in document["causes"]]

    def without(self, document):
        return {row["name"] for row in document["without_effect"]}


class Fakes(Explain):
    texts = {}

    def test_nothing_moves_it(self):
        document = self.explain("repeats", status=0)
        self.assertEqual((document["outcome"], document["causes"], document["not_tried"]), ("repeats", [], []))
        self.assertLessEqual({"threads", "OMP_FAKE_A", "OMP_FAKE_B"}, self.without(document))
        self.assertTrue(document["here"]["bits_of_report"])

    def test_an_axis(self):
        document = self.explain("threads")
        self.assertEqual((document["outcome"], self.causes(document)), ("moved", [("threads=2", "other_bits")]))
        self.assertEqual(document["causes"][0]["change"][0]["from"], "1")
        self.assertNotIn("threads", self.without(document))
        text = self.call("explain", self.report, "fake/moves/threads", status=1)
        self.assertIn("moved by    threads 2 (against 1): other bits", text)
        self.assertIn(f"reproduce   {document['causes'][0]['reproduce']}\n", text)
        shown = self.shell(document["causes"][0]["reproduce"] + " --json")
        (result,) = json.loads(shown.stdout)["body"]["results"]
        self.assertIn("threads", result["sensitive_to"])

    def test_text(self):
        """Of those that no other test prints: each outcome in words."""
        for name, status, words in (
                ("needs-both", 1, "moved by    threads 4 (against 1) together with OMP_FAKE_A=1: other bits"),
                ("varies", 1, "here        varies by itself, from run to run: "),
                ("varies", 1, "kept by     OMP_FAKE_A=1: it repeats"),
                ("varies-always", 1, "kept by     nothing that was tried keeps its bits"),
                ("skips-at-4", 0, "moved by    nothing that was tried moves its bits"),
                ("skips-at-4", 0, "not tried   threads 4: too little")):
            case = f"fake/moves/{name}"
            if (name, status) not in self.texts:
                self.measure(case)
                self.texts[name, status] = self.call("explain", self.report, case, status=status)
            self.assertIn(words, self.texts[name, status])

    def test_one_variable_of_many(self):
        document = self.explain("one-of-many")
        self.assertEqual(self.causes(document), [("OMP_FAKE_7=1", "other_bits")])
        self.assertLessEqual(set(MANY) - {"OMP_FAKE_7"}, self.without(document))
        self.shows_other_bits(document)

    def test_two_variables_together(self):
        document = self.explain("two-of-many")
        self.assertEqual(self.causes(document), [("OMP_FAKE_3=1", "OMP_FAKE_9=1", "other_bits")])
        self.assertLessEqual(set(MANY) - {"OMP_FAKE_3", "OMP_FAKE_9"}, self.without(document))
        self.shows_other_bits(document)

    def shows_other_bits(self, document):
        """The command of a change of variables compares two runs; without the variables it finds nothing."""
        command = document["causes"][0]["reproduce"]
        self.assertEqual(self.shell(command).returncode, 1)
        plain = command.replace("OMP_FAKE_", "OMP_OTHER_")
        self.assertEqual(self.shell(plain).returncode, 0, plain)

    def test_what_this_shell_sets_changes_nothing(self):
        """A variable is compared with itself not set."""
        document = self.explain("one-of-many", OMP_FAKE_7="1")
        self.assertEqual(self.causes(document), [("OMP_FAKE_7=1", "other_bits")])
        self.assertFalse(document["here"]["bits_of_report"])
        command = document["causes"][0]["reproduce"]
        self.assertIn("env -u OMP_FAKE_7 detprobe run", command)
        self.assertEqual(self.shell(command, OMP_FAKE_7="1").returncode, 1)

    def test_an_axis_under_a_variable(self):
        document = self.explain("needs-both")
        self.assertEqual(self.causes(document), [("threads=4", "OMP_FAKE_A=1", "other_bits")])
        self.assertIn("OMP_FAKE_C", self.without(document))
        command = document["causes"][0]["reproduce"]
        for line, moved in ((command, ["threads"]), (command.replace("OMP_FAKE_A", "OMP_FAKE_C"), [])):
            (result,) = json.loads(self.shell(line + " --json").stdout)["body"]["results"]
            self.assertEqual(result["sensitive_to"], moved)

    def test_what_varies_at_one_setting(self):
        self.assertEqual(self.causes(self.explain("varies-at-8")), [("threads=8", "varies")])

    def test_settings_that_tell_nothing_of_others(self):
        """What others are compared with must have run, and repeat."""
        self.assertEqual(self.causes(self.explain("varies-at-1")), [("threads=1", "varies")])
        self.assertEqual(self.causes(self.explain("varies-at-all")), [("threads=1", "varies")])
        document = self.explain("skips-at-1")
        self.assertEqual(self.causes(document), [("threads=4", "other_bits")])
        self.assertEqual(document["causes"][0]["change"][0]["from"], "2")
        self.assertEqual([(row["name"], row["setting"]) for row in document["not_tried"]], [("threads", "1")])

    def test_one_of_two_bits_by_process(self):
        """A process in two has other bits, whatever is set."""
        self.measure("fake/moves/coin")
        document = self.explain("coin", measured=False)
        self.assertEqual((document["outcome"], document["causes"]), ("varies", []))
        self.assertFalse({row["name"] for row in document["not_tried"]} & self.without(document))

    def test_it_varies_by_itself(self):
        document = self.explain("varies")
        self.assertEqual((document["outcome"], self.causes(document)), ("steadied", [("OMP_FAKE_A=1", "repeats")]))
        self.assertEqual(document["here"]["varies_between"], "runs")
        self.assertNotIn("bits_of_report", document["here"])
        self.assertIn("OMP_FAKE_B", self.without(document))
        body = json.loads(self.shell(document["reproduce"] + " --json").stdout)["body"]
        self.assertEqual([row["observed"] for row in body["results"]], ["varies"])
        body = json.loads(self.shell(document["causes"][0]["reproduce"] + " --json").stdout)["body"]
        self.assertEqual([row["observed"] for row in body["results"]], ["repeats"])

    def test_two_together_keep_it(self):
        document = self.explain("varies-but-for-two")
        self.assertEqual(self.causes(document), [("OMP_FAKE_1=1", "OMP_FAKE_3=1", "repeats")])

    def test_nothing_keeps_it(self):
        document = self.explain("varies-always")
        self.assertEqual((document["outcome"], document["causes"]), ("varies", []))

    def test_rare_variation_is_looked_for_long(self):
        """One run of 25 differs: what keeps the bits was run so often that a rate as low would have shown."""
        document = self.explain("rare", "--runs", 25)
        self.assertEqual(self.causes(document), [("threads=1", "repeats")])
        here, cause = document["here"], document["causes"][0]
        self.assertEqual(here["mismatches"] * 25, here["runs"])
        self.assertLess((1 - here["mismatches"] / here["runs"]) ** cause["runs"], 0.01)
        rare = self.explain("rare", "--runs", 100, measured=False)
        self.assertGreater(rare["causes"][0]["runs"], cause["runs"])

    def test_from_process_to_process(self):
        document = self.explain("process")
        self.assertEqual((document["outcome"], self.causes(document)), ("steadied", [("OMP_FAKE_A=1", "repeats")]))
        self.assertEqual(document["here"]["varies_between"], "processes")
        body = json.loads(self.shell(document["reproduce"] + " --json").stdout)["body"]
        self.assertEqual([row["observed"] for row in body["results"]], ["varies"])

    def test_a_difference_that_does_not_come_again(self):
        self.measure("fake/moves/once", level=("--level", "quick", "--axis", "repeat"))
        document = self.explain("once", status=0, measured=False)
        self.assertEqual(document["causes"], [])
        self.assertEqual([(row["name"], row["setting"], row["reason"]) for row in document["not_tried"]],
                         [("threads", "4", "the difference did not come again in new processes")])

    def test_a_setting_that_kills(self):
        document = self.explain("dies", status=0)
        (row,) = document["not_tried"]
        self.assertEqual((row["name"], row["setting"]), ("threads", "4"))
        self.assertIn("SIGSEGV", row["reason"])

    def test_what_cannot_run(self):
        for name, status, words in (("skips", 77, "too little"), ("fails", 2, "it cannot")):
            case = f"fake/moves/{name}"
            self.measure(case, status=(77, 2))
            self.assertIn(f"'{case}' cannot run here: {words}", self.call("explain", self.report, case, status=status))

    def test_made_with_a_variable(self):
        """Why the report has other bits, where a variable is; else where to look."""
        for name, variable, status, words in (("one-of-many", "OMP_FAKE_7", 1, ", which was made with OMP_FAKE_7=1"),
                                              ("secret", "LD_FAKE", 0, ", see 'detprobe diff' with one made here")):
            case = f"fake/moves/{name}"
            self.measure(case, **{variable: "1"})
            text = self.call("explain", self.report, case, status=status)
            self.assertIn(f" processes; other bits than in the report{words}\n", text)

    def test_stopped(self):
        """A signal ends it with one line, and nothing is left running."""
        self.measure("fake/moves/hangs", level=("--level", "quick", "--timeout", "1s", "--axis", "repeat"), status=2)
        (self.probes / "state").unlink()
        process = self.start("explain", self.report, "fake/moves/hangs")
        while not (self.probes / "state").exists():
            time.sleep(0.02)
        while process.poll() is None:  # the first lets the request that runs end, the next does not
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)
        out, errors = process.communicate(timeout=60)
        self.assertEqual((process.returncode, out, errors), (130, "", "detprobe: stopped by signal 2\n"))
        left = subprocess.run(["pgrep", "-f", str(self.probes / "moves.py")], capture_output=True)
        self.assertEqual(left.returncode, 1, left.stdout)


class Input(Explain):
    def test_reports_and_cases(self):
        report = self.measure("fake/moves/threads")
        self.assertIn("did you mean 'fake/moves/threads'?",
                      self.call("explain", self.report, "fake/moves/thread", status=64))
        self.call("explain", self.report, status=64)
        self.call("explain", self.report, "fake/moves/threads", "x", status=64)
        self.call("explain", self.folder / "none.json", "fake/moves/threads", status=65)
        bad = self.folder / "bad.json"
        report["body"]["plan"]["seed"] = "2"
        bad.write_text(json.dumps(report))
        self.call("explain", bad, "fake/moves/threads", status=65)
        self.write_cases([])
        self.assertIn("DETPROBE_PROBE_PATH", self.call("explain", self.report, "fake/moves/threads", status=77))

    def test_a_case_that_is_another_one_here(self):
        self.measure("fake/moves/threads")
        self.write_cases([{"id": "fake/moves/threads", "op": "threads", "arithmetic": "direct", "params": {"n": 1},
                           "reveals": "more"}])
        self.assertIn("is another one here", self.call("explain", self.report, "fake/moves/threads", status=65))

    def test_a_report_makes_nobody_set_or_load_anything(self):
        """Of what a report recorded only known settings with known values are tried."""
        evil = {"OMP_NUM_THREADS": "3", "LD_PRELOAD": "/nowhere.so", "OMP_TOOL_LIBRARIES": "/nowhere.so", "OPENBLAS_CORETYPE": "$(id)",
                "DETPROBE_LIB_CBLAS": "/nowhere.so", "MKL_CBWR": "../x"}
        self.measure("fake/moves/repeats")
        self.measure("fake/moves/repeats", **{name: value for name, value in evil.items() if name[:3] not in ("LD_", "DET")})
        document = self.explain("repeats", status=0, measured=False)
        named = self.without(document) & set(evil)
        self.assertEqual(named, {"OMP_NUM_THREADS"})


class Real(Explain):
    """Debian's OpenBLAS: another kernel set gives other bits, and the command shows it."""

    def test_openblas(self):
        found = fetched.openblas(FETCHED)
        if not found:
            self.skipTest("OpenBLAS cannot be fetched")
        named = {"DETPROBE_LIB_CBLAS": str(found), "OPENBLAS_CORETYPE": "Prescott"}
        document = self.explain("cpu/blas/sdot-1000", **named)
        self.assertEqual([row["name"] for row in document["libraries"]], ["OpenBLAS"])
        causes = {cause["change"][0]["name"]: cause for cause in document["causes"]}
        if "OPENBLAS_CORETYPE" not in causes:
            self.skipTest("this processor runs one kernel set of sdot alone")
        command = causes["OPENBLAS_CORETYPE"]["reproduce"]
        self.assertIn("DETPROBE_LIB_CBLAS=", command)
        done = self.shell(command, **named)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertFalse(document["here"]["bits_of_report"])
        document = self.explain("cpu/blas/snrm2-1000", status=0, **named)
        self.assertTrue(document["here"]["bits_of_report"])
        self.assertIn("concurrency", self.without(document), "callers at once have runs to share")
        self.assertNotIn("concurrency", {row["name"] for row in document["not_tried"]})


if __name__ == "__main__":
    unittest.main()
