# SPDX-License-Identifier: Apache-2.0
"""What stands in the place of a program with several builds. Builds are scripts here that say who they are.

usage: test_choose.py CHOOSE [unittest arguments]
"""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

CHOOSE = pathlib.Path(sys.argv.pop(1)).resolve()
SCRIPT = '#!/bin/sh\necho "$(basename "$0") $* $KEPT"\ncat <&3\n'


def path_of(name):
    """Where the loader finds it, as this process was told."""
    ctypes.CDLL(name)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if line.rstrip().endswith("/" + name))


class Choose(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="detprobe-test-[a]*")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / "conv"
        shutil.copy(CHOOSE, self.program)

    def add(self, *libraries, program="conv"):
        for library in libraries:
            path = self.folder / f"{program}.{library}"
            path.write_text(SCRIPT)
            path.chmod(0o755)

    def run_it(self, path=None, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("DETPROBE_")}
        read, write = os.pipe()
        os.write(write, b"from the pipe")
        os.close(write)
        try:
            return subprocess.run(["sh", "-c", f'exec "$0" one two 3<&{read}', path or self.program], text=True,
                                  env={**environment, "KEPT": "kept", **variables}, capture_output=True,
                                  pass_fds=[read], timeout=60)
        finally:
            os.close(read)

    def expect(self, build, **variables):
        done = self.run_it(**variables)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, f"{build} one two kept\nfrom the pipe")

    def test_the_highest_that_is_here(self):
        self.add("libno-such.so.9", "libm.so.6", "libc.so.6")
        self.add("libno-such.so.10", "libpthread.so.0", program="convolution")
        self.expect("conv.libm.so.6")

    def test_the_one_that_a_stack_names(self):
        self.add("libno-such.so.9", "libm.so.6", "libc.so.6")
        self.expect("conv.libc.so.6", DETPROBE_LIB_ONEDNN="/some/where/libc.so.6")
        self.expect("conv.libno-such.so.9", DETPROBE_LIB_ONEDNN="/some/where/libno-such.so.9")
        self.expect("conv.libc.so.6", DETPROBE_LIB_ONEDNN="/some/where/libc.so.6.1")
        self.expect("conv.libc.so.6", DETPROBE_LIB_ONEDNN="libc.so.6")
        self.expect("conv.libm.so.6", DETPROBE_LIB_CBLAS="/some/where/libc.so.6", OTHER="/x/libc.so.6")
        self.expect("conv.libm.so.6", DETPROBE_LIB_ONEDNN="")

    def test_a_file_is_asked_for_its_name(self):
        self.add("libm.so.6", "libc.so.6")
        (self.folder / "libm.so.6").symlink_to(path_of("libc.so.6"))
        self.expect("conv.libc.so.6", DETPROBE_LIB_ONEDNN=str(self.folder / "libm.so.6"))

    def test_no_build_goes_with_the_one_that_is_named(self):
        self.add("libm.so.6", "libc.so.6")
        for file in ("/some/where/libc.so.60", "libc.so.5", "/some/where/libc.so", "none", "/x/libc.so.6/",
                     path_of("libpthread.so.0")):
            done = self.run_it(DETPROBE_LIB_ONEDNN=file)
            self.assertEqual((done.returncode, done.stdout), (127, ""), file)
            self.assertEqual(done.stderr, f"no build of this program goes with '{file}' (DETPROBE_LIB_ONEDNN), "
                                          "there are those for libm.so.6, libc.so.6\n")

    def test_through_a_link(self):
        self.add("libc.so.6")
        link = self.folder / "elsewhere"
        link.symlink_to("conv")
        self.assertEqual(self.run_it(link).stdout, "conv.libc.so.6 one two kept\nfrom the pipe")

    def test_none_is_here(self):
        self.add("libno-such.so.9", "libno-such.so.10")
        done = self.run_it()
        self.assertEqual((done.returncode, done.stdout), (127, ""))
        self.assertEqual(done.stderr, "none of libno-such.so.10, libno-such.so.9 can be loaded\n")

    def test_one_that_is_broken(self):
        self.add("libno-such.so.9", "libbroken.so.1")
        (self.folder / "libbroken.so.1").write_text("no library")
        done = self.run_it(LD_LIBRARY_PATH=str(self.folder))
        self.assertEqual(done.returncode, 127)
        self.assertIn("none of libno-such.so.9, libbroken.so.1 can be loaded; ", done.stderr)
        self.assertIn("libbroken.so.1: file too short", done.stderr)

    def test_what_is_no_build(self):
        self.add("libm.so.6")
        self.add("libm.so.6.orig", "libm.so", "libm.so.", "libm.so.7~", "libm.so.x", "so.7")
        self.expect("conv.libm.so.6")
        (self.folder / "conv.libm.so.6").chmod(0o644)
        self.assertEqual(self.run_it().stderr, f"no build of this program in '{self.folder}'\n")

    def test_one_that_cannot_be_executed(self):
        self.add("libm.so.6", "libc.so.6")
        broken = self.folder / "conv.libm.so.6"
        broken.write_bytes(b"\x7fELF, cut off")
        done = self.run_it()
        self.assertEqual((done.returncode, done.stdout), (0, "conv.libc.so.6 one two kept\nfrom the pipe"))
        (self.folder / "conv.libc.so.6").unlink()
        done = self.run_it()
        self.assertEqual((done.returncode, done.stderr), (1, f"cannot run '{broken}': Exec format error\n"))

    def test_no_builds(self):
        done = self.run_it()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr, f"no build of this program in '{self.folder}'\n")


if __name__ == "__main__":
    unittest.main()
