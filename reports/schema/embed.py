# SPDX-License-Identifier: Apache-2.0
"""Turns schema files into one C table of their texts: embed.py OUTPUT NAME.schema.json..."""

import json
import pathlib
import sys


def literal(text):
    """A C initialiser of bytes: a string literal would run into the compilers' length limit."""
    return ",".join(str(byte) for byte in text.encode()) + ",0"


def main():
    output, *inputs = sys.argv[1:]
    lines = ["#include <stddef.h>", '#include "suite/base/schema_builtin.h"']
    rows = []
    for number, name in enumerate(inputs):
        path = pathlib.Path(name)
        text = json.dumps(json.loads(path.read_text()), separators=(",", ":"))
        lines.append(f"static const char text_{number}[] = {{{literal(text)}}};")
        rows.append(f'    {{"{path.name.removesuffix(".schema.json")}", text_{number}}},')
    lines += ["const struct dp_schema_text dp_schema_texts[] = {", *rows, "    {NULL, NULL},", "};", ""]
    pathlib.Path(output).write_text("\n".join(lines))


main()
