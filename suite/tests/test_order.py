# SPDX-License-Identifier: Apache-2.0
"""detprobe order: sums of known order are told as what they are and not as their neighbours, through the real
program and the kit; what has no order, or none that shows, is told as that.

A run has the same orders in its report, says by them why bits moved, and goes on where it was killed.

usage: test_order.py DETPROBE FOLDER_OF_SUMS [TEST...]
"""

import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import surroundings

DETPROBE, SUMS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
QUICKLY = ("--level", "quick", "--seeds", "2", "--runs", "3", "--fresh", "0")

KNOWN = {
    "forward": "in order; in f32",
    "backward": "in reverse order; in f32",
    "pairwise": "pairwise; in f32",
    "blocks": "4 blocks of 64 (the last of 63), each in order; these in order; in f32",
    "lanes": "8 lanes (i mod 8), each in order; these pairwise; in f32",
    "strided": "one at a time, in the order 0 3 6 9 12 15 18 21 ...; in f32",
    "fused": "in order, 4 at a time with the sum so far; 20 bits of the largest kept; in f32",
    "double": "in order; in f64",
    "exact": "exact or compensated: nothing is lost, so no order shows; rounded once",
}

# The same sums of 16-bit numbers. In f64 sums of f16 are exact, and f32 holds what 255 of them lose in a narrow output.
NARROW = {
    "forward-f16": KNOWN["forward"], "backward-f16": KNOWN["backward"], "pairwise-f16": KNOWN["pairwise"],
    "blocks-f16": KNOWN["blocks"], "lanes-f16": KNOWN["lanes"], "double-f16": KNOWN["exact"],
    "exact-f16": KNOWN["exact"], "neumaier-f16": KNOWN["exact"],
    "fused-f16": "in order, 4 at a time with the sum so far; 19 to 40 bits of the largest kept; in f32",
    "forward-f16-own": "in order; in f16", "backward-f16-own": "in reverse order; in f16",
    "pairwise-f16-own": "pairwise; in f16", "blocks-f16-own": KNOWN["blocks"].replace("f32", "f16"),
    "forward-bf16": KNOWN["forward"], "pairwise-bf16": KNOWN["pairwise"], "double-bf16": KNOWN["forward"],
    "forward-bf16-own": "in order; in bf16", "pairwise-bf16-own": "pairwise; in bf16",
}

PROGRAM = """
import json, os
out = os.fdopen(int(os.environ['DETPROBE_OUT_FD']), 'w', buffering=1)
def say(**m): print(json.dumps(m), file=out)
say(type='hello', program='program', protocol=1, axes={axes!r}, libraries=[])
for line in os.fdopen(int(os.environ['DETPROBE_IN_FD'])):
    say(id=json.loads(line)['id'], **{answer!r})
    say(type='done', id=json.loads(line)['id'])
"""


def write_program(folder, axes, answer):
    """A program with one case that offers these axes and gives this answer."""
    folder = pathlib.Path(folder)
    (folder / "program.py").write_text(PROGRAM.format(axes=axes, answer=answer))
    (folder / "program.json").write_text(json.dumps({
        "schema_version": "1.0", "program": "program.py",
        "cases": [{"id": "fake/program/x", "op": "x", "arithmetic": "direct", "params": {}, "reveals": "nothing"}]}))


class Order(unittest.TestCase):
    maxDiff = None

    def detprobe(self, *arguments, status=0, folder=SUMS):
        variables = surroundings.plain()
        variables["DETPROBE_PROBE_PATH"] = str(folder)
        done = subprocess.run([DETPROBE, "order", *map(str, arguments)], env=variables, capture_output=True,
                              text=True, timeout=200)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 0 if status in (0, 1) else 1, done.stderr)
        return done.stderr if status > 1 else done.stdout

    def reveal(self, loop, *options, shape="16x255", status=0):
        return json.loads(self.detprobe(f"fake/sums/{loop}-{shape}", "--json", *options, status=status))

    def words(self, *arguments, **named):
        (view,) = self.reveal(*arguments, **named)["views"]
        return view["words"]

    def test_known_orders(self):
        for loop, words in KNOWN.items():
            with self.subTest(loop=loop):
                for shape in ("16x255", "1x255"):
                    self.assertEqual(self.words(loop, shape=shape), words)

    def test_known_orders_of_16_bits(self):
        for loop, words in NARROW.items():
            with self.subTest(loop=loop):
                self.assertEqual(self.words(loop), words)

    def test_as_many_as_a_type_counts(self):
        """512 of f16, and no more of bf16 than 256: sums of ones are exact no further."""
        for loop, shape, counts, word in (("forward-f16-own", "4x2100", (512, 420), "in order; in f16"),
                                          ("forward-bf16-own", "4x300", (256, 150), "in order; in bf16")):
            views = self.reveal(loop, shape=shape)["views"]
            self.assertEqual(tuple(view["summands"] for view in views), counts)
            self.assertEqual({view["words"] for view in views}, {word})

    def test_fingerprints_tell_orders_apart(self):
        prints = {loop: self.reveal(loop)["fingerprint"] for loop in KNOWN}
        self.assertEqual(prints.pop("double"), prints["forward"])  # one order, in another type
        self.assertEqual(len(set(prints.values())), len(prints))
        self.assertEqual(self.reveal("forward", shape="1x255")["fingerprint"], prints["forward"])

    def test_many_cells_at_once_and_one(self):
        many, one = self.reveal("pairwise"), self.reveal("pairwise", shape="1x255")
        self.assertEqual((many["cells"], one["cells"]), (16, 1))
        self.assertLess(8 * many["runs"], one["runs"])
        self.assertEqual(many["views"][0]["tree"], one["views"][0]["tree"])

    def test_rows_that_add_otherwise_are_not_asked(self):
        shown = self.reveal("rows")
        self.assertLess(shown["cells"], 16)
        self.assertEqual(shown["fingerprint"], self.reveal("forward")["fingerprint"])

    def test_summands_of_two_operands(self):
        for loop, words in {"forward": "in order; in f32",
                            "pairwise": "the first 64 pairwise; then the other 1 in order; in f32"}.items():
            shown = self.reveal(f"{loop}-bias", shape="16x64")
            self.assertEqual((shown["views"][0]["words"], shown["summands"], shown["cells"]), (words, 65, 1))

    def test_what_the_tree_alone_does_not_say(self):
        for loop in ("mixed", "kahan"):
            words = self.words(loop)
            self.assertTrue(words.startswith("in order; not by plain additions: "), words)
        self.assertTrue(self.words("neumaier").startswith("exact or compensated"))
        self.assertEqual(self.words("uneven"), "in order, 4 at a time with the sum so far")  # in no one way

    def test_no_number_is_no_other_number(self):
        for shape in ("16x255", "1x255"):
            self.assertEqual(self.words("whole", shape=shape),
                             "in order; not by plain additions: 0 of 32 random sums are what that gives")

    def test_no_one_order(self):
        shown = self.reveal("racing", status=1)
        self.assertIsNone(shown["fingerprint"])
        for view in shown["views"]:
            self.assertEqual(view["kind"], "varies")
            self.assertGreater(view["changed"], 0)
            self.assertNotIn("tree", view)
        text = self.detprobe("fake/sums/racing-16x255", status=1)
        self.assertIn("no one order: it changes from run to run", text)
        self.assertIn("fingerprint none", text)

    def test_more_summands_than_are_looked_at(self):
        shown = self.reveal("blocks", "--n", 200, shape="16x1500")
        first, every = shown["views"]
        self.assertEqual((first["of"], first["step"], first["summands"]), ("first", 1, 200))
        self.assertEqual((every["of"], every["step"], every["summands"]), ("every", 8, 188))
        self.assertEqual(first["words"], "4 blocks of 64 (the last of 8), each in order; these in order; in f32")
        self.assertEqual(every["words"], "24 blocks of 8 (the last of 4), each in order; these in order; in f32")
        (every,) = self.reveal("blocks", "--n", 2000, shape="16x1500")["views"]
        self.assertEqual(every["words"], "24 blocks of 64 (the last of 28), each in order; these in order; in f32")

    def test_no_tree(self):
        """Half of it exact: printed, and without a fingerprint no success."""
        self.assertIn("of no tree of additions", self.detprobe("fake/sums/half-16x255", status=77))

    def test_what_is_no_sum(self):
        for case, why in {
            "magnitudes-16x255": "is no plain sum",
            "squares-16x255": "is no plain sum",
            "forward-1x2": "2 summands have one order",
            "reduced-16x255": "only of arithmetic 'direct'",
        }.items():
            self.assertIn(why, self.detprobe(f"fake/sums/{case}", status=77))

    def test_text(self):
        lines = self.detprobe("fake/sums/fused-2x12").splitlines()
        self.assertEqual(lines[0], "case        fake/sums/fused-2x12")
        self.assertTrue(lines[-3].startswith("all 12"), lines)
        self.assertTrue(lines[-2].startswith("tree        ("), lines)
        self.assertRegex(lines[-1], "^fingerprint [0-9a-f]{64}$")

    def test_drawing(self):
        dot = self.detprobe("fake/sums/forward-2x12", "--dot")
        self.assertEqual(dot.count("->"), 22)
        self.assertEqual(dot.count("plaintext"), 12)

    def test_bad_usage(self):
        for arguments, code in ((("fake/sums/forwards-16x255",), 64), ((), 64), (("fake/sums/*",), 64),
                                (("fake/sums/forward-16x255", "--n", "2"), 64),
                                (("fake/sums/forward-16x255", "--json", "--dot"), 64)):
            self.detprobe(*arguments, status=code)

    def test_programs_that_lie(self):
        """An order that is none, one that nobody asked for, and an observation instead of one."""
        answers = {
            "no-tree": ({"type": "order", "output": "y", "cell": [0], "operand": "x", "dtype": "f32", "summands": 3,
                         "views": [{"of": "all", "summands": 3, "step": 1, "kind": "tree", "parents": [3, 3, 3, 4]}]},
                        "no tree of additions"),
            "other": ({"type": "observation", "outputs": [
                {"name": "y", "dtype": "f32", "shape": [1], "classes": [{"sha256": "a" * 64, "runs": 1, "first_run": 0}]}]},
                      "another kind"),
        }
        with tempfile.TemporaryDirectory() as name:
            for case, (answer, why) in answers.items():
                write_program(name, ["order"], answer)
                self.assertIn(why, self.detprobe("fake/program/x", status=2, folder=name), case)

    def test_giving_up_is_no_success(self):
        view = {"of": "all", "summands": 3, "step": 1, "kind": "costly"}
        answer = {"type": "order", "output": "y", "cell": [0], "operand": "x", "dtype": "f32", "summands": 3}
        with tempfile.TemporaryDirectory() as name:
            write_program(name, ["order"], {**answer, "views": [view]})
            self.assertIn("'--n'", self.detprobe("fake/program/x", status=2, folder=name))

    def test_answers_that_contradict_themselves(self):
        """What changed has no fingerprint, whatever the program calls it."""
        view = {"of": "all", "summands": 3, "step": 1, "kind": "tree", "parents": [3, 3, 4, 4], "twice": 9, "changed": 4}
        answer = {"type": "order", "output": "y", "cell": [0], "operand": "x", "dtype": "f32", "summands": 3}
        with tempfile.TemporaryDirectory() as name:
            write_program(name, ["order"], {**answer, "views": [view]})
            self.assertIn("'changed'", self.detprobe("fake/program/x", status=2, folder=name))

    def test_what_a_program_does_not_offer(self):
        """Neither an order nor threads: told in words of the command, not of the protocol."""
        with tempfile.TemporaryDirectory() as name:
            for axes, options, why in (([], (), "its program offers none"),
                                       ([], ("--threads", 2), "its program offers none"),
                                       (["order"], ("--threads", 2), "leave '--threads' out")):
                write_program(name, axes, {})
                self.assertIn(why, self.detprobe("fake/program/x", *options, status=77, folder=name))


class Run(unittest.TestCase):
    """Orders in the report of a run."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.path = pathlib.Path(cls.folder.name) / "r.json"
        cases = [f"fake/sums/{loop}-16x255" for loop in ("forward", "backward", "batched", "widened", "racing", "kahan", "squares")]
        cls.text = cls.run_detprobe("run", *cases, *QUICKLY, "--axis", "order", "--axis", "batch", "-o", cls.path, status=1)
        report = json.loads(cls.path.read_text())
        cls.digest = report["digest"]
        cls.results = {result["case"].split("/")[2]: result for result in report["body"]["results"]}
        cls.orders = {case["case"].split("/")[2]: case["orders"] for case in report["measurements"]["cases"]}
        cls.axes = report["body"]["plan"]["axes"]

    @staticmethod
    def run_detprobe(*arguments, status=0):
        variables = surroundings.plain()
        variables["DETPROBE_PROBE_PATH"] = str(SUMS)
        done = subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True, timeout=200)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def test_the_report_has_what_the_command_says(self):
        self.assertEqual(self.axes, ["repeat", "batch", "order", "batch*order"])
        for loop in ("forward", "backward"):
            shown = json.loads(self.run_detprobe("order", f"fake/sums/{loop}-16x255", "--json"))
            self.assertEqual(self.results[f"{loop}-16x255"]["order"],
                             {"n": 255, "fingerprint": shown["fingerprint"], "words": KNOWN[loop]})

    def test_what_has_no_one_order(self):
        racing = self.results["racing-16x255"]
        self.assertEqual(racing["observed"], "varies")
        self.assertNotIn("order", racing)
        self.assertGreater(self.orders["racing-16x255"][0]["changed"], 0)
        squares = self.results["squares-16x255"]
        self.assertEqual(squares["observed"], "repeats")
        self.assertNotIn("order", squares)
        self.assertIn("no plain sum", self.orders["squares-16x255"][0]["dropped"])

    def test_why_bits_moved(self):
        """Along batch: another order, the same order in another type, and where nothing moves nothing is said."""
        def along(loop):
            return [(row["axis"], row["setting"], row["words"]) for row in self.orders[f"{loop}-16x255"]]
        self.assertEqual(along("batched"), [("repeat", "", KNOWN["lanes"]), ("batch", "1/0", KNOWN["forward"]),
                                            ("batch", "16/15", KNOWN["lanes"])])
        self.assertEqual(along("widened"), [("repeat", "", KNOWN["double"]), ("batch", "1/0", KNOWN["forward"]),
                                            ("batch", "16/15", KNOWN["double"])])
        self.assertEqual(along("forward"), [("repeat", "", KNOWN["forward"])])
        self.assertEqual(self.results["forward-16x255"]["sensitive_to"], [])
        text = " ".join(self.run_detprobe("show", self.path, "--verbose").split())
        self.assertIn(f"adds up {KNOWN['backward']}", text)
        self.assertIn(f"batch: {KNOWN['forward']} (1/0) → {KNOWN['lanes']} (16/15)", text)
        self.assertIn("batch: the same order in other arithmetic: in order; in f32 (1/0) → in order; in f64 (16/15)", text)
        self.assertIn("where bits moved, the order of additions did too: along batch in 1 of 2", text)

    def test_page(self):
        page = self.run_detprobe("show", self.path, "--format", "html")
        data = json.loads(re.search('id="data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
        notes = [case.get("note", "") for case in data["cases"]]
        self.assertIn(f"adds up {KNOWN['backward']}", notes)
        self.assertIn(f"batch: {KNOWN['forward']} (1/0) → {KNOWN['lanes']} (16/15)", notes)
        self.assertIn("where bits moved, the order of additions did too", page)

    def other_bits(self, name, orders):
        """The report with other bits of some cases, and these orders of theirs."""
        report = json.loads(self.path.read_text())
        for result in report["body"]["results"]:
            loop = result["case"].split("/")[2].split("-")[0]
            if loop in orders:
                result["outputs"][0]["sha256"] = "0" * 64
                result["order"] = self.results[f"{orders[loop]}-16x255"]["order"]
        body = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        report["digest"] = hashlib.sha256(body.encode()).hexdigest()
        path = self.path.with_name(name)
        path.write_text(json.dumps(report))
        return path

    def test_why_two_reports_differ(self):
        """Under one cause, each with what its own order became; the same order says that it is something else."""
        after = self.other_bits("after.json", {"forward": "backward", "backward": "batched", "batched": "batched"})
        document = json.loads(self.run_detprobe("diff", self.path, after, "--json", status=1))
        self.assertEqual(self.run_detprobe("validate", after), f"ok: '{after}' is a valid report\n")
        causes = {cause["cause"]: (cause["own"], len(cause["cases"])) for cause in document["causes"]}
        self.assertEqual(causes, {
            "summation order changed; nothing in the environment explains it": (["order"], 2),
            "same summation order, so other arithmetic or other elements; nothing in the environment explains it":
                (["arithmetic"], 1)})
        text = " ".join(self.run_detprobe("diff", self.path, after, status=1).split())
        self.assertIn("fake/sums/forward-16x255 adds up in order → in reverse order", text)
        self.assertIn("fake/sums/backward-16x255 adds up in reverse order → 8 lanes (i mod 8), each in order; these pairwise",
                      text)
        after = self.other_bits("alone.json", {"forward": "backward"})
        text = " ".join(self.run_detprobe("diff", self.path, after, status=1).split())
        self.assertIn("summation order changed: in order → in reverse order; nothing in the environment explains it: "
                      "1 case repeats with other bits", text)

    def test_the_rest_of_a_killed_run(self):
        """Of a log that ends before, between and after the orders along batch the digest is the same."""
        lines = pathlib.Path(f"{self.path}.log.jsonl").read_text().splitlines(keepends=True)
        last = [i for i, line in enumerate(lines) if "|batch*order|" in line]
        self.assertEqual(len(last), 4)
        for keep in (len(lines) // 2, last[1], last[3]):
            log = pathlib.Path(self.folder.name) / "cut.json.log.jsonl"
            log.write_text("".join(lines[:keep]))
            out = pathlib.Path(self.folder.name) / "cut.json"
            self.run_detprobe("run", "--resume", log, "-o", out, status=1)
            self.assertEqual(json.loads(out.read_text())["digest"], self.digest)


if __name__ == "__main__":
    unittest.main()
