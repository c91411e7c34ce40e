"""A probe of your own: values are added up by their names, in the order of a set and sorted.

What to change is marked CHANGE, here and in @NAME@.json. `detprobe validate @NAME@.json` checks the catalogue file,

    DETPROBE_PROBE_PATH=FOLDER detprobe run 'python/@NAME@/*'

runs its cases. What else the kit gives an operation is said in kit.py.
"""

import kit


@kit.op("sum")  # CHANGE: the `op` of your cases
def add_up(params, inputs):
    """Does all of the work once: detprobe calls it again and again, here and in new processes, and compares."""
    # CHANGE: inputs. The same bits in every run, of any number of tensors, each with a name.
    values = {str(i): value for i, value in enumerate(inputs.floats("values", params["n"]))}

    # CHANGE: the operation. Its order of additions is what is looked at.
    sums = [0.0] * params["sums"]
    for name in sorted(values) if params["order"] == "sorted" else set(values):
        sums[int(name) % len(sums)] += values[name]

    # CHANGE: outputs. A dict of kit.f64, kit.s64, kit.u8, or kit.from_memory of an array.
    return {"sums": kit.f64(sums)}


# CHANGE: the library that you measure, as the report shall name it: kit.main("@NAME@", [{"role": ..., "name": ...,
# "version": ..., "path": ...}]). Import it with kit.require("name"), so that its cases are skipped where it is missing.
kit.main("@NAME@")
