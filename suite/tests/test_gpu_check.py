# SPDX-License-Identifier: Apache-2.0
"""The bundle of ci/gpu-check, on the emulated stack and on a machine without a GPU.

usage: test_gpu_check.py CI-FOLDER EMULATION-FOLDER
NVRTC is the real one; without it there is nothing to test.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from loader import has_driver, nvrtc

CI, EMULATION = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
SKIP = 77
NVRTC = nvrtc()


class Bundle(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        made = pathlib.Path(cls.folder.name, "made")
        done = subprocess.run([CI / "gpu-check", "--no-install", "--pack", made], capture_output=True, text=True,
                              timeout=1200)
        assert done.returncode == 0, done.stdout + done.stderr
        cls.said = done.stdout
        cls.bundle = pathlib.Path(cls.folder.name, "moved")  # it runs wherever it is put
        made.rename(cls.bundle)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, *arguments, emulated=True, **variables):
        """The bundle's gpu-check with nothing of this environment."""
        environment = {"PATH": "/usr/bin:/bin", "CUDA_HOME": "/nonexistent", **variables}
        if emulated:
            environment["LD_LIBRARY_PATH"] = f"{EMULATION}:{NVRTC.parent}"
        self.out = pathlib.Path(self.folder.name, self.id().rsplit(".", 1)[1])
        return subprocess.run([self.bundle / "gpu-check", "-o", self.out, *arguments], env=environment,
                              capture_output=True, text=True, timeout=600)

    def files(self):
        return sorted(path.name for path in self.out.iterdir())

    def test_it_is_small_and_whole(self):
        size = sum(path.stat().st_size for path in self.bundle.rglob("*") if path.is_file())
        self.assertLessEqual(size, 40 << 20)
        for program in (self.bundle / "bin/detprobe", self.bundle / "libexec/detprobe/probes/cuda/control"):
            needed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
            for library in ("libjansson", "libcrypto"):
                line = next(line for line in needed.splitlines() if library in line)
                self.assertIn(str(self.bundle), os.path.realpath(line.split()[2]))
        listed = subprocess.run([self.bundle / "bin/detprobe", "list", "@cuda", "--json"], env={},
                                capture_output=True, text=True, check=True).stdout
        self.assertIn(f"{len(json.loads(listed))} CUDA cases", self.said)

    def test_without_a_gpu(self):
        if has_driver():
            self.skipTest("there is a driver here")
        done = self.check(emulated=False)
        self.assertEqual(done.returncode, 77, done.stdout + done.stderr)
        self.assertIn("nothing can be measured here", done.stderr)
        self.assertIn("no CUDA driver", (self.out / "doctor.txt").read_text())

    def test_what_was_measured_survives_the_limit(self):
        done = self.check("--quick", "3", "--default", "0")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("quick was stopped after 3 s", done.stdout)
        self.assertEqual(self.files(), ["bench.txt", "controls.json", "doctor.txt", "quick.json"])
        controls = json.loads((self.out / "controls.json").read_text())["body"]
        self.assertTrue(controls["controls"])
        self.assertEqual([row for row in controls["controls"] if not row["behaved"]], [])
        self.assertTrue(controls["environment"]["devices"][0]["emulated"])
        self.assertIn("device: emulated", (self.out / "bench.txt").read_text())
        quick = subprocess.run([self.bundle / "bin/detprobe", "validate", self.out / "quick.json"], text=True,
                               capture_output=True)
        self.assertEqual(quick.returncode, 0, quick.stdout + quick.stderr)

    def test_controls_that_cannot_vary(self):
        done = self.check("--quick", "0", "--default", "0", DETPROBE_EMULATE="order=fixed")
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("no valid verdict", done.stdout.splitlines()[-1])

    def libraries(self, folder, **variables):
        """A run where the loader's own folders have the driver alone, and `folder` the other libraries."""
        top = pathlib.Path(self.folder.name, self.id().rsplit(".", 1)[1] + "-stack")
        for place in (folder, "driver", "tools"):
            (top / place).mkdir(parents=True)
        for source in NVRTC.parent.glob("libnvrtc*.so*"):
            (top / folder / source.name).symlink_to(source)
        for source in EMULATION.glob("libcublas*.so.1[23]"):
            shutil.copy(source, top / folder)  # reports name the file behind a link
        (top / "driver/libcuda.so.1").symlink_to(EMULATION / "libcuda.so.1")
        for name, text in (("ldconfig", "exit 0"), ("python3", f"echo {top}")):
            (top / "tools" / name).write_text(f"#!/bin/sh\n{text}\n")
            (top / "tools" / name).chmod(0o755)
        return top, self.check("--quick", "0", "--default", "0", emulated=False, PATH=f"{top}/tools:/usr/bin:/bin",
                               LD_LIBRARY_PATH=str(top / "driver"),
                               **{name: value.format(top=top) for name, value in variables.items()})

    def test_libraries_of_a_toolkit(self):
        top, done = self.libraries("toolkit/lib64", CUDA_HOME="{top}/toolkit")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"libcublas: {top}/toolkit/lib64 (toolkit)", done.stdout)
        self.assertIn("libcudnn: not found", done.stdout)
        self.assertIn(f"{top}/toolkit/lib64/libcublas.so", (self.out / "doctor.txt").read_text())

    def test_libraries_of_wheels(self):
        top, done = self.libraries("nvidia/cu13/lib")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(f"libnvrtc: {top}/nvidia/cu13/lib (wheels)", done.stdout)
        self.assertIn(f"{top}/nvidia/cu13/lib/libcublas.so", (self.out / "doctor.txt").read_text())

    def test_bad_input(self):
        (self.bundle / "full").mkdir()
        (self.bundle / "full/file").touch()
        for arguments, words in ((["--quick", "soon"], "'--quick' takes seconds, not 'soon'"),
                                 (["--pack", "x"], "this is a bundle already"),
                                 (["-o", self.bundle / "full"], "is not empty"),
                                 (["--fast"], "unknown argument '--fast'")):
            done = subprocess.run([self.bundle / "gpu-check", *arguments], capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 64, done.stdout + done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


RUNS = """#!/bin/bash
# in place of detprobe: SIGTERM during a run leaves a line
[ "$1" = run ] || exit 0
trap 'echo told >"$STOPPED"; kill $!; exit 143' TERM
touch "$STARTED"
sleep "$SECONDS_OF_RUN" & wait
"""


def heed_signals():
    """What the caller ignores (nohup does with SIGHUP) a shell could not trap."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Script(unittest.TestCase):
    """The script over programs that stand in place of a bundle's, in a folder whose name has a blank."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(temporary.cleanup)
        self.top = pathlib.Path(temporary.name)
        bundle = self.top / "a bundle"
        (bundle / "bin").mkdir(parents=True)
        shutil.copy(CI / "gpu-check", bundle)
        for name, text in (("detprobe", RUNS), ("bench_device", "#!/bin/sh\n")):
            (bundle / "bin" / name).write_text(text)
            (bundle / "bin" / name).chmod(0o755)
        self.started, self.stopped = self.top / "started", self.top / "stopped"

    def start(self, *arguments, program="a bundle/gpu-check", seconds="0", **variables):
        environment = {"PATH": os.environ["PATH"], "STARTED": str(self.started), "STOPPED": str(self.stopped),
                       "SECONDS_OF_RUN": seconds, "CUDA_HOME": "/nonexistent", **variables}
        return subprocess.Popen(["bash", program, *arguments], cwd=self.top, env=environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                                preexec_fn=heed_signals)

    def ends(self, code, *arguments, **options):
        process = self.start("--quick", "0", "--default", "00", *arguments, **options)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, out + err)
        return err

    def test_wherever_it_is_called_from(self):
        (self.top / "link").symlink_to("a bundle/gpu-check")
        (self.top / "elsewhere/a bundle").mkdir(parents=True)
        self.assertEqual(self.ends(0, "-o", "one", program="link"), "")
        self.assertEqual(self.ends(0, "-o", "two", CDPATH=str(self.top / "elsewhere")), "")
        self.assertEqual(self.ends(0, "-o", "-three"), "")
        self.assertTrue((self.top / "-three/doctor.txt").exists())

    def test_no_folder(self):
        (self.top / "file").touch()
        self.assertIn("'file' is not a folder", self.ends(64, "-o", "file"))
        self.assertIn("cannot write in '/proc/x'", self.ends(69, "-o", "/proc/x"))

    def test_a_signal_stops_what_runs(self):
        for number, to_all in ((signal.SIGTERM, False), (signal.SIGHUP, False), (signal.SIGINT, True)):
            with self.subTest(number=number):
                self.started.unlink(missing_ok=True)
                self.stopped.unlink(missing_ok=True)
                process = self.start("-o", f"out-{number}", seconds="50")
                while not self.started.exists() and process.poll() is None:
                    time.sleep(0.02)
                (os.killpg if to_all else os.kill)(process.pid, number)
                err = process.communicate(timeout=30)[1]
                self.assertEqual(process.returncode, 128 + number, err)
                self.assertIn(f"stopped by {signal.Signals(number).name}", err)
                self.assertEqual(self.stopped.read_text(), "told\n")

    def test_a_python_that_hangs(self):
        tools = self.top / "tools"
        tools.mkdir()
        for name, text in (("python3", "sleep 300"), ("ldconfig", "exit 0"), ("timeout", TIMEOUT)):
            (tools / name).write_text(f"#!/bin/bash\n{text}\n")
            (tools / name).chmod(0o755)
        process = self.start("-o", "out", "--quick", "0", "--default", "0", PATH=f"{tools}:{os.environ['PATH']}")
        out, err = process.communicate(timeout=60)
        self.assertIn("libnvrtc: not found", out, err)
        self.assertEqual(process.returncode, 0, out + err)


# As timeout, with a limit of a second for python3.
TIMEOUT = '''[ "$4" != python3 ] || set -- -k 1 1 "${@:4}"
exec /usr/bin/timeout "$@"
'''


if __name__ == "__main__":
    if not NVRTC:
        print("skipped: no NVRTC")
        sys.exit(SKIP)
    unittest.main(argv=sys.argv[:1], verbosity=2)
