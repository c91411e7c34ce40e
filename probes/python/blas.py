# SPDX-License-Identifier: Apache-2.0
"""The BLAS that a Python library has loaded into this process: its file, its version, the number of its threads.

NumPy and SciPy bring an OpenBLAS of their own or take the system's, under names that differ by packager. So the
libraries of the process are asked for the functions themselves.
"""

import ctypes
import os
import re

FILES = re.compile(r"/lib[^/]*(blas|mkl_rt|blis)[^/]*\.so[^/]*$")
MAPS = "/proc/self/maps"
OPENMP = 2  # OpenBLAS says so of its threads; its own setter and getter may then only talk to each other
# what stands around every name of an OpenBLAS that was built to live beside another one: as in
# probes/cpu/cblas.c, then as in builds whose routines no program calls by name
AFFIXES = (("", ""), ("scipy_", "64_"), ("scipy_", ""), ("", "64_"))
RARE_AFFIXES = (("", "_64"), ("scipy_", "_64"))
# name, how the packager's names are made, functions: set and get the number of threads, then text to show
KINDS = (
    ("OpenBLAS", [f"{before}openblas_{{}}{after}" for before, after in AFFIXES + RARE_AFFIXES],
     ("set_num_threads", "get_num_threads"), ("get_config", "get_corename")),
    ("MKL", ["MKL_{}"], ("Set_Num_Threads", "Get_Max_Threads"), ()),
    ("BLIS", ["bli_{}"], ("thread_set_num_threads", "thread_get_num_threads"), ("info_get_version_str",)),
)


class Place(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p), ("at", ctypes.c_void_p)]


def _file_of(function):
    """The file that a function was loaded from: a handle also knows the functions of the libraries behind it."""
    place = Place()
    found = ctypes.CDLL(None).dladdr(ctypes.cast(function, ctypes.c_void_p), ctypes.byref(place))
    return os.path.realpath(os.fsdecode(place.file)) if found and place.file else ""


class Blas:
    """One loaded library: `kind` says which functions it was found by, `template` how they are named."""

    def __init__(self, kind, template, handle):
        self.name, _, (setter, getter), texts = kind
        self._set, self._get = (getattr(handle, template.format(name)) for name in (setter, getter))
        self.path = _file_of(self._get)
        parallel = getattr(handle, template.format("get_parallel"), None)
        if parallel and parallel() == OPENMP and hasattr(handle, "omp_set_num_threads"):
            self._set, self._get = handle.omp_set_num_threads, handle.omp_get_max_threads
        threading = getattr(handle, "bli_info_get_enable_threading", None)
        if threading and not threading():  # tells what it was told, and runs one
            self._set, self._get = (lambda count: None), (lambda: 1)
        # MKL may run fewer threads than it is told, unless it is forbidden to choose
        self._dynamic = [getattr(handle, template.format(name), None) for name in ("Get_Dynamic", "Set_Dynamic")]
        self._usual = self._dynamic[0]() if all(self._dynamic) else None
        self.texts = [self._text(handle, template.format(name)) for name in texts]

    @staticmethod
    def _text(handle, name):
        function = getattr(handle, name, None)
        if function is None:
            return ""
        function.restype = ctypes.c_char_p
        return (function() or b"").decode("utf-8", "replace")

    def threads(self, wanted):
        if wanted:
            self._set(wanted)
            if self._usual is not None:
                self._dynamic[1](self._usual)
                if self._get() != wanted:
                    self._dynamic[1](0)
        return max(self._get(), 1)  # BLIS says -1 until a count is set; it runs one thread then

    def library(self):
        """As in hello. OpenBLAS says its version and what it was built for, then the kernels in use."""
        text = self.texts[0] if self.texts else ""
        number = re.search(r"[0-9][^ ]*", text)
        core = f" core={self.texts[1]}" if len(self.texts) > 1 and self.texts[1] else ""
        library = {"role": "cblas", "name": self.name, "version": number.group() if number else "", "path": self.path}
        return {**library, "config": f"{text}{core}"} if core else library


def _open(path):
    try:
        handle = ctypes.CDLL(path)  # it is loaded already: this gives the same one
    except OSError:
        return None
    for kind in KINDS:
        for template in kind[1]:
            if all(hasattr(handle, template.format(name)) for name in kind[2]):
                return Blas(kind, template, handle)
    return None


def loaded():
    """Every BLAS of this process, once, in the order of their paths."""
    with open(MAPS, encoding="utf-8", errors="surrogateescape") as lines:
        paths = {line.split(maxsplit=5)[-1].rstrip("\n") for line in lines if FILES.search(line)}
    found = {library.path: library for library in map(_open, paths) if library}
    return [found[path] for path in sorted(found)]


def threads_of(libraries):
    """A function for kit.main: sets all of them, gives back the number that they agree in, else 0."""

    def threads(wanted):
        counts = {library.threads(wanted) for library in libraries}
        return counts.pop() if len(counts) == 1 else 0

    return threads
