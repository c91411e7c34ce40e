# SPDX-License-Identifier: Apache-2.0
"""How long a gate over a large report takes, alone and with a baseline as large, beside its target.

usage: bench_gate.py DETPROBE REPORT

REPORT is the kept one that the large ones are made of. Three turns each, the fastest is printed; nothing is asserted,
the exit code is 1 only if something could not be measured.
"""

import json
import pathlib
import sys
import tempfile

import bench_diff
import big_reports

CASES = 10000


def bench(what, command):
    turns = [bench_diff.once(command) for _ in range(bench_diff.TURNS)]
    took, spent, peak = (min(column) for column in zip(*turns))
    print(f"{what}: {took:.2f} s ({spent:.2f} s of processor), {peak / 1e6:.0f} MB, target <= 3 s; limit: parsing JSON")
    sys.stdout.flush()


def main():
    detprobe, source = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory(prefix="detprobe-bench-") as folder:
        before, after, policy = (pathlib.Path(folder, name) for name in ("before.json", "after.json", "policy.json"))
        entry = {"kind": "varies", "reason": "a benchmark", "expires": "2999-12-31"}
        policy.write_text(json.dumps({"fail": ["broken", "wrong", "varies", "sensitive"],
                                      "allow": [{**entry, "case": f"cpu/*-{i:03d}?"} for i in range(1000)]}))
        for all_ran, mix in ((False, "run and skipped as in the kept one"), (True, "all ran")):
            big_reports.make(source, CASES, before, after, all_ran)
            what = f"gate of {CASES} cases, {mix}, {after.stat().st_size / 1e6:.1f} MB"
            bench(what, [detprobe, "gate", after])
            bench(f"{what}, policy of 1000 entries", [detprobe, "gate", after, "--policy", policy])
            bench(f"{what}, baseline as large",
                  [detprobe, "gate", after, "--baseline", before, "--fail-on", "changes"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
