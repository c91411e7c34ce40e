# SPDX-License-Identifier: Apache-2.0
"""Two large reports for benchmarks, made of a kept one: big_reports.py REPORT CASES BEFORE AFTER [--all-ran]

The cases of REPORT are taken over and over under new names until there are CASES of them, in its own mix of those
that ran and those that were skipped; with --all-ran only those that ran. In AFTER one case of 50 has other bits, one
of 100 varies, and the CBLAS library is another version. The same arguments give the same bytes.
"""

import argparse
import copy
import hashlib
import json
import pathlib


def is_coprime(step, count):
    while count:
        step, count = count, step % count
    return step == 1


def order(count):
    """Every index once, far from the one before, so that a short report has the mix of a long one."""
    step = next(step for step in range(max(count * 5 // 8, 1), 2 * count + 2) if is_coprime(step, count))
    return [index * step % count for index in range(count)]


def grown(report, cases, all_ran):
    measured = {case["case"]: case for case in report["measurements"]["cases"]}
    results = [result for result in report["body"]["results"] if not all_ran or "checked" in result]
    turn = order(len(results))
    rows = []
    for index in range(cases):
        result = dict(results[turn[index % len(results)]])
        case = dict(measured[result["case"]])
        result["case"] = case["case"] = f"{result['case']}-{index // len(results):04d}"
        rows.append((result, case))
    rows.sort(key=lambda row: row[0]["case"])
    large = copy.deepcopy({**report, "body": {**report["body"], "results": []}, "measurements":
                           {**report["measurements"], "cases": []}})
    large["body"]["results"] = [row[0] for row in rows]
    large["measurements"]["cases"] = [row[1] for row in rows]
    large["body"]["plan"]["cases"] = cases
    return sealed(large)


def with_other_bits(result):
    outputs = [{**output, "sha256": hashlib.sha256(output["sha256"].encode()).hexdigest()}
               for output in result["outputs"]]
    return {**result, "outputs": outputs}


def that_varies(result, case):
    kept = {key: value for key, value in result.items() if key not in ("outputs", "sensitive_to", "remedy_along", "chosen")}
    level = result["guarantee"]["level"]
    status = result["guarantee"]["status"] if level in ("unstated", "not_guaranteed") else "broken"
    kept.update(observed="varies", difference="execution", guarantee={**result["guarantee"], "status": status})
    tally = {key: value for key, value in case["axes"]["repeat"].items() if key != "bound"}
    tally.update(distinct=tally["of"], mismatches=tally["comparisons"], seeds_varied=tally["seeds"], interval=[0.7, 1.0])
    return kept, {**case, "axes": {**case["axes"], "repeat": tally}}


def changed(report):
    after = {**report, "body": dict(report["body"]), "measurements": dict(report["measurements"])}
    results, cases = list(report["body"]["results"]), list(report["measurements"]["cases"])
    for index, result in enumerate(results):
        if result["observed"] != "repeats":
            continue
        if index % 100 == 0:
            results[index], cases[index] = that_varies(result, cases[index])
        elif index % 50 == 25:
            results[index] = with_other_bits(result)
    after["body"]["results"], after["measurements"]["cases"] = results, cases
    after["body"]["environment"] = copy.deepcopy(report["body"]["environment"])
    for library in after["body"]["environment"]["libraries"]:
        if library["role"] == "cblas":
            library["version"] += ".1"
    return sealed(after)


def sealed(report):
    """Summary and digest as they follow from the results."""
    results = report["body"]["results"]
    counts = dict.fromkeys("repeats varies wrong error untested skipped".split(), 0)
    guarantees = dict.fromkeys("none allows kept broken".split(), 0)
    for result in results:
        counts[result["observed"]] += 1
        if "status" in result["guarantee"]:
            guarantees[result["guarantee"]["status"]] += 1
    report["body"]["summary"] = {
        "counts": counts,
        "guarantees": guarantees,
        "nondeterministic": [result["case"] for result in results if result["observed"] == "varies"],
        "wrong": [result["case"] for result in results if result["observed"] == "wrong"],
        "broken": [result["case"] for result in results if result["guarantee"].get("status") == "broken"],
    }
    body = json.dumps(report["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return {**report, "digest": hashlib.sha256(body.encode()).hexdigest()}


def write(path, report):
    """As `detprobe run -o` writes it."""
    path.write_text(json.dumps(report, sort_keys=True, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def make(source, cases, before, after, all_ran=False):
    large = grown(json.loads(source.read_text(encoding="utf-8")), cases, all_ran)
    write(before, large)
    write(after, changed(large))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("cases", type=int)
    parser.add_argument("before", type=pathlib.Path)
    parser.add_argument("after", type=pathlib.Path)
    parser.add_argument("--all-ran", action="store_true")
    options = parser.parse_args()
    make(options.report, options.cases, options.before, options.after, options.all_ran)
