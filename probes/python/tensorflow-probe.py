# SPDX-License-Identifier: Apache-2.0
"""TensorFlow: products as its kernels do them.

(The file is not called tensorflow.py: a program stands in front of installed modules, and would be imported instead.)
"""

import math
import os

import kit

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # its log is long, and says nothing of the cases
tf = kit.require("tensorflow")
np = kit.require("numpy")


def operand(inputs, name, shape):
    return np.asarray(inputs.array(name, math.prod(shape), "f32")).reshape(shape)


def device(params):
    """The first device of the kind that the case names (cpu, cuda, ...)."""
    kind = {"cuda": "GPU"}.get(params["device"], params["device"].upper())
    if not tf.config.list_physical_devices(kind):
        raise kit.Skip("no_device", f"TensorFlow finds no device of kind '{kind}'")
    return tf.device(f"/{kind}:0")


def outputs(**tensors):
    return {name: kit.from_memory(tensor.numpy()) for name, tensor in tensors.items()}


@kit.op("matmul")
def matmul(params, inputs):
    m, n, k = params["m"], params["n"], params["k"]
    with device(params):
        return outputs(c=tf.matmul(operand(inputs, "a", (m, k)), operand(inputs, "b", (k, n))))


if __name__ == "__main__":
    kit.main("tensorflow-probe", [{"role": "tensorflow", "name": "TensorFlow", "version": tf.__version__,
                                   "path": tf.__file__}])
