# SPDX-License-Identifier: Apache-2.0
"""The packages of ci/package: whole, the same twice, and running where nothing is given: another user, a
read-only root, no network, a /tmp where nothing can be executed.

usage: test_package.py TOP DETPROBE [unittest arguments]
Without Debian's packages (no network, no apt-get) there is no tarball to test.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

TOP, DETPROBE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
SKIP = 77
BARE = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
NOBODY = 65534

# What runs in the namespaces: $1 is the unpacked tarball, $2 the command of the user who has nothing.
ENTER = """
mount --bind "$1" /mnt && mount -o remount,bind,ro /mnt &&
mount -t tmpfs -o noexec,mode=1777 tmpfs /tmp && mount -o remount,bind,ro / || exit 69
cd /tmp && exec {drop} env -i PATH=/mnt/bin:/usr/bin:/bin LC_ALL=C.UTF-8 sh -euc "$2"
"""
CONDITIONS = """
if touch /mnt/x 2>/dev/null || touch /usr/x 2>/dev/null; then echo 'not read-only'; exit 69; fi
printf '#!/bin/sh\\n' >/tmp/x; chmod +x /tmp/x
if /tmp/x 2>/dev/null; then echo 'executable'; exit 69; fi
rm /tmp/x
if grep -v '^ *lo:' /proc/net/dev | grep -q ':'; then echo 'a network'; exit 69; fi
"""


def run(*command, **options):
    options = {"capture_output": True, "text": True, "timeout": 900, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([str(word) for word in command], **options)


def package(top, folder, *options):
    """Makes one; a machine where it cannot be made tells why."""
    environment = {name: value for name, value in os.environ.items() if name not in ("SOURCE_DATE_EPOCH", "CC")}
    done = run(top / "ci/package", "--no-install", "-o", folder, *options, env=environment)
    if done.returncode == 69:
        raise unittest.SkipTest(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def cases(program, **options):
    done = run(program, "list", "--json", env={**BARE, **options.pop("env", {})}, **options)
    assert done.returncode == 0, done.stderr
    return [(case["id"], case["guarantee"]["level"]) for case in json.loads(done.stdout)]


def elf(tree, *options):
    runpath = re.search(r"bundle_runpath='(.*)'", (TOP / "ci/packaging/bundle").read_text()).group(1)
    return run(sys.executable, TOP / "ci/packaging/elf.py", tree, runpath, *options)


class Made(unittest.TestCase):
    OPTIONS = ()

    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.addClassCleanup(cls.holder.cleanup)
        cls.folder = pathlib.Path(cls.holder.name)
        cls.folder.chmod(0o755)
        cls.said = package(TOP, cls.folder / "made", *cls.OPTIONS)


class Tarball(Made):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.file,) = (cls.folder / "made").glob("detprobe-*-linux-x86_64.tar.gz")
        subprocess.run(["tar", "-C", cls.folder, "-xzf", cls.file], check=True)
        cls.tree = cls.folder / cls.file.name.removesuffix(".tar.gz")

    def test_what_is_inside(self):
        names = {str(path.relative_to(self.tree)) for path in self.tree.rglob("*") if path.is_file()}
        self.assertLessEqual(
            {"README.md", "LICENSE", "CHANGELOG.md", "bin/detprobe", "lib/README", "lib/licenses/jansson",
             "lib/licenses/openssl", "lib/licenses/xxhash", "share/man/man1/detprobe.1", "share/man/man1/detprobe-run.1",
             "share/man/man5/detprobe-report.5", "share/man/man7/detprobe-probe.7",
             "share/bash-completion/completions/detprobe", "share/zsh/site-functions/_detprobe",
             "share/fish/vendor_completions.d/detprobe.fish", "share/detprobe/schema/report.schema.json",
             "libexec/detprobe/probes/programs.json", "libexec/detprobe/probes/python/kit.py",
             "libexec/detprobe/probes/kit/load", "libexec/detprobe/probes/skeleton/op.h"}, names)
        for file in (TOP / "probes").glob("*/*.json"):
            self.assertIn(f"libexec/detprobe/{file.relative_to(TOP)}", names)
        # never what is measured
        self.assertEqual(sorted(path.name for path in self.tree.glob("lib/*.so*")),
                         ["libcrypto-detprobe.so.3", "libjansson.so.4", "libxxhash.so.0"])
        self.assertEqual([name for name in names if re.search(r"(^|/)lib(dnnl|openblas|blas|gomp|cu\w+)\.so", name)], [])
        manual = (self.tree / "share/man/man1/detprobe.1").read_text()
        self.assertIn("PREFIX/libexec/detprobe/probes", manual.replace("\\-", "-"))

    def test_what_it_asks_of_a_machine(self):
        done = elf(self.tree, "2.31")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout, self.file.with_name(self.tree.name + ".elf.txt").read_text())
        programs = [path for path in (self.tree / "libexec").rglob("*")
                    if path.is_file() and os.access(path, os.X_OK) and path.suffix != ".py"]
        self.assertEqual(len(done.stdout.splitlines()), len(programs) + 4)
        for family in ("conv", "softmax"):
            for major in ("2", "3"):
                self.assertIn(f"cpu/{family}.libdnnl.so.{major} ", done.stdout)

    def test_more_would_be_refused(self):
        done = elf(self.tree, "2.25")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"'bin/detprobe' needs GLIBC_2\.\d+")
        other = self.folder / "other"
        (other / "lib").mkdir(parents=True)
        shutil.copy(DETPROBE, other / "lib/program.so")
        shutil.copy(self.tree / "lib/libjansson.so.4", other / "lib")
        done = elf(other, "9.99")
        self.assertEqual(done.returncode, 1)
        self.assertIn("links 'libcrypto.so.3', which a machine may lack", done.stderr)
        self.assertIn("looks for libraries in '', not in '$ORIGIN/../lib:", done.stderr)

    def test_documents_link_what_is_there(self):
        documents = sorted(self.tree.rglob("*.md"))
        self.assertGreater(len(documents), 3)
        links = [(document, target) for document in documents
                 for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text())
                 if not re.match("[a-z]+:", target)]
        self.assertGreater(len(links), 10)
        self.assertEqual([link for link in links if not (link[0].parent / link[1]).exists()], [])

    def test_what_cannot_be_written(self):
        """One of the three files: none of them is left, and none is said to be made."""
        folder = self.folder / "unwritten"
        (folder / (self.file.name + ".sha256") / "in the way").mkdir(parents=True)
        done = run(TOP / "ci/package", "--no-install", "-o", folder,
                   env={name: value for name, value in os.environ.items() if name != "CC"})
        self.assertEqual(done.returncode, 69, done.stderr)
        self.assertIn(f"ci/package: cannot write in '{folder}': ", done.stderr)
        self.assertNotIn(self.file.name, done.stdout)
        self.assertEqual([path.name for path in folder.iterdir()], [self.file.name + ".sha256"])

    def test_as_an_archive(self):
        with tarfile.open(self.file) as archive:
            members = archive.getmembers()
        self.assertEqual({(m.uid, m.gid, m.uname, m.gname) for m in members}, {(0, 0, "", "")})
        self.assertEqual(len({m.mtime for m in members}), 1)
        self.assertLessEqual({m.mode for m in members}, {0o755, 0o644})
        self.assertEqual([m.name for m in members], sorted((m.name for m in members), key=lambda n: n.split("/")))
        self.assertEqual({m.name.split("/")[0] for m in members}, {self.tree.name})
        done = run("sha256sum", "-c", self.file.name + ".sha256", cwd=self.file.parent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(self.file.with_name(self.file.name + ".sha256").read_text().strip(), self.said)

    def test_the_same_twice(self):
        """From a copy of the checkout elsewhere, where names have spaces, built anew."""
        copy = self.folder / "a copy"
        listed = run("git", "-c", "safe.directory=*", "-C", TOP, "ls-files", "-z")
        if listed.returncode != 0:
            self.skipTest("no checkout of git")
        for name in filter(None, listed.stdout.split("\0")):
            if (TOP / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(TOP / name, copy / name)
        git = TOP / ".git"
        shutil.copytree(git, copy / ".git") if git.is_dir() else shutil.copy(git, copy / ".git")
        shutil.copytree(TOP / "build-package/sysroot", copy / "build-package/sysroot", symlinks=True)
        package(copy, self.folder / "again")
        self.assertEqual((self.folder / "again" / self.file.name).read_bytes(), self.file.read_bytes())

    def test_wherever_it_is_put(self):
        known = cases(DETPROBE)
        self.assertGreater(len(known), 300)
        moved = self.folder / "moved [here] it is"
        shutil.copytree(self.tree, moved, symlinks=True)
        (self.folder / "link").symlink_to(moved / "bin/detprobe")
        for program, variables in ((moved / "bin/detprobe", {}), (self.folder / "link", {}),
                                   ("detprobe", {"PATH": f"{moved}/bin:/usr/bin:/bin"})):
            self.assertEqual(cases(shutil.which(program, path=variables.get("PATH")) or program, cwd="/", env=variables),
                             known)

    def isolated(self, script):
        """As nobody, without network, root and unpacked tarball read-only, /tmp fresh and noexec."""
        root = os.geteuid() == 0
        enter = ["unshare", "-n", "-m"] + ([] if root else ["-r"])
        if not shutil.which("unshare") or run(*enter, "true").returncode != 0:
            self.skipTest("namespaces cannot be made here")
        drop = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups" if root else ""
        done = run(*enter, "sh", "-c", ENTER.format(drop=drop), "sh", self.tree, CONDITIONS + script)
        if done.returncode == 69 and not done.stdout:
            self.skipTest(f"nothing can be mounted here: {done.stderr.strip()}")
        return done

    def test_where_nothing_is_given(self):
        done = self.isolated("""
            detprobe doctor
            detprobe list | tail -n 1
            code=0; detprobe run @cpu --level quick -o /tmp/r.json >/tmp/table || code=$?
            echo "run: $code"; tail -n 2 /tmp/table
            detprobe validate /tmp/r.json
            detprobe show /tmp/r.json --format markdown | grep -c cpu/ >/dev/null
            detprobe diff /tmp/r.json /tmp/r.json >/dev/null
            cat /tmp/r.json >&2
        """)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr[-2000:])
        report = json.loads(done.stderr[done.stderr.index("{"):])["body"]
        skipped = {result.get("reason") for result in report["results"] if result["observed"] == "skipped"}
        if "library_missing" not in skipped:
            self.assertIn("run: 0", done.stdout)
            self.assertEqual([row for row in report["controls"] if not row["behaved"]], [])
            self.assertGreater(sum(result["observed"] == "repeats" for result in report["results"]), 100)
        self.assertRegex(done.stdout, r"run: (0|77)\n")

    def test_signing_where_nothing_is_given(self):
        if not shutil.which("openssl"):
            self.skipTest("openssl is not installed")
        kept = TOP / "reports/measured/cpu-debian12-quick.json"
        shutil.copy(kept, self.tree / "share/kept.json")
        self.addCleanup((self.tree / "share/kept.json").unlink)
        done = self.isolated("""
            umask 077; cp /mnt/share/kept.json r.json
            openssl genpkey -algorithm ed25519 -out k.pem; openssl pkey -in k.pem -pubout -out p.pem
            openssl genpkey -algorithm ed25519 -out k2.pem; openssl pkey -in k2.pem -pubout -out p2.pem
            detprobe sign --key k.pem r.json
            detprobe verify --key p.pem r.json.dsse.json -o back.json
            cmp r.json back.json
            code=0; detprobe verify --key p2.pem r.json.dsse.json || code=$?
            echo "another key: $code"
        """)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("another key: 65", done.stdout)


class Deb(Made):
    OPTIONS = ("--deb",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.file,) = (cls.folder / "made").glob("detprobe_*.deb")

    def field(self, name):
        return run("dpkg-deb", "-f", self.file, name).stdout.strip()

    def test_what_it_depends_on(self):
        for library in ("libc6", "libjansson4", "libssl3", "libxxhash0"):
            self.assertRegex(self.field("Depends"), rf"(^|, ){library}")
        self.assertNotRegex(self.field("Depends"), "dnnl|gomp|blas|cuda")
        self.assertRegex(self.field("Recommends"), r"libgomp1.*libopenblas0 \| libblas3")

    def test_it_can_be_installed_and_removed(self):
        root = self.folder / "root"
        for name in ("info", "updates", "triggers"):
            (root / "var/lib/dpkg" / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        dpkg = ["dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--log=/dev/null"]
        environment = {**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
        done = run(*dpkg, "-i", self.file, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(cases(root / "usr/bin/detprobe"), cases(DETPROBE))
        self.assertTrue((root / "usr/share/man/man1/detprobe.1.gz").is_file())
        self.assertIn("/usr/libexec/detprobe/probes",
                      run("zcat", root / "usr/share/man/man1/detprobe.1.gz").stdout.replace("\\-", "-"))
        self.assertEqual(run(*dpkg, "--verify", "detprobe", env=environment).stdout, "")
        self.assertEqual(run(*dpkg, "-r", "detprobe", env=environment).returncode, 0)
        self.assertFalse((root / "usr/bin").exists() or (root / "usr/libexec").exists())

    def test_lintian(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        done = run("lintian", self.file)
        self.assertEqual((done.returncode, done.stdout), (0, ""))


class Usage(unittest.TestCase):
    def test_a_compiler_of_several_words(self):
        for compiler, missing in (("env cc", False), ("env no-such-compiler", True), ("no-such-compiler cc", True)):
            done = run(TOP / "ci/setup", "--no-install", env={**os.environ, "CC": compiler})
            self.assertEqual("missing: C compiler" in done.stderr, missing, compiler + done.stderr)

    def test_bad_input(self):
        for arguments, words in ((["--fast"], "unknown argument '--fast', see 'ci/package --help'"),
                                 (["-o"], "'-o' needs a folder"), (["--mirror"], "'--mirror' needs a URL")):
            done = run(TOP / "ci/package", *arguments)
            self.assertEqual(done.returncode, 64, done.stdout)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)


if __name__ == "__main__":
    result = unittest.main(exit=False).result
    not_made = any("setUpClass" in test.id() for test, _ in result.skipped)
    sys.exit(1 if not result.wasSuccessful() else SKIP if not_made else 0)
