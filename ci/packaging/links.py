# SPDX-License-Identifier: Apache-2.0
"""Sets the links of documents in a tarball, which were written for the checkout, to where things are in it.

usage: links.py TREE
What is not in the tarball (the source) keeps its name in the text and loses its link.
exit status: 0
"""

import os
import pathlib
import re
import sys

LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
# Where a file of the checkout is installed, tried in turn after its own place.
INSTALLED = (("reports/schema/", "share/detprobe/schema/"), ("probes/", "libexec/detprobe/probes/"))


def place(tree, target):
    """Where TARGET, a path in the checkout, is in the tree; None: nowhere."""
    for before, after in (("", ""), *INSTALLED):
        path = after + target.removeprefix(before)
        if target.startswith(before) and (tree / path).exists():
            return path
    return None


def rewritten(tree, folder, text):
    def link(found):
        words, target, part = found.groups()
        path = place(tree, os.path.normpath(folder / target))
        return f"[{words}]({os.path.relpath(path, folder)}{part or ''})" if path else words

    return LINK.sub(link, text)


def main(tree):
    for document in sorted(tree.rglob("*.md")):
        text = document.read_text(encoding="utf-8")
        document.write_text(rewritten(tree, document.parent.relative_to(tree), text), encoding="utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
