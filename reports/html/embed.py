# SPDX-License-Identifier: Apache-2.0
"""Turns the style sheet and the scripts of the pages into C: embed.py OUTPUT FILE.css FILE.js...

Beside each text stands its hash for the Content-Security-Policy, which allows this very text and no other.
"""

import base64
import hashlib
import pathlib
import re
import sys


def text_of(paths):
    """The files one after the other, without comment heads, indentation and empty lines."""
    text = "".join(re.sub(r"\A/\*.*?\*/\n", "", path.read_text(), flags=re.S) for path in paths)
    text = "\n" + "".join(line.strip() + "\n" for line in text.splitlines() if line.strip())
    if re.search(r"</(script|style)|<!--", text, re.I):
        sys.exit(f"{paths[0]}: would end the element that it is put into")
    return text


def variables(name, text):
    data = text.encode()
    digest = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return [f"const char dp_html_{name}[] = {{{','.join(map(str, data))},0}};",
            f'const char dp_html_{name}_hash[] = "sha256-{digest}";']


def main():
    output, *inputs = map(pathlib.Path, sys.argv[1:])
    lines = ['#include "reports/html/html.h"']
    for name, suffix in (("style", ".css"), ("script", ".js")):
        lines += variables(name, text_of([path for path in inputs if path.suffix == suffix]))
    output.write_text("\n".join(lines) + "\n")


main()
