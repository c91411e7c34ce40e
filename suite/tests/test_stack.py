# SPDX-License-Identifier: Apache-2.0
"""`--stack`: every role is one file inside the stack or missing, and a program that takes another is no verdict.

usage: test_stack.py DETPROBE SCHEMA_FOLDER [TEST...]
A probe that reports what it was given stands for those that open libraries; the real BLAS program, where it is
built, shows that the kit obeys.
"""

import ctypes.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import surroundings

DETPROBE, SCHEMAS = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
REPORT_SCHEMA = json.loads((SCHEMAS / "report.schema.json").read_text())
GEMM = "cpu/gemm/sgemm-nn-16x16x16"

# Says hello with a library for each role that it was told the file of, and with those of TELLS.
PROGRAM = """
import json, os, sys
prefix = "DETPROBE_LIB_"
given = {name[len(prefix):].lower(): value for name, value in os.environ.items() if name.startswith(prefix)}
given.update(json.loads(os.environ.get("TELLS", "{}")))
libraries = [{"role": role, "name": "lib" + role, "version": "1", "path": path} for role, path in sorted(given.items())]
libraries.append({"role": "python", "name": "CPython", "version": "3", "path": os.path.realpath(sys.executable),
                  "config": sys.prefix + " " + os.environ.get("LD_LIBRARY_PATH", "")})
out = os.fdopen(int(os.environ["DETPROBE_OUT_FD"]), "w")
def send(**message):
    print(json.dumps(message), file=out, flush=True)
send(type="hello", program="tells", protocol=1, axes=[], libraries=libraries)
for line in os.fdopen(int(os.environ["DETPROBE_IN_FD"])):
    request = json.loads(line)
    classes = [{"sha256": "0" * 64, "runs": request["runs"], "first_run": 0}]
    output = {"name": "c", "dtype": "f32", "shape": [1], "classes": classes}
    send(type="observation", id=request["id"], outputs=[output])
    send(type="done", id=request["id"])
"""
CATALOGUE = {"schema_version": "1.0", "program": "tells.py", "defaults": {"op": "x"},
             "cases": [{"id": "tells/x/one"}, {"id": "tells/x/two"}]}


def detprobe(*arguments, environment=None, **options):
    variables = surroundings.real()
    variables.update(environment or {})
    return subprocess.run([DETPROBE, *map(str, arguments)], env=variables, capture_output=True, text=True,
                          timeout=300, check=False, **options)


def system_blas():
    """The file that role cblas has here without a stack, or None."""
    for line in detprobe("run", GEMM, "--level", "quick", "--axis", "repeat", "--json").stdout.splitlines():
        if '"path": ' in line and "blas" in line:
            return pathlib.Path(line.split('"')[3])
    return None


BLAS = system_blas()


class Case(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.folder = pathlib.Path(self.scratch.name).resolve()
        self.file = self.folder / "report.json"
        self.probes = self.folder / "probes"
        self.probes.mkdir()
        (self.probes / "tells.py").write_text(PROGRAM)
        (self.probes / "tells.json").write_text(json.dumps(CATALOGUE))

    def tearDown(self):
        self.scratch.cleanup()

    def make(self, *files, root="stack"):
        """A stack with these files, each of some bytes; with python if a name says so."""
        top = self.folder / root
        for name in files:
            path = top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.name == "python":
                path.symlink_to(sys.executable)
            else:
                path.write_bytes(b"no library \0cblas_sgemm\0" if "openblas" in name else b"no library")
        return top

    def run_cases(self, code, *arguments, environment=None):
        variables = {"DETPROBE_PROBE_PATH": str(self.probes), **(environment or {})}
        done = detprobe("run", "--level", "quick", "--axis", "repeat", "-o", self.file, *arguments,
                        environment=variables)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.text = done.stdout
        report = json.loads(self.file.read_text())
        jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(report)
        self.assertEqual(detprobe("validate", self.file).returncode, 0)
        return report

    def roles(self, report):
        found = report["body"]["environment"]["stack"]["roles"]
        return {role: path for role, path in found.items() if path}

    def refused(self, stack, code, *words, **options):
        for command in (["run", "tells/*"], ["doctor"]):
            done = detprobe(*command, "--stack", stack, **options)
            self.assertEqual(done.returncode, code, done.stdout + done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            self.assertEqual(done.stdout, "")
            for word in words:
                self.assertIn(word, done.stderr)


class Resolving(Case):
    def test_virtual_environment(self):
        """Wheels of CUDA 12: a folder for each library."""
        site = "lib/python3.11/site-packages/"
        stack = self.make("pyvenv.cfg", "bin/python", site + "nvidia/cublas/lib/libcublas.so.12",
                          site + "nvidia/cublas/lib/libcublasLt.so.12", site + "nvidia/cudnn/lib/libcudnn.so.9",
                          site + "nvidia/cuda_nvrtc/lib/libnvrtc.so.12", site + "numpy.libs/libscipy_openblas64_-ff65.so",
                          site + "scipy.libs/libgomp-a34b3233.so.1.0.0", "lib/libcublas.so.12")
        report = self.run_cases(0, "tells/*", "--stack", stack)
        wheels = stack / site
        self.assertEqual(self.roles(report), {
            "cublas": f"{wheels}/nvidia/cublas/lib/libcublas.so.12",
            "cublaslt": f"{wheels}/nvidia/cublas/lib/libcublasLt.so.12",
            "cudnn": f"{wheels}/nvidia/cudnn/lib/libcudnn.so.9",
            "nvrtc": f"{wheels}/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
            "cblas": f"{wheels}/numpy.libs/libscipy_openblas64_-ff65.so",
            "lapack": f"{wheels}/numpy.libs/libscipy_openblas64_-ff65.so",
            "openmp": f"{wheels}/scipy.libs/libgomp-a34b3233.so.1.0.0"})
        environment = report["body"]["environment"]
        self.assertEqual((environment["stack"]["kind"], environment["stack"]["path"]), ("venv", str(stack)))
        self.assertIsNone(environment["stack"]["roles"]["onednn"])
        libraries = {row["role"]: row for row in environment["libraries"]}
        self.assertEqual(libraries["cudnn"]["path"], f"{wheels}/nvidia/cudnn/lib/libcudnn.so.9")
        prefix, _, search = libraries["python"]["config"].partition(" ")
        self.assertEqual(prefix, str(stack), "its own interpreter runs Python programs")
        for part in ("cublas", "cudnn", "cuda_nvrtc"):
            self.assertIn(f"{wheels}/nvidia/{part}/lib", search.split(":"))
        self.assertTrue(self.text.startswith(f"stack     venv {stack}\nmeasured "), self.text)

    def test_wheels_of_cuda_13(self):
        stack = self.make("bin/python", *(f"lib/python3.12/site-packages/nvidia/cu13/lib/lib{name}.so.13"
                                          for name in ("cublas", "cublasLt", "nvrtc")))
        report = self.run_cases(0, "tells/*", "--stack", stack)
        self.assertEqual(sorted(self.roles(report)), ["cublas", "cublaslt", "nvrtc"])
        self.assertEqual(report["body"]["environment"]["stack"]["kind"], "prefix")

    def test_prefix(self):
        stack = self.make("lib64/libnvrtc.so.12", "lib/libnvrtc.so.13", "lib/x86_64-linux-gnu/libdnnl.so.2",
                          "lib/libblas.so.3", "lib/libopenblas.so.0", "libcudnn.so.8", "bin/python")
        report = self.run_cases(0, "tells/*", "--stack", stack)
        self.assertEqual(self.roles(report), {
            "nvrtc": f"{stack}/lib/libnvrtc.so.13", "onednn": f"{stack}/lib/x86_64-linux-gnu/libdnnl.so.2",
            "cblas": f"{stack}/lib/libopenblas.so.0", "cudnn": f"{stack}/./libcudnn.so.8",
            "lapack": f"{stack}/lib/libopenblas.so.0"})

    def test_library_with_the_symbol_goes_first(self):
        """Whatever stands around its name in a wheel; only the Fortran half of a BLAS is in the others."""
        for symbol in ("scipy_cblas_sgemm64_", "scipy_cblas_sgemm", "cblas_sgemm64_"):
            stack = self.make("lib/libblas.so.3", "lib/libmkl_rt.so.3", "bin/python", root=symbol)
            wheel = stack / "lib" / "libfoo_openblas-1.so"
            wheel.write_bytes(b"no library \0" + symbol.encode() + b"\0")
            self.assertEqual(self.roles(self.run_cases(0, "tells/*", "--stack", stack))["cblas"], str(wheel))
            wheel.write_bytes(b"no library \0" + symbol.encode() + b"x\0")
            self.assertEqual(self.roles(self.run_cases(0, "tells/*", "--stack", stack))["cblas"],
                             f"{stack}/lib/libblas.so.3")

    def test_mkl_before_other_wheels(self):
        stack = self.make("bin/python", "lib/python3.11/site-packages/numpy.libs/libscipy_openblas64_-ff65.so")
        (stack / "lib" / "libmkl_rt.so.3").write_bytes(b"\0cblas_sgemm\0")
        self.assertEqual(self.roles(self.run_cases(0, "tells/*", "--stack", stack)),
                         dict.fromkeys(("cblas", "lapack"), f"{stack}/lib/libmkl_rt.so.3"))

    def test_name_with_wildcards_and_blanks(self):
        stack = self.make("lib/libnvrtc.so.13", "bin/python", root="a [b]*? c")
        self.make("lib/libcublas.so.13", root="a bxy c")
        report = self.run_cases(0, "tells/*", "--stack", stack)
        self.assertEqual(list(self.roles(report)), ["nvrtc"])

    def test_one_digest(self):
        stack = self.make("lib/libnvrtc.so.13", "bin/python")
        first = self.run_cases(0, "tells/*", "--stack", stack)
        second = self.run_cases(0, "tells/*", "--stack", os.path.relpath(stack))
        self.assertEqual(first["digest"], second["digest"])
        plain = self.run_cases(0, "tells/*")
        self.assertNotIn("stack", plain["body"]["environment"])
        self.assertNotEqual(first["digest"], plain["digest"])

    def test_resume(self):
        """The log names the stack; another word for it is not asked for."""
        stack = self.make("lib/libnvrtc.so.13", "bin/python")
        whole = self.run_cases(0, "tells/*", "--stack", stack)
        log = self.folder / "report.json.log.jsonl"
        log.write_text("".join(log.read_text().splitlines(keepends=True)[:2]))
        done = detprobe("run", "--resume", log, environment={"DETPROBE_PROBE_PATH": str(self.probes)})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(self.file.read_text())["digest"], whole["digest"])
        done = detprobe("run", "--resume", log, "--stack", stack)
        self.assertEqual(done.returncode, 64, done.stderr)


class Fitting(Case):
    def test_library_from_elsewhere(self):
        stack = self.make("lib/libcublas.so.13", "bin/python")
        tells = {"TELLS": json.dumps({"cublas": "/usr/lib/libcublas.so.13"})}
        for arguments in (["tells/*", "--stack", stack], ["--resume", self.folder / "report.json.log.jsonl"]):
            done = detprobe("run", *(["--axis", "repeat", "-o", self.file] if arguments[0] == "tells/*" else []),
                            *arguments, environment={"DETPROBE_PROBE_PATH": str(self.probes), **tells})
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            report = json.loads(self.file.read_text())
            jsonschema.Draft202012Validator(REPORT_SCHEMA).validate(report)
            for row in report["body"]["results"]:
                self.assertEqual((row["observed"], row["reason"]), ("error", "stack"))
            self.assertEqual(report["measurements"]["exit"]["reason"], "a program did not use the stack")
            self.assertIn("\nno valid verdict, a program did not use the stack; 2 operations", done.stdout)
            self.assertIn(f"the program took '/usr/lib/libcublas.so.13' for role cublas, the stack has "
                          f"'{stack}/lib/libcublas.so.13'", json.dumps(report))
        done = detprobe("doctor", "--stack", stack, environment={"DETPROBE_PROBE_PATH": str(self.probes), **tells})
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn("the program took '/usr/lib/libcublas.so.13'", done.stdout)

    def test_doctor_has_a_line_for_each_library(self):
        tells = {"TELLS": json.dumps({"cublas": "/a/libcublas.so.13", "cudnn": "/a/libcudnn.so.9"})}
        done = detprobe("doctor", environment={"DETPROBE_PROBE_PATH": str(self.probes), **tells})
        lines = [line[11:] for line in done.stdout.splitlines() if line[:11].strip() in ("libraries", "")]
        self.assertIn("libcublas 1 /a/libcublas.so.13", lines)
        self.assertIn("libcudnn 1 /a/libcudnn.so.9", lines)
        self.assertEqual(done.stdout.splitlines()[-1], "next       detprobe run --all --level quick -o report.json")

    def test_doctor_leaves_out_what_controls_link(self):
        """A control runs whatever the stack is, so its libraries are none that would be measured."""
        stack = self.make("lib/libcublas.so.13", "bin/python")
        control = {**CATALOGUE, "program": "control.py", "cases": [
            {"id": "tells/control/x", "tags": ["control"], "expected": {"observed": "repeats", "axis": "repeat"}}]}
        (self.probes / "control.py").write_text(PROGRAM)
        (self.probes / "control.json").write_text(json.dumps(control))
        done = detprobe("doctor", "--stack", stack, environment={
            "DETPROBE_PROBE_PATH": str(self.probes), "TELLS": '{"mpi": "/usr/lib/libmpi.so.40"}'})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("libmpi 1", done.stdout)
        lines = done.stdout.splitlines()
        self.assertRegex(lines[-1], "^next .* with the same --stack$")
        self.assertTrue(any(line.startswith(("missing    ", " " * 11)) and
                            line.endswith(f"probes/tells: the stack '{stack}' has no library for role mpi")
                            for line in lines), lines)

    def test_library_inside_by_another_name(self):
        """What a library has behind it, and a link out of the folder, are the stack's."""
        stack = self.make("lib/libcublas.so.13", "lib/behind/libblas.so", "bin/python")
        outside = self.make("libcudnn.so.9.1.0", root="store") / "libcudnn.so.9.1.0"
        (stack / "lib" / "libcudnn.so.9").symlink_to(outside)
        self.run_cases(0, "tells/*", "--stack", stack, environment={"TELLS": json.dumps(
            {"cublas": f"{stack}/lib/behind/libblas.so", "cudnn": str(outside)})})

    def test_driver_is_the_machines(self):
        stack = self.make("lib/libcublas.so.13", "bin/python")
        self.run_cases(0, "tells/*", "--stack", stack, environment={"TELLS": '{"cuda": "/usr/lib/libcuda.so.1"}'})

    def test_role_that_the_stack_lacks(self):
        stack = self.make("lib/libcublas.so.13", "bin/python")
        for role, path in (("cudnn", "/usr/lib/libcudnn.so.9"), ("openmp", "/usr/lib/libgomp.so.1"), ("x", "/usr/lib/x")):
            report = self.run_cases(77, "tells/*", "--stack", stack, environment={"TELLS": json.dumps({role: path})})
            for row in report["body"]["results"]:
                self.assertEqual((row["observed"], row["reason"], row["text"]),
                                 ("skipped", "library_missing", f"the stack '{stack}' has no library for role {role}"))

    def test_the_c_library_is_the_loaders(self):
        stack = self.make("lib/libm.so.6", "bin/python")
        for role in ("libm", "libmvec"):
            self.run_cases(0, "tells/*", "--stack", stack, environment={"TELLS": f'{{"{role}": "/usr/lib/lib.so"}}'})

    def test_other_major_than_the_program_is_linked_to(self):
        stack = self.make("lib/libdnnl.so.3", "bin/python")
        report = self.run_cases(77, "tells/*", "--stack", stack,
                                environment={"TELLS": '{"onednn": "/usr/lib/libdnnl.so.2.6"}'})
        self.assertEqual(report["body"]["results"][0]["text"],
                         f"the stack has '{stack}/lib/libdnnl.so.3' for role onednn, this build takes libdnnl.so.2")
        self.run_cases(2, "tells/*", "--stack", stack, environment={"TELLS": '{"onednn": "/usr/lib/libdnnl.so.3.4"}'})

    def test_python_that_the_stack_lacks(self):
        report = self.run_cases(77, "tells/*", "--stack", self.make("lib/libcublas.so.13"))
        self.assertIn("has no library for role python", report["body"]["results"][0]["text"])

    @unittest.skipUnless(BLAS, "no CBLAS here")
    def test_real_program(self):
        """The kit opens the stack's file, never the system's."""
        lacking = self.make("lib/libcublas.so.13", root="lacking")
        report = self.run_cases(77, GEMM, "--stack", lacking)
        self.assertIn(f"the stack '{lacking}' has no library for role cblas", report["body"]["results"][0]["text"])
        prefixed = self.make("lib/libcublas.so.13", root="prefixed")
        libm = next(pathlib.Path(line.split()[-1]) for line in pathlib.Path("/proc/self/maps").read_text().splitlines()
                    if "/libm.so.6" in line or "/libm-" in line)
        shutil.copy(libm, prefixed / "lib" / "libscipy_openblas64_-ff65.so")
        report = self.run_cases(77, GEMM, "--stack", prefixed)
        self.assertIn("does not export cblas_sgemm", report["body"]["results"][0]["text"])
        linked = [row["id"] for row in json.loads(detprobe("list", "--json", "cpu/conv/*", "cpu/atomics/*").stdout)
                  if row["program"]["state"] == "ready"]
        if linked:
            report = self.run_cases(77, *linked[::20], "--stack", lacking)
            for row in report["body"]["results"]:
                self.assertIn(f"the stack '{lacking}' has no library for role", row["text"])
        own = self.folder / "own"
        (own / "lib").mkdir(parents=True)
        shutil.copy(BLAS, own / "lib" / "libblas.so.3")
        report = self.run_cases(0, GEMM, "--stack", own)
        paths = [row["path"] for row in report["body"]["environment"]["libraries"] if row["role"] == "cblas"]
        self.assertEqual(paths, [f"{own}/lib/libblas.so.3"])
        self.assertTrue(all(row["behaved"] for row in report["body"]["controls"]), "what they link is not under test")
        self.assertIn(str(own), self.text.splitlines()[0])


class Processes(Case):
    """pid:N, a job that runs."""

    def start(self, library, *arguments, interpreter=sys.executable):
        code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); print('loaded', flush=True); sys.stdin.read()"
        process = subprocess.Popen([interpreter, "-c", code, str(library), *arguments], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "loaded\n")
        self.addCleanup(process.wait)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        return process

    @unittest.skipUnless(BLAS, "no CBLAS here")
    def test_its_library_is_measured(self):
        copy = self.folder / "libopenblas.so.0.3.21"
        shutil.copy(BLAS, copy)
        process = self.start(copy)
        lacked = {"TELLS": '{"cudnn": "/usr/lib/libcudnn.so.9"}'}
        report = self.run_cases(0, GEMM, "tells/*", "--stack", f"pid:{process.pid}", environment=lacked)
        stack = report["body"]["environment"]["stack"]
        self.assertEqual((stack["kind"], stack["path"]), ("process", os.path.realpath(sys.executable)))
        self.assertEqual(stack["roles"]["cblas"], str(copy))
        self.assertIsNone(stack["roles"]["cublas"])
        paths = [row["path"] for row in report["body"]["environment"]["libraries"] if row["role"] == "cblas"]
        self.assertEqual(set(paths), {str(copy)})
        other = self.start(copy)
        again = self.run_cases(0, GEMM, "tells/*", "--stack", f"pid:{other.pid}", environment=lacked)
        self.assertEqual(again["digest"], report["digest"], "which process it was is no part of the stack")
        copy.unlink()
        self.refused(f"pid:{process.pid}", 65, f"'{copy}' was deleted since process {process.pid} loaded it")

    @unittest.skipUnless(BLAS, "no CBLAS here")
    def test_a_path_that_cannot_be_passed_on(self):
        folder = self.folder / "c:d"
        folder.mkdir()
        copy = folder / "libopenblas.so.0.3.21"  # not the name that BLAS itself may need from beside it
        shutil.copy(BLAS, copy)
        self.refused(f"pid:{self.start(copy).pid}", 65, "has a colon")

    def test_a_program_that_is_gone(self):
        program = self.folder / "sleeps"
        shutil.copy(shutil.which("sleep"), program)
        with subprocess.Popen([program, "60"]) as process:
            program.unlink()
            self.refused(f"pid:{process.pid}", 65, "is not there any more")
            process.kill()

    def test_its_virtual_environment_runs_programs(self):
        venv = self.folder / "venv"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        process = self.start(ctypes.util.find_library("c"), interpreter=venv / "bin" / "python")
        report = self.run_cases(0, "tells/*", "--stack", f"pid:{process.pid}")
        config = next(row["config"] for row in report["body"]["environment"]["libraries"] if row["role"] == "python")
        self.assertEqual(config.split()[0], str(venv))

    def test_bad_processes(self):
        for word in ("pid:", "pid:x", "pid:-1", "pid:0", "pid:1x", "pid:99999999999"):
            self.refused(word, 64, word)
        process = self.start(ctypes.util.find_library("c"))
        process.stdin.close()
        process.wait()
        self.refused(f"pid:{process.pid}", 65, f"cannot open stack 'pid:{process.pid}': no such process")

    @unittest.skipUnless(os.geteuid() == 0, "another user's process needs another user")
    def test_process_of_somebody_else(self):
        self.refused(f"pid:{os.getpid()}", 65, "permission denied", "owner", user=65534)


class BadInput(Case):
    def test_folders(self):
        self.refused("", 64, "'--stack'")
        self.refused(self.folder / "absent", 65, "absent': no such file or directory")
        self.refused(self.file.parent / "probes" / "tells.py", 65, "tells.py' is not a folder")
        empty = self.folder / "empty"
        empty.mkdir()
        self.refused(empty, 65, "holds no library")
        colon = self.make("lib/libcublas.so.13", root="a:b")
        self.refused(colon, 65, "colon")
        strange = self.make("lib/libcublas.so.13", root="a\x1b[31m")
        self.refused(strange, 65, "colon")

    @unittest.skipUnless(os.geteuid() == 0, "only another user is refused")
    def test_folder_of_somebody_else(self):
        stack = self.make("lib/libcublas.so.13")
        self.folder.chmod(0o755)
        stack.chmod(0o700)
        self.refused(stack, 65, "permission denied", user=65534)

    def test_library_named_beside_a_stack(self):
        stack = self.make("lib/libcublas.so.13")
        self.refused(stack, 64, "'--stack' and the variable 'DETPROBE_LIB_CUBLAS' exclude each other",
                     environment={"DETPROBE_LIB_CUBLAS": "/usr/lib/libcublas.so.13"})

    def test_variable_of_no_role(self):
        """But of programs of the user's own nobody knows the roles."""
        own = self.folder / "own"
        own.mkdir()
        for name, words in (("CBLA", "did you mean 'DETPROBE_LIB_CBLAS'?"), ("WORD_OF_MINE", "there are CUDA, ")):
            for command in (["doctor"], ["audit"], ["run", "python/stdlib/*", "--dry-run"]):
                environment = {f"DETPROBE_LIB_{name}": "/x"}
                done = detprobe(*command, environment=environment)
                self.assertEqual((done.returncode, done.stdout), (64, ""), done.stderr)
                self.assertIn(f"variable 'DETPROBE_LIB_{name}' names no role, {words}", done.stderr)
            environment["DETPROBE_PROBE_PATH"] = str(own)
            done = detprobe("run", "python/stdlib/*", "--dry-run", environment=environment)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_variables_in_the_report(self):
        """The user's and no stack's, and cut where a report would be invalid."""
        case, name = "python/stdlib/list-sum", "DETPROBE_LIB_CUDNN"
        options = ("--level", "quick", "--axis", "repeat", "--allow-insensitive", "--json")
        long = "glibc.malloc.check=0:" + "x" * 110000
        done = detprobe("run", case, *options, environment={name: "/x y", "GLIBC_TUNABLES": long})
        self.assertEqual(done.returncode, 0, done.stderr)
        variables = json.loads(done.stdout)["body"]["environment"]["variables"]
        self.assertEqual(variables[name], "/x y")
        self.assertRegex(variables["GLIBC_TUNABLES"], f"^.{{32768}} \\(cut, {len(long)} bytes, sha256 [0-9a-f]{{64}}\\)$")
        self.file.write_text(done.stdout)
        self.assertIn(f"{name}='/x y' ", detprobe("show", self.file, "--format", "html").stdout)
        stack = self.make("lib/libcudnn.so.9", "bin/python")
        (stack / "bin/python").unlink()
        (stack / "bin/python").symlink_to(sys.executable)
        done = detprobe("run", case, *options, "--stack", stack)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(name, json.loads(done.stdout)["body"]["environment"]["variables"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
