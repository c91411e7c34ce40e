# SPDX-License-Identifier: Apache-2.0
"""The blocks of code of a Markdown page, for tests that build and run them."""

import re


def blocks(page):
    """(language, name, text) of each, in order; the name stands behind the language and may be empty."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def write_files(page, folder, prefix):
    """Writes the blocks whose names begin so to files below the folder."""
    for _, name, text in blocks(page):
        if name.startswith(prefix):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
