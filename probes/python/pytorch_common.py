# SPDX-License-Identifier: Apache-2.0
"""What the PyTorch programs share: the device that a case names, its switches for the time of one run, tensors made of
a request's inputs, outputs made of tensors, and the libraries that PyTorch brings.

A switch of PyTorch holds for a whole process, and one process serves many cases: `switched` puts back what it found.
"""

import array
import contextlib
import ctypes
import functools
import math
import re
import warnings

import kit

torch = kit.require("torch")

CODES = {torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.int64: "s64", torch.int32: "s32",
         torch.int16: "s16", torch.int8: "s8", torch.uint8: "u8", torch.bool: "u8"}
MODES = {"off": (False, False), "warn": (True, True), "on": (True, False)}  # the flag, and whether it only warns
SWITCHES = {  # parameter of a case -> where PyTorch keeps it
    "benchmark": (torch.backends.cudnn, "benchmark"),
    "cudnn_deterministic": (torch.backends.cudnn, "deterministic"),
    "fill": (torch.utils.deterministic, "fill_uninitialized_memory"),
}
# how PyTorch says that it has no deterministic form of an operation, or none without CUBLAS_WORKSPACE_CONFIG
REFUSAL = re.compile(r"[^\n]*?(does not have a deterministic implementation|is not deterministic because[^.\n]*)")
MKL = re.compile(r"Math Kernel Library Version (\S+)")
ONEDNN = re.compile(r"MKL-DNN v(\S+)")


def set_flag(deterministic, warn_only):
    torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)


@contextlib.contextmanager
def switched(params):
    """PyTorch as a case wants it; gives the warnings that were heard inside. `deterministic` is the flag of
    torch.use_deterministic_algorithms, and an operation that it refuses is a skip: it did not run."""
    flag = torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
    wanted = [(*SWITCHES[name], params[name]) for name in SWITCHES if name in params]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in wanted]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            set_flag(*MODES[params.get("deterministic", "off")])
            for owner, name, value in wanted:
                setattr(owner, name, value)
            yield heard
        except torch.cuda.OutOfMemoryError as error:
            raise kit.Skip("memory", first_line(error)) from error
        except RuntimeError as error:
            refusal = REFUSAL.match(str(error))
            if refusal:
                raise kit.Skip("unsupported", f"PyTorch refuses: {refusal.group()}") from error
            raise
        finally:
            for owner, name, value in before:
                setattr(owner, name, value)
            set_flag(*flag)


def first_line(error):
    return (str(error).strip() or type(error).__name__).splitlines()[0]


@functools.cache
def lacking(device):
    """Why PyTorch cannot use a device, or nothing."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        return first_line(error)
    return ""


def op(name):
    """As kit.op, for a function of (params, given): it runs under the case's switches and returns tensors."""

    def register(function):
        @kit.op(name)
        def run(params, inputs):
            why = lacking(params["device"])
            if why:
                raise kit.Skip("no_device", f"PyTorch cannot use device '{params['device']}': {why}")
            with switched(params) as heard:
                outputs = {name: output(tensor) for name, tensor in function(params, Given(params, inputs)).items()}
            said = any(REFUSAL.match(str(warning.message)) for warning in heard)
            return kit.Said(outputs, declared="nondeterministic") if said else outputs

        return run

    return register


class Given:
    """The operands of a run as tensors on the case's device. `leaf` makes one that gradients are asked for."""

    def __init__(self, params, inputs):
        self.device, self.inputs, self.leaves = params["device"], inputs, {}

    def values(self, name, *shape, scale=1.0):
        """`scale` is a power of two: it changes no bit of a significand."""
        values = self.inputs.array(name, math.prod(shape), "f32")
        return (torch.frombuffer(values, dtype=torch.float32).reshape(shape) * scale).to(self.device)

    def leaf(self, name, *shape, scale=1.0):
        self.leaves[name] = self.values(name, *shape, scale=scale).requires_grad_()
        return self.leaves[name]

    def indices(self, name, *shape, below):
        words = array.array("Q", self.inputs.words(name, math.prod(shape)))
        return torch.frombuffer(words, dtype=torch.int64).remainder(below).reshape(shape).to(self.device)

    def seed(self):
        return self.inputs.words("seed", 1)[0] % 2**63


def output(tensor):
    """bfloat16, which the protocol has no word for, is told as f32, which holds each of its values. What a function has
    made an output of itself stays as it is."""
    if isinstance(tensor, kit.Output):
        return tensor
    ready = tensor.detach().to("cpu")
    ready = (ready.float() if ready.dtype == torch.bfloat16 else ready).contiguous()
    return kit.from_bytes(CODES[ready.dtype], ctypes.string_at(ready.data_ptr(), ready.nbytes), list(ready.shape) or [1])


def threads(wanted):
    """For kit.main: the threads within one operation."""
    if wanted:
        torch.set_num_threads(wanted)
    return torch.get_num_threads()


def file_of(pattern):
    """The file of a library that this process has loaded, by how its path ends."""
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as lines:
        return next((line.split(maxsplit=5)[-1].rstrip("\n") for line in lines if re.search(pattern, line)), "")


def libraries():
    """PyTorch and what it says of the libraries inside it; of cuDNN only where CUDA can be used."""
    built = torch.__config__.show()
    core = file_of(r"/libtorch_cpu\.so$") or torch.__file__
    capability = torch.backends.cpu.get_cpu_capability()
    found = [kit.library("PyTorch", torch, config=f"cpu={capability} cuda={torch.version.cuda or 'none'}")]
    for role, name, pattern in (("torch-mkl", "MKL", MKL), ("torch-onednn", "oneDNN", ONEDNN)):
        if pattern.search(built):
            found.append({"role": role, "name": name, "version": pattern.search(built).group(1), "path": core})
    if torch.cuda.is_available() and torch.backends.cudnn.is_available():
        number = torch.backends.cudnn.version()  # 92600 since cuDNN 9, 8907 before
        big = 10000 if number >= 90000 else 1000
        found.append({"role": "cudnn", "name": "cuDNN", "version": f"{number // big}.{number % big // 100}.{number % 100}",
                      "path": file_of(r"/libcudnn\.so[.0-9]*$")})
    return found
