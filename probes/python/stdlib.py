# SPDX-License-Identifier: Apache-2.0
"""What Python programs meet without any library: the order of sets and dicts, hashes, seeds, math functions.

A float sum shows an order; the containers and executors below decide it. The sums are taken by a
plain loop unless the case says otherwise: since Python 3.12 the built-in sum() compensates and would hide most
of what is looked for.
"""

import concurrent.futures
import math
import pickle
import random

import kit

GROUPS = 8  # sums in one output: eight chances to see an order


def add_up(values):
    total = 0.0
    for value in values:
        total += value
    return total


def task(key):
    """Work of about the same length for every key, as the tasks of a real pool are."""
    return key if sum(range(200)) else None


def executor_map(keys):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return list(pool.map(task, keys))


KEYS = {  # from a random word to a key of one type; no two words give the same key
    "str": lambda word: f"{word:016x}",
    "bytes": lambda word: word.to_bytes(8, "little"),
    "int": lambda word: word,
    "float": lambda word: math.ldexp(word >> 11, word % 64 - 100),
    "tuple": lambda word: (word, word >> 32),
}
ORDERS = {
    "list": lambda keys: keys,
    "dict": lambda keys: list(dict.fromkeys(keys)),
    "set": lambda keys: list(set(keys)),
    "sorted": lambda keys: sorted(set(keys)),
    "executor-map": executor_map,
}
TOTALS = {"loop": add_up, "fsum": math.fsum, "sum": sum}


@kit.op("sum")
def order_sum(params, inputs):
    """Sums of values in the order in which a container or an executor gives back their keys."""
    order, total, n = ORDERS[params["order"]], TOTALS[params["total"]], params["n"]
    keys = [KEYS[params["keys"]](word) for word in inputs.words("keys", n)]
    place = dict(zip(keys, range(n)))
    places = [place[key] for key in order(keys)]
    sums = []
    for group in range(GROUPS):
        values = inputs.floats(f"x{group}", n)
        sums.append(total([values[i] for i in places]))
    return {"sums": kit.f64(sums)}


@kit.op("hash")
def hashes(params, inputs):
    words = inputs.words("x", params["n"])
    key = KEYS[params["of"]]
    return {"hashes": kit.s64([hash(key(word)) for word in words])}


DRAWS = {
    "random": lambda generator, n: [generator.random() for _ in range(n)],
    "gauss": lambda generator, n: [generator.gauss(0.0, 1.0) for _ in range(n)],
    "shuffle": lambda generator, n: [float(i) for i in generator.sample(range(n), n)],
}


@kit.op("random")
def draws(params, inputs):
    seeds = {
        "int": lambda: inputs.words("seed", 1)[0],
        "str": lambda: f"seed {inputs.words('seed', 1)[0]}",
        "none": lambda: None,  # from the operating system's entropy
    }
    generator = random.Random(seeds[params["seed"]]())
    return {"draws": kit.f64(DRAWS[params["draw"]](generator, params["n"]))}


@kit.op("math")
def elementary(params, inputs):
    function = getattr(math, params["function"])
    positive = params["function"] in ("log", "lgamma")
    arguments = [abs(x) + 1.0 if positive else x for x in inputs.floats("x", params["n"])]
    return {"y": kit.f64([function(min(max(x, -700.0), 700.0)) for x in arguments])}


@kit.op("pickle")
def pickled(params, inputs):
    names = {f"{word:016x}" for word in inputs.words("names", params["n"])}
    kept = names if params["order"] == "set" else sorted(names)
    return {"bytes": kit.u8(pickle.dumps(kept, protocol=4))}


if __name__ == "__main__":
    kit.main("stdlib")
