# SPDX-License-Identifier: Apache-2.0
"""Protocol 1 by hand, for tests: starts a probe program, sends requests through a pipe, reads the answers."""

import json
import os
import subprocess
import sys


def request(op, params, **other):
    """A request of the base setting; `other` replaces members."""
    return {"id": 1, "case": "test/test/test", "op": op, "params": params, "choice": None, "problem": "test/test",
            "arithmetic": "direct", "bound": 1, "batch": None, "seed": "1/0", "set": "wide", "axis": "repeat",
            "setting": "", "runs": 8, **other}


def command(program):
    if isinstance(program, list):
        return [str(word) for word in program]
    return [sys.executable, str(program)] if str(program).endswith(".py") else [str(program)]


def environment(changes):
    """This process's environment with changes; None removes a variable."""
    merged = {**os.environ, **changes}
    return {name: value for name, value in merged.items() if value is not None}


def converse(program, requests, before_end=None, **changes):
    """(hello, the answers to each request without the final `done`, exit status) of one process; `before_end` gets
    its id while it still waits for more."""
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    fds = {"DETPROBE_IN_FD": str(in_read), "DETPROBE_OUT_FD": str(out_write)}
    process = subprocess.Popen(command(program), pass_fds=(in_read, out_write), stdin=subprocess.DEVNULL,
                               env=environment({**changes, **fds}))
    os.close(in_read)
    os.close(out_write)
    answers = []
    with os.fdopen(out_read, encoding="utf-8") as lines, os.fdopen(in_write, "w", encoding="utf-8") as out:
        hello = json.loads(lines.readline())
        for number, message in enumerate(requests, 1):
            out.write(json.dumps({**message, "id": number}) + "\n")
            out.flush()
            answers.append(_until_done(lines, number))
        if before_end:
            before_end(process.pid)
    return hello, answers, process.wait(timeout=60)


def _until_done(lines, number):
    answers = []
    while True:
        line = lines.readline()
        if not line:
            raise EOFError(f"the program ended without `done` for request {number}")
        message = json.loads(line)
        if message["id"] != number:
            raise ValueError(f"an answer to request {message['id']} while {number} was asked")
        if message["type"] == "done":
            return answers
        answers.append(message)


def observation(answers):
    """The one observation among the answers to a request."""
    if len(answers) != 1 or answers[0]["type"] != "observation":
        raise ValueError(f"not one observation: {answers}")
    return answers[0]


def digests(answers):
    """SHA-256 of each output's first class, by name."""
    return {o["name"]: o["classes"][0]["sha256"] for o in observation(answers)["outputs"]}


def distinct(answers):
    return max(o["distinct"] for o in observation(answers)["outputs"])
