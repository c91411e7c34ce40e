# SPDX-License-Identifier: Apache-2.0
"""Own kernels, compiled by the real NVRTC for every architecture that it knows; a warning is a failure.

usage: test_nvrtc.py PROBES-FOLDER      (of the source tree)
"""

import ctypes
import pathlib
import sys

NAMES = ("libnvrtc.so.13", "libnvrtc.so.12")
SKIP = 77


class Nvrtc:
    def __init__(self, library):
        self.library = library
        library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def call(self, name, *args):
        result = getattr(self.library, name)(*args)
        if result:
            raise RuntimeError(f"{name}: {self.library.nvrtcGetErrorString(result).decode()}")

    def architectures(self):
        count = ctypes.c_int()
        self.call("nvrtcGetNumSupportedArchs", ctypes.byref(count))
        known = (ctypes.c_int * count.value)()
        self.call("nvrtcGetSupportedArchs", known)
        return list(known)

    def compile(self, text, architecture):
        """(compiled, log, machine code)"""
        program = ctypes.c_void_p()
        self.call("nvrtcCreateProgram", ctypes.byref(program), text.encode(), b"test.cu", 0, None, None)
        options = [f"--gpu-architecture=sm_{architecture}".encode(), b"--fmad=false", b"--std=c++14"]
        good = self.library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) == 0
        size = ctypes.c_size_t()
        self.call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.call("nvrtcGetProgramLog", program, log)
        code = b""
        if good:
            self.call("nvrtcGetCUBINSize", program, ctypes.byref(size))
            image = ctypes.create_string_buffer(size.value)
            self.call("nvrtcGetCUBIN", program, image)
            code = image.raw
        self.call("nvrtcDestroyProgram", ctypes.byref(program))
        return good, log.value.decode().strip(), code


def open_nvrtc():
    for name in NAMES:
        try:
            return Nvrtc(ctypes.CDLL(name))
        except OSError:
            continue
    return None


def main(probes):
    nvrtc = open_nvrtc()
    if not nvrtc:
        print("skipped: no NVRTC")
        return SKIP
    kit = "".join((probes / "kit" / name).read_text() + "\n" for name in ("kernel.h", "device.cu"))
    families = sorted((probes / "cuda").glob("*.cu"))
    wrong = [] if families else ["no file of kernels was found"]
    compiled = 0
    for architecture in nvrtc.architectures():
        for family in families:
            good, log, code = nvrtc.compile(kit + family.read_text(), architecture)
            compiled += good
            if not good or log or code[:4] != b"\x7fELF":
                wrong.append(f"{family.name} for sm_{architecture}: {log or 'no machine code'}")
    # the test itself: what is wrong, or only suspicious, must be seen
    if nvrtc.compile(kit + "KERNEL(bad, struct nobody) {}", nvrtc.architectures()[0])[0]:
        wrong.append("a kernel of an unknown struct compiled")
    if not nvrtc.compile(kit + "HELPER int odd(int x) { int unused; return x; }", nvrtc.architectures()[0])[1]:
        wrong.append("an unused variable gave no warning")
    print(f"{compiled} of {len(families)} files for {len(nvrtc.architectures())} architectures")
    print("\n".join(wrong))
    return 1 if wrong else 0


sys.exit(main(pathlib.Path(sys.argv[1])))
