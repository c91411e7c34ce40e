# SPDX-License-Identifier: Apache-2.0
"""How long a comparison of large reports takes and how much memory it holds, beside its targets.

usage: bench_diff.py DETPROBE REPORT

REPORT is the kept one that the large ones are made of. Three turns each, the fastest is printed; nothing is asserted,
the exit code is 1 only if something could not be measured.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

MAKER = pathlib.Path(__file__).with_name("big_reports.py")
TURNS = 3


def once(command):
    start = time.perf_counter()
    process = subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    elapsed = time.perf_counter() - start
    if process.returncode not in (0, 1):
        raise RuntimeError(f"'{' '.join(map(str, command))}' ended with {process.returncode}")
    return elapsed, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def bench(detprobe, source, folder, cases, all_ran, target):
    before, after = folder / "before.json", folder / "after.json"
    # in a process of its own: what this one ever held would count as what its children hold
    subprocess.run([sys.executable, MAKER, source, str(cases), before, after, *(["--all-ran"] if all_ran else [])],
                   check=True)
    turns = [once([detprobe, "diff", before, after, "-o", folder / "diff.txt"]) for _ in range(TURNS)]
    took, spent, peak = (min(column) for column in zip(*turns))
    size = (before.stat().st_size + after.stat().st_size) / 1e6
    print(f"diff of two reports of {cases} cases, {'all ran' if all_ran else 'run and skipped as in the kept one'}, "
          f"{size:.1f} MB: {took:.2f} s ({spent:.2f} s of processor), {peak / 1e6:.0f} MB, target {target}; "
          "limit: parsing JSON")


def main():
    detprobe, source = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="detprobe-bench-") as folder:
        for cases, all_ran, target in ((300, False, "<= 0.1 s"), (300, True, "<= 0.1 s"),
                                       (10000, False, "<= 4 s, <= 500 MB"), (10000, True, "<= 4 s, <= 500 MB")):
            bench(detprobe, source, pathlib.Path(folder), cases, all_ran, target)
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
