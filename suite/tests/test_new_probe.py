# SPDX-License-Identifier: Apache-2.0
"""`detprobe new-probe`: what it makes works as it is, wherever detprobe was put; what cannot be made leaves nothing.

usage: test_new_probe.py DETPROBE SCHEMA_FOLDER BUILD_ROOT [TEST...]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

DETPROBE, SCHEMAS, BUILD = (pathlib.Path(path).resolve() for path in sys.argv[1:4])
REPORT = jsonschema.Draft202012Validator(json.loads((SCHEMAS / "report.schema.json").read_text()))
NOBODY = 65534
# No compiler of the build's: what a user's machine has.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not re.match(r"DETPROBE_|CC$|CFLAGS$|LDFLAGS$|PYTHONHASHSEED$|OMP_", name)}
# A probe in C++, which has no designated initialisers for arrays.
CPP = r"""
#include "op.h"

static int describe(const kit_params *params, kit_shape *ret)
{
    int64_t n;
    if (kit_param_int(params, "n", &n)) {
        return KIT_FAILED;
    }
    ret->count = 2;
    for (int i = 0; i < 2; i++) {
        kit_operand &operand = ret->operand[i];
        operand.name = i ? "y" : "x";
        operand.role = i ? KIT_OUT : KIT_IN;
        operand.dtype = KIT_F64;
        operand.ndim = 1;
        operand.shape[0] = i ? 1 : n;
        operand.batch_dim = -1;
    }
    return KIT_OK;
}

static int run(kit_call *call, const kit_buffers *buffers)
{
    const double *x = static_cast<const double *>(buffers->data[0]);
    double &y = *static_cast<double *>(buffers->data[1]);
    y = 0;
    for (int64_t i = 0; i < call->shape->operand[0].shape[0]; i++) {
        y += x[i];
    }
    return KIT_OK;
}

int main()
{
    static op sum = op();
    sum.name = "sum";
    sum.describe = describe;
    sum.run = run;
    static const op *const ops[] = {&sum, nullptr};
    static kit_program program = kit_program();
    program.name = "loop";
    program.backend = "cpu";
    program.ops = ops;
    return kit_main(&program);
}
"""


class Case(unittest.TestCase):
    program = DETPROBE

    def setUp(self):
        self.holder = tempfile.TemporaryDirectory(prefix="detprobe test it's ")
        self.addCleanup(self.holder.cleanup)
        self.folder = pathlib.Path(self.holder.name)

    def shell(self, command, expect=0, **variables):
        path = f"{self.program.parent}:{ENVIRONMENT['PATH']}"
        done = subprocess.run(["sh", "-c", command], cwd=self.folder, env={**ENVIRONMENT, "PATH": path, **variables},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def make(self, name, *options):
        """The commands that `new-probe` prints."""
        done = self.shell(f"detprobe new-probe {name} {' '.join(options)}")
        self.assertEqual(done.stderr, "")
        return re.findall(r"^  (.*)$", done.stdout, re.M)

    def follow(self, commands):
        """{case: result} of a quick run, by the last of the printed commands."""
        for command in commands[:-1]:
            self.assertEqual(self.shell(command).stderr, "")  # no warning
        self.shell(commands[-1] + " --level quick -o report.json")
        report = json.loads((self.folder / "report.json").read_text())
        REPORT.validate(report)
        self.assertEqual({control["behaved"] for control in report["body"]["controls"]}, {True})
        return {result["case"]: result for result in report["body"]["results"]}

    def refused(self, command, code, *words):
        """In one line, and nothing is there that was not there before."""
        before = sorted(self.folder.rglob("*"))
        done = self.shell(command, expect=code)
        self.assertEqual((done.stdout, len(done.stderr.splitlines())), ("", 1), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


class Works(Case):
    """As it is made: one form varies, its counterpart repeats, nothing is promised for either."""

    def verdicts(self, results):
        self.assertEqual({result["guarantee"]["level"] for result in results.values()}, {"unstated"})
        return {case.rpartition("/")[2]: (r["observed"], r["guarantee"]["status"], r["checked"])
                for case, r in results.items()}

    def test_python(self):
        results = self.follow(self.make("mine"))
        self.assertEqual(self.verdicts(results), {"sum-of-set": ("varies", "none", "bits"),
                                                  "sum-of-sorted": ("repeats", "none", "bits")})
        self.assertEqual({case.rpartition("/")[0] for case in results}, {"python/mine"})

    def test_c(self):
        results = self.follow(self.make("loop", "--lang c"))
        self.assertEqual(self.verdicts(results), {"sum-on-arrival": ("varies", "none", "full"),
                                                  "sum-in-order": ("repeats", "none", "full")})
        self.assertEqual(results["cpu/loop/sum-in-order"]["sensitive_to"], [])
        self.assertEqual({case.rpartition("/")[0] for case in results}, {"cpu/loop"})

    def test_where_it_is_wanted(self):
        """Also where a shell and make would take the name apart, and under the name of a module."""
        commands = self.make("struct", "--lang=python", "-o 'a b$c'")
        self.assertIn("'a b$c'", commands[-1])
        self.assertEqual(len(self.follow(commands)), 2)
        self.assertEqual(len(self.follow(self.make("9-lives", "--lang c", "--output \"it's\""))), 2)

    def test_catalogue_files_are_valid(self):
        self.make("mine")
        self.make("loop", "--lang c")
        done = self.shell("detprobe validate mine/mine.json loop/loop.json")
        self.assertEqual(done.stdout.count("is a valid catalogue file"), 2)
        for name in ("mine", "loop"):
            self.assertFalse([line for line in (self.folder / name / f"{name}.json").read_text().splitlines()
                              if "@NAME@" in line])


class Installed(Works):
    """The same from where `meson install` puts it."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which("meson"):
            raise unittest.SkipTest("meson is not installed")
        holder = tempfile.TemporaryDirectory(prefix="detprobe installed ")
        cls.addClassCleanup(holder.cleanup)
        subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--destdir", holder.name],
                       check=True, capture_output=True)
        (cls.program,) = pathlib.Path(holder.name).rglob("bin/detprobe")


class Refused(Case):
    def test_names(self):
        for name in ("..", "a/b", "", "Mine", "my_probe", "-x", "é", "a b", "x" * 61, "a\nb", "@NAME@"):
            with self.subTest(name):
                self.refused(f"detprobe new-probe -- '{name}'", 64, "bad name '")
        self.make("x" * 60)

    def test_families(self):
        for name in ("gemm", "stdlib", "control"):
            for language in ("c", "python"):
                self.refused(f"detprobe new-probe {name} --lang {language}", 64, f"'{name}' is a family of the built-in")

    def test_usage(self):
        self.refused("detprobe new-probe", 64, "no name")
        self.refused("detprobe new-probe one two", 64, "more than one name")
        self.refused("detprobe new-probe one --lang fortran", 64, "'fortran'", "c|python")

    def test_what_is_there(self):
        for make in ("mkdir mine", "touch mine", "ln -s nowhere mine", "mkdir mine; touch mine/mine.json"):
            self.shell(make)
            self.refused("detprobe new-probe mine", 64, "'mine' exists", "-o FOLDER")
            self.shell("rm -r mine")
        self.refused("detprobe new-probe mine -o .", 64, "'.' exists")

    def test_folders_that_the_variable_cannot_hold(self):
        for word in ("a:b", """ "$(printf 'a\\nb')" """, "''"):
            self.refused(f"detprobe new-probe mine -o {word}", 64, "bad folder '", "DETPROBE_PROBE_PATH")

    def test_nowhere(self):
        self.refused("detprobe new-probe mine -o no/where", 2, "'no/where': no such file or directory")
        self.refused("detprobe new-probe mine -o /dev/null/x", 2, "'/dev/null/x': not a directory")

    def test_read_only(self):
        (self.folder / "shut").mkdir(mode=0o555)
        command = "detprobe new-probe mine -o shut/mine"
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            command = f"setpriv --reuid={NOBODY} --clear-groups {command}"
            if subprocess.run(["setpriv", f"--reuid={NOBODY}", "--clear-groups", DETPROBE, "--version"],
                              capture_output=True).returncode != 0:
                self.skipTest("another user cannot start detprobe here")
        self.refused(command, 2, "cannot make folder 'shut/mine': permission denied")

    def test_full_disk(self):
        """At each file in turn: nothing is left of those before it."""
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no file system can be mounted here")
        (self.folder / "small").mkdir()
        kept = 0
        for size in range(4, 41, 4):
            done = self.shell(
                f"unshare -m sh -c 'mount -t tmpfs -o size={size}k,nr_inodes=64 tmpfs small && cd small && "
                "{ detprobe new-probe mine; echo $?; ls -A; }'")
            lines = done.stdout.splitlines()
            if lines[-1] == "mine":
                kept += 1
                self.assertIn("0", lines)
            else:
                self.assertEqual(lines, ["2"])
                self.assertRegex(done.stderr, r"^detprobe: cannot write 'mine/.*': no space left on device\n$")
        self.assertIn(kept, range(1, 9))


class Objects(Case):
    """A program that is a shared object, when it is not as it should be."""

    def setUp(self):
        super().setUp()
        self.commands = self.make("loop", "--lang c")

    def build(self, text, **flags):
        (self.folder / "loop/loop.c").write_text(text)
        self.shell("make -C loop " + " ".join(f"{name}='{value}'" for name, value in flags.items()))

    def run_quick(self, expect):
        done = self.shell(self.commands[-1] + " --level quick -o report.json", expect=expect)
        report = json.loads((self.folder / "report.json").read_text())
        REPORT.validate(report)
        return done, {(r["observed"], r.get("reason")) for r in report["body"]["results"]}

    def test_not_built(self):
        self.refused(self.commands[-1], 65, "program 'loop.so' is not in", "build it first")

    def test_without_a_compiler(self):
        done = self.shell(self.commands[0] + " CC=no-such-compiler", expect=2)
        self.assertIn("no-such-compiler", done.stderr)

    def test_a_function_that_is_not_there(self):
        """Linking would not miss it: the kit is somewhere else."""
        source = (self.folder / "loop/loop.c").read_text()
        (self.folder / "loop/loop.c").write_text(source.replace("kit_param_word(", "kit_parm_word("))
        self.assertIn("kit_parm_word", self.shell(self.commands[0], expect=2).stderr)
        self.assertFalse((self.folder / "loop/loop.so").exists())

    def test_another_interface(self):
        header = self.folder / "loop/op.h"
        text = header.read_text()
        header.write_text(text.replace("#define KIT_INTERFACE 3\n", "#define KIT_INTERFACE 7\n"))
        self.assertNotEqual(header.read_text(), text)
        self.shell(self.commands[0])
        done, results = self.run_quick(2)
        self.assertEqual({observed for observed, _ in results}, {"error"})
        self.assertIn("op.h of interface 7, this detprobe has 3", done.stdout)

    def test_no_main(self):
        self.build("int none;\n")
        done, results = self.run_quick(2)
        self.assertEqual({observed for observed, _ in results}, {"error"})
        self.assertIn("has no function 'main'", done.stdout)

    def test_a_library_that_is_missing(self):
        """As the loader ends an executable: skipped, and its words say which."""
        source = (self.folder / "loop/loop.c").read_text()
        (self.folder / "gone.c").write_text("int gone(void) { return 0; }\n")
        self.shell("cc -shared -fPIC -o loop/libgone.so gone.c -Wl,-soname,libgone.so.1")
        self.build(source.replace("int main(void)\n{", "int gone(void);\nint main(void)\n{\n    gone();"),
                   LDLIBS="./libgone.so")
        done, results = self.run_quick(77)
        self.assertEqual(results, {("skipped", "library_missing")})
        self.assertIn("libgone.so.1", done.stdout)

    def test_not_an_object(self):
        (self.folder / "loop/loop.so").write_text("words\n")
        done, results = self.run_quick(77)
        self.assertEqual(results, {("skipped", "library_missing")})
        self.assertIn("loop.so", done.stdout)

    def test_in_cpp(self):
        if not shutil.which("c++"):
            self.skipTest("c++ is not installed")
        (self.folder / "loop/loop.cpp").write_text(CPP)
        done = self.shell("c++ -O2 -Wall -Wextra -Wno-unused-parameter -fPIC -shared -o loop/loop.so loop/loop.cpp")
        self.assertEqual(done.stderr, "")
        catalogue = json.loads((self.folder / "loop/loop.json").read_text())
        catalogue["cases"] = [{"id": "cpu/loop/sum-of-1000", "params": {"n": 1000}}]
        (self.folder / "loop/loop.json").write_text(json.dumps(catalogue))
        _, results = self.run_quick(0)
        self.assertEqual(results, {("repeats", None)})

    def test_by_hand(self):
        load = BUILD / "probes/kit/load"
        self.shell(self.commands[0])
        done = self.shell(f"'{load}' loop/loop.so </dev/null")
        self.assertEqual(json.loads(done.stdout)["program"], "loop")
        self.assertIn("usage: load", self.shell(f"'{load}'", expect=64).stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=1)
