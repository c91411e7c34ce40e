# SPDX-License-Identifier: Apache-2.0
"""How long the commands take, beside their targets.

usage: bench_cli.py DETPROBE PROBES_FOLDER FAKES_FOLDER [MEASURE]...

One line for each measure: what was measured, the target, and what the limit is. No time is asserted; the exit code is
1 only if something could not be measured. The measures, all of them if none is named: list, complete, quick, default,
memory.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import peak
import speak
import surroundings

ENVIRONMENT = surroundings.real()


def seconds(command, good=(0,), **options):
    start = time.perf_counter()
    done = subprocess.run(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options)
    elapsed = time.perf_counter() - start
    if done.returncode not in good:
        raise RuntimeError(f"'{' '.join(map(str, command))}' ended with {done.returncode}")
    return elapsed


def bench_list(options):
    """In turn with `true`, so that both see the same machine; the medians of 40."""
    pairs = [(seconds([options.detprobe, "list"]), seconds(["true"])) for _ in range(40)]
    listed, nothing = (statistics.median(side) * 1e3 for side in zip(*pairs))
    files = len(list(options.probes.glob("*/*.json")))
    print(f"list: {listed - nothing:.1f} ms over true ({nothing:.1f} ms), target <= 15 ms; "
          f"limit: parsing {files} catalogue files and starting a process")


def bench_complete(options):
    """What a key press waits for: the ids of one family, asked as the shells ask."""
    pairs = [(seconds([options.detprobe, "__complete", "cpu/gemm/"]), seconds(["true"])) for _ in range(40)]
    asked, nothing = (statistics.median(side) * 1e3 for side in zip(*pairs))
    print(f"completion of a selector: {asked - nothing:.1f} ms over true ({nothing:.1f} ms), target <= 50 ms; "
          "limit: parsing the catalogue files, as for list")


def spent(report):
    """Seconds in the operations of each family, dearest first, and what is left for everything else."""
    families = collections.Counter()
    for case in report["measurements"]["cases"]:
        families["/".join(case["case"].split("/")[:2])] += case.get("seconds", 0)
    return families.most_common(), report["measurements"]["seconds"] - families.total()


def bench_level(options, level, target):
    with tempfile.TemporaryDirectory(prefix="detprobe-bench-") as folder:
        path = pathlib.Path(folder) / "report.json"
        # findings are none of this benchmark's business, a run that is not valid is still a run that took its time
        took = seconds([options.detprobe, "run", "--all", "--level", level, "--quiet", "--output", path], (0, 1, 2))
        report = json.loads(path.read_text())
    families, rest = spent(report)
    dearest = ", ".join(f"{name} {share:.1f} s" for name, share in families[:4])
    print(f"run --all --level {level}: {took:.1f} s on {len(os.sched_getaffinity(0))} cores, target <= {target} s; "
          f"limit: the operations, {dearest}; inputs, references, digests and starting programs {rest:.1f} s of it")


def bench_memory(options):
    """The peaks of a program whose output is 64 KiB, and of the suite over a fake that varies and one that does not."""
    program = options.probes / "cpu" / "scatter"
    if program.is_file():
        params = {"dtype": "f32", "groups": 1, "width": 1, "multiplicity": 0, "n": 16384, "rows": 16384}
        few, many = (peak.of_program(program, speak.request("scatter-add", params, choice="sorted", runs=runs))[0]
                     for runs in (10, 10000))
        print(f"memory of a program for 10 and 10 000 runs: {few / 1e6:.1f} MB and {many / 1e6:.1f} MB, target equal; "
              "limit: the first output and a table of 1024 classes")
    else:
        print("memory of a program for 10 and 10 000 runs: not measured, cpu/scatter is not built")
    cases = ("fake/good/repeats", "fake/varies/always", "--level", "quick", "--axis", "repeat", "--runs")
    few, many = (peak.of_suite(options.detprobe, *cases, str(runs), DETPROBE_PROBE_PATH=str(options.fakes.resolve()))
                 for runs in (10, 10000))
    print(f"memory of the suite for 10 and 10 000 runs: {few / 1e6:.1f} MB and {many / 1e6:.1f} MB, target equal; "
          "limit: the catalogue and the plan")


BENCHES = {
    "list": bench_list,
    "complete": bench_complete,
    "quick": lambda options: bench_level(options, "quick", 20),
    "default": lambda options: bench_level(options, "default", 120),
    "memory": bench_memory,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("detprobe", type=pathlib.Path)
    parser.add_argument("probes", type=pathlib.Path)
    parser.add_argument("fakes", type=pathlib.Path)
    parser.add_argument("measures", nargs="*", choices=[*BENCHES, []], metavar="MEASURE")
    options = parser.parse_args()
    failed = 0
    for name in options.measures or BENCHES:
        try:
            BENCHES[name](options)
        except (OSError, RuntimeError, ValueError, KeyError, AssertionError) as error:
            print(f"{name}: could not be measured: {error}", file=sys.stderr)
            failed = 1
        sys.stdout.flush()
    return failed


if __name__ == "__main__":
    sys.exit(main())
