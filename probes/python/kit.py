# SPDX-License-Identifier: Apache-2.0
"""The Python kit: everything of a probe program but the operation itself (protocol 1, see ../README.md).

An operation is a function of (params, inputs) that does its work once and returns its outputs:

    @kit.op("dot")
    def dot(params, inputs):
        x = inputs.floats("x", params["n"])
        return {"sum": kit.f64([sum(x)])}

The kit reads the requests, calls the operation as often as asked, compares the raw bytes of every run, hashes
them and answers. It needs the standard library only and is one file: copy it beside a probe of your own. It
states no error bound and poisons nothing, so a result from here is `checked: bits`, and `wrong` only where the
operation itself says so (`kit.checked`).
"""

import array
import hashlib
import importlib
import itertools
import json
import math
import operator
import os
import platform
import struct
import sys
import time
import traceback

AXES = ("repeat", "fresh")  # the suite makes `fresh` by starting the program again
MAX_CLASSES = 1024  # distinct outputs told apart; 1024 means "at least"
MAX_LISTED = 8
WRONG = 1e308  # an infinite error over the bound: JSON has no infinity
BLOCK = 4096
CODES = {"f64": "d", "f32": "f", "f16": "e", "s64": "q", "s32": "i", "s16": "h", "s8": "b", "u64": "Q", "u32": "I",
         "u16": "H", "u8": "B"}  # of struct, always little-endian
KINDS = {**dict.fromkeys("dfe", "f"), **dict.fromkeys("bhilq", "s"), **dict.fromkeys("?BHILQ", "u")}  # by format
PAIRS = {"Zf": "f32", "Zd": "f64"}  # a complex number is a pair of these
LIKE = {"f64": "q", "f32": "i", "f16": "h"}  # the integer with as many bits
OPS = {}


class Skip(Exception):
    """This case cannot run here; reason is one of the protocol's closed list."""

    def __init__(self, reason, text):
        super().__init__(text)
        self.reason = reason


class Output:
    """The bytes one run left in one output, with what they mean."""

    def __init__(self, dtype, values, shape=None):
        self.dtype = dtype
        self.count = len(values)
        self.shape = list(shape or [self.count])
        self.bytes = values if isinstance(values, bytes) else struct.pack(f"<{self.count}{CODES[dtype]}", *values)
        if isinstance(values, bytes):
            self.count //= struct.calcsize(CODES[dtype])
        self.right = None  # not checked

    def values(self):
        return struct.unpack(f"<{self.count}{CODES[self.dtype]}", self.bytes)

    def bits(self):
        """Each element as an integer."""
        return struct.unpack(f"<{self.count}{LIKE.get(self.dtype, CODES[self.dtype])}", self.bytes)


def f64(values, shape=None):
    return Output("f64", values, shape)


def s64(values, shape=None):
    return Output("s64", values, shape)


def u8(values, shape=None):
    return Output("u8", values, shape)


def from_memory(values):
    """An output from whatever gives its memory away: an array of NumPy or of the standard library, in any order in
    memory. A complex number counts as two, in one more dimension."""
    view = memoryview(values)
    code = view.format.lstrip("@=<")
    if code in PAIRS:
        dtype, shape = PAIRS[code], [*view.shape, 2]
    elif code in KINDS:
        dtype, shape = f"{KINDS[code]}{8 * view.itemsize}", list(view.shape)
    else:
        raise TypeError(f"an output of format '{view.format}' has no dtype")
    return from_bytes(dtype, view.tobytes(), shape or [1])  # row-major, whatever the strides are


def from_bytes(dtype, raw, shape):
    """An output from the bytes of its elements, row-major and in this machine's byte order."""
    size = struct.calcsize(CODES[dtype])
    if sys.byteorder == "big":
        raw = b"".join(raw[i : i + size][::-1] for i in range(0, len(raw), size))
    return Output(dtype, raw, shape)


class Said(dict):
    """Outputs of an operation whose library says more of the run: `chosen` or `declared`, as an observation has them.
    What it says of the first run of a request is told."""

    def __init__(self, outputs, *, chosen=None, declared=None):
        super().__init__(outputs)
        facts = {"chosen": chosen, "declared": declared}
        self.facts = {name: fact for name, fact in facts.items() if fact is not None}


def checked(output, right):
    """An output of which the operation itself knows whether it is right: one that is not makes the result `wrong`."""
    output.right = bool(right)
    return output


def op(name):
    """Registers a function as the catalogue's `op` of this name."""

    def register(function):
        OPS[name] = function
        return function

    return register


class Params(dict):
    def __missing__(self, name):
        raise LookupError(f"param '{name}' is missing")


class Inputs:
    """Operands: the same bits on every machine, from seed, problem and tensor name alone, made by integer
    operations and ldexp. They are this kit's own (SHAKE-256 of the key), not those of the C kit."""

    def __init__(self, request):
        self.key = f"{request['seed']}/{request['problem']}"
        self.set = request["set"]
        self.run = 0  # number of the run within the request: for controls, and for what each run finds around it
        self.spent_ns = 0
        self.made = {}

    def words(self, tensor, count):
        """`count` 64-bit numbers."""
        return self._once(("words", tensor, count), lambda: self._draw(tensor, count))

    def floats(self, tensor, count):
        """`count` floats of the request's set: wide (order shows), unit ([-1, 1)), exact (sums are exact)."""
        return self._once(("floats", tensor, count), lambda: list(map(SETS[self.set], self._draw(tensor, count))))

    def array(self, tensor, count, dtype="f64"):
        """The same floats as an array.array of f64, or of f32 (rounded to nearest), for libraries of arrays."""
        values = self._once(("array", tensor, count), lambda: self._packed(tensor, count))
        return values if dtype == "f64" else self._once(("array", tensor, count, dtype),
                                                        lambda: array.array(CODES[dtype], values))

    def _packed(self, tensor, count):
        if self.set == "wide":
            return _wide_array(self._stream(tensor, count), count)
        return array.array("d", map(SETS[self.set], self._draw(tensor, count)))

    def _stream(self, tensor, count):
        return hashlib.shake_256(f"{self.key}/{tensor}".encode()).digest(8 * count)

    def _draw(self, tensor, count):
        return list(struct.unpack(f"<{count}Q", self._stream(tensor, count)))

    def _once(self, name, make):
        if name not in self.made:
            start = time.perf_counter_ns()
            self.made[name] = make()
            self.spent_ns += time.perf_counter_ns() - start
        return self.made[name][:]  # a copy: an operation may spoil it


def _wide(word):
    sign = -1.0 if word >> 63 else 1.0
    exponent = (word >> 52) % 32 - 16
    return sign * math.ldexp((1 << 52) + word % (1 << 52), exponent - 52)


def _wide_array(stream, count):
    """_wide of every word at once, put together as the bits of floats in one long number: a loop over words takes
    longer than most operations."""
    ones = int.from_bytes((b"\1" + bytes(7)) * count, "little")
    words = int.from_bytes(stream, "little")
    exponents = ((words >> 52) & ones * 31) + ones * (1023 - 16)
    bits = (words & ones * ((1 << 63) | (1 << 52) - 1)) | exponents << 52
    values = array.array("d", bits.to_bytes(8 * count, "little"))
    if sys.byteorder == "big":
        values.byteswap()
    return values


def _unit(word):
    return math.ldexp(word % (1 << 53) - (1 << 52), -52)


def _exact(word):
    return float(word % 17) - 8.0


SETS = {"wide": _wide, "unit": _unit, "exact": _exact}


def _ordered(bits, dtype):
    """Number of a float, by its bits, in the order of all values of its type: a difference counts ULPs."""
    return bits if bits >= 0 else -(bits & (1 << 8 * struct.calcsize(CODES[dtype]) - 1) - 1)


def explain(name, first, other):
    """How far another run is from the first: for people, it decides nothing."""
    a, b = first.bits(), other.bits()
    where = list(itertools.compress(range(first.count), map(operator.ne, a, b)))
    kind = "permutation" if sum(a) == sum(b) and sorted(a) == sorted(b) else "values"
    result = {"output": name, "elements": len(where), "of": first.count, "first_index": where[0], "kind": kind,
              "shape": first.shape}
    whole = (1 << 8 * struct.calcsize(CODES[first.dtype])) - 1
    apart = {(a[i] ^ b[i]) & whole for i in where}
    if all(bits & bits - 1 == 0 for bits in apart):
        result["flipped"] = hex(sum(apart))
    x, y = first.values(), other.values()
    if first.dtype in LIKE and all(math.isfinite(x[i]) and math.isfinite(y[i]) for i in where):
        result["max_ulp"] = str(max(abs(_ordered(a[i], first.dtype) - _ordered(b[i], first.dtype)) for i in where))
        worst = max(abs(x[i] - y[i]) for i in where)
        norm = max((abs(value) for value in x if math.isfinite(value)), default=0)
        if math.isfinite(worst):
            result["max_abs"] = worst
        if norm > 0 and math.isfinite(worst / norm):
            result["max_rel"] = worst / norm
    return result


class Tally:
    """One output over the runs of a request: its classes of equal bytes, in order of appearance."""

    def __init__(self, first):
        self.first, self.other, self.classes, self.beyond = first, None, {}, 0
        self.right = first.right

    def add(self, run, output):
        if (output.dtype, output.shape) != (self.first.dtype, self.first.shape):
            raise ValueError(f"an output changed from {self.first.dtype} {self.first.shape} to "
                             f"{output.dtype} {output.shape} between runs")
        if self.other is None and output.bytes != self.first.bytes:
            self.other = output
        self.right = self.right and output.right
        digest = hashlib.sha256(output.bytes).hexdigest()
        if digest not in self.classes and len(self.classes) == MAX_CLASSES:
            self.beyond += 1
            return
        self.classes.setdefault(digest, {"sha256": digest, "runs": 0, "first_run": run})["runs"] += 1

    def outside(self):
        runs = [c["runs"] for c in self.classes.values()]
        return sum(runs) + self.beyond - max(runs)

    def same_share(self):
        """The share of the output, in row-major order, before the first element that differs."""
        a, b = self.first.bytes, self.other.bytes
        block = next(i for i in range(0, len(a), BLOCK) if a[i : i + BLOCK] != b[i : i + BLOCK])
        return next(i for i in range(block, len(a)) if a[i] != b[i]) / len(a)

    def message(self, name):
        message = {"name": name, "dtype": self.first.dtype, "shape": self.first.shape,
                   "distinct": len(self.classes), "classes": list(self.classes.values())[:MAX_LISTED]}
        return message if self.right is None else {**message, "error_over_bound": 0 if self.right else WRONG}


class Session:
    """What stays the same between requests, or is kept from one to the next."""

    def __init__(self, threads=None):
        self.set_threads = threads
        self.initial_threads = threads(0) if threads else 0
        self.inputs_of, self.inputs = None, None

    def axes(self):
        return [*AXES, *(["threads"] if self.initial_threads else [])]

    def settings(self, request):
        """{axis: setting} of a request; an axis may be a product (`threads*repeat`)."""
        names, parts = request["axis"].split("*"), request["setting"].split("*")
        for name in names:
            if name not in self.axes():
                raise Skip("unsupported", f"the Python kit does not vary '{name}'")
        return dict(zip(names, parts))

    def use_threads(self, setting):
        """Puts a number of threads in force and gives back what was read; without a setting the first one."""
        wanted = int(setting) if setting else self.initial_threads
        found = self.set_threads(wanted)
        if setting and found != wanted:
            raise Skip("unsupported", f"threads {wanted}: the library runs {found}")
        return found

    def inputs_for(self, request):
        """Requests of one case, seed and set follow each other: their inputs are made once."""
        key = (request["seed"], request["problem"], request["set"])
        if self.inputs_of != key:
            self.inputs_of, self.inputs = key, Inputs(request)
        return self.inputs


def check_outputs(outputs):
    if not isinstance(outputs, dict) or not outputs:
        raise TypeError("an operation returns a dict of outputs, as {'sum': kit.f64([total])}")
    for name, output in outputs.items():
        if not isinstance(output, Output):
            raise TypeError(f"output '{name}' is a {type(output).__name__}: make it one with kit.f64 or kit.from_memory")


def place(error):
    """Where the program itself raised it, or called what did, as " (file:line)"."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == sys.argv[0]]
    return f" ({os.path.basename(sys.argv[0])}:{own[-1].lineno})" if own else ""


def observe(request, session):
    """The answer to one request, by doing what it asks."""
    if request["op"] not in OPS:
        raise LookupError(f"unknown op '{request['op']}'")
    settings = session.settings(request)
    threads = session.use_threads(settings.get("threads")) if session.initial_threads else 0
    function, params, inputs = OPS[request["op"]], Params(request["params"]), session.inputs_for(request)
    tallies, times, said = {}, [], None
    for run in range(request["runs"]):
        inputs.run, inputs.spent_ns = run, 0
        start = time.perf_counter_ns()
        outputs = function(params, inputs)
        times.append(max(time.perf_counter_ns() - start - inputs.spent_ns, 0))
        said = getattr(outputs, "facts", {}) if said is None else said
        check_outputs(outputs)
        if tallies and list(outputs) != list(tallies):
            raise ValueError("a run returned other outputs than the first")
        for name, output in outputs.items():
            tallies.setdefault(name, Tally(output)).add(run, output)
    later = times[1:] or times
    answer = {"type": "observation", "outputs": [t.message(name) for name, t in tallies.items()],
              "time": {"first_ns": times[0], "min_ns": min(times), "mean_ns": sum(later) // len(later)}, **said}
    if threads:
        answer["threads"] = threads
    varied = [name for name in tallies if tallies[name].other]
    if varied:  # explain the one that differs most often, and of those the one that differs first: its step, its row
        worst = max(varied, key=lambda name: (tallies[name].outside(), -tallies[name].same_share()))
        answer["mismatch"] = {"runs": tallies[worst].outside(),
                              **explain(worst, tallies[worst].first, tallies[worst].other)}
    return answer


def answer(request, session):
    try:
        return observe(request, session)
    except Skip as skip:
        return {"type": "skip", "reason": skip.reason, "text": str(skip)}
    except MemoryError:
        return {"type": "skip", "reason": "memory", "text": "not enough memory"}
    except Exception as error:  # one bad case never costs the others
        lines = f"{type(error).__name__}: {error}".strip().splitlines()
        # what a library passes on from another process has its cause in the last line
        text = lines[0] if len(lines) == 1 else f"{lines[0]} ... {lines[-1]}"
        return {"type": "failure", "text": text + place(error)}


def library(title, module, **more):
    """What `hello` says of an imported package."""
    return {"role": module.__name__, "name": title, "version": module.__version__, "path": module.__file__, **more}


def interpreter():
    """The library that is measured here: the Python that runs this file."""
    return {"role": "python", "name": platform.python_implementation(), "version": platform.python_version(),
            "path": os.path.realpath(sys.executable)}


def require(module):
    """The module that is measured. Without it the program ends here, before hello: its cases are skipped, and the
    line printed says why. Whatever the import raises is the module's fault, not the case's."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        why = f"this Python has no module '{error.name}'"
    except (Exception, SystemExit) as error:
        while error.__cause__ or error.__context__:  # libraries explain at length what began with one line
            error = error.__cause__ or error.__context__
        why = f"{type(error).__name__}: {str(error).strip()}".splitlines()[0].removesuffix(": ")
    print(f"\ncannot import '{module}': {why}", file=sys.stderr)
    sys.exit(127)


def _silence(*files):
    """In a forked process: the protocol is its parent's, whatever becomes of either."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for file in files:
        os.dup2(nothing, file.fileno())
    os.close(nothing)


def apply_setting(program, settings):
    """What a case asks of its process, DETPROBE_SETTING: an unknown word is a fault of the catalogue file."""
    word = os.environ.get("DETPROBE_SETTING")
    if not word:
        return
    if word not in settings:
        print(f"{program}: no setting '{word}' (DETPROBE_SETTING)", file=sys.stderr)
        sys.exit(2)
    settings[word]()


def main(program, libraries=(), threads=None, settings=None):
    """Speaks protocol 1 until the suite closes its end. `libraries` are listed beside the interpreter. `threads`, if
    there is one, sets the number of threads of what is measured (0: leaves it) and gives back the number in force.
    `settings` are functions by the words for them that cases say in DETPROBE_SETTING: one is called before hello.
    Without the two descriptors standard input and output serve, so that a probe can be driven by hand."""
    try:
        requests = open(int(os.environ.get("DETPROBE_IN_FD", "0")), encoding="utf-8")
        answers = open(int(os.environ.get("DETPROBE_OUT_FD", "1")), "w", encoding="utf-8")
    except (ValueError, OSError):
        print(f"{program}: bad DETPROBE_IN_FD or DETPROBE_OUT_FD: not a descriptor", file=sys.stderr)
        sys.exit(2)

    os.register_at_fork(after_in_child=lambda: _silence(requests, answers))

    def send(message):
        answers.write(json.dumps(message, allow_nan=False) + "\n")
        answers.flush()

    apply_setting(program, settings or {})
    session = Session(threads)
    try:
        send({"type": "hello", "program": program, "protocol": 1, "axes": session.axes(),
              "libraries": [interpreter(), *libraries]})
        for line in requests:
            request = json.loads(line)
            send({**answer(request, session), "id": request["id"]})
            send({"type": "done", "id": request["id"]})
    except BrokenPipeError:  # the suite is gone: nobody to tell
        os._exit(0)
