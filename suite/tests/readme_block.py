# SPDX-License-Identifier: Apache-2.0
"""Examples of a Markdown page as files, so that they are built and run: readme_block.py PAGE NAME OUTPUT.

A block that is opened by three back quotes, a language and a name is the file of this name.
"""

import pathlib
import re
import sys


def block(page, language, name):
    text = pathlib.Path(page).read_text(encoding="utf-8")
    found = re.findall(rf"^```{language} {re.escape(name)}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    if len(found) != 1:
        raise LookupError(f"{page}: {len(found)} blocks '{language} {name}', wanted one")
    return found[0]


if __name__ == "__main__":
    page, name, output = sys.argv[1:]
    language = {"c": "c", "py": "python", "json": "json"}[name.rsplit(".", 1)[-1]]
    pathlib.Path(output).write_text(block(page, language, name), encoding="utf-8")
