# SPDX-License-Identifier: Apache-2.0
"""Python frameworks that are half installed, noisy, greedy or broken cost their own cases only.

usage: test_frameworks_harm.py DETPROBE SCHEMA_FOLDER REQUIREMENTS_FOLDER KEPT_FOLDER [TEST...]
Packages with the frameworks' names stand in for all of them at once, and misbehave in the same way.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import frameworks_lab as lab
from frameworks_lab import PROBES, UNHARMED, results, run

FRAMEWORKS = {"numpy": "python/numpy/dot-f64-c-100000", "jax": "python/jax/sum-axis-0-300x500",
              "torch": "python/pytorch/gather-cpu-off", "tensorflow": "python/tensorflow/random-normal-unseeded"}
IMPORT = "import ctypes, os, signal, sys, threading, time\n"
LIMIT = 256 << 20  # bytes, for a program that shall be killed for memory


def memory_groups():
    """Folders in which a group of processes with a limit of its own may be made, with the names of limits there."""
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            yield pathlib.Path("/sys/fs/cgroup/memory" + path), "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"
        elif not controllers:
            yield pathlib.Path("/sys/fs/cgroup" + path), "memory.max", "memory.swap.max"


@contextlib.contextmanager
def memory_group():
    """The file by which a process enters a group where the kernel kills what takes more than LIMIT; None where none may
    be made."""
    for parent, limit, swap in memory_groups():
        group = parent / f"detprobe-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(LIMIT))
            with contextlib.suppress(OSError):  # a kernel that does not count it
                (group / swap).write_text(str(0 if swap == "memory.swap.max" else LIMIT))
            yield group / "cgroup.procs"
            return
        except OSError:
            continue
        finally:
            group.rmdir()
    yield None


class Harm(unittest.TestCase):
    def with_modules(self, text, *cases, expect, names=FRAMEWORKS):
        """Results of the frameworks' cases, with packages of their names that hold this text; others are unharmed."""
        with contextlib.ExitStack() as stack:
            folders = [stack.enter_context(lab.module(name, IMPORT + text))["PYTHONPATH"] for name in names]
            report, self.text = run(UNHARMED, *(cases or FRAMEWORKS.values()), "--level", "quick", "--axis", "fresh",
                                    expect=(expect,), PYTHONPATH=os.pathsep.join(folders), PYTHONDONTWRITEBYTECODE="1")
        self.assertTrue(all(control["behaved"] for control in report["body"]["controls"]))
        rows = results(report)
        self.assertEqual(rows.pop(UNHARMED)["observed"], "repeats")
        return rows

    def missing(self, text, why):
        rows = self.with_modules(text, expect=0)
        self.assertEqual(set(rows), set(FRAMEWORKS.values()))
        for name, case in FRAMEWORKS.items():
            with self.subTest(case=case, module=text):
                row = rows[case]
                self.assertEqual((row["observed"], row["reason"]), ("skipped", "library_missing"))
                self.assertIn(f"cannot import '{name}'", row["text"])
                self.assertIn(why, row["text"])
                self.assertNotIn("\n", row["text"])

    def test_what_it_needs_is_missing(self):
        self.missing("import nothing_like_it", "no module 'nothing_like_it'")

    def test_a_library_behind_it_is_missing(self):
        """As the loader says it, below a traceback of Python's own and a long message of the framework's."""
        self.missing("print('loading ' * 9999)\ntry:\n    ctypes.CDLL('libgone.so.9')\nexcept OSError as error:\n"
                     "    raise ImportError('Read our page.\\n' * 99) from error",
                     "libgone.so.9: cannot open shared object file")

    def test_it_gives_up(self):
        for text, why in (("sys.exit(0)", "SystemExit"), ("raise MemoryError", "MemoryError")):
            self.missing(text, why)

    def ended(self, text, why):
        rows = self.with_modules(text, expect=2)
        self.assertEqual({row["observed"] for row in rows.values()}, {"error"})
        self.assertEqual(set(rows), set(FRAMEWORKS.values()))
        self.assertIn(why, self.text)

    def test_it_ends_the_process(self):
        self.ended("os._exit(3)", "status 3")

    def test_it_aborts(self):
        """As native code does for instructions that the processor lacks, and for versions that do not match."""
        self.ended("ctypes.CDLL(None).abort()", "signal 6")

    def test_it_is_killed(self):
        self.ended("os.kill(os.getpid(), signal.SIGKILL)", "signal 9")

    def test_it_is_killed_for_memory(self):
        """By the kernel, for real, where a group with a limit may be made."""
        with memory_group() as procs:
            if procs is None:
                self.skipTest("no group of processes with a limit of its memory may be made here")
            enter = f"with open({str(procs)!r}, 'w') as group:\n    group.write(str(os.getpid()))\n"
            self.ended(f"{enter}held = b'x' * {4 * LIMIT}", "signal 9")

    def test_it_is_empty(self):
        """As a broken installation leaves it: attributes are missing."""
        rows = self.with_modules("", expect=2)
        self.assertEqual({row["observed"] for row in rows.values()}, {"error"})

    def test_it_closes_descriptors(self):
        """Those of the protocol among them: the program cannot answer any more."""
        rows = self.with_modules("os.closerange(0, 1024)", expect=2)
        self.assertEqual({row["observed"] for row in rows.values()}, {"error"})

    def test_it_answers_itself(self):
        """Into the protocol, with what a program may say and with what none may."""
        rows = self.with_modules("lines = b'{\"type\": \"done\", \"id\": 1}\\nnothing\\n'\n"
                                 "os.write(int(os.environ['DETPROBE_OUT_FD']), lines)", expect=2)
        self.assertEqual({row["observed"] for row in rows.values()}, {"error"})

    def test_a_case_that_is_killed(self):
        """In the middle of a request: the framework's other cases have another process."""
        text = (pathlib.Path(__file__).with_name("fake_tensorflow.py").read_text() +
                "\n\ndef die(*_):\n    os.kill(os.getpid(), 9)\n\n\nnn.dropout = die\n")
        rows = self.with_modules(text, "python/tensorflow/random-*-unseeded", names=["tensorflow"], expect=2)
        self.assertEqual({case.split("/")[2]: row["observed"] for case, row in rows.items()},
                         {"random-normal-unseeded": "varies", "random-shuffle-unseeded": "varies",
                          "random-dropout-unseeded": "error"})


LOUD = """import kit
kit.require('noisy')
@kit.op('one')
def one(params, inputs):
    print('running')
    return {'y': kit.from_memory(inputs.array('x', 9))}
kit.main('loud')
"""
LEFT = """
import os, threading, time
{thread}
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        with open({file!r}, 'a') as file:
            file.write(str(os.getpid()) + '\\n')
        time.sleep(600)
    os._exit(0)
"""


class Noise(unittest.TestCase):
    """What comes beside the work is log, and what is left behind keeps nobody waiting and does not stay."""

    def loud(self, module):
        catalogue = {"schema_version": "1.0", "program": "loud.py", "cases": [{"id": "python/loud/one", "op": "one"}]}
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            for name, text in (("noisy.py", module), ("loud.py", LOUD), ("kit.py", (PROBES / "kit.py").read_text()),
                               ("loud.json", json.dumps(catalogue))):
                pathlib.Path(folder, name).write_text(text)
            start = time.monotonic()
            report, text = run("python/loud/one", UNHARMED, "--level", "quick", DETPROBE_PROBE_PATH=folder)
        self.assertLess(time.monotonic() - start, 300)
        for case in ("python/loud/one", UNHARMED):
            self.assertEqual(results(report)[case]["observed"], "repeats")
        return text

    def test_output(self):
        """More than is kept, by Python and past it, with lines that look like answers."""
        text = self.loud("import os, sys\nprint('{\"type\": \"hello\"}')\nsys.stderr.write('warning\\n' * 5000)\n"
                         "for fd in (1, 2):\n    for _ in range(64):\n        os.write(fd, b'x' * (1 << 18))\n")
        self.assertNotIn("xxxx", text)

    def left_behind(self, thread):
        """A process that went into a session of its own, twice a child, with the descriptors of the protocol."""
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            file = pathlib.Path(folder) / "pids"
            self.loud(LEFT.format(thread=thread, file=str(file)))
            pids = file.read_text().split()
        self.assertTrue(pids, "one process of several at least came so far")
        self.assertEqual([pid for pid in pids if pathlib.Path("/proc", pid).exists()], [])

    def test_what_is_left_behind_is_ended(self):
        self.left_behind("threading.Thread(target=time.sleep, args=(600,), daemon=True).start()")

    def test_a_thread_that_does_not_end(self):
        """Python waits for it where the program ends: the suite does not."""
        self.left_behind("threading.Thread(target=time.sleep, args=(600,)).start()")


class Absent(unittest.TestCase):
    def test_an_environment_without_it(self):
        """The stack's own Python is asked, so the machine's modules do not stand in."""
        with tempfile.TemporaryDirectory(prefix="detprobe-test-") as folder:
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
            report, text = run("python/numpy/dot-*", UNHARMED, "--level", "quick", "--axis", "fresh", "--stack", folder)
        rows = results(report)
        self.assertEqual(rows.pop(UNHARMED)["observed"], "repeats")
        self.assertEqual({row["text"] for row in rows.values()},
                         {"cannot import 'numpy': this Python has no module 'numpy'"})
        self.assertEqual(text.count("library_missing"), 1, "one line for all of them")


if __name__ == "__main__":
    lab.main()
