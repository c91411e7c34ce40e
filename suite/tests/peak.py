# SPDX-License-Identifier: Apache-2.0
"""The most memory that a probe program, or the suite, ever held."""

import os
import pathlib
import re
import subprocess
import tempfile

import speak


def _high_water(pid):
    """Peak resident bytes of a living process."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE).group(1)) * 1024


def of_program(program, request):
    """(peak resident bytes, the answers) of a probe program that served one request."""
    peaks = []
    _, answers, _ = speak.converse(program, [request], before_end=lambda pid: peaks.append(_high_water(pid)))
    return peaks[0], answers[0]


def of_suite(detprobe, *arguments, **changes):
    """Peak resident bytes of a run, its largest program included; AssertionError if it gave no report."""
    with tempfile.TemporaryDirectory(prefix="detprobe-peak-") as folder:
        report = pathlib.Path(folder) / "report.json"
        command = [str(detprobe), "run", *arguments, "--fail-on", "never", "--quiet", "--output", str(report)]
        process = subprocess.Popen(command, env=speak.environment(changes), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL)
        # what the suite waited for counts with it: the largest of them all
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in (0, 2) or not report.is_file():
            raise AssertionError(f"'{' '.join(command)}' ended with {process.returncode}")
        return usage.ru_maxrss * 1024
