# SPDX-License-Identifier: Apache-2.0
"""A `tensorflow` for tests, which test_tensorflow.py puts where it is imported: it talks on import, refuses draws
without a seed under op determinism, varies whatever is enabled, fails. Whether ops have to be deterministic it finds out
once, as the real one does."""

import array
import contextlib
import os
import types
from unittest import mock

print("loading tensorflow " * 1000)
__version__ = "2.21.0"
bfloat16, float32, int32 = "bfloat16", "f", "i"
DETERMINISTIC = []  # one truth, once somebody asked


def determinism():
    if not DETERMINISTIC:
        DETERMINISTIC.append(os.environ.get("TF_DETERMINISTIC_OPS") == "1")
    return DETERMINISTIC[0]


class Tensor:
    dtype = "f"

    def numpy(self):
        return array.array("f", os.urandom(64))


def normal(shape):
    if determinism():
        raise RuntimeError("in user code:\n\n    Random ops require a seed to be set when determinism is enabled.\n")
    return Tensor()


def dropout(x, rate):
    raise RuntimeError("no thought was given to this")


def convert_to_tensor(y):
    return y


class UnimplementedError(Exception):
    pass


def shuffle(values):
    return Tensor()


def stateless_uniform(shape, seed):
    raise UnimplementedError("Determinism is not yet supported in this op.")


errors = types.SimpleNamespace(UnimplementedError=UnimplementedError)
config = types.SimpleNamespace(
    list_physical_devices=lambda kind: ["CPU"] if kind == "CPU" else [],
    experimental=types.SimpleNamespace(enable_op_determinism=lambda: DETERMINISTIC.__setitem__(slice(None), [True])))
random = mock.MagicMock(normal=normal, shuffle=shuffle, stateless_uniform=stateless_uniform)
nn = mock.MagicMock(dropout=dropout)


@contextlib.contextmanager
def device(name):
    yield


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return mock.MagicMock()
