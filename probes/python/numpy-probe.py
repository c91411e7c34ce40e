# SPDX-License-Identifier: Apache-2.0
"""NumPy: products and sums by layout in memory, sorting with ties, decompositions, transforms, random streams.

What the cases ask: does a second process give the same bits, and do the threads of the BLAS behind NumPy show? Its
number of threads is set in that library itself, as environment variables are read once per process.

(The file is not called numpy.py: a program stands in front of installed modules, and would be imported instead.)
"""

import json
import math

import blas
import kit

np = kit.require("numpy")


def operand(inputs, name, shape, dtype="f64"):
    """An array in C order with values of the request's set."""
    return np.asarray(inputs.array(name, math.prod(shape), dtype)).reshape(shape)


def indices(inputs, name, count, below):
    return np.array(inputs.words(name, count), dtype=np.uint64) % below


LAYOUTS = {  # the same values in another order in memory
    "c": np.ascontiguousarray,
    "f": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "reversed": lambda x: x[..., ::-1].copy()[..., ::-1],
}


@kit.op("dot")
def dot(params, inputs):
    x, y = (LAYOUTS[params["layout"]](operand(inputs, name, (params["n"],), params["dtype"])) for name in "xy")
    return {"dot": kit.from_memory(np.dot(x, y))}


@kit.op("matmul")
def matmul(params, inputs):
    m, n, k, dtype = params["m"], params["n"], params["k"], params["dtype"]
    a = LAYOUTS[params["a"]](operand(inputs, "a", (m, k), dtype))
    b = LAYOUTS[params["b"]](operand(inputs, "b", (k, n), dtype))
    return {"c": kit.from_memory(a @ b)}


@kit.op("einsum")
def einsum(params, inputs):
    terms, dtype = params["subscripts"].partition("->")[0].split(","), params["dtype"]
    arrays = [operand(inputs, f"x{i}", (params["n"],) * len(term), dtype) for i, term in enumerate(terms)]
    return {"y": kit.from_memory(np.einsum(params["subscripts"], *arrays, optimize=params["optimize"]))}


REDUCTIONS = {
    "sum": np.sum,
    "mean": np.mean,
    "var": np.var,
    "cumsum": np.cumsum,
    "nansum": np.nansum,
    "norm": np.linalg.norm,
    "reduceat": lambda x, axis: np.add.reduceat(x, [0, 7, 100, 101], axis=axis),
}


@kit.op("reduce")
def reduce(params, inputs):
    shape = (params["rows"], params["columns"])
    x = LAYOUTS[params["layout"]](operand(inputs, "x", shape, params["dtype"]))
    axis = None if params["axis"] == "all" else int(params["axis"])
    return {"y": kit.from_memory(REDUCTIONS[params["function"]](x, axis=axis))}


def add_at(index, weights, bins):
    total = np.zeros(bins, weights.dtype)
    np.add.at(total, index, weights)
    return total


SCATTERS = {
    "add-at": add_at,
    "bincount": lambda index, weights, bins: np.bincount(index.astype(np.int64), weights, bins),
    "histogram": lambda index, weights, bins: np.histogram(index, bins, (0, bins), weights=weights)[0],
}


@kit.op("scatter")
def scatter(params, inputs):
    n, bins = params["n"], params["bins"]
    weights = operand(inputs, "weights", (n,), params["dtype"])
    return {"bins": kit.from_memory(SCATTERS[params["function"]](indices(inputs, "bins", n, bins), weights, bins))}


SORTS = {
    "argsort": lambda keys, kind: np.argsort(keys, kind=kind),
    "argpartition": lambda keys, kind: np.argpartition(keys, len(keys) // 2),
    "unique-index": lambda keys, kind: np.unique(keys, return_index=True)[1],
    "lexsort": lambda keys, kind: np.lexsort((keys % 5, keys)),
    "argmax": lambda keys, kind: np.argmax(keys.reshape(-1, 50), axis=1),
}


@kit.op("sort")
def sort(params, inputs):
    """Places, not values: keys that compare as equal can be told apart by nothing else."""
    keys = indices(inputs, "keys", params["n"], params["distinct"]).astype(params["type"])
    return {"places": kit.from_memory(SORTS[params["function"]](keys, params.get("kind")))}


def symmetric(a):
    return (a + a.T) / 2


def definite(a):
    return a @ a.T / np.abs(a).max() ** 2 + len(a) * np.eye(len(a), dtype=a.dtype)


LINALG = {  # each gives a tuple of arrays
    "svd": lambda a: np.linalg.svd(a),
    "svdvals": lambda a: (np.linalg.svd(a, compute_uv=False),),
    "eigh": lambda a: np.linalg.eigh(symmetric(a)),
    "eigvals": lambda a: (np.linalg.eigvals(a),),
    "qr": lambda a: np.linalg.qr(a),
    "cholesky": lambda a: (np.linalg.cholesky(definite(a)),),
    "solve": lambda a: (np.linalg.solve(a, a[0]),),
    "inv": lambda a: (np.linalg.inv(a),),
    "slogdet": lambda a: np.linalg.slogdet(a),
    "lstsq": lambda a: (np.linalg.lstsq(a[:, : len(a) // 2], a[0], rcond=None)[0],),
    "pinv": lambda a: (np.linalg.pinv(a),),
    "matrix-power": lambda a: (np.linalg.matrix_power(a, 5),),
}


@kit.op("linalg")
def linalg(params, inputs):
    results = LINALG[params["function"]](operand(inputs, "a", (params["n"], params["n"]), params["dtype"]))
    return {f"y{i}": kit.from_memory(y) for i, y in enumerate(results)}


@kit.op("fft")
def fft(params, inputs):
    x = operand(inputs, "x", (params["rows"], params["n"]), params["dtype"])
    return {"y": kit.from_memory(getattr(np.fft, params["function"])(x))}


@kit.op("elementwise")
def elementwise(params, inputs):
    """Of the same values, contiguous and not: other loops may round otherwise."""
    x = np.clip(operand(inputs, "x", (params["n"],), params["dtype"]), -80, 80)
    return {"y": kit.from_memory(getattr(np, params["function"])(LAYOUTS[params["layout"]](x)))}


@kit.op("convolve")
def convolve(params, inputs):
    x, y = (operand(inputs, name, (params[name],), params["dtype"]) for name in ("n", "window"))
    return {"y": kit.from_memory(np.convolve(x, y))}


DRAWS = {
    "random": lambda rng, n: rng.random(n),
    "normal": lambda rng, n: rng.normal(size=n),
    "integers": lambda rng, n: rng.integers(0, 1000, n),
    "permutation": lambda rng, n: rng.permutation(n),
    "choice": lambda rng, n: rng.choice(10 * n, n, replace=False),
    "multivariate-normal": lambda rng, n: rng.multivariate_normal(np.zeros(n), definite(np.tri(n))),
}
LEGACY = {
    "random": lambda rng, n: rng.random_sample(n),
    "normal": lambda rng, n: rng.normal(size=n),
    "permutation": lambda rng, n: rng.permutation(n),
}


@kit.op("random")
def random(params, inputs):
    """A stream from its seed, from a child of its seed, and from the operating system."""
    seed = inputs.words("seed", 1)[0]
    sequence = {"int": lambda: np.random.SeedSequence(seed), "spawn": lambda: np.random.SeedSequence(seed).spawn(3)[2],
                "none": np.random.SeedSequence}[params["seed"]]()
    rng = np.random.Generator(getattr(np.random, params["generator"])(sequence))
    return {"draws": kit.from_memory(DRAWS[params["draw"]](rng, params["n"]))}


@kit.op("random-legacy")
def random_legacy(params, inputs):
    rng = np.random.RandomState(inputs.words("seed", 1)[0] % 2**32)
    return {"draws": kit.from_memory(LEGACY[params["draw"]](rng, params["n"]))}


@kit.op("random-resumed")
def random_resumed(params, inputs):
    """The same stream, but the second half comes from another generator that got the state through a file's text."""
    kind, half = getattr(np.random, params["generator"]), params["n"] // 2
    first = np.random.Generator(kind(np.random.SeedSequence(inputs.words("seed", 1)[0])))
    draws = [DRAWS[params["draw"]](first, half)]
    second = np.random.Generator(kind())
    second.bit_generator.state = from_text(to_text(first.bit_generator.state))
    draws.append(DRAWS[params["draw"]](second, params["n"] - half))
    return {"draws": kit.from_memory(np.concatenate(draws))}


def to_text(state):
    return json.dumps(state, default=lambda array: {"array": array.tolist()})


def from_text(text):
    return json.loads(text, object_hook=lambda x: np.array(x["array"], np.uint64) if "array" in x else x)


def features():
    """Instruction sets that NumPy's own loops may use here, as show_runtime() says it."""
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:  # before NumPy 2
        from numpy.core import _multiarray_umath as core
    return [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]


if __name__ == "__main__":
    found = blas.loaded()
    numpy = kit.library("NumPy", np, config=" ".join(["dispatch", *features()]))
    kit.main("numpy-probe", [numpy, *(library.library() for library in found)], threads=blas.threads_of(found))
