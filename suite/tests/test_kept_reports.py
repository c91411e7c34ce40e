# SPDX-License-Identifier: Apache-2.0
"""The kept reports are valid and small on disk, and what README shows of them is what detprobe prints of them now.

usage: test_kept_reports.py DETPROBE README MEASURED_FOLDER [TEST...]
"""

import collections
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest

DETPROBE, README, MEASURED = (pathlib.Path(path).resolve() for path in sys.argv[1:4])


def detprobe(*arguments):
    return subprocess.run([DETPROBE, *arguments], cwd=MEASURED, capture_output=True, text=True, timeout=120)


def blocks(page):
    """(command, shown lines) of each block that begins with `$ detprobe diff`."""
    for block in re.findall(r"^```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        if block.startswith("$ detprobe diff "):
            command, *lines = block.splitlines()
            yield shlex.split(command)[2:], lines


def pieces(lines):
    """Lines between dots, which stand for what is left out."""
    piece = []
    for line in lines:
        if line.strip() == "...":
            yield piece
            piece = []
        else:
            piece.append(line)
    yield piece


def begins(lines, piece):
    """Whether the lines begin with the piece, of which a line may end in dots."""
    return len(lines) >= len(piece) and all(
        line.startswith(shown[:-3]) if shown.endswith(" ...") else line == shown for line, shown in zip(lines, piece))


class KeptReports(unittest.TestCase):
    def test_valid(self):
        paths = sorted(MEASURED.glob("*.json"))
        self.assertGreaterEqual(len(paths), 3)
        done = detprobe("validate", *paths)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_compact(self):
        for path in MEASURED.glob("cpu-debian12-*-*.json"):
            text = path.read_text(encoding="utf-8")
            compact = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            self.assertEqual(text, compact + "\n", path.name)

    def test_advice(self):
        """What varies or is sensitive on this CPU has a remedy with a source, and says who uses it."""
        known = {case["id"]: case for case in json.loads(detprobe("list", "--json").stdout)}
        report = json.loads((MEASURED / "cpu-debian12-quick.json").read_text())
        moved = 0
        for row in report["body"]["results"]:
            remedy, along = (known[row["case"]].get(name, {}) for name in ("remedy", "remedy_along"))
            kinds = row.get("sensitive_to", []) + [row["observed"]] * (row["observed"] == "varies")
            for kind in kinds:
                moved += 1
                with self.subTest(case=row["case"], kind=kind):
                    one = remedy if kind == "varies" else along.get(kind, {})
                    self.assertTrue(one.get("text") and one.get("source"))
                    self.assertTrue(known[row["case"]]["used_by"])
        self.assertGreater(moved, 150)

    def counted(self, name, label, axes):
        """What moves in each family of a kept report, as rows of README's table, and the families where nothing does."""
        report = json.loads((MEASURED / name).read_text(encoding="utf-8"))
        counts = {}
        for row in report["body"]["results"]:
            family = label(row)
            if family and row["observed"] != "skipped":
                counts.setdefault(family, collections.Counter()).update(
                    {"cases": 1, "vary": row["observed"] == "varies"}, **dict.fromkeys(row.get("sensitive_to", []), 1))
        moved = {family: found for family, found in sorted(counts.items()) if sum(found.values()) > found["cases"]}
        rows = [f"| `{family}` | " + " | ".join(str(found[word] or "") for word in ("cases", "vary", *axes)) + " |"
                for family, found in moved.items()]
        return rows, [f"`{family}` ({counts[family]['cases']})" for family in sorted(counts) if family not in moved]

    def shows(self, heading, counted):
        rows, still = counted
        page = README.read_text(encoding="utf-8")
        table = re.search(rf"^\| {heading} \| cases \| vary \|.*\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE)
        self.assertEqual(table.group(1).splitlines(), rows)
        listed = " and ".join([", ".join(still[:-1]), still[-1]] if still[1:] else still)
        self.assertIn(f"Nothing moved in {listed}.", " ".join(page.split()))

    def test_what_changes_bits(self):
        """README's tables leave out no family that the kept reports have."""
        self.shows("family", self.counted("cpu-debian12-default.json", lambda row: row["backend"] == "cpu" and row["family"],
                                          ("threads", "batch", "isa", "algorithm", "align")))
        self.shows("of what trains", self.counted("cpu-debian12-frameworks-quick.json",
                                                  lambda row: f"{row['backend']}/{row['family']}", ("threads", "batch", "algorithm")))

    def test_quick_start(self):
        """The table of the first section is that of the kept report; dots stand for lines, or for the rest of one."""
        block = re.search(r"^```\n(measured  .*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        done = detprobe("show", "cpu-debian12-quick.json")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        printed, at = done.stdout.splitlines(), 0
        for piece in pieces(block.group(1).splitlines()):
            found = [start for start in range(at, len(printed)) if begins(printed[start:], piece)]
            self.assertTrue(found, "'detprobe show' does not print\n" + "\n".join(piece))
            at = found[0] + len(piece)
        self.assertEqual(at, len(printed))

    def test_checklist(self):
        """Every id and pattern of the table of the checklist fits a case; every item of it names one."""
        section = README.read_text(encoding="utf-8").split("| of the checklist | ")[1].split("\n\n")[0]
        rows = section.splitlines()[2:]
        self.assertEqual(len(rows), 10)
        for row in rows:
            patterns = [word for word in re.findall(r"`([^`]*)`", row) if re.match(r"(cpu|cuda|python|mpi)/", word)]
            self.assertTrue(patterns, row)
            for pattern in patterns:
                done = detprobe("list", pattern, "--json")
                self.assertEqual((done.returncode, done.stderr), (0, ""), pattern)
                self.assertTrue(json.loads(done.stdout), pattern)

    def test_readme(self):
        shown = list(blocks(README.read_text(encoding="utf-8")))
        self.assertTrue(shown)
        for arguments, lines in shown:
            done = detprobe(*arguments)
            self.assertEqual((done.returncode, done.stderr), (1, ""))
            printed = done.stdout.splitlines()
            at = 0
            for piece in pieces(lines):
                found = [start for start in range(at, len(printed)) if printed[start:start + len(piece)] == piece]
                self.assertTrue(found, f"'detprobe {' '.join(arguments)}' does not print\n" + "\n".join(piece))
                at = found[0] + len(piece)
            self.assertEqual(printed[-1], lines[-1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
