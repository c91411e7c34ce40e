#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Turns a text file into C source of a NUL-terminated array: embed.py INPUT OUTPUT SYMBOL."""

import pathlib
import sys

source, output, symbol = sys.argv[1:]
data = ",".join(str(byte) for byte in pathlib.Path(source).read_bytes())
pathlib.Path(output).write_text(f"extern const char {symbol}[];\nconst char {symbol}[] = {{{data},0}};\n")
