# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium over its DevTools protocol on two pipes: no port, no package.

Messages are JSON ended by a NUL: https://chromedevtools.github.io/devtools-protocol/
"""

import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

DEADLINE = 60  # seconds for one answer: a machine may be busy


def program():
    """Path of Chromium, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def pipe_end(fd):
    """The same end at a number that the child needs for nothing else."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


class Browser:
    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="detprobe-chromium-", ignore_cleanup_errors=True)
        ends = [pipe_end(fd) for fd in (*os.pipe(), *os.pipe())]
        child_in, self.out, self.answers, child_out = ends

        def numbers():
            os.dup2(child_in, 3)
            os.dup2(child_out, 4)

        self.process = subprocess.Popen(
            [program(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--no-first-run",
             f"--user-data-dir={self.profile.name}"],
            preexec_fn=numbers, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(child_in)
        os.close(child_out)
        self.unread, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def message(self, until):
        while b"\0" not in self.unread:
            if not select.select([self.answers], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("Chromium does not answer")
            read = os.read(self.answers, 1 << 16)
            if not read:
                raise EOFError("Chromium ended")
            self.unread += read
        text, _, self.unread = self.unread.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + DEADLINE
        while (answer := self.message(until)).get("id") != self.number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def open(self, path, fragment=""):
        """Another document each time, so that a fragment alone loads the page anew."""
        for address in ("about:blank", f"file://{path}{fragment}"):
            self.events.clear()
            self.call("Page.navigate", url=address)
            until = time.monotonic() + DEADLINE
            while self.value("document.readyState") != "complete":
                if time.monotonic() > until:
                    raise TimeoutError(f"{address} does not load")
                time.sleep(0.005)

    def value(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def key(self, key, code):
        for kind in ("keyDown", "keyUp"):
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def complaints(self):
        """Errors of the page since it was opened: exceptions, console, refused by the policy."""
        self.value("new Promise((done) => setTimeout(done, 50))")
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(parameters["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str(parameters["args"]))
            elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def fetched(self):
        """Addresses that the page asked for, but for itself and what it holds."""
        addresses = [event["params"]["request"]["url"] for event in self.events
                     if event.get("method") == "Network.requestWillBeSent"]
        return [address for address in addresses if not address.startswith(("file://", "data:", "about:"))]

    def close(self):
        self.session = None
        try:
            self.call("Browser.close")
            self.process.wait(timeout=20)
        except (OSError, EOFError, TimeoutError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.out)
        os.close(self.answers)
        self.profile.cleanup()
