# SPDX-License-Identifier: Apache-2.0
"""Controls of the Python backend: operations whose answer is known, so that a run can tell whether its own
measurement works. The orders are shuffled from the operating system's entropy, never from Python's seeds."""

import math
import random

import kit

ENTROPY = random.SystemRandom()
PROCESS_ORDER = ENTROPY.getrandbits(64)  # one per process
PLANT_PERIOD = 50
GROUPS = 8


def add_up(values, start):
    total = start
    for value in values:
        total += value
    return total


@kit.op("sum")
def shuffled_sum(params, inputs):
    """Sums of the same summands: in a new order in each run, in one order per process, or in a fixed one."""
    order, kind, n = params["order"], params["of"], params["n"]
    sums = []
    for group in range(GROUPS):
        if kind == "integers":
            values = [word >> 8 for word in inputs.words(f"x{group}", n)]
        elif kind == "exact":  # multiples of 2^-10 far below 2^53 of them: no addition rounds
            values = [math.ldexp(word % 4096 - 2048, -10) for word in inputs.words(f"x{group}", n)]
        else:
            values = inputs.floats(f"x{group}", n)
        if order == "run":
            ENTROPY.shuffle(values)
        elif order == "process":
            random.Random(PROCESS_ORDER).shuffle(values)
        sums.append(add_up(values, 0) % 2**62 if kind == "integers" else add_up(values, 0.0))
    return {"sums": kit.s64(sums) if kind == "integers" else kit.f64(sums)}


@kit.op("plant")
def plant(params, inputs):
    """A fixed output in which exactly one run of every 50 has one bit flipped; which, the seed says."""
    values = inputs.words("x", params["n"])
    block, place = divmod(inputs.run, PLANT_PERIOD)
    if place == inputs.words(f"place{block}", 1)[0] % PLANT_PERIOD:
        values[(values[0] + block) % len(values)] ^= 1  # another element in each block
    return {"values": kit.s64([value >> 1 ^ value & 1 for value in values])}


if __name__ == "__main__":
    kit.main("control")
