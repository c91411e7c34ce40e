# SPDX-License-Identifier: Apache-2.0
"""The Python kit and its programs, driven by hand through pipes: what must vary varies, what must not does
not, and one bad request never costs the next.

usage: test_python_kit.py FOLDER_OF_THE_BUILT_PYTHON_PROGRAMS [unittest arguments]
"""

import array
import hashlib
import json
import math
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import speak

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
sys.path.insert(0, str(FOLDER))
import kit  # noqa: E402  (from the folder above)

SETS = ("wide", "unit", "exact")
HASH_SEED_FREE = {"PYTHONHASHSEED": None}
# What a new process changes, on inputs that show it. Everything else must be the same in each process.
CHANGES_WHEN_FRESH = {"set-order-sum", "set-order-sum-bytes", "hash-str", "hash-bytes", "pickle-set",
                      "random-unseeded"}
CHANGES_IN_PROCESS = {"random-unseeded"}


def cases(program):
    """The requests of a catalogue file by the last part of their id, variants of one name expanded."""
    file = json.loads((FOLDER / f"{program}.json").read_text())
    found = {case["id"].split("/")[-1]: case for case in file["cases"]}
    for variant in file.get("variants", []):
        ((name, values),) = variant["vary"].items()
        for value in values:
            one = {**variant, "params": {**variant["params"], name: value}}
            found[variant["id"].replace("{%s}" % name, value).split("/")[-1]] = one
    return {name: speak.request(case["op"], case["params"], case=case["id"], problem=f"stdlib/{name}")
            for name, case in found.items()}


def run(program, requests, **environment):
    hello, answers, status = speak.converse(FOLDER / f"{program}.py", requests, **environment)
    assert status == 0, f"{program} ended with {status}"
    return hello, answers


class Stdlib(unittest.TestCase):
    def setUp(self):
        self.cases = cases("stdlib")

    def fresh(self, count, **environment):
        """Digests of every case in each of several processes: {case: [digest of process 1, ...]}."""
        found = {name: [] for name in self.cases}
        for _ in range(count):
            _, answers = run("stdlib", self.cases.values(), **environment)
            for name, answer in zip(self.cases, answers):
                found[name].append(speak.digests(answer))
        return found

    def test_hello(self):
        hello, _ = run("stdlib", [])
        self.assertEqual((hello["type"], hello["program"], hello["protocol"]), ("hello", "stdlib", 1))
        self.assertEqual(hello["axes"], ["repeat", "fresh"])
        (library,) = hello["libraries"]
        self.assertEqual(library["role"], "python")
        self.assertTrue(pathlib.Path(library["path"]).is_file())

    def test_every_case_runs_on_every_set(self):
        for name in SETS:
            _, answers = run("stdlib", [{**case, "set": name, "runs": 2} for case in self.cases.values()])
            for case, answer in zip(self.cases, answers):
                with self.subTest(case=case, set=name):
                    self.assertEqual(sum(c["runs"] for c in speak.observation(answer)["outputs"][0]["classes"]), 2)

    def test_repeats_within_a_process(self):
        _, answers = run("stdlib", self.cases.values(), **HASH_SEED_FREE)
        varied = {name for name, answer in zip(self.cases, answers) if speak.distinct(answer) > 1}
        self.assertEqual(varied, CHANGES_IN_PROCESS)

    def test_changes_in_a_new_process(self):
        found = self.fresh(3, **HASH_SEED_FREE)
        varied = {name for name, seen in found.items() if any(s != seen[0] for s in seen)}
        self.assertEqual(varied, CHANGES_WHEN_FRESH)

    def test_a_fixed_hash_seed_is_the_remedy(self):
        found = self.fresh(3, PYTHONHASHSEED="7")
        varied = {name for name, seen in found.items() if any(s != seen[0] for s in seen)}
        self.assertEqual(varied, CHANGES_IN_PROCESS)

    def test_exact_sums_show_no_order(self):
        orders = [{**self.cases[name], "set": "exact"} for name in ("set-order-sum", "set-order-sum-bytes")]
        seen = [[speak.digests(a) for a in run("stdlib", orders, **HASH_SEED_FREE)[1]] for _ in range(3)]
        self.assertEqual(seen[0], seen[1])
        self.assertEqual(seen[0], seen[2])

    def test_seeds_give_other_inputs(self):
        name = "list-sum"
        pair = [{**self.cases[name], "seed": seed} for seed in ("1/0", "1/1", "2/0")]
        _, answers = run("stdlib", pair)
        self.assertEqual(len({speak.digests(a)["sums"] for a in answers}), 3)


class Controls(unittest.TestCase):
    def setUp(self):
        self.cases = cases("control")

    def test_orders(self):
        seeds = [f"{i}/0" for i in range(1, 5)]
        for name, varies in (("float-order", True), ("exact-order", False), ("integer-order", False),
                             ("fixed-order", False), ("process-order", False)):
            _, answers = run("control", [{**self.cases[name], "seed": seed} for seed in seeds])
            for seed, answer in zip(seeds, answers):
                with self.subTest(control=name, seed=seed):
                    self.assertEqual(speak.distinct(answer) > 1, varies)

    def test_exact_and_integer_orders_are_shuffled(self):
        """They repeat since their sums are exact, not since nothing was shuffled: floats there would vary."""
        for name in ("exact-order", "integer-order"):
            params = {**self.cases[name]["params"], "of": "floats"}
            _, (answer,) = run("control", [{**self.cases[name], "params": params}])
            self.assertGreater(speak.distinct(answer), 1)

    def test_process_order_changes_in_a_new_process(self):
        seen = {speak.digests(run("control", [self.cases["process-order"]])[1][0])["sums"] for _ in range(3)}
        self.assertEqual(len(seen), 3)

    def test_plant_is_one_run_in_fifty(self):
        seeds = [f"{i}/0" for i in range(40)]
        _, answers = run("control", [{**self.cases["plant"], "seed": s, "runs": 100} for s in seeds])
        places = set()
        for answer in answers:
            classes = speak.observation(answer)["outputs"][0]["classes"]
            self.assertEqual(sum(c["runs"] for c in classes), 100)
            self.assertEqual(max(c["runs"] for c in classes), 98)
            self.assertEqual(speak.observation(answer)["mismatch"]["runs"], 2)
            planted = sorted(c["first_run"] for c in classes if c["runs"] == 1)
            self.assertEqual([run // 50 for run in planted], [0, 1])
            places.update(planted)
        self.assertGreater(len(places), 20, "the place follows the seed")

    def test_plant_is_the_same_again(self):
        first, second = (run("control", [{**self.cases["plant"], "runs": 100}])[1] for _ in range(2))
        for answers in (first, second):
            del answers[0][0]["time"]
        self.assertEqual(first, second)


PROGRAM = '''
import os
import kit

@kit.op("shape")
def shape(params, inputs):
    return {"y": kit.f64([0.0] * (1 + inputs.run))}

@kit.op("names")
def names(params, inputs):
    return {f"y{inputs.run}": kit.f64([0.0])}

@kit.op("count")
def count(params, inputs):
    return {"y": kit.s64([inputs.run])}

@kit.op("raise")
def fail(params, inputs):
    raise RuntimeError("first line\\nsecond line\\nlast line")

@kit.op("list")
def plain_list(params, inputs):
    return {"y": [0.0]}

@kit.op("nothing")
def nothing(params, inputs):
    pass

@kit.op("memory")
def memory(params, inputs):
    raise MemoryError

@kit.op("skip")
def skip(params, inputs):
    raise kit.Skip("version", "needs a newer one")

@kit.op("bits")
def bits(params, inputs):
    return {"y": kit.f64([[0.0, -0.0, float("nan")][inputs.run]])}

@kit.op("spoil")
def spoil(params, inputs):
    values, words = inputs.array("x", 4, "f32"), inputs.words("x", 4)
    values[0], words[0] = 0.0, 0
    return {"y": kit.from_memory(inputs.array("x", 4, "f32")), "w": kit.from_memory(inputs.array("w", 3))}

@kit.op("said")
def said(params, inputs):
    return kit.Said({"y": kit.u8([1])}, chosen=f"way {inputs.run}", declared="nondeterministic")

@kit.op("impostor")
def impostor(params, inputs):
    return kit.Said({"y": kit.u8([1])}, type="skip", outputs=[])

@kit.op("checked")
def checked(params, inputs):
    return {"y": kit.checked(kit.s64([0]), inputs.run != params["wrong"]), "z": kit.s64([0])}

@kit.op("histories")
def histories(params, inputs):
    """The first goes apart in its third row of four, the second in the second one, in each run."""
    return {"late": kit.s64([0, 0, inputs.run, 0]), "early": kit.s64([0, 0, 0, inputs.run, 0, 0, 0, 0], [4, 2])}

@kit.op("apart")
def apart(params, inputs):
    """In later runs other floats at the second place and the third."""
    return {"y": kit.f64([1.0, 2.0, -4.0, 8.0] if inputs.run == 0 else [1.0, *params["others"], 8.0])}

@kit.op("fork")
def fork(params, inputs):
    """A child that speaks, and reads, in its parent's name."""
    child = os.fork()
    if child == 0:
        fds = [int(os.environ[f"DETPROBE_{way}_FD"]) for way in ("IN", "OUT")]
        os.write(fds[1], b"nonsense\\n")
        os._exit(len(os.read(fds[0], 1)))
    return {"read": kit.s64([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])])}

@kit.op("set")
def was_set(params, inputs):
    return {"y": kit.u8([len(SET)])}

SET = []
kit.main("odd", settings={"once": lambda: SET.append(1)})
'''
LINE = PROGRAM[:PROGRAM.index("raise RuntimeError")].count("\n") + 1
# A library of 3 threads that can be told to run up to 4.
THREADS = '''
import kit

COUNT = [3]

def threads(wanted):
    COUNT[0] = min(wanted, 4) if wanted else COUNT[0]
    return COUNT[0]

@kit.op("count")
def count(params, inputs):
    return {"y": kit.s64([COUNT[0]])}

kit.main("threads", threads=threads)
'''


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        shutil.copy(FOLDER / "kit.py", cls.folder.name)
        cls.program = pathlib.Path(cls.folder.name, "odd.py")
        cls.program.write_text(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def ask(self, *requests):
        _, answers, status = speak.converse(self.program, requests)
        self.assertEqual(status, 0)
        return answers

    def test_bad_requests_cost_themselves_alone(self):
        good = speak.request("count", {}, runs=1)
        bad = {"nope": "unknown op 'nope'", "shape": "an output changed", "names": "other outputs",
               "raise": f"RuntimeError: first line ... last line (odd.py:{LINE})",
               "list": "output 'y' is a list: make it one with kit.f64", "nothing": "an operation returns a dict of outputs"}
        answers = self.ask(*[q for op in bad for q in (speak.request(op, {}), good)])
        for (op, text), answer, after in zip(bad.items(), answers[::2], answers[1::2]):
            with self.subTest(op=op):
                self.assertEqual([a["type"] for a in answer], ["failure"])
                self.assertIn(text, answer[0]["text"])
                self.assertNotIn("\n", answer[0]["text"])
                self.assertEqual(speak.distinct(after), 1)

    def test_inputs_kept_between_requests_are_the_same(self):
        first = speak.request("spoil", {}, runs=2)
        other = {**first, "seed": "1/1"}
        answers = self.ask(first, first, other, first)
        seen = [speak.digests(answer) for answer in answers]
        self.assertEqual((seen[0], seen[0]), (seen[1], seen[3]))
        self.assertNotEqual(seen[0]["y"], seen[2]["y"])
        self.assertEqual([speak.distinct(answer) for answer in answers], [1] * 4)

    def test_missing_param_is_named(self):
        _, (answer,), _ = speak.converse(FOLDER / "stdlib.py", [speak.request("hash", {"of": "int"})])
        self.assertEqual(answer[0]["type"], "failure")
        self.assertIn("param 'n' is missing", answer[0]["text"])

    def test_skips(self):
        for wanted, message in (("version", speak.request("skip", {})), ("memory", speak.request("memory", {})),
                                ("unsupported", speak.request("count", {}, axis="threads", setting="2"))):
            ((answer,),) = self.ask(message)
            self.assertEqual((answer["type"], answer["reason"]), ("skip", wanted))

    def test_what_the_library_says(self):
        said, after = self.ask(speak.request("said", {}), speak.request("count", {}, runs=1))
        found = speak.observation(said)
        self.assertEqual((found["chosen"], found["declared"], speak.distinct(said)), ("way 0", "nondeterministic", 1))
        self.assertFalse({"chosen", "declared"} & set(speak.observation(after)))

    def test_a_library_says_nothing_else(self):
        """No member of an observation that the kit itself fills."""
        ((answer,),) = self.ask(speak.request("impostor", {}))
        self.assertEqual(answer["type"], "failure")
        self.assertIn("type", answer["text"])

    def test_fresh_is_answered(self):
        (answer,) = self.ask(speak.request("count", {}, axis="fresh", setting="1", runs=1))
        self.assertEqual(speak.distinct(answer), 1)

    def test_classes_are_listed_to_eight_and_counted_to_1024(self):
        eight, many, more = self.ask(*[speak.request("count", {}, runs=runs) for runs in (9, 1024, 1500)])
        for answer, number in ((eight, 9), (many, 1024), (more, 1024)):
            (output,) = speak.observation(answer)["outputs"]
            self.assertEqual((output["distinct"], len(output["classes"])), (number, 8))
            self.assertEqual([c["first_run"] for c in output["classes"]], list(range(8)))
        self.assertEqual(speak.observation(more)["mismatch"]["runs"], 1499)

    def test_bits_decide(self):
        """-0 equals 0 as a number, a NaN equals nothing: neither matters."""
        (answer,) = self.ask(speak.request("bits", {}, runs=3))
        self.assertEqual(speak.distinct(answer), 3)
        self.assertEqual(speak.observation(answer)["mismatch"]["max_ulp"], "0")

    def test_digest_is_of_the_little_endian_bytes(self):
        (answer,) = self.ask(speak.request("count", {}, runs=1))
        self.assertEqual(speak.digests(answer)["y"], hashlib.sha256(bytes(8)).hexdigest())

    def test_what_an_operation_knows_to_be_wrong_in_any_run(self):
        for run, bound in ((-1, 0), (0, kit.WRONG), (7, kit.WRONG)):
            (answer,) = self.ask(speak.request("checked", {"wrong": run}))
            y, z = speak.observation(answer)["outputs"]
            self.assertEqual((y["error_over_bound"], "error_over_bound" in z), (bound, False), run)

    def test_the_output_that_differs_first_is_explained(self):
        (answer,) = self.ask(speak.request("histories", {}))
        mismatch = speak.observation(answer)["mismatch"]
        self.assertEqual((mismatch["output"], mismatch["first_index"], mismatch["shape"]), ("early", 3, [4, 2]))

    def test_how_far_and_in_which_bits(self):
        flip, far, zero = self.ask(*[speak.request("apart", {"others": others}, runs=3)
                                     for others in ([-2.0, 4.0], [2.0, -4.5], [2.0, float("inf")])])
        mismatch = speak.observation(flip)["mismatch"]
        self.assertEqual((mismatch["flipped"], mismatch["max_abs"]), ("0x8000000000000000", 8.0))
        self.assertEqual(mismatch["max_rel"], 1.0)  # of the largest of all, as the C kit has it
        mismatch = speak.observation(far)["mismatch"]
        self.assertEqual((mismatch["flipped"], mismatch["max_rel"]), ("0x2000000000000", 0.0625))
        self.assertNotIn("max_abs", speak.observation(zero)["mismatch"])
        (several,) = self.ask(speak.request("apart", {"others": [2.5, -4.75]}, runs=3))
        self.assertNotIn("flipped", speak.observation(several)["mismatch"])

    def test_a_forked_process_does_not_speak(self):
        fork, count = speak.request("fork", {}, runs=1), speak.request("count", {}, runs=1)
        answer, after = self.ask(fork, count)
        nothing = hashlib.sha256(bytes(8)).hexdigest()
        self.assertEqual((speak.digests(answer), speak.digests(after)), ({"read": nothing}, {"y": nothing}))

    def by_hand(self, **environment):
        line = json.dumps(speak.request("count", {}, runs=1)) + "\n"
        changes = {"DETPROBE_IN_FD": None, "DETPROBE_OUT_FD": None, **environment}
        return subprocess.run([sys.executable, str(self.program)], input=line, text=True, capture_output=True,
                              env=speak.environment(changes))

    def test_started_by_hand(self):
        done = self.by_hand()
        types = [json.loads(line)["type"] for line in done.stdout.splitlines()]
        self.assertEqual((done.returncode, types), (0, ["hello", "observation", "done"]))

    def test_bad_descriptor(self):
        for bad in ("", "x", "99999"):
            done = self.by_hand(DETPROBE_OUT_FD=bad)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("not a descriptor", done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)

    def test_setting_of_a_process(self):
        for word, times in (("once", 1), ("", 0), (None, 0)):
            _, answers, status = speak.converse(self.program, [speak.request("set", {}, runs=2)] * 2, DETPROBE_SETTING=word)
            self.assertEqual(status, 0)
            expected = hashlib.sha256(bytes([times])).hexdigest()
            for (observation,) in answers:
                self.assertEqual([c["sha256"] for c in observation["outputs"][0]["classes"]], [expected], word)
        done = self.by_hand(DETPROBE_SETTING="twice")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertEqual(done.stderr, "odd: no setting 'twice' (DETPROBE_SETTING)\n")


class Threads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        shutil.copy(FOLDER / "kit.py", cls.folder.name)
        program = pathlib.Path(cls.folder.name, "threads.py")
        program.write_text(THREADS)
        settings = (("repeat", ""), ("threads", "2"), ("threads", "8"), ("threads*repeat", "4"), ("repeat", ""),
                    ("threads*batch", "4*16/0"), ("batch", "16/0"))
        requests = [speak.request("count", {}, axis=axis, setting=setting) for axis, setting in settings]
        cls.hello, cls.answers, _ = speak.converse(program, requests)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_set_read_back_and_restored(self):
        self.assertEqual(self.hello["axes"], ["repeat", "fresh", "threads"])
        self.assertEqual([speak.observation(a)["threads"] for a in (self.answers[i] for i in (0, 1, 3, 4))], [3, 2, 4, 3])
        outputs = [hashlib.sha256(struct.pack("<q", count)).hexdigest() for count in (3, 2, 4, 3)]
        self.assertEqual([speak.digests(self.answers[i])["y"] for i in (0, 1, 3, 4)], outputs)

    def test_a_count_that_did_not_take_is_skipped(self):
        ((answer,),) = self.answers[2:3]
        self.assertEqual((answer["type"], answer["reason"], answer["text"]),
                         ("skip", "unsupported", "threads 8: the library runs 4"))

    def test_products_with_an_unknown_axis_are_skipped(self):
        for (answer,) in self.answers[5:]:
            self.assertEqual((answer["type"], answer["reason"]), ("skip", "unsupported"))
            self.assertIn("'batch'", answer["text"])


class Require(unittest.TestCase):
    """What is measured is missing or broken: exit 127 and one last line, so that the suite skips the cases."""

    def outcome(self, module):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(FOLDER / "kit.py", folder)
            if module is not None:
                pathlib.Path(folder, "thing.py").write_text(module)
            program = pathlib.Path(folder, "p.py")
            program.write_text("import kit\nthing = kit.require('thing')\nprint('here', thing.__name__)\n")
            return subprocess.run([sys.executable, program], text=True, capture_output=True, check=False)

    def test_what_cannot_be_imported(self):
        for module, why in ((None, "this Python has no module 'thing'"),
                            ("import nothing_else", "this Python has no module 'nothing_else'"),
                            ("raise ImportError('\\n\\nlibfortran.so.5: cannot open\\nmore')", "libfortran.so.5: cannot open"),
                            ("try:\n  import deep\nexcept ImportError as e:\n  raise ImportError('long story') from e",
                             "No module named 'deep'"),
                            ("raise SystemExit", "SystemExit"), ("1 / 0", "ZeroDivisionError: division by zero"),
                            ("print('half', end='')\n1 / 0", "ZeroDivisionError: division by zero")):
            done = self.outcome(module)
            with self.subTest(module=module):
                self.assertEqual(done.returncode, 127)
                self.assertEqual(done.stderr.splitlines()[-1].partition("cannot import 'thing': ")[2].count("\n"), 0)
                self.assertIn(why, done.stderr.splitlines()[-1])

    def test_what_can(self):
        done = self.outcome("print('on import')")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "on import\nhere thing\n", ""))


class FromMemory(unittest.TestCase):
    def test_types_and_shapes(self):
        for code, values, dtype in (("d", [0.5, -0.0], "f64"), ("f", [0.5, 1e9], "f32"), ("q", [-1, 2], "s64"),
                                    ("l", [-1, 2], "s64"), ("i", [-1, 2], "s32"), ("h", [-1, 2], "s16"),
                                    ("b", [-1, 2], "s8"), ("B", [1, 2], "u8"), ("H", [1, 2], "u16"), ("I", [1, 2], "u32"),
                                    ("Q", [1, 2], "u64")):
            found, want = kit.from_memory(array.array(code, values)), kit.Output(dtype, values)
            self.assertEqual((found.dtype, found.shape, found.bytes, found.values()), (dtype, [2], want.bytes, want.values()))

    def test_rows_of_a_shape(self):
        flat = memoryview(struct.pack("=6d", *range(6))).cast("d", [2, 3])
        self.assertEqual(kit.from_memory(flat).shape, [2, 3])
        self.assertEqual(kit.from_memory(memoryview(array.array("d", range(6)))[::2]).values(), (0.0, 2.0, 4.0))

    def test_bytes_are_little_endian_everywhere(self):
        values = array.array("d", [1.5, -2.0])
        want = kit.from_memory(values).bytes
        values.byteswap()
        with mock.patch.object(kit.sys, "byteorder", "big"):
            self.assertEqual(kit.from_memory(values).bytes, want)

    def test_strangers_are_refused(self):
        with self.assertRaises(TypeError):
            kit.from_memory([1.0])
        with self.assertRaises(TypeError):
            kit.from_memory(memoryview(b"ab").cast("c"))


class Inputs(unittest.TestCase):
    def inputs(self, **members):
        return kit.Inputs(speak.request("x", {}, **members))

    def test_same_bits_on_every_machine(self):
        want = {  # made with openssl's SHAKE-256 and rational arithmetic
            "wide": "67960d96ba95d511e17a15d024a7265babf0859ae1b8c67b0aef1897de707b45",
            "unit": "a10c7482750c14fd6354c82c21c5616e0a85a42ba7e7ab9fc304942c8ad5e21c",
            "exact": "e6322b94e8f3a789174e27847f88cd81f62182b46de7374a6d4a66ab44f1856e",
        }
        for name, digest in want.items():
            values = self.inputs(set=name).floats("x", 1000)
            self.assertEqual(hashlib.sha256(struct.pack("<1000d", *values)).hexdigest(), digest, name)

    def test_sets(self):
        wide, unit, exact = (self.inputs(set=name).floats("x", 4096) for name in SETS)
        self.assertEqual({math.frexp(x)[1] for x in wide}, set(range(-15, 17)))
        self.assertTrue(min(wide) < 0 < max(wide))
        self.assertTrue(-1 <= min(unit) < -0.99 and 0.99 < max(unit) < 1)
        self.assertEqual(set(exact), {float(i) for i in range(-8, 9)})

    def test_arrays_hold_the_same_floats(self):
        for name in SETS:
            inputs = self.inputs(set=name)
            self.assertEqual(inputs.array("x", 999).tolist(), inputs.floats("x", 999))
            self.assertEqual(inputs.array("x", 999, "f32"), array.array("f", inputs.floats("x", 999)))

    def test_a_spoilt_array_stays_a_copy(self):
        inputs = self.inputs()
        inputs.array("x", 4)[0] = math.inf
        self.assertNotEqual(inputs.array("x", 4)[0], math.inf)

    def test_a_spoilt_copy_stays_a_copy(self):
        inputs = self.inputs()
        inputs.floats("x", 4).clear()
        self.assertEqual(len(inputs.floats("x", 4)), 4)

    def test_tensors_seeds_and_problems_differ(self):
        first = self.inputs().words("x", 4)
        self.assertEqual(first, self.inputs().words("x", 4))
        for other in (self.inputs().words("y", 4), self.inputs(seed="1/1").words("x", 4),
                      self.inputs(problem="test/other").words("x", 4)):
            self.assertNotEqual(first, other)


class Explain(unittest.TestCase):
    def test_values(self):
        one = kit.f64([1.0, 2.0, 3.0])
        other = kit.f64([1.0, math.nextafter(2.0, 3.0), 3.0 - 2**-50])
        found = kit.explain("y", one, other)
        self.assertEqual((found["elements"], found["of"], found["first_index"]), (2, 3, 1))
        self.assertEqual((found["kind"], found["max_ulp"], found["max_abs"]), ("values", "2", 2**-50))

    def test_permutation(self):
        self.assertEqual(kit.explain("y", kit.s64([1, 2, 3]), kit.s64([3, 1, 2]))["kind"], "permutation")
        self.assertEqual(kit.explain("y", kit.s64([1, 2, 2]), kit.s64([2, 1, 1]))["kind"], "values")

    def test_ulps_across_zero(self):
        tiny = math.ldexp(1.0, -1074)
        self.assertEqual(kit.explain("y", kit.f64([tiny]), kit.f64([-tiny]))["max_ulp"], "2")

    def test_ulps_of_each_type(self):
        for dtype, one, above in (("f32", 1.0, 1.0 + 2**-23), ("f16", 1.0, 1.0 + 2**-10), ("f64", 1.0, 1.0 + 2**-52)):
            pair = kit.Output(dtype, [one, -one]), kit.Output(dtype, [above, -above])
            self.assertEqual(kit.explain("y", *pair)["max_ulp"], "1", dtype)

    def test_infinite_differences_stay_out_of_json(self):
        found = kit.explain("y", kit.f64([math.inf, -1e308]), kit.f64([1.0, 1e308]))
        self.assertNotIn("max_abs", found)
        json.dumps(found, allow_nan=False)


if __name__ == "__main__":
    unittest.main(verbosity=1)
