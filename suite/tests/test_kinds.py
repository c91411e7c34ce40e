# SPDX-License-Identifier: Apache-2.0
"""Kinds of differences through the real program and the kit: each planted fault is told as what it is, and what is
almost the same is not.

usage: test_kinds.py DETPROBE FOLDER_OF_PLANTS SCHEMAS [TEST...]
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

DETPROBE, PLANTS, SCHEMAS = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))

KINDS = {
    "none": None,
    "order": "reordering",
    "late-order": "reordering",  # one run of a process, as `first`, but another one
    "low-bit": "reordering",  # one bit, as `bit`, but within the bound
    "tile": "reordering",
    "first": "first_call",
    "lost": "corruption",  # a race that exact sums show
    "lost-rounded": "race_sized",  # and one that they do not
    "bit": "corruption",
    "unwritten": "unwritten",
    "workspace": "uninitialised_read",
    "choice": "selection",
    "process": "unknown",  # as `choice`, but it does not say so
    "normwise": "unknown",
    "list-none": None,
    "list-turned": "permutation",
    "list-twice": "corruption",  # moved as well, but not the same elements
    "list-either": "unknown",  # every run is right
}
# what differs, where the fault is made at one place
REGIONS = {"lost": "element", "lost-rounded": "element", "bit": "element", "low-bit": "element", "tile": "tile",
           "list-twice": "element", "list-either": "tile"}


class Kinds(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.report_path = pathlib.Path(cls.folder.name, "report.json")
        variables = {name: value for name, value in os.environ.items() if not name.startswith("DETPROBE_")}
        variables.update(DETPROBE_PROBE_PATH=str(PLANTS), PLANTS_FOLDER=cls.folder.name)
        cls.done = subprocess.run(
            [DETPROBE, "run", "fake/plants/*", "--level", "quick", "--axis", "poison", "--axis", "fresh", "--verbose",
             "-o", cls.report_path], env=variables, capture_output=True, text=True, timeout=200)
        cls.report = json.loads(cls.report_path.read_text())
        cls.entries = {entry["case"].rsplit("/", 1)[1]: entry for entry in cls.report["measurements"]["cases"]}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_report_is_valid(self):
        schema = json.loads((SCHEMAS / "report.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(self.report)

    def test_each_kind(self):
        found = {name: entry.get("diagnosis", {}).get("kind") for name, entry in self.entries.items()}
        self.assertEqual(found, KINDS)

    def test_places(self):
        found = {name: self.entries[name]["mismatch"]["region"] for name in REGIONS}
        self.assertEqual(found, REGIONS)
        self.assertEqual(self.entries["bit"]["mismatch"]["flipped"], "0x40000000")
        self.assertEqual(self.entries["bit"]["mismatch"]["box_at"], [0, 5])
        tile = self.entries["tile"]["mismatch"]
        self.assertTrue(8 <= tile["box_at"][0] and tile["box_at"][0] + tile["box"][0] <= 12, tile)
        self.assertTrue(tile["box_at"][1] + tile["box"][1] <= 4, tile)

    def test_sizes(self):
        ratios = {name: self.entries[name]["mismatch"]["error_over_bound"]
                  for name in ("order", "low-bit", "lost-rounded", "bit", "list-turned", "list-twice")}
        self.assertEqual({name: ratio > 1 for name, ratio in ratios.items()},
                         {"order": False, "low-bit": False, "lost-rounded": True, "bit": True, "list-turned": False,
                          "list-twice": True}, ratios)
        self.assertNotIn("error_over_bound", self.entries["normwise"]["mismatch"])

    def test_text_says_it(self):
        text = " ".join(self.done.stdout.replace(",", "").split())
        for expected in ("race_sized: elements that differ are up to", "corruption: each element that differs does so",
                         "another setting does not; uninitialised_read: the bits follow", "1 ulp one element at [0 5] reordering",
                         "a tile of 4 x 4 at [8 0] reordering"):
            self.assertIn(expected, text)


class Callers(unittest.TestCase):
    def test_host_threads_at_once(self):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("DETPROBE_")}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.json")
            subprocess.run([DETPROBE, "run", "fake/callers/*", "--level", "quick", "--axis", "concurrency", "-o", path],
                           env={**variables, "DETPROBE_PROBE_PATH": str(PLANTS)}, capture_output=True, timeout=200)
            report = json.loads(path.read_text())
        schema = json.loads((SCHEMAS / "report.schema.json").read_text())
        jsonschema.Draft202012Validator(schema).validate(report)
        results = {row["case"].rsplit("/", 1)[1]: row for row in report["body"]["results"]}
        entries = {entry["case"].rsplit("/", 1)[1]: entry for entry in report["measurements"]["cases"]}
        self.assertEqual({name: (row["observed"], row["sensitive_to"]) for name, row in results.items()},
                         {"none": ("repeats", []), "crossing": ("repeats", ["concurrency"]),
                          "disturbed": ("repeats", ["concurrency"])})
        found = {name: entry.get("diagnosis", {}).get("kind") for name, entry in entries.items()}
        self.assertEqual(found["none"], None)
        self.assertEqual(found["crossing"], "cross_talk")
        self.assertNotEqual(found["disturbed"], "cross_talk")


if __name__ == "__main__":
    unittest.main()
