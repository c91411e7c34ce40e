# SPDX-License-Identifier: Apache-2.0
"""A `torch` for tests, which test_pytorch.py puts where it is imported: it talks on import, varies whatever the flag
says, refuses, warns, fails, and shows its switches. A tensor is a row of cells; what an operation is not to do, it
gives back its first operand."""

import array
import os
import types
import warnings

print("loading torch " * 1000)
__version__ = "2.15.0"
float64, float32, float16, bfloat16 = "d", "f", "e", "b16"
int64, int32, int16, int8, uint8, bool = "q", "i", "h", "b", "B", "?"
FLAG, COUNT = [False, False], [3]
REFUSAL = "{}_ does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'."


def use_deterministic_algorithms(mode, *, warn_only=False):
    FLAG[:] = [mode, warn_only]


def are_deterministic_algorithms_enabled():
    return FLAG[0]


def is_deterministic_algorithms_warn_only_enabled():
    return FLAG[1]


def alert(name):
    if FLAG[1]:
        warnings.warn(REFUSAL.format(name))
    elif FLAG[0]:
        raise RuntimeError(REFUSAL.format(name))


class Tensor:
    def __init__(self, cells):
        self.cells = cells
        self.dtype, self.shape, self.nbytes = cells.typecode, (len(cells),), len(cells) * cells.itemsize

    def __getattr__(self, name):
        return lambda *arguments, **named: self

    def __mul__(self, other):
        return self

    def data_ptr(self):
        return self.cells.buffer_info()[0]

    def index_put(self, places, values, accumulate=False):
        return Tensor(array.array("f", os.urandom(self.nbytes)))

    def put(self, places, values, accumulate=False):
        alert("put")
        return self

    def scatter(self, dim, places, values):
        return Tensor(array.array("f", [*FLAG, backends.cudnn.benchmark, utils.deterministic.fill_uninitialized_memory]))

    def index_copy(self, dim, places, values):
        raise RuntimeError("no deterministic thought was given to this")


def frombuffer(cells, dtype):
    return Tensor(array.array(dtype, bytes(cells)))


def empty(count, device):
    if device != "cpu":
        raise AssertionError(f"not compiled with {device}\nand more")
    return Tensor(array.array("f", [0.0] * count))


def set_num_threads(count):
    COUNT[0] = min(count, 4)


def get_num_threads():
    return COUNT[0]


class Anything:
    """What is only looked up."""

    def __getattr__(self, name):
        return Anything()

    def __call__(self, *arguments, **named):
        return Anything()


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Anything()


cuda = types.SimpleNamespace(OutOfMemoryError=type("OutOfMemoryError", (RuntimeError,), {}), is_available=lambda: False)
backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(benchmark=False, deterministic=False),
                                 cpu=types.SimpleNamespace(get_cpu_capability=lambda: "NONE"))
utils = types.SimpleNamespace(deterministic=types.SimpleNamespace(fill_uninitialized_memory=True))
version = types.SimpleNamespace(cuda=None)
__config__ = types.SimpleNamespace(show=lambda: "PyTorch built with:\n  - Intel(R) MKL-DNN v1.2.3 (Git Hash 0)\n")
