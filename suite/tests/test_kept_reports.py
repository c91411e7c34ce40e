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
    """(command, shown lines) of each block that begins with `$ detprobe diff` or shows a kept report."""
    for block in re.findall(r"^```\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        if block.startswith(("$ detprobe diff ", "$ detprobe show cpu-")):
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
        self.assertEqual(self.table(rf"{heading} \| cases"), rows)
        listed = " and ".join([", ".join(still[:-1]), still[-1]] if still[1:] else still)
        self.assertIn(f"Nothing moved in {listed}.", " ".join(page.split()))

    def test_what_changes_bits(self):
        """README's tables leave out no family that the kept reports have."""
        self.shows("family", self.counted("cpu-debian12-default.json", lambda row: row["backend"] == "cpu" and row["family"],
                                          ("threads", "batch", "isa", "algorithm", "align")))
        self.shows("of what trains", self.counted("cpu-debian12-frameworks-quick.json",
                                                  lambda row: f"{row['backend']}/{row['family']}", ("threads", "batch", "algorithm")))

    def test_callers(self):
        """Four threads at once moved nothing, in as many operations as README says."""
        report = json.loads((MEASURED / "cpu-debian12-concurrency.json").read_text(encoding="utf-8"))
        ran = [entry["axes"]["concurrency"] for entry in report["measurements"]["cases"]
               if any(row.get("runs") for row in entry.get("axes", {}).get("concurrency", {}).get("settings", []))]
        self.assertTrue(ran)
        self.assertFalse([axis for axis in ran if axis["moved"] or axis["confounded"]])
        self.assertFalse([row for axis in ran for row in axis["settings"] if row["distinct"] != 1])
        page = " ".join(README.read_text(encoding="utf-8").split())
        self.assertIn(f"all {len(ran)} operations gave each thread what it gets alone", page)

    def test_core_types(self):
        """Kernels that two core types share have one fingerprint, others mostly have not, as README says."""
        orders = {}
        for core in ("haswell", "zen", "prescott"):
            report = json.loads((MEASURED / f"cpu-debian12-order-{core}.json").read_text(encoding="utf-8"))
            orders[core] = {row["case"]: row["order"]["fingerprint"] for row in report["body"]["results"]
                            if "fingerprint" in row.get("order", {})}
        self.assertEqual(orders["zen"], orders["haswell"])
        other = sum(orders["prescott"][case] != order for case, order in orders["haswell"].items())
        page = " ".join(README.read_text(encoding="utf-8").split())
        self.assertIn(f"of {len(orders['haswell'])} sums of `gemm` and `blas` in OpenBLAS 0.3.21, {other} have another one",
                      page)

    def table(self, heading):
        """The rows of README's table whose heading begins so."""
        page = README.read_text(encoding="utf-8")
        return re.search(rf"^\| {heading} \|.*\n\|.*\n((?:\|.*\n)+)", page, re.MULTILINE).group(1).splitlines()

    def test_why_bits_move(self):
        """In how many of the cases whose bits move along an axis the order of additions does, where it was revealed."""
        report = json.loads((MEASURED / "cpu-debian12-default.json").read_text(encoding="utf-8"))
        moved = {row["case"]: row.get("sensitive_to", []) for row in report["body"]["results"]}
        axes = ("threads", "batch", "isa")
        counts = {}
        for entry in report["measurements"]["cases"]:
            family = entry["case"].split("/")[1]
            for axis in axes:
                # of axis isa the base process is a setting
                seen = [row["fingerprint"] for row in entry.get("orders", []) if "fingerprint" in row
                        and row["axis"] in (axis, "repeat" if axis == "isa" else axis)]
                if axis in moved[entry["case"]] and len(seen) > 1:
                    found = counts.setdefault(family, {}).setdefault(axis, [0, 0])
                    found[0] += len(set(seen)) > 1
                    found[1] += 1
        rows = [f"| `{family}` | " + " | ".join("{} of {}".format(*found[axis]) if axis in found else ""
                                               for axis in axes) + " |" for family, found in sorted(counts.items())]
        self.assertEqual(self.table("order of additions"), rows)
        told = " ".join(detprobe("show", "cpu-debian12-default.json").stdout.split())
        for axis in axes:
            found = [counted[axis] for counted in counts.values() if axis in counted]
            self.assertIn("{} in {} of {}".format(axis, *map(sum, zip(*found))), told)

    def test_prices(self):
        """What the deterministic form costs: the least, the median and the most of each family."""
        report = json.loads((MEASURED / "cpu-debian12-default.json").read_text(encoding="utf-8"))
        families = {}
        for price in report["measurements"]["prices"]:
            if "ratio" in price:
                families.setdefault(price["case"].split("/")[1], []).append(price)
        rows = []
        for family, prices in sorted(families.items()):
            prices.sort(key=lambda price: price["ratio"])
            three = (prices[0], prices[(len(prices) - 1) // 2], prices[-1])
            rows.append(f"| `{family}` | {len(prices)} | " + " | ".join(
                f"{price['ratio']:.2f}× [{price['low']:.2f}, {price['high']:.2f}]" for price in three) + " |")
        self.assertEqual(self.table("price of determinism"), rows)

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
            self.assertEqual((done.returncode, done.stderr), (1 if arguments[0] == "diff" else 0, ""))
            printed = done.stdout.splitlines()
            at = 0
            for piece in pieces(lines):
                found = [start for start in range(at, len(printed)) if printed[start:start + len(piece)] == piece]
                self.assertTrue(found, f"'detprobe {' '.join(arguments)}' does not print\n" + "\n".join(piece))
                at = found[0] + len(piece)
            self.assertEqual(printed[-1], lines[-1])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
