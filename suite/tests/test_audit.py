# SPDX-License-Identifier: Apache-2.0
"""`detprobe audit` from outside: every variable between a bare and a fixed shell, hostile values, processes, proofs.

usage: test_audit.py DETPROBE SCHEMA_FOLDER SETTINGS_FOLDER CACHE [TEST...]
What has to be fetched is skipped, by name, where it cannot be. A stack of empty files stands for one where everything is
installed: no library is opened for an audit.
"""

import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import fetched
import jsonschema

DETPROBE, SCHEMAS, SETTINGS = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
CACHE = pathlib.Path(sys.argv[4])
SCHEMA = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "audit.schema.json").read_text()))
KNOWN = json.loads((SETTINGS / "settings.json").read_text())
VARIABLES = {row["name"]: row for row in KNOWN["settings"] if "reader" in row}
AREAS = "cpu,cuda,numpy,pytorch,tensorflow,jax"
SHELLS = [shell for shell in ("bash", "dash", "sh") if shutil.which(shell)]
# Those that are as good as it gets while they are not set, by why they are: the bare shell has a value that is not. All
# others are not set there.
FOLLOWS = "one machine gives one default"
OFF = "the default is off"
TRAPS = {
    "OPENBLAS_CORETYPE": ("i386", FOLLOWS),
    "ONEDNN_MAX_CPU_ISA": ("best", FOLLOWS),
    "ATEN_CPU_CAPABILITY": ("AVX2", FOLLOWS),
    "NPY_DISABLE_CPU_FEATURES": ("AVX2;FMA3", FOLLOWS),
    "GLIBC_TUNABLES": ("glibc.malloc.perturb=165", FOLLOWS),
    "JAX_DEFAULT_MATMUL_PRECISION": ("best", FOLLOWS),
    "MKL_DEBUG_CPU_TYPE": ("5", OFF),
    "MALLOC_PERTURB_": ("165", OFF),
    "CUDA_LAUNCH_BLOCKING": ("1", OFF),
    "TORCHINDUCTOR_MAX_AUTOTUNE": ("1", OFF),
    "PYTORCH_TUNABLEOP_ENABLED": ("1", OFF),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": ("1", OFF),
    "NVIDIA_TF32_OVERRIDE": ("yes", "the program decides, and each choice repeats"),
    "NCCL_PROTO": ("LL128", "the guide discourages setting it"),
}
# Never read here: ignored in both shells.
MYTHS = {"NCCL_DETERMINISTIC": "1", "CUDNN_DETERMINISTIC": "1", "TORCH_DETERMINISTIC": "1", "TF_DETERMINISTIC": "true",
         "HCCL_DETERMINISTIC": "true"}
BARE = {**{name: value for name, (value, why) in TRAPS.items()}, **MYTHS}
FINDINGS = ("missing", "wrong", "unknown", "too_late")


def environment(variables=()):
    """Nothing of the person who runs the tests."""
    kept = ("PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "DETPROBE_PROBE_PATH")
    return {**{name: os.environ[name] for name in kept if name in os.environ}, "LC_ALL": "C.UTF-8", **dict(variables)}


def detprobe(*words, variables=(), **options):
    return subprocess.run([str(word) for word in (DETPROBE, "audit", *words)], env=environment(variables),
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600, check=False, **options)


class Case(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name).resolve()

    def audit(self, *words, variables=(), code=None):
        done = detprobe(*words, "--json", variables=variables)
        # glibc itself warns of such a value from 2.41 on
        self.assertEqual(re.sub(r"^WARNING: ld\.so: invalid GLIBC_TUNABLES .*\n", "", done.stderr, flags=re.MULTILINE), "")
        rows = json.loads(done.stdout)
        SCHEMA.validate(rows)
        found = any(row["status"] in FINDINGS for row in rows)
        self.assertEqual(done.returncode, int(found) if code is None else code)
        return {row["name"]: row for row in rows}

    def refused(self, code, *words, text, variables=()):
        done = detprobe(*words, variables=variables)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn(text, done.stderr)

    def everything(self):
        """A prefix where every reader is installed, as files that nobody can open; versions are those of wheels."""
        packages = self.folder / "stack" / "lib" / "python3.11" / "site-packages"
        files = ["torch/lib/libtorch_cpu.so", "torch/lib/libomp.so", "tensorflow/libtensorflow_cc.so.2", "jaxlib/xla.so",
                 "numpy/_core/_umath.so", "numpy.libs/libscipy_openblas64_-1.so", "nvidia/nccl/lib/libnccl.so.2",
                 "nvidia/cublas/lib/libcublas.so.12", "nvidia/cuda_runtime/lib/libcudart.so.12",
                 "torch-2.15.0+cu130.dist-info/METADATA", "tensorflow-2.16.1.dist-info/METADATA",
                 "jaxlib-0.4.30.dist-info/METADATA", "numpy-2.1.0.dist-info/METADATA", "mkl-2019.0.dist-info/METADATA",
                 "nvidia_nccl_cu12-2.21.5.dist-info/METADATA", "transformer_engine-2.9.0.dist-info/METADATA",
                 "transformers-4.57.1.dist-info/METADATA"]
        for name in files:
            (packages / name).parent.mkdir(parents=True, exist_ok=True)
            (packages / name).write_bytes(b"\0OPENBLAS_CORETYPE\0")
        return self.folder / "stack"


class Shells(Case):
    def test_every_variable_flips(self):
        """Bare, each has a finding or is a myth; after eval of what --shell prints, in each shell, none has any."""
        stack = self.everything()
        words = ("--stack", stack, "--for", AREAS)
        bare = self.audit(*words, variables=BARE, code=1)
        self.assertLessEqual(VARIABLES.keys(), bare.keys())
        self.assertEqual(BARE.keys(), {name for name, row in VARIABLES.items() if row["unset"] == "ok"})
        for name in VARIABLES:
            expected = ("ignored",) if name in MYTHS else ("wrong", "unknown") if name in TRAPS else ("missing",)
            self.assertIn(bare[name]["status"], expected, name)
            self.assertTrue(bare[name]["fix"], name)
            self.assertEqual(bare[name]["value"], BARE.get(name), name)
        self.assertGreaterEqual(len(SHELLS), 1)
        for shell in SHELLS:
            script = f'eval "$({shlex.join([str(DETPROBE), "audit", *map(str, words), "--shell"])})"; exec env -0'
            done = subprocess.run([shell, "-euc", script], env=environment(BARE), capture_output=True, text=True,
                                  timeout=60, check=True)
            fixed = dict(pair.split("=", 1) for pair in done.stdout.split("\0") if pair)
            rows = self.audit(*words, variables={name: value for name, value in fixed.items() if name in VARIABLES})
            statuses = {name: rows[name]["status"] for name in VARIABLES}
            self.assertEqual(statuses, {name: "ignored" if name in MYTHS else "ok" for name in VARIABLES}, shell)

    def test_each_alone(self):
        """No variable's status hangs on another's that is set, but for those that are read in its stead."""
        words = ("--stack", self.everything(), "--for", AREAS)
        bare = self.audit(*words, variables=BARE, code=1)
        for name in VARIABLES.keys() - MYTHS.keys():
            line = shlex.split(bare[name]["fix"])
            alone = {other: value for other, value in BARE.items() if line != ["unset", other]}
            alone |= dict([line[1].split("=", 1)]) if line[0] == "export" else {}
            rows = self.audit(*words, variables=alone, code=1)
            changed = {other for other in VARIABLES if rows[other]["status"] != bare[other]["status"]}
            stead = {other for other, row in VARIABLES.items() if name in row.get("instead", ())}
            self.assertEqual(changed, {name} | stead)
            self.assertEqual({rows[other]["status"] for other in changed}, {"ok"})

    def test_myths_in_one_sentence(self):
        """As long as they are not set; set or asked for, each says that nothing reads it."""
        words = ("--stack", self.everything(), "--for", AREAS)
        text = " ".join(detprobe(*words).stdout.split())
        self.assertIn("nothing here reads NCCL_DETERMINISTIC, CUDNN_DETERMINISTIC, TORCH_DETERMINISTIC, ", text)
        text = " ".join(detprobe(*words, variables={"TF_DETERMINISTIC": "1"}).stdout.split())
        self.assertIn("ignored TF_DETERMINISTIC 1 nothing here reads it read by nothing; the name is TF_DETERMINISTIC_OPS", text)
        self.assertIn("reads NCCL_DETERMINISTIC, CUDNN_DETERMINISTIC, TORCH_DETERMINISTIC, HCCL_DETERMINISTIC ", text)
        text = " ".join(detprobe("TF_DETERMINISTIC").stdout.split())
        self.assertIn("ok TF_DETERMINISTIC not set read by nothing", text)

    def test_hostile_values(self):
        """What a value holds is neither run nor sent to a terminal, and flags that are kept are kept as they are."""
        mark = self.folder / "mark"
        flags = f"--xla_a=$(touch${{IFS}}{mark}) --xla_b='`touch {mark}`;\"$x\"' --xla_c=it's"
        hostile = {"XLA_FLAGS": flags, "PYTHONHASHSEED": f"1\n\x1b[2J\x07'; touch {mark}; '",
                   "NCCL_ALGO": "Ring'$(id)" + "x" * 100000, "OMP_NUM_THREADS": "\udcff\udcfe", "MKL_CBWR": ""}
        words = ("--stack", self.everything(), "--for", AREAS)
        rows = self.audit(*words, variables=hostile, code=1)
        self.assertEqual(rows["XLA_FLAGS"]["status"], "missing")
        for name in hostile.keys() - {"XLA_FLAGS"}:
            self.assertEqual(rows[name]["status"], "unknown", name)
        table = subprocess.run([DETPROBE, "audit", *words, "--verbose"], env=environment(hostile), capture_output=True,
                               timeout=60, check=False)
        self.assertTrue(table.stdout.decode().replace("\n", "").isprintable())
        for shell in SHELLS:
            script = f'eval "$({shlex.join([str(DETPROBE), "audit", *map(str, words), "--shell"])})"; exec env -0'
            done = subprocess.run([shell, "-euc", script], env=environment(hostile), capture_output=True, timeout=60,
                                  check=True)
            fixed = dict(pair.split("=", 1) for pair in os.fsdecode(done.stdout).split("\0") if pair)
            self.assertEqual(fixed["XLA_FLAGS"], flags + " --xla_gpu_deterministic_ops=true", shell)
            self.assertEqual(fixed["PYTHONHASHSEED"], "0")
            self.assertFalse(mark.exists(), "a value was run")

    def test_values_that_stop_what_reads_them(self):
        """No Python starts with such a seed: it is found all the same, without --for."""
        rows = self.audit(variables={"PYTHONHASHSEED": "seed", "GLIBC_TUNABLES": "x" * 3000, "OMP_NUM_THREADS": "9" * 30},
                          code=1)
        self.assertEqual(rows["PYTHONHASHSEED"]["status"], "unknown")
        self.assertIn("version", rows["PYTHONHASHSEED"]["reader"])
        self.assertEqual(rows["GLIBC_TUNABLES"]["status"], "unknown")

    def test_two_values(self):
        """What getenv() takes is shown, and nobody can tell which one a program takes; --exec gives one."""
        code = f"""
import ctypes, sys
words = [b"detprobe", b"audit", *map(str.encode, sys.argv[1:]), None]
pairs = [b"PATH={os.environ['PATH']}", b"PYTHONHASHSEED=4", b"PYTHONHASHSEED=random", b"OMP_DYNAMIC=false", b"OMP_DYNAMIC=false", None]
array = lambda items: (ctypes.c_char_p * len(items))(*items)
ctypes.CDLL(None).execve({os.fsencode(DETPROBE)!r}, array(words), array(pairs))
"""
        def twice(*words):
            return subprocess.run([sys.executable, "-c", code, "PYTHONHASHSEED", "OMP_DYNAMIC", *words], capture_output=True,
                                  env=environment(), text=True, timeout=60, check=False).stdout
        rows = {row["name"]: row for row in json.loads(twice("--json"))}
        self.assertEqual((rows["PYTHONHASHSEED"]["status"], rows["PYTHONHASHSEED"]["value"]), ("unknown", "4"))
        self.assertEqual(rows["OMP_DYNAMIC"]["status"], "ok")
        self.assertEqual(twice("--exec", "env").count("PYTHONHASHSEED=0\n"), 1)
        self.assertNotIn("random", twice("--exec", "env"))

    def test_many_variables(self):
        many = {f"VARIABLE_{i}": "x" * 90 for i in range(10000)}
        self.assertEqual(self.audit("PYTHONHASHSEED", variables=many)["PYTHONHASHSEED"]["status"], "missing")
        done = detprobe("PYTHONHASHSEED", "--exec", "env", variables=many)
        self.assertEqual((done.stdout.count("VARIABLE_"), done.stdout.count("PYTHONHASHSEED=0\n")), (10000, 1))

    def test_flags_that_nobody_can_read_are_left_alone(self):
        rows = self.audit("--for", "jax", "XLA_FLAGS", variables={"XLA_FLAGS": "/etc/xla-flags"}, code=1)
        self.assertEqual(rows["XLA_FLAGS"]["status"], "unknown")
        self.assertNotIn("fix", rows["XLA_FLAGS"])
        self.assertEqual(detprobe("XLA_FLAGS", "--shell", variables={"XLA_FLAGS": "/etc/xla-flags"}).stdout, "")

    def test_nothing_to_change(self):
        done = detprobe("PYTHONHASHSEED", "--shell", variables={"PYTHONHASHSEED": "7"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))


class Choosing(Case):
    def test_areas(self):
        cuda = self.audit("--for", "cuda")
        self.assertIn("CUBLAS_WORKSPACE_CONFIG", cuda)
        self.assertNotIn("TF_DETERMINISTIC_OPS", cuda)
        self.assertNotIn("PYTHONHASHSEED", cuda)
        both = self.audit("--for", "cuda", "-f", "tensorflow,cpu")
        self.assertIn("TF_DETERMINISTIC_OPS", both)
        self.assertIn("cpu-quota", both)

    def test_what_is_installed(self):
        """Without --for only what is found; --for does not ask whether it is."""
        stack = self.everything()
        everything = self.audit("--stack", stack)
        self.assertIn("TF_DETERMINISTIC_OPS", everything)
        self.assertEqual(everything["TF_DETERMINISTIC_OPS"]["reader"], {"name": "TensorFlow", "version": "2.16.1"})
        shutil.rmtree(stack / "lib/python3.11/site-packages/tensorflow")
        (stack / "lib/python3.11/site-packages/tensorflow-2.16.1.dist-info/METADATA").unlink()
        (stack / "lib/python3.11/site-packages/tensorflow-2.16.1.dist-info").rmdir()
        self.assertNotIn("TF_DETERMINISTIC_OPS", self.audit("--stack", stack))
        self.assertIn("TF_DETERMINISTIC_OPS", self.audit("--stack", stack, "--for", "tensorflow"))

    def test_what_an_area_does_without(self):
        """An extension is not assumed to be there because its framework is asked for."""
        stack = self.everything()
        names = {"NVTE_ALLOW_NONDETERMINISTIC_ALGO", "FLASH_ATTENTION_DETERMINISTIC"}
        self.assertLessEqual(names, self.audit("--stack", stack).keys())
        for package in stack.glob("lib/python3.11/site-packages/transformer*"):
            shutil.rmtree(package)
        self.assertFalse(names & self.audit("--stack", stack, "--for", "pytorch").keys())
        rows = self.audit("--stack", stack, "--for", "pytorch", variables=dict.fromkeys(names, "1"))
        self.assertEqual({rows[name]["status"] for name in names}, {"ignored"})

    def test_environment_in_use(self):
        stack = str(self.everything())
        for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
            self.assertIn("TF_DETERMINISTIC_OPS", self.audit(variables={name: stack}))
            self.assertNotIn("TF_DETERMINISTIC_OPS", self.audit(variables={name: f"{stack}[*]"}))

    def test_version_that_does_not_read_it(self):
        stack = self.everything()
        packages = stack / "lib/python3.11/site-packages"
        (packages / "tensorflow-2.16.1.dist-info").rename(packages / "tensorflow-2.0.4.dist-info")
        row = self.audit("--stack", stack, variables={"TF_DETERMINISTIC_OPS": "1"})["TF_DETERMINISTIC_OPS"]
        self.assertEqual((row["status"], row["reason"]), ("ignored", "TensorFlow reads it since 2.1, here is 2.0.4"))

    def test_library_built_without_it(self):
        stack = self.everything()
        library = stack / "lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-1.so"
        self.assertEqual(self.audit("--stack", stack, variables={"OPENBLAS_CORETYPE": "Zen"})["OPENBLAS_CORETYPE"]["status"],
                         "ok")
        library.write_bytes(b"\0OPENBLAS_NUM_THREADS\0")
        self.assertEqual(self.audit("--stack", stack, variables={"OPENBLAS_CORETYPE": "Zen"})["OPENBLAS_CORETYPE"]["status"],
                         "ignored")

    def test_nothing_chosen(self):
        done = detprobe("NCCL_*", "--for", "cpu")
        self.assertEqual((done.returncode, done.stdout), (0, "nothing here has such a setting\n"))

    def test_names(self):
        self.assertEqual(set(self.audit("OMP_*")), {"OMP_NUM_THREADS", "OMP_DYNAMIC", "OMP_SCHEDULE"})
        self.assertEqual(set(self.audit("NCCL_DETERMINISTIC")), {"NCCL_DETERMINISTIC"})

    def test_bad_words(self):
        self.refused(64, "--for", "torch", text="unknown area 'torch', expected cpu|cuda")
        self.refused(64, "--for", "cpu,", text="unknown area ''")
        self.refused(64, "PYTHONHASHSED", text="did you mean 'PYTHONHASHSEED'?")
        self.refused(64, "frobnicate", text="unknown setting 'frobnicate'")
        self.refused(64, "--json", "--shell", text="exclude each other")
        self.refused(64, "--json", "--exec", "true", text="exclude each other")
        self.refused(64, "--prove", "--shell", text="'--prove' goes with")
        self.refused(64, "--exec", text="needs a value")
        self.refused(64, "--exec", "", text="needs a command")
        self.refused(64, "--exec", "--", text="needs a command")
        self.refused(64, "omp_num_threads", text="did you mean 'OMP_NUM_THREADS'?")
        self.refused(64, "--stack", "pid:x", text="names no process")
        self.refused(64, "--stack", f"pid:{os.getpid()}", "--prove", text="a running process")
        self.refused(65, "--stack", self.folder / "none", text="cannot open stack")
        self.refused(65, "--stack", "pid:4194305", text="no such process")

    def test_not_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([DETPROBE, "audit", "--json"], env=environment(), stdout=full, stderr=subprocess.PIPE,
                                  text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot write 'standard output'", done.stderr)


class Machine(Case):
    def test_affinity(self):
        """Bound to one core it is wrong, until the number of threads is fixed as the line says."""
        cores = os.sched_getaffinity(0)
        if len(cores) < 2 or len(cores) < (os.cpu_count() or 0):
            self.skipTest("no core to leave out")
        self.assertEqual(self.audit("affinity")["affinity"]["status"], "ok")
        os.sched_setaffinity(0, {min(cores)})
        self.addCleanup(os.sched_setaffinity, 0, cores)
        bound = self.audit("affinity")["affinity"]
        self.assertEqual((bound["status"], bound["fix"]), ("wrong", "export OMP_NUM_THREADS=1"))
        self.assertEqual(self.audit("affinity", variables={"OMP_NUM_THREADS": "1"})["affinity"]["status"], "ok")


class Exec(Case):
    def test_environment(self):
        """The command has what --shell sets, and nothing of ours."""
        stack = self.everything()
        given = environment({"LD_LIBRARY_PATH": "/given", "OMP_DYNAMIC": "true", "OTHER": "x\ny"})
        done = detprobe("--stack", stack, "--for", AREAS, "--exec", "env", "-0", variables=given)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = dict(pair.split("=", 1) for pair in done.stdout.split("\0") if pair)
        self.assertEqual(seen["OMP_DYNAMIC"], "false")
        self.assertEqual(seen["PYTHONHASHSEED"], "0")
        changed = {name for name in seen.keys() | given.keys() if seen.get(name) != given.get(name)}
        self.assertLessEqual(changed, VARIABLES.keys())

    def test_words(self):
        """Everything behind --exec is the command's, as it stands; no shell reads it."""
        code = "import sys; print(sys.argv[1:])"
        words = ["--help", "-x", "--json", "--", "a b", "$HOME", "*", "", "'"]
        done = detprobe("--for", "cpu", "--exec", sys.executable, "-c", code, *words)
        self.assertEqual(done.stdout, f"{words}\n")

    def test_end(self):
        for code in (0, 1, 7, 64, 255):
            self.assertEqual(detprobe("--exec", "sh", "-c", f"exit {code}").returncode, code)
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGXFSZ):
            self.assertEqual(detprobe("--exec", "sh", "-c", f"kill -{int(number)} $$").returncode, -number)

    def test_hash_seed_is_in_force(self):
        words = ("--exec", sys.executable, "-c", "print(hash('a'))")
        self.assertEqual(len({detprobe(*words).stdout for _ in range(3)}), 1)

    def test_cannot_start(self):
        """As env(1) says it: 127 where there is none, 126 where it cannot be run."""
        self.refused(127, "--exec", "no-such-command-anywhere", text="cannot start 'no-such-command-anywhere': no such file")
        self.refused(126, "--exec", self.folder, text="cannot start")

    def test_dashes(self):
        """The end of options may be said before the command; what comes later is the command's."""
        self.assertEqual(detprobe("--exec", "--", "echo", "--", "-n", "x").stdout, "-- -n x\n")

    def test_signals_are_the_usual_ones(self):
        """None is ignored or blocked that is not for us."""
        words = ("grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status")
        ours = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout
        self.assertEqual(detprobe("--exec", *words).stdout, ours)


class Processes(Case):
    def test_nothing_to_measure(self):
        """A program that loaded none of the measured libraries has an environment all the same."""
        child = subprocess.Popen(["sleep", "60"], env=environment({"MALLOC_PERTURB_": "7", "OMP_DYNAMIC": "true"}))
        self.addCleanup(lambda: (child.kill(), child.wait()))
        while "sleep" not in os.readlink(f"/proc/{child.pid}/exe") and "coreutils" not in os.readlink(f"/proc/{child.pid}/exe"):
            time.sleep(0.01)
        rows = self.audit("--stack", f"pid:{child.pid}", code=1)
        self.assertEqual((rows["MALLOC_PERTURB_"]["status"], rows["OMP_DYNAMIC"]["status"]), ("wrong", "ignored"))
        child.kill()
        child.wait()
        self.refused(65, "--stack", f"pid:{child.pid}", text="no such process")

    def test_of_somebody_else(self):
        """Process 1 is root's; for root another user asks."""
        try:
            done = detprobe("--stack", "pid:1", **({"user": 65534, "extra_groups": []} if os.getuid() == 0 else {}))
        except PermissionError:
            self.skipTest("nobody else can reach the program")
        self.assertEqual((done.returncode, done.stdout), (65, ""))
        self.assertIn("permission denied, run as the process's owner", done.stderr)

    """What a process was started with and what it has loaded since."""

    HOLDS = """
import ctypes, os, sys
os.environ["OMP_SCHEDULE"] = "static"
for name in sys.argv[1:]:
    ctypes.CDLL(name)
print("ready", flush=True)
sys.stdin.read()
"""

    def start(self, *libraries, **variables):
        child = subprocess.Popen([sys.executable, "-c", self.HOLDS, *libraries], env=environment(variables),
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (child.stdin.close(), child.stdout.close(), child.wait()))
        if child.stdout.readline() != "ready\n":
            self.skipTest(f"no {' '.join(libraries)} here")
        return f"pid:{child.pid}"

    def test_loaded_without(self):
        process = self.start("libgomp.so.1", OMP_NUM_THREADS="2", OMP_DYNAMIC="true")
        rows = self.audit("--stack", process, variables={"PYTHONHASHSEED": "0", "OMP_SCHEDULE": "static"}, code=1)
        self.assertEqual(rows["OMP_NUM_THREADS"]["status"], "ok")
        self.assertEqual(rows["OMP_DYNAMIC"]["status"], "wrong")
        self.assertEqual(rows["PYTHONHASHSEED"]["status"], "too_late")
        # set from inside, which nobody can see from outside: the reason says so
        self.assertEqual(rows["OMP_SCHEDULE"]["status"], "too_late")
        self.assertIn("cannot be seen from outside", rows["OMP_SCHEDULE"]["reason"])
        self.assertNotIn("affinity", rows)

    def test_not_loaded_yet(self):
        """What is not loaded can still be set by the process itself, before it loads it."""
        process = self.start("libblas.so.3")
        maps = pathlib.Path(f"/proc/{process[4:]}/maps").read_text()
        if "gomp" in maps or "openblas" in maps:
            self.skipTest("this BLAS brings its own threads")
        self.assertEqual(self.audit("--stack", process, "OMP_NUM_THREADS")["OMP_NUM_THREADS"]["status"], "missing")
        self.assertNotIn("OMP_NUM_THREADS", self.audit("--stack", process))


class Proofs(Case):
    def prove(self, *words, variables=(), code=None):
        rows = self.audit(*words, "--prove", variables=variables, code=code)
        return {name: row["proof"] for name, row in rows.items() if "proof" in row}

    def test_hash_seed(self):
        proof = self.prove("PYTHONHASHSEED")["PYTHONHASHSEED"]
        self.assertEqual((proof["outcome"], proof["value"]), ("changes_verdict", "0"))
        self.assertEqual(proof["cases"], [{"case": "python/stdlib/set-order-sum", "without": "varies", "with": "repeats"}])

    def test_value_that_is_set(self):
        """Proved is the value at hand: 'random' is what holds without it."""
        proof = self.prove("PYTHONHASHSEED", variables={"PYTHONHASHSEED": "random"}, code=1)["PYTHONHASHSEED"]
        self.assertEqual((proof["outcome"], proof["value"]), ("no_effect", "random"))

    def test_no_effect(self):
        proof = self.prove("MALLOC_PERTURB_")["MALLOC_PERTURB_"]
        self.assertEqual(proof["outcome"], "no_effect")
        self.assertTrue(all(row["same_bits"] for row in proof["cases"]))
        self.assertIn("python/stdlib/list-sum", [row["case"] for row in proof["cases"]])

    def test_words(self):
        """A switch that does nothing, one that changes the verdict and one that nobody tried are told apart."""
        for name, value, words in (("MALLOC_PERTURB_", "165", r"changed nothing here \(MALLOC_PERTURB_=165\): the same bits in \d"),
                                   ("PYTHONHASHSEED", "random", r"changed nothing here \(.*\): 1 varies with and without"),
                                   ("PYTHONHASHSEED", "7", r"changes the verdict \(.*\): .*set-order-sum varies without, repeats"),
                                   ("OMP_SCHEDULE", "static", "not proven: no case leaves")):
            done = detprobe(name, "--prove", variables={name: value})
            self.assertRegex(" ".join(done.stdout.split()), words)

    def test_readme(self):
        """What README shows of it is what it prints now."""
        page = (SETTINGS.parent.parent / "README.md").read_text(encoding="utf-8")
        command, shown = re.search(r"^```\n\$ detprobe audit ([^\n]* --prove)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE).groups()
        self.assertEqual(detprobe(*shlex.split(command)).stdout, shown)

    def test_not_proven(self):
        proofs = self.prove("NCCL_*", "OMP_SCHEDULE")
        self.assertEqual({proof["outcome"] for proof in proofs.values()}, {"not_proven"})
        self.assertTrue(all(proof["reason"] and not proof["cases"] for proof in proofs.values()))

    def test_no_device(self):
        if any(pathlib.Path("/dev").glob("nvidia[0-9]*")):
            self.skipTest("there is a device")
        proof = self.prove("CUBLAS_WORKSPACE_CONFIG")["CUBLAS_WORKSPACE_CONFIG"]
        self.assertEqual(proof["outcome"], "not_proven")
        self.assertRegex(proof["reason"], "no CUDA driver|not found when detprobe was built")

    def test_isa_of_onednn(self):
        proof = self.prove("ONEDNN_MAX_CPU_ISA")["ONEDNN_MAX_CPU_ISA"]
        if proof["outcome"] == "not_proven":
            self.skipTest(proof["reason"])
        self.assertIn(proof["outcome"], ("changes_bits", "no_effect"))  # the processor may have no more than that

    @staticmethod
    def is_run(pid):
        """Whether it is the run of a proof, and not a program that says hello."""
        try:
            return b"--fail-on=never" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def test_stopped(self):
        child = subprocess.Popen([DETPROBE, "audit", "PYTHONHASHSEED", "--prove", "--json"], env=environment(),
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and child.poll() is None:
            if any(self.is_run(pid) for pid in children.read_text().split()):
                break
        child.send_signal(signal.SIGTERM)
        out, _ = child.communicate(timeout=120)
        self.assertEqual(child.returncode, 128 + signal.SIGTERM)
        proof = json.loads(out)[0]["proof"]
        self.assertEqual(proof["outcome"], "not_proven")


class OpenBlas(Case):
    """A real OpenBLAS, Debian's: its kernels and threads change bits, another processor's name is unknown."""

    @classmethod
    def setUpClass(cls):
        cls.root = fetched.debian(CACHE, "libopenblas0-pthread")
        if not cls.root:
            raise unittest.SkipTest("libopenblas0-pthread cannot be fetched")
        cls.stack = next(cls.root.glob("usr/lib/*/openblas-pthread"))

    def test_proofs(self):
        rows = self.audit("--stack", self.stack, "OPENBLAS_*", "--prove")
        kernels = rows["OPENBLAS_CORETYPE"]
        self.assertEqual(kernels["status"], "ok")
        self.assertIn("OPENBLAS_CORETYPE", self.audit("--stack", self.stack))
        set_to = self.audit("--stack", self.stack, variables={"OPENBLAS_CORETYPE": "Nehalem"})["OPENBLAS_CORETYPE"]
        self.assertEqual(set_to["status"], "ok", "it reads the variable")
        if os.uname().machine == "x86_64":
            self.assertIn(kernels["proof"]["outcome"], ("changes_bits", "no_effect"))
            self.assertEqual(kernels["proof"]["value"], "Prescott")
        self.assertNotIn("not_run", kernels["proof"])
        some = self.audit("--stack", self.stack, "OMP_NUM_THREADS", "--prove")["OMP_NUM_THREADS"]["proof"]
        self.assertNotEqual(some["outcome"], "not_proven")
        self.assertEqual({row["case"].split("/")[1] for row in some["cases"]}, {"blas", "gemm"})
        reasons = {row["case"].split("/")[1]: row["reason"] for row in some["not_run"]}
        self.assertLessEqual({"conv", "norm"}, reasons.keys())
        self.assertIn("no library for role onednn", reasons["conv"])
        other = self.audit("--stack", self.stack, "MKL_CBWR", "--prove")["MKL_CBWR"]["proof"]
        self.assertEqual((other["outcome"], other["cases"]), ("not_proven", []))
        self.assertEqual(other["reason"], "cpu/blas runs on a library that does not read it")
        threads = rows["OPENBLAS_NUM_THREADS"]["proof"]
        if len(os.sched_getaffinity(0)) > 1:
            self.assertEqual(threads["outcome"], "changes_bits")
        else:
            self.assertEqual(threads["outcome"], "no_effect")


class Known(unittest.TestCase):
    """settings.json by its schema, and that what it names is there."""

    def test_schema(self):
        schema = json.loads((SETTINGS / "settings.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft202012Validator(schema).validate(KNOWN)

    def test_references(self):
        names = [row["name"] for row in KNOWN["settings"]]
        self.assertEqual(len(names), len(set(names)))
        for row in KNOWN["settings"]:
            self.assertIn(row["source"], KNOWN["sources"])
            self.assertIn(row.get("reader", "nobody"), KNOWN["readers"])
        self.assertEqual({row["source"] for row in KNOWN["settings"]}, KNOWN["sources"].keys(), "a source for nothing")

    def test_cases_of_proofs(self):
        """A case that sets the variable itself cannot show what it changes."""
        for row in KNOWN["settings"]:
            for selector in row.get("prove", {"cases": []})["cases"]:
                listed = subprocess.run([DETPROBE, "list", selector, "--json"], env=environment(), capture_output=True,
                                        text=True, timeout=60, check=False)
                self.assertEqual(listed.returncode, 0, listed.stderr)
                own = [case["id"] for case in json.loads(listed.stdout) if row["name"] in case.get("environment", {})]
                self.assertEqual(own, [], row["name"])


if __name__ == "__main__":
    result = unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2, exit=False).result
    skipped = result.testsRun == 0 and bool(result.skipped)
    sys.exit(fetched.SKIP if skipped else 0 if result.wasSuccessful() else 1)
