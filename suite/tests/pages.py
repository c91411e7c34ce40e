# SPDX-License-Identifier: Apache-2.0
"""Documents for tests of the HTML pages: with every member filled, with hostile strings, with many cases."""

import copy
import json

HOSTILE = ("\"'><script>window.__pwned=1</script></script><img src=x onerror=window.__pwned=2>"
           "<!--<script></style></title></textarea>${1}\\u003c\u2028\u202e]]>&lt;'\"")
HARMLESS = "harmless"


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def words_of(schema):
    """The closed words of a schema, and the names of its members: what a document must keep to be one."""
    words, members = set(), set()

    def walk(node):
        if isinstance(node, dict):
            words.update(word for word in node.get("enum", []) if isinstance(word, str))
            if isinstance(node.get("properties"), dict):
                members.update(node["properties"])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(schema)
    return words, members


def strings(value, path=()):
    """Paths of all strings of a document, with `*` for the place in a list; keys are strings too."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield (*path, key, "the key")
            yield from strings(member, (*path, key))
    elif isinstance(value, list):
        for member in value:
            yield from strings(member, (*path, "*"))
    elif isinstance(value, str):
        yield path


def replaced(value, text, wanted, path=()):
    """The document with `text` put before the end of each string, or key, for which wanted(path, string)."""
    if isinstance(value, dict):
        return {key + text if wanted((*path, key, "the key"), key) else key:
                replaced(member, text, wanted, (*path, key)) for key, member in value.items()}
    if isinstance(value, list):
        return [replaced(member, text, wanted, (*path, "*")) for member in value]
    return value + text if isinstance(value, str) and wanted(path, value) else value


def full_report(corpus):
    """A report in which every kind of member is there."""
    report = load(corpus / "good-findings.json")
    body, measured = report["body"], report["measurements"]
    environment = body["environment"]
    environment["libraries"][0]["families"] = ["cpu/gemm", "cpu/blas"]
    environment["devices"] = [{"name": "Some GPU", "proof": "unproven on hardware", "memory": 3, "ecc": True}]
    environment["own_kernels"] = [{"program": "cuda/scatter", "source": "0" * 64, "image": "1" * 64, "kind": "ptx"}]
    environment["stack"] = {"kind": "venv", "path": "/opt/venv", "roles": {"cblas": None, "cudnn": "libcudnn.so"}}
    body["plan"]["axes"] = ["repeat", "fresh", "poison", "threads", "batch", "threads*repeat"]
    first, entry = body["results"][0], measured["cases"][0]
    entry = next(entry for entry in measured["cases"] if entry["case"] == first["case"])
    first["remedy"] = {"text": "do", "setting": "SET", "api": "call()", "source": "manual", "since": "1.2"}
    first["used_by"] = ["aten::add"]
    first["environment"] = {"SET": "1", "OTHER": None}
    first["declared"] = "deterministic"
    first["difference"] = "selection"
    first["guarantee"]["source"] = "the manual, section 3"
    repeats = next(result for result in body["results"] if result["observed"] == "repeats")
    repeats["chosen"] = "algorithm 3"
    repeats["sensitive_to"] = ["threads", "batch"]
    repeats["remedy"] = {"text": "do without"}
    repeats["remedy_along"] = {"threads": {"text": "fix them", "setting": "THREADS", "source": "manual, section 2"}}
    repeats["used_by"] = ["aten::mm", "numpy.dot"]
    entry["threads"], entry["time"] = 4, {"first_ns": 1_500_000, "min_ns": 900, "mean_ns": 1_000}
    entry["mismatch"].update(first_index=261, shape=[4, 16, 16], ulp_histogram=[0, 300, 0, 600],
                             region="tile", box=[1, 4, 16], box_at=[1, 0, 0], signs=2, specials=1, flipped="0x40",
                             error_over_bound=12.5)
    entry["diagnosis"] = {"kind": "race_sized", "reason": "too far from <b>the</b> reference"}
    entry["kernels"] = [{"axis": axis, "setting": "", "launched": [{"name": name, "launches": 2}]}
                        for axis, name in (("repeat", "kernel_a"), ("fresh", "kernel_b"))]
    setting = {"setting": "2", "seed": "1/0", "repeats": True, "sha256": "2" * 64, "runs": 2, "distinct": 1}
    other = {**setting, "setting": "4", "sha256": "3" * 64}
    entry["axes"].update({
        "threads": {"settings": [setting, other], "moved": True, "confounded": False},
        "batch": {"settings": [{**setting, "repeats": False, "sha256": None}], "moved": False, "confounded": True},
        "poison": {"settings": [{"setting": "nan", "seed": "1/0", "repeats": False, "sha256": None,
                                 "dropped": "the program does not know it"}], "moved": False, "confounded": False},
        "threads*repeat": {"settings": [setting, {**setting, "repeats": False, "sha256": None}], "moved": False,
                           "confounded": False}})
    return report


def full_diff(version):
    def change(kind, case, **members):
        return {"case": case, "backend": case.split("/")[0], "family": case.split("/")[1], "kind": kind, **members}

    repeats, varies = {"observed": "repeats", "status": "kept"}, {"observed": "varies", "status": "broken"}
    changes = [
        change("newly_broken", "cpu/gemm/sgemm-1", before=repeats, after=varies, cause=0, sets=["SET"]),
        change("other_bits", "cpu/gemm/sgemm-2", before=repeats, after=repeats, cause=0, chosen=["one", "two"],
               threads=[1, 2], kernels=[None, None]),
        change("newly_sensitive", "cpu/gemm/sgemm-2", before=repeats, after=repeats, cause=0, axes=["threads"]),
        change("stopped", "cpu/conv/conv-1", before=repeats, after={"observed": "skipped", "reason": "version"},
               cause=1),
        change("new", "cpu/pool/pool-1", after={"observed": "repeats", "status": "none"}),
    ]
    kinds = {change["kind"]: 1 for change in changes}
    side = {"name": "before.json", "digest": "0" * 64, "tool": "0.1.0", "counts": {"repeats": 3, "varies": 1},
            "measured": "OpenBLAS 1"}
    return {
        "schema_version": version, "sides": [side, {**side, "name": "after.json"}],
        "plan": {"level": "quick", "seed": "1"},
        "summary": {"agree": False, "compared": 4, "changed": 4, "idle": 1, "kinds": kinds},
        "causes": [{"cause": "OpenBLAS 1 → 2", "kinds": {"newly_broken": 1, "other_bits": 1, "newly_sensitive": 1},
                    "cases": ["cpu/gemm/sgemm-1", "cpu/gemm/sgemm-2"]},
                   {"cause": "nothing in the environment explains it", "kinds": {"stopped": 1},
                    "cases": ["cpu/conv/conv-1"]}],
        "changes": changes,
        "environment": [
            {"kind": "library", "subject": "OpenBLAS", "member": "version", "before": "1", "after": "2",
             "words": "OpenBLAS 1 → 2", "role": "cblas", "families": ["cpu/gemm"]},
            {"kind": "variable", "subject": "SET", "member": "SET", "after": "2", "words": "SET none → 2"}],
        "not_compared": [{"case": "cpu/gemm/sgemm-3", "reason": "another definition"}],
        "undecided": ["cpu/gemm/sgemm-4"],
    }


def full_gate(version):
    finding = {"case": "cpu/gemm/sgemm-1", "axis": "repeat", "backend": "cpu", "family": "gemm", "kind": "broken",
               "line": "its guarantee is broken", "new": True, "detail": "kept before", "reproduce": "detprobe run it"}
    allowed = {**finding, "case": "cpu/conv/conv-1", "family": "conv", "kind": "varies", "new": False,
               "allowed": {"reason": "known", "expires": "2030-01-31"}}
    other = {**finding, "case": "cpu/pool/pool-1", "family": "pool", "kind": "wrong", "new": False}
    return {
        "schema_version": version, "report": {"name": "report.json", "digest": "0" * 64, "counts": {"repeats": 3}},
        "baseline": {"name": "baseline.json", "digest": "1" * 64}, "policy": {"name": "policy.json"},
        "plan": {"level": "quick", "seed": "1"}, "passed": False, "verdict": "failed", "reason": "2 findings in 4 cases",
        "findings": [finding, other, allowed],
        "problems": [{"kind": "too_few_runs", "line": "8 runs, the policy asks for 25"}],
        "notes": [{"kind": "unused", "line": "the entry for cpu/blas/* allowed nothing"}],
        "summary": {"checked": 4, "failed": 2, "new": 1, "allowed": 1, "skipped": 5},
    }


def full_matrix(version):
    report = {"label": "first", "name": "a.json", "measured": "OpenBLAS 1", "digest": "0" * 64, "tool": "0.1.0",
              "counts": {"repeats": 3}}
    return {
        "schema_version": version, "reports": [report, {**report, "label": "second"}, {**report, "label": "third"}],
        "plan": {"level": "quick", "seed": "1"},
        "summary": {"agree": False, "cases": 6, "alike": 2, "differing": 3, "undecided": 1, "idle": 0},
        "groups": [{"family": "cpu/gemm", "cells": ["broken", "a", "a"], "cases": ["cpu/gemm/sgemm-1"], "follows": [0]},
                   {"family": "cpu/conv", "cells": ["a", "b", "-"], "cases": ["cpu/conv/conv-1", "cpu/conv/conv-2"],
                    "follows": []}],
        "environment": [{"kind": "library", "subject": "OpenBLAS", "member": "version", "values": ["1", "2", None],
                         "families": ["cpu/gemm"]}],
        "not_compared": [{"case": "cpu/gemm/sgemm-3", "reason": "another definition"}],
    }


def many(measured, count):
    """A report with `count` measured cases: those of a real one, again under other names."""
    report = load(measured)
    ran = [result for result in report["body"]["results"] if result["observed"] != "skipped"]
    entries = {entry["case"]: entry for entry in report["measurements"]["cases"]}
    results, cases = [], []
    for number in range(count):
        result = copy.deepcopy(ran[number % len(ran)])
        entry = copy.deepcopy(entries[result["case"]])
        result["case"] = entry["case"] = f"{result['case']}-{number // len(ran)}"
        results.append(result)
        cases.append(entry)
    report["body"]["results"] = sorted(results, key=lambda result: result["case"])
    report["measurements"]["cases"] = cases
    return report
