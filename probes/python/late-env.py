# SPDX-License-Identifier: Apache-2.0
"""Variables that are set from Python: in time, or after the library has read them, which changes nothing.

A case starts Python anew for each of two values that a job's environment may hold already (torchrun, for one, exports
OMP_NUM_THREADS). There it sets the variable to its own value: from outside, before the import, after it, or after the
first operation. Then it tells what the variable says, what is in force, and the bits of an operation. A setting that
is read makes both processes alike; a late one leaves each with what it inherited, and the case varies.
"""

import contextlib
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import blas
import kit

VARIABLES = {  # name -> what two jobs have inherited, None for nothing, and what the program wants
    "CUBLAS_WORKSPACE_CONFIG": ((":4096:8", ":16:8"), ":16:8"),
    "MKL_NUM_THREADS": (("1", "2"), "1"),
    "OMP_NUM_THREADS": (("1", "2"), "1"),
    "OPENBLAS_NUM_THREADS": (("1", "2"), "1"),
    "PYTHONHASHSEED": ((None, None), "0"),
    "TF_ENABLE_ONEDNN_OPTS": (("1", "0"), "0"),
}
LIBRARIES = {"numpy": "NumPy", "torch": "PyTorch", "tensorflow": "TensorFlow"}
COUNT = 40000  # more than a thread is given alone
NO_DEVICE = "no CUDA device"


# ---- in the started process ----


def string_order(_python, _x):
    """A set of strings has the order of their hashes."""
    return {"order": [int(word) for word in {str(i) for i in range(64)}]}, b""


def numpy_dot(np, x):
    x = np.frombuffer(x)
    return {"threads": [blas.threads_of(blas.loaded())(0)]}, np.dot(x, x).tobytes()


def torch_mean(torch, x):
    mean = torch.frombuffer(x, dtype=torch.float64).mean()
    return {"threads": [torch.get_num_threads()]}, bytes(mean.untyped_storage())


def torch_workspace(torch, x):
    """What PyTorch holds beside the operands is the workspace that it gave cuBLAS."""
    a = torch.frombuffer(x, dtype=torch.float64)[:16384].reshape(128, 128).cuda()
    c = a @ a
    held = torch.cuda.memory_allocated() - a.nbytes - c.nbytes
    return {"workspace": [held]}, bytes(c.cpu().untyped_storage())


def tensorflow_softmax(tf, x):
    rows = tf.reshape(tf.io.decode_raw(bytes(x), tf.float64), (100, -1)) / 2.0**15
    return {}, tf.nn.softmax(tf.cast(rows, tf.float32)).numpy().tobytes()


EFFECTS = {("python", "cpu"): string_order, ("numpy", "cpu"): numpy_dot, ("torch", "cpu"): torch_mean,
           ("torch", "cuda"): torch_workspace, ("tensorflow", "cpu"): tensorflow_softmax}


def recipe(variable, library, device, when, size):
    """What a user's program does; then an answer to each vector that comes."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints on import is no answer
    effect, wanted = EFFECTS[library, device], VARIABLES[variable][1]
    if when == "before-import":
        os.environ[variable] = wanted
    module = kit.require(library) if library != "python" else None
    if device == "cuda" and not module.cuda.is_available():
        sys.exit(NO_DEVICE)
    if when == "after-use":
        effect(module, bytearray(size))
    if when in ("after-import", "after-start", "after-use"):
        os.environ[variable] = wanted
    while len(x := sys.stdin.buffer.read(size)) == size:
        found, bits = effect(module, bytearray(x))
        answers.write(json.dumps({"set": os.environ[variable], "found": found, "bits": bits.hex()}) + "\n")
        answers.flush()


# ---- in the probe program ----


class Job:
    """A Python process that runs the recipe."""

    def __init__(self, params, size, inherited):
        variable, when = params["variable"], params["when"]
        value = VARIABLES[variable][1] if when == "outside" else inherited
        environment = {name: text for name, text in os.environ.items() if name not in VARIABLES}
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, __file__, "recipe", variable, params["library"], params["device"], when, str(size)],
            env=environment if value is None else {**environment, variable: value},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)

    def ask(self, x):
        try:
            self.process.stdin.write(x)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # its last line says why
        line = self.process.stdout.readline()
        return json.loads(line) if line else self.explain()

    def explain(self):
        status = self.process.wait()
        self.log.seek(0)
        text = self.log.read().decode("utf-8", "replace").strip().split("\n")[-1]
        if status == 127:
            raise kit.Skip("library_missing", text)
        if text == NO_DEVICE:
            raise kit.Skip("no_device", text)
        raise RuntimeError(f"the started process ended with {status}: {text}")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
        self.log.close()


class Jobs:
    """The two jobs of the case that is asked for, each started when it is first needed: an import takes seconds."""

    def __init__(self):
        self.params, self.jobs = None, {}

    def ask(self, params, which, x):
        if params != self.params:
            for job in self.jobs.values():
                job.close()
            self.params, self.jobs = params, {}
        if which not in self.jobs:
            self.jobs[which] = Job(params, len(x), VARIABLES[params["variable"]][0][which])
        return self.jobs[which].ask(x)


JOBS = Jobs()


@kit.op("late")
def late(params, inputs):
    if params["variable"].endswith("_NUM_THREADS") and len(os.sched_getaffinity(0)) < 2:
        raise kit.Skip("unsupported", "one processor: a library runs one thread whatever the variable says")
    answer = JOBS.ask(params, inputs.run % 2, inputs.array("x", COUNT).tobytes())
    outputs = {"set": kit.u8(answer["set"].encode())}
    outputs.update({name: kit.s64(values) for name, values in answer["found"].items()})
    return {**outputs, "bits": kit.u8(bytes.fromhex(answer["bits"]))} if answer["bits"] else outputs


def version_of(name, path):
    """As the module itself says it: the packager's may lack the build ("2.15.0" for "2.15.0+cu132")."""
    file = pathlib.Path(path).with_name("version.py")
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    said = re.search(r"^__version__ = ['\"](.+)['\"]", text, re.M)
    return said.group(1) if said else importlib.metadata.version(name)


def installed():
    """The libraries that the started processes import, which this one does not."""
    for name, title in LIBRARIES.items():
        spec = importlib.util.find_spec(name)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            if spec and spec.origin:
                yield {"role": name, "name": title, "version": version_of(name, spec.origin), "path": spec.origin}


if __name__ == "__main__":
    if sys.argv[1:2] == ["recipe"]:
        recipe(*sys.argv[2:6], int(sys.argv[6]))
    else:
        kit.main("late-env", list(installed()))
