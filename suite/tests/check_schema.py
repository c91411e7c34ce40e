# SPDX-License-Identifier: Apache-2.0
"""Checks documents against the published schemas: check_schema.py FILE...

The schema follows from the document: an array is what `list --json` prints, an object with `program` is a
catalogue file, any other object is a report. "-" is standard input. Prints one line per fault.
"""

import json
import pathlib
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parents[2] / "reports" / "schema"


def load_schema(name):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def kind_of(document):
    if isinstance(document, list):
        return "list"
    if isinstance(document, dict) and "program" in document:
        return "catalogue"
    return "report"


def faults(path):
    text = sys.stdin.read() if path == "-" else pathlib.Path(path).read_text()
    document = json.loads(text)
    kind = kind_of(document)
    for error in load_schema(kind).iter_errors(document):
        place = "/".join(str(part) for part in error.absolute_path)
        yield f"{path}: no valid {kind}: at '/{place}': {error.message[:300]}"


def main():
    found = [fault for path in sys.argv[1:] for fault in faults(path)]
    print("\n".join(found) if found else f"{len(sys.argv) - 1} documents valid")
    return 1 if found or len(sys.argv) < 2 else 0


if __name__ == "__main__":
    sys.exit(main())
