# SPDX-License-Identifier: Apache-2.0
"""What the tests of attribution share: a program whose bits move exactly as its cases say."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = '''
import hashlib, json, os, sys, time
STATE = os.path.join(os.path.dirname(sys.argv[0]), "state")
with open(STATE + "-processes", "a") as processes: processes.write("."); number = processes.tell()
COIN = hashlib.sha256(str(number).encode()).digest()[0] & 1 # like thrown for each process, and in each test the same
out = os.fdopen(int(os.environ["DETPROBE_OUT_FD"]), "w", buffering=1)
def say(**m): print(json.dumps(m), file=out)
def is_on(*names): return all(os.environ.get(name) == "1" for name in names)
say(type="hello", program="moves", protocol=1, axes=["threads", "align", "batch"], libraries=[
    {"role": "fake", "name": "Fake", "version": os.environ.get("OMP_FAKE_VERSION", "1.0"), "path": "/fake.so"}])
for line in os.fdopen(int(os.environ["DETPROBE_IN_FD"])):
    m = json.loads(line)
    p, op = m["params"], m["op"]
    at = dict(zip(m["axis"].split("*"), m["setting"].split("*")))
    values = [0] * m["runs"]
    if op == "variables" and is_on(*p["names"].split()): values = [1] * m["runs"]
    if op == "threads" or op == "skips-at-1": values = [int(at.get("threads", "2"))] * m["runs"]
    if op == "both" and is_on("OMP_FAKE_A") and at.get("threads") == "4": values = [1] * m["runs"]
    if op == "varies" and not is_on(*p["names"].split()): values = list(range(m["runs"]))
    if op == "rare" and (at.get("threads") != "1" or p["always"]): values[-1] = 1
    if op == "unsteady-at" and at.get("threads") == "8": values = list(range(m["runs"]))
    if op == "unsteady-but-for" and at.get("threads") not in (None, *p["but"].split()): values = list(range(m["runs"]))
    if op == "coin": values = [COIN] * m["runs"]
    if op == "process" and not is_on("OMP_FAKE_A"): values = [os.getpid()] * m["runs"]
    if op == "once" and at.get("threads") == "4" and not os.path.exists(STATE):
        open(STATE, "w").close()
        values = [1] * m["runs"]
    if op == "dies" and at.get("threads") == "4": os.kill(os.getpid(), 11)
    if op == "hangs": open(STATE, "w").close(); time.sleep(600)
    if op == "fails": say(id=m["id"], type="failure", text="it cannot"); say(type="done", id=m["id"]); continue
    if op == "skips" or op.startswith("skips-at-") and at.get("threads") == op[-1]: say(id=m["id"], type="skip", reason="memory", text="too little"); say(type="done", id=m["id"]); continue
    classes = {}
    for run, value in enumerate(values): classes.setdefault(value, []).append(run)
    say(id=m["id"], type="observation", outputs=[{"name": "y", "dtype": "f32", "shape": [4], "distinct": len(classes), "classes": [
        {"sha256": hashlib.sha256(f"{value} {m['seed']} {m['set']}".encode()).hexdigest(), "runs": len(runs), "first_run": runs[0]}
        for value, runs in list(classes.items())[:8]]}])
    say(type="done", id=m["id"])
'''

MANY = [f"OMP_FAKE_{n}" for n in range(10)]


def case(name, op, sets=(), **params):
    """`sets`: the variables of the case's remedy, which are tried."""
    return {"id": f"fake/moves/{name}", "op": op, "arithmetic": "direct", "params": params, "reveals": "what it says",
            "guarantee": {"level": "unstated"}, "cost": 10,
            **({"remedy": {"text": "set them", "setting": " ".join(f"{one}=1" for one in sets), "source": "made-up"}}
               if sets else {})}


AB = ("OMP_FAKE_A", "OMP_FAKE_B")
CASES = [
    case("repeats", "repeats", AB),
    case("threads", "threads"),
    case("one-of-many", "variables", MANY, names="OMP_FAKE_7"),
    case("two-of-many", "variables", MANY, names="OMP_FAKE_3 OMP_FAKE_9"),
    case("needs-both", "both", ("OMP_FAKE_A", "OMP_FAKE_C")),
    case("varies", "varies", AB, names="OMP_FAKE_A"),
    case("varies-but-for-two", "varies", MANY[:4], names="OMP_FAKE_1 OMP_FAKE_3"),
    case("varies-always", "varies", AB, names="OMP_FAKE_NEVER"),
    case("rare", "rare", AB, always=False),
    case("varies-at-8", "unsteady-at"),
    case("varies-at-all", "unsteady-but-for", but=""),
    case("varies-at-1", "unsteady-but-for", but="2 4 8"),
    case("skips-at-1", "skips-at-1"),
    case("process", "process", AB),
    case("coin", "coin", AB),
    case("once", "once"),
    case("dies", "dies"),
    case("hangs", "hangs"),
    case("fails", "fails"),
    case("skips", "skips"),
    case("skips-at-4", "skips-at-4"),
    case("secret", "variables", names="LD_FAKE"),
]


class Lab(unittest.TestCase):
    """`detprobe` is the program; a folder with the fake, and a shell without settings of its own."""

    maxDiff = None
    detprobe = None
    clean = ("DETPROBE_", "OMP_", "OPENBLAS_", "MKL_", "GOTO_", "PYTHONHASHSEED", "MALLOC_", "GLIBC_TUNABLES", "ONEDNN_")

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.probes = self.folder / "probes"
        self.probes.mkdir()
        (self.probes / "moves.py").write_text(PROGRAM)
        self.write_cases(CASES)
        self.report = self.folder / "report.json"

    def write_cases(self, cases):
        (self.probes / "moves.json").write_text(json.dumps({
            "schema_version": "1.0", "program": "moves.py", "sources": {"made-up": "this test"}, "cases": cases}))

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(self.clean)}
        path = f"{self.detprobe.parent}:{kept.get('PATH', '')}"
        return {**kept, "DETPROBE_PROBE_PATH": str(self.probes), "PATH": path, **more}

    def start(self, *arguments, **environment):
        return subprocess.Popen([self.detprobe, *map(str, arguments)], env=self.environment(**environment),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def call(self, *arguments, status=0, **environment):
        """What it prints; a message that is one line where it ends otherwise."""
        process = self.start(*arguments, **environment)
        out, errors = process.communicate(timeout=300)
        self.assertIn(process.returncode, status if isinstance(status, tuple) else (status,), out + errors)
        if process.returncode > 1 and arguments[0] != "run":
            self.assertEqual((out, len(errors.splitlines())), ("", 1), out + errors)
            return errors
        return out

    def measure(self, *cases, file=None, level=("--level", "quick", "--axis", "threads", "--runs", "2", "--seeds", "1"), status=(0, 1), **environment):
        self.call("run", *cases, *level, "-o", file or self.report, status=status, **environment)
        return json.loads((file or self.report).read_text())

    def shell(self, command, **environment):
        return subprocess.run(["bash", "-c", command], env=self.environment(**environment), capture_output=True, text=True,
                              timeout=300)
