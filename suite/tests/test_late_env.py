# SPDX-License-Identifier: Apache-2.0
"""Variables that are set too late: with Python's own, with libraries made up here that read theirs once or each time,
and with the real ones from pinned wheels.

usage: test_late_env.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
"""

import os
import pathlib
import tempfile
import unittest

import frameworks_lab as lab

CASE = "python/late-env/"
WAYS = ("outside", "before-import", "after-import")
# A torch with the number of threads that it read, once on import or whenever it is asked.
TORCH = '''
import os
print("loading")
float64 = "d"
def read():
    return int(os.environ.get("OMP_NUM_THREADS", "8"))
FOUND = read()
def get_num_threads():
    return {count}
class Tensor:
    def mean(self):
        {mean}
        return self
    def untyped_storage(self):
        return bytes([get_num_threads()] * 8)
def frombuffer(cells, dtype):
    return Tensor()
'''
ONCE, ALWAYS = TORCH.format(count="FOUND", mean="pass"), TORCH.format(count="read()", mean="pass")
FATAL = TORCH.format(count="FOUND", mean="print('no more', flush=True); os._exit(3)")


def observed(report):
    rows = lab.results(report)
    return {case.removeprefix(CASE): row["observed"] for case, row in rows.items() if case.startswith(CASE)}


class Verdicts(unittest.TestCase):
    def run_fake(self, text, *cases, expect=0, prefix=()):
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            package = pathlib.Path(folder) / "torch"
            package.mkdir()
            (package / "__init__.py").write_text(text)
            self.report, self.text = lab.run(*(CASE + case for case in cases), "--level", "quick", expect=(expect,),
                                             prefix=prefix, PYTHONPATH=folder, PYTHONDONTWRITEBYTECODE="1")
        return observed(self.report)

    def needs_two_processors(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("two processors are needed")

    def test_the_hash_seed(self):
        """On any machine, and whatever the user has set."""
        for seed in ({}, {"PYTHONHASHSEED": "1"}):
            report, text = lab.run(CASE + "pythonhashseed-*", "--level", "quick", **seed)
            self.assertEqual(observed(report),
                             {"pythonhashseed-after-start": "varies", "pythonhashseed-outside": "repeats"})
            self.assertIn("set it before the interpreter starts", text)
        rows = lab.results(report)
        self.assertEqual(rows[CASE + "pythonhashseed-outside"]["guarantee"]["status"], "kept")
        self.assertEqual(rows[CASE + "pythonhashseed-after-start"]["guarantee"]["status"], "allows")

    def test_a_library_that_reads_once(self):
        self.needs_two_processors()
        found = self.run_fake(ONCE, "omp-num-threads-torch-*")
        self.assertEqual(found, {f"omp-num-threads-torch-{way}": "varies" if way == "after-import" else "repeats"
                                 for way in WAYS})
        row = lab.results(self.report)[CASE + "omp-num-threads-torch-before-import"]
        self.assertEqual({output["name"] for output in row["outputs"]}, {"set", "threads", "bits"})

    def test_a_library_that_reads_each_time(self):
        """A late setting that takes effect is not called late: what is told was seen."""
        self.needs_two_processors()
        found = self.run_fake(ALWAYS, "omp-num-threads-torch-*")
        self.assertEqual(found, {f"omp-num-threads-torch-{way}": "repeats" for way in WAYS})

    def test_one_processor(self):
        one = str(min(os.sched_getaffinity(0)))
        found = self.run_fake(ONCE, "omp-num-threads-torch-*", "pythonhashseed-outside", prefix=("taskset", "-c", one))
        self.assertEqual(found.pop("pythonhashseed-outside"), "repeats")
        self.assertEqual(set(found.values()), {"skipped"})
        self.assertIn("unsupported: one processor", self.text)

    def test_what_cannot_be_started(self):
        self.needs_two_processors()
        found = self.run_fake("raise ImportError('libgomp.so.1: no such file')", "omp-num-threads-torch-after-import",
                              "pythonhashseed-outside")
        self.assertEqual(found, {"omp-num-threads-torch-after-import": "skipped", "pythonhashseed-outside": "repeats"})
        self.assertIn("library_missing: cannot import 'torch': ImportError: libgomp.so.1", " ".join(self.text.split()))

    def test_what_ends_in_between(self):
        self.needs_two_processors()
        found = self.run_fake(FATAL, "omp-num-threads-torch-after-import", expect=2)
        self.assertEqual(found, {"omp-num-threads-torch-after-import": "error"})
        self.assertIn("the started process ended with 3: no more", " ".join(self.text.split()))


class Real(unittest.TestCase):
    def test_numpy_and_pytorch(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("two processors are needed")
        report, _ = lab.run(CASE + "o*", CASE + "mkl-*", "--level", "quick", "--stack", lab.stack("pytorch.txt", 9))
        found = observed(report)
        self.assertEqual(len(found), 11)
        self.assertIn("+", self.torch(report)["version"], "as PyTorch says it, which this program does not import")
        for name, seen in found.items():
            self.assertEqual(seen, "varies" if name.endswith("after-import") else "repeats", name)

    def torch(self, report):
        (library,) = [row for row in report["body"]["environment"]["libraries"] if row["role"] == "torch"]
        return library

    def test_what_several_programs_know(self):
        report, _ = lab.run(CASE + "pythonhashseed-outside", "python/pytorch/softmax-cpu-off", "--level", "quick",
                            "--stack", lab.stack("pytorch.txt", 9))
        self.assertIn("cuda=", self.torch(report)["config"])
        self.assertEqual(self.torch(report)["families"], ["python/late-env", "python/pytorch"])

    def test_tensorflow(self):
        """That oneDNN gives other bits than TensorFlow's own loops is the processor's to say; that the variable is read
        in time is not."""
        report, _ = lab.run(CASE + "tf-*", "--level", "quick", "--stack", lab.stack("tensorflow.txt", 4))
        found = observed(report)
        self.assertEqual(found["tf-enable-onednn-opts-before-import"], "repeats")
        self.assertIn(found["tf-enable-onednn-opts-after-import"], ("varies", "repeats"))


if __name__ == "__main__":
    lab.main()
