# SPDX-License-Identifier: Apache-2.0
"""Training in PyTorch, with the real one from pinned wheels: what is seeded repeats, what is not varies, and each state
that a checkpoint leaves out is seen.

usage: test_pytorch_train.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Nothing asserted depends on the processor: bits are compared with bits of the same machine.
"""

import json
import pathlib
import shutil
import tempfile

import frameworks_lab as lab
import speak

TRAIN = "python/train/pytorch-"
VARIES = {"mlp-unseeded-torch", "mlp-unseeded-numpy", "mlp-unseeded-random", "mlp-order-unseeded",
          "mlp-f64-order-of-arrival", "mlp-2-workers-own-generator", "mlp-2-workers-out-of-order"}
MAY_VARY = {"mlp-flags-off", "mlp-2-workers"}  # nothing is promised, and what is seen may be of the version
STATES = {"weights", "optimiser", "scheduler", "position", "order", "torch", "numpy", "random"}
FILES = ("kit.py", "pytorch_common.py", "pytorch-train.py")
# A program on the functions of the real one, whose loaders' workers die or never answer.
DYING = """
import importlib, os, signal, time
import kit
train = importlib.import_module("pytorch-train")
train.LOADER_TIMEOUT = 2
class Dying(train.Images):
    def __getitem__(self, i):
        os.kill(os.getpid(), signal.SIGKILL)
class Stuck(train.Images):
    def __getitem__(self, i):
        time.sleep(1000)
train.DATASETS.update(dying=Dying, stuck=Stuck)
kit.main("dying", train.libraries(), train.common.threads)
"""


class Real(lab.Quick):
    PINS, ROOM, SELECTORS = "pytorch.txt", 8, (TRAIN + "*",)
    ROLES = ("torch", "numpy")

    def ask(self, case, **other):
        """The answer to one request for a case, by hand, with the environment's Python."""
        row = lab.cases(TRAIN + case)[TRAIN + case]
        request = speak.request(row["op"], row["params"], **{"problem": row["problem"], **other})
        program = [self.stack / "bin" / "python", lab.PROBES / "pytorch-train.py"]
        hello, (answers,), status = speak.converse(program, [request], OMP_WAIT_POLICY="passive")
        self.assertEqual(status, 0)
        self.assertIn("threads", hello["axes"])
        return {**speak.observation(answers), "outputs": {o["name"]: o for o in speak.observation(answers)["outputs"]}}

    def own(self, program, cases, text=None):
        """The results of cases of a catalogue file of our own, with a program beside a copy of the real one, and what
        was printed."""
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            for name in FILES:
                shutil.copy(lab.PROBES / name, folder)
            if text:
                pathlib.Path(folder, program).write_text(text)
            catalogue = {"schema_version": "1.0", "program": program, "cases": cases}
            pathlib.Path(folder, "own.json").write_text(json.dumps(catalogue))
            report, printed = lab.run("python/own/*", lab.UNHARMED, "--level", "quick", "--axis", "repeat", "--seeds", 2,
                                      "--runs", 3, "--stack", self.stack, expect=(1, 2), DETPROBE_PROBE_PATH=folder)
        rows = lab.results(report)
        self.assertEqual(rows.pop(lab.UNHARMED)["observed"], "repeats")
        return rows, printed

    def test_what_varies(self):
        varied = {case.removeprefix(TRAIN) for case, row in self.rows.items()
                  if row["observed"] == "varies" and "-cuda" not in case}
        self.assertEqual(varied - MAY_VARY, VARIES)

    def test_every_step_is_an_output(self):
        outputs = self.ask("mlp-784-256-10", runs=2)["outputs"]
        layers = {"hidden.weight": [256, 784], "hidden.bias": [256], "scores.weight": [10, 256], "scores.bias": [10]}
        self.assertEqual({name: output["shape"] for name, output in outputs.items()},
                         {"loss": [4], **{f"{of}.{name}": [4, *shape] for name, shape in layers.items()
                                          for of in ("gradient", "weights")}})
        self.assertEqual({output["distinct"] for output in outputs.values()}, {1})

    def test_threads_are_read_back_and_move_the_loss(self):
        """The sum of squares of 200 960 weights is split among threads, on every processor."""
        found = {count: self.ask("mlp-784-256-10", axis="threads", setting=count, runs=2) for count in ("1", "2", "4")}
        self.assertEqual([answer["threads"] for answer in found.values()], [1, 2, 4])
        losses = {answer["outputs"]["loss"]["classes"][0]["sha256"] for answer in found.values()}
        self.assertGreater(len(losses), 1)
        self.assertIn("threads", self.rows[TRAIN + "mlp-784-256-10"]["sensitive_to"])

    def test_equal_losses_with_other_weights_are_caught(self):
        answer = self.ask("mlp-f64-order-of-arrival")
        self.assertEqual(answer["outputs"]["loss_to_1e-10"]["distinct"], 1)
        for layer in ("hidden", "scores"):
            self.assertGreater(answer["outputs"][f"weights.{layer}.weight"]["distinct"], 1)
        self.assertLess(answer["mismatch"]["max_abs"], 1e-10)

    def test_a_mismatch_names_tensor_step_and_element(self):
        mismatch = self.ask("mlp-unseeded-torch")["mismatch"]
        self.assertEqual((mismatch["output"], mismatch["first_index"], mismatch["shape"]), ("loss", 0, [4]))

    def test_each_state_left_out_is_seen(self):
        left_out = {row["params"]["left_out"] for case, row in lab.cases(TRAIN + "resume*").items() if "-cuda" not in case}
        self.assertEqual(left_out, STATES | {"nothing", "scaler"})
        for case in self.rows:
            if "/pytorch-resume" in case and "-cuda" not in case:
                self.assertEqual(self.rows[case]["observed"], "repeats", case)

    def test_what_is_not_seen_is_wrong(self):
        """A checkpoint that lacks nothing where it should, one that is restored into another training, and noise that
        does not come twice where it should."""
        resume, load = (lab.cases(TRAIN + name)[TRAIN + name] for name in ("resume", "loader-2-workers-global-generators"))
        cases = [{"id": f"python/own/{name}", "op": row["op"], "problem": row["problem"], "params": {**row["params"], **change}}
                 for name, row, change in (("nothing-lacks", resume, {"left_out": "a state that nobody has"}),
                                           ("another-training", resume, {"seeded": "torch random", "augment": "own"}),
                                           ("no-noise-twice", load, {"noise_again": "workers epochs"}))]
        for case, row in self.own("pytorch-train.py", cases)[0].items():
            self.assertEqual((row["observed"], row["checked"]), ("wrong", "bits"), case)

    def test_a_worker_that_dies_or_is_stuck_costs_its_case(self):
        load = lab.cases(TRAIN + "loader-2-workers-global-generators")[TRAIN + "loader-2-workers-global-generators"]
        cases = [{"id": f"python/own/{name}", "op": "load", "params": {**load["params"], "dataset": name}}
                 for name in ("dying", "stuck")]
        rows, printed = self.own("dying.py", cases, DYING)
        self.assertEqual([row["observed"] for row in rows.values()], ["error", "error"])
        self.assertRegex(printed, r"DataLoader worker .* (killed by signal|exited unexpectedly)")
        self.assertIn("DataLoader timed out after 2 seconds", printed)


if __name__ == "__main__":
    lab.main()
