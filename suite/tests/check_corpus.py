# SPDX-License-Identifier: Apache-2.0
"""The published schema and the strict reader agree: check_corpus.py READER GOLDEN CORPUS

Reports are made from the parts in GOLDEN and mutated one place at a time (a member missing or unknown, another
type, another word, a doubled element), with summary and digest made to follow where they can, so that what is
left to disagree about is the schema. Then the files of CORPUS: good-*.json, bad-*.json, and own-*.json, which
only the reader refuses (digest, summary, results that contradict themselves). At last what a newer version may
say: an unknown member at any place, passed over by who uses a report, refused by who checks it.
"""

import copy
import hashlib
import json
import pathlib
import subprocess
import sys

from check_schema import load_schema

OTHERS = [None, True, 7, -1, 2**53, 0.5, "?", "", "UPPER", [], {}, ["?"], {"unknown": 1}]


def places(value, path=()):
    """Every place of a document; of long arrays the first two elements."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], path + (key,))
    if isinstance(value, list):
        for index in range(min(len(value), 2)):
            yield from places(value[index], path + (index,))


def at(document, path):
    for part in path:
        document = document[part]
    return document


def changed(document, path, value):
    document = copy.deepcopy(document)
    if not path:
        return value
    at(document, path[:-1])[path[-1]] = value
    return document


def without(document, path):
    document = copy.deepcopy(document)
    del at(document, path[:-1])[path[-1]]
    return document


def mutants(report):
    for path in places(report):
        value = at(report, path)
        if path:
            yield without(report, path)
        for other in OTHERS:
            if other != value or type(other) is not type(value):
                yield changed(report, path, other)
        if isinstance(value, dict):
            yield changed(report, path, {**value, "unknown": 1})
        if isinstance(value, list) and value:
            yield changed(report, path, value + value[:1])


def swapped_words(report):
    """Every closed word in the place of every other one: what is valid alone and not together."""
    for index in range(len(report["body"]["results"])):
        for word in "repeats varies wrong error untested skipped".split():
            yield changed(report, ("body", "results", index, "observed"), word)
        for word in "none allows kept broken".split():
            yield changed(report, ("body", "results", index, "guarantee", "status"), word)
        for reason in ("crash", "unsupported", "no_device", "because"):
            yield changed(report, ("body", "results", index, "reason"), reason)


def summarise(results):
    counts = dict.fromkeys("repeats varies wrong error untested skipped".split(), 0)
    guarantees = dict.fromkeys("none allows kept broken".split(), 0)
    summary = {"counts": counts, "guarantees": guarantees, "nondeterministic": [], "wrong": [], "broken": []}
    for result in results:
        counts[result["observed"]] += 1
        status = result["guarantee"].get("status", "")
        if status:
            guarantees[status] += 1
        for name, is_in in (
            ("nondeterministic", result["observed"] == "varies"),
            ("wrong", result["observed"] == "wrong"),
            ("broken", status == "broken"),
        ):
            if is_in:
                summary[name].append(result["case"])
    return summary


def resealed(report, original):
    """Summary and digest follow a change of the body, unless the change is theirs."""
    try:
        body = report["body"]
        if body["results"] != original["body"]["results"]:
            body["summary"] = summarise(body["results"])
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        if report["digest"] == original["digest"]:
            report["digest"] = hashlib.sha256(canonical.encode()).hexdigest()
    except (KeyError, TypeError, AttributeError):
        pass
    return report


def are_coherent(results):
    """Each case once and in order, backend and family those of its id, a status that its level can have."""
    statuses = {"unstated": ("none",), "not_guaranteed": ("allows",)}
    names = [result["case"] for result in results]
    if any(first >= second for first, second in zip(names, names[1:])):
        return False
    for result in results:
        status = result["guarantee"].get("status")
        if not result["case"].startswith(f"{result['backend']}/{result['family']}/"):
            return False
        if status and status not in statuses.get(result["guarantee"]["level"], ("kept", "broken")):
            return False
        if status == "kept" and result["observed"] == "varies":
            return False
    return True


def are_prices(report):
    """Each of two results, its ratio within its interval."""
    names = {result["case"] for result in report["body"]["results"]}
    for price in report["measurements"].get("prices", []):
        low, high = price.get("low", 1), price.get("high", 1)
        if not {price["case"], price["pair"]} <= names or price["case"] == price["pair"]:
            return False
        if not 0 < low <= price.get("ratio", low) <= high:
            return False
    return True


def is_own(report):
    """What the reader checks beyond the schema."""
    try:
        body = report["body"]
        canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        digest = hashlib.sha256(canonical.encode()).hexdigest()
        return (
            report["digest"] != digest
            or body["summary"] != summarise(body["results"])
            or not are_coherent(body["results"])
            or not are_prices(report)
        )
    except (KeyError, TypeError, AttributeError):
        return False


def ask(reader, documents, mode="check"):
    lines = "".join(json.dumps(document) + "\n" for document in documents)
    answer = subprocess.run([reader, mode], input=lines, capture_output=True, text=True, check=True)
    return answer.stdout.splitlines()


def check_mutants(reader, validator, original):
    documents = [original]
    documents += [resealed(mutant, original) for mutant in mutants(original)]
    documents += [resealed(mutant, original) for mutant in swapped_words(original)]
    answers = ask(reader, documents)
    assert len(answers) == len(documents), "the reader lost lines"
    assert answers[0] == "good", answers[0]
    failures, good, own = [], 0, 0
    for document, answer in zip(documents, answers):
        valid = validator.is_valid(document)
        good += valid
        if valid and answer != "good" and is_own(document):
            own += 1
        elif valid != (answer == "good"):
            error = next((e.message[:200] for e in validator.iter_errors(document)), "valid")
            failures.append(f"schema: {error} | reader: {answer}")
    return len(documents), good, own, failures


def check_files(reader, validator, folder):
    failures = []
    paths = sorted(folder.glob("*.json"))
    documents = [json.loads(path.read_text()) for path in paths]
    for path, document, answer in zip(paths, documents, ask(reader, documents)):
        valid = validator.is_valid(document)
        expected = {"good": (True, True), "bad": (False, False), "own": (True, False)}[path.name.split("-")[0]]
        if (valid, answer == "good") != expected:
            failures.append(f"{path.name}: schema {valid}, reader: {answer}")
    return len(paths), failures


def check_newer(reader, original):
    """The same unknown member under equal, newer and unknown versions, to the reader that judges and to the one that
    uses."""
    failures, count = [], 0
    objects = [path for path in places(original) if isinstance(at(original, path), dict)]
    for version, mode, expected in (("1.0", "check", "bad"), ("1.0", "accept", "bad"), ("1.1", "check", "bad"),
                                    ("1.1", "accept", "good"), ("1.12", "accept", "good"), ("2.0", "accept", "bad"),
                                    ("2.1", "accept", "bad"), ("1.01", "accept", "bad"), ("1.1x", "accept", "bad"),
                                    ("1.-1", "accept", "bad"), ("1", "accept", "bad"),
                                    ("1.99999999999999999999", "accept", "bad")):
        documents = []
        for path in objects:
            later = changed(original, path, {**at(original, path), "later": "text"})
            later["schema_version"] = version
            body = json.dumps(later["body"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            documents.append({**later, "digest": hashlib.sha256(body.encode()).hexdigest()})
        for path, answer in zip(objects, ask(reader, documents, mode)):
            free = version == "1.0" and path[-1:] in (("variables",), ("roles",))  # whose members have any name
            free = free or (version == "1.0" and path[-2:-1] == ("devices",))
            count += 1
            if (answer == "good") != (expected == "good" or free):
                failures.append(f"{version}, {mode}, unknown member in {path}: {answer}")
    return count, failures


def main():
    reader, golden, corpus = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    validator = load_schema("report")
    failures = []
    for name in ("findings", "empty"):
        made = subprocess.run(
            [reader, "make", golden / f"{name}.parts.json"], capture_output=True, text=True, check=True
        )
        total, good, own, found = check_mutants(reader, validator, json.loads(made.stdout))
        print(f"{name}: {total} reports, {good} valid, {own} refused by the reader alone, {len(found)} disagreements")
        failures += found
        count, found = check_newer(reader, json.loads(made.stdout))
        print(f"{name}: {count} reports with an unknown member, {len(found)} not as expected")
        failures += found
    count, found = check_files(reader, validator, corpus)
    print(f"{count} files, {len(found)} disagreements")
    failures += found
    print("\n".join(failures[:20]))
    return 1 if failures or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
