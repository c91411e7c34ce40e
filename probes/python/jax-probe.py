# SPDX-License-Identifier: Apache-2.0
"""JAX: products, convolutions and their gradients, reductions, scatters, sorts and random keys, as XLA compiles them.

Each process compiles anew, so a case asks both whether a compiled function repeats its bits and whether the next
compilation gives the same ones. Flags and the number of threads are read once per process: cases set XLA_FLAGS and
NPROC in their `environment`.

(The file is not called jax.py: a program stands in front of installed modules, and would be imported instead.)
"""

import functools
import math
import os

import kit

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # leave the rest of a GPU to others
jax = kit.require("jax")
np = kit.require("numpy")
jnp, lax = jax.numpy, jax.lax
BINS = 64


def operand(inputs, name, shape):
    return np.asarray(inputs.array(name, math.prod(shape), "f32")).reshape(shape)


def indices(inputs, name, count, below):
    return (np.array(inputs.words(name, count), dtype=np.uint64) % below).astype(np.int32)


def devices(params, count=1):
    """The first devices of the kind that the case names (cpu, cuda, ...)."""
    try:
        found = jax.devices(params["device"])
    except RuntimeError:
        found = []
    if len(found) < count:
        raise kit.Skip("no_device", f"JAX finds {len(found)} of {count} devices of kind '{params['device']}'")
    return found[:count]


def on_device(params, *arrays):
    return jax.device_put(arrays, devices(params)[0])


def outputs(**arrays):
    """Types of 16 bits that only JAX has are told as f32, which holds each of their values."""
    ready = {name: np.asarray(y.astype(jnp.float32) if y.dtype == jnp.bfloat16 else y) for name, y in arrays.items()}
    return {name: kit.from_memory(y) for name, y in ready.items()}


@functools.partial(jax.jit, static_argnames=("precision", "dtype"))
def product(a, b, precision, dtype):
    return jnp.matmul(a.astype(dtype), b.astype(dtype), precision=precision)


@kit.op("matmul")
def matmul(params, inputs):
    m, n, k = params["m"], params["n"], params["k"]
    a, b = on_device(params, operand(inputs, "a", (m, k)), operand(inputs, "b", (k, n)))
    return outputs(c=product(a, b, params["precision"], params["dtype"]))


def convolve(x, w):
    return lax.conv_general_dilated(x, w, (1, 1), "SAME")


def max_pool(x, w):  # times one weight, whose gradient is one long sum
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME") * w[0, 0, 0, 0]


def average_pool(x, w):
    return lax.reduce_window(x, 0.0, lax.add, (1, 1, 3, 3), (1, 1, 2, 2), "SAME") * w[0, 0, 0, 0]


def layer_norm(x, w):
    scaled = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return scaled * w[:, :1, :1, 0].reshape(-1)[: x.shape[-1]]


def attention(x, w):
    heads = x.reshape(x.shape[0], 64, -1, 32)  # batch, length, heads, width
    return jax.nn.dot_product_attention(heads, heads[:, ::-1], heads * w[0, 0, 0, 0])


LAYERS = {"conv": convolve, "max-pool": max_pool, "average-pool": average_pool, "layer-norm": layer_norm,
          "attention": attention}


@functools.partial(jax.jit, static_argnames="layer")
def gradients(x, w, upstream, layer):
    y, backward = jax.vjp(LAYERS[layer], x, w)
    return y, *backward(upstream.reshape(-1)[: y.size].reshape(y.shape))


@kit.op("layer")
def layer_gradients(params, inputs):
    """Forward and backward with random upstream gradients: equal ones would hide the order of their sum."""
    x, w = operand(inputs, "x", (4, 16, 32, 32)), operand(inputs, "w", (32, 16, 3, 3))
    upstream = operand(inputs, "upstream", (4, 32, 32, 32))
    y, dx, dw = gradients(*on_device(params, x, w, upstream), params["layer"])
    return outputs(y=y, dx=dx, dw=dw)


REDUCTIONS = {
    "sum": jnp.sum,
    "mean": jnp.mean,
    "var": jnp.var,
    "cumsum": jnp.cumsum,
    "logsumexp": jax.nn.logsumexp,
    "softmax": jax.nn.softmax,
    "associative-scan": lambda x, axis: lax.associative_scan(jnp.add, x, axis=axis),
}


@functools.partial(jax.jit, static_argnames=("function", "axis"))
def reduced(x, function, axis):
    return REDUCTIONS[function](x, axis=axis)


@kit.op("reduce")
def reduce(params, inputs):
    (x,) = on_device(params, operand(inputs, "x", (params["rows"], params["columns"])))
    return outputs(y=reduced(x, params["function"], params["axis"]))


def take_gradient(table, index, updates):
    return jax.vjp(lambda rows: jnp.take(rows, index, axis=0), table)[1](updates)[0]


SCATTERS = {
    "at-add": lambda table, index, updates: table.at[index].add(updates),
    "at-set": lambda table, index, updates: table.at[index].set(updates),
    "at-multiply": lambda table, index, updates: (table + 1).at[index].multiply(1 + updates / 2**20),
    "segment-sum": lambda table, index, updates: jax.ops.segment_sum(updates, index, BINS),
    "segment-sum-sorted": lambda table, index, updates: jax.ops.segment_sum(
        updates[jnp.argsort(index)], jnp.sort(index), BINS, indices_are_sorted=True),
    "bincount": lambda table, index, updates: jnp.bincount(index, updates[:, 0], length=BINS),
    "take-gradient": take_gradient,
}


@functools.partial(jax.jit, static_argnames="function")
def scattered(table, index, updates, function):
    return SCATTERS[function](table, index, updates)


@kit.op("scatter")
def scatter(params, inputs):
    n, width = params["n"], params["width"]
    table, updates = operand(inputs, "table", (BINS, width)), operand(inputs, "updates", (n, width))
    arrays = on_device(params, table, indices(inputs, "index", n, BINS), updates)
    return outputs(y=scattered(*arrays, params["function"]))


SORTS = {
    "argsort": jnp.argsort,
    "argsort-unstable": lambda keys: jnp.argsort(keys, stable=False),
    "top-k": lambda keys: lax.top_k(keys, 100)[1],
    "argmax": lambda keys: jnp.argmax(keys.reshape(-1, 50), axis=1),
}


@functools.partial(jax.jit, static_argnames="function")
def sorted_places(keys, function):
    return SORTS[function](keys)


@kit.op("sort")
def sort(params, inputs):
    (keys,) = on_device(params, indices(inputs, "keys", params["n"], params["distinct"]))
    return outputs(places=sorted_places(keys, params["function"]))


LINALG = {  # each gives a tuple of arrays
    "svd": jnp.linalg.svd,
    "eigh": jnp.linalg.eigh,
    "qr": jnp.linalg.qr,
    "solve": lambda a: (jnp.linalg.solve(a, a[0]),),
    "fft": lambda a: (jnp.fft.rfft(a),),
}


@functools.partial(jax.jit, static_argnames="function")
def factors(a, function):
    return tuple(LINALG[function](a))


@kit.op("linalg")
def linalg(params, inputs):
    (a,) = on_device(params, operand(inputs, "a", (params["n"], params["n"])))
    return outputs(**{f"y{i}": y for i, y in enumerate(factors((a + a.T) / 2, params["function"]))})


DRAWS = {
    "bits": lambda key: jax.random.bits(key, (1000,)),
    "uniform": lambda key: jax.random.uniform(key, (1000,)),
    "normal": lambda key: jax.random.normal(key, (1000,)),
    "permutation": lambda key: jax.random.permutation(key, 1000),
    "split": lambda key: jax.vmap(jax.random.bits)(jax.random.split(key, 1000)),
    "dropout": lambda key: jax.random.bernoulli(jax.random.fold_in(key, 7), 0.9, (1000,)),
}


@functools.partial(jax.jit, static_argnames="draw")
def drawn(key, draw):
    return DRAWS[draw](key)


@kit.op("random")
def random(params, inputs):
    """Of one key: compiled as one function, or each step by itself."""
    seed = inputs.words("seed", 1)[0] % 2**32
    with jax.default_device(devices(params)[0]):
        key = jax.random.key(seed, impl=params["generator"])
        draws = drawn(key, params["draw"]) if params["jit"] else DRAWS[params["draw"]](key)
        return outputs(draws=draws)


@functools.cache
def all_reduce(count, device):
    return jax.pmap(lambda x: lax.psum(x, "devices"), axis_name="devices", devices=jax.devices(device)[:count])


@kit.op("psum")
def psum(params, inputs):
    """Gradients of several devices added up; every device's copy of the result is part of the output."""
    count = params["devices"]
    devices(params, count)
    x = operand(inputs, "x", (count, params["n"]))
    return outputs(sums=all_reduce(count, params["device"])(x))


def libraries():
    import jaxlib
    import scipy  # its LAPACK is what XLA calls on the CPU

    return [kit.library("JAX", jax), kit.library("jaxlib", jaxlib), kit.library("SciPy", scipy)]


if __name__ == "__main__":
    kit.main("jax-probe", libraries())
