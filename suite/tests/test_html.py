# SPDX-License-Identifier: Apache-2.0
"""The HTML pages: structure, hostile strings, sizes, and in Chromium what they do.

usage: test_html.py DETPROBE RENDER_DOCUMENT REPORTS_FOLDER CORPUS_FOLDER page|browser [TEST...]

`browser` exits 77 where there is no Chromium.
"""

import base64
import collections
import hashlib
import html.parser
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import jsonschema

import browser
import pages

DETPROBE, RENDER, REPORTS, CORPUS = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
SCHEMAS = {kind: pages.load(REPORTS / "schema" / f"{kind}.schema.json") for kind in ("report", "diff", "gate", "matrix")}
VERSIONS = {kind: schema["properties"]["schema_version"].get("const") for kind, schema in SCHEMAS.items()}
DOCUMENTS = {"report": pages.full_report(CORPUS), "diff": pages.full_diff(VERSIONS["diff"]),
             "gate": pages.full_gate(VERSIONS["gate"]), "matrix": pages.full_matrix(VERSIONS["matrix"])}
MEASURED = REPORTS / "measured" / "cpu-debian12-quick.json"
MOST = 2 << 20  # bytes of a page of 1000 cases
VOID = {"meta", "link", "col", "input", "br"}
ELEMENTS = VOID | set("html head title style body a header p h1 h2 h3 main section ul ol li span b svg rect dl dt dd "
                      "form label select option button noscript div table colgroup thead tbody tr th td code footer "
                      "script pre details summary".split())


def render(kind, document, folder):
    file = folder / "document.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    done = subprocess.run([RENDER, kind, "html", file], capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8")


class Structure(html.parser.HTMLParser):
    """Elements and names of attributes in order; what is not well nested or not ours is a fault."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.faults, self.texts = [], [], [], collections.defaultdict(list)
        self.attributes = collections.defaultdict(list)
        self.feed(page)
        self.close()
        if self.open:
            self.faults.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, tuple(name for name, _ in attrs)))
        if tag not in ELEMENTS:
            self.faults.append(f"<{tag}>")
        for name, value in attrs:
            self.attributes[name].append(value)
            if name.startswith("on") or name in ("src", "style", "action", "srcdoc"):
                self.faults.append(f"{tag} {name}={value}")
            if name == "href" and not value.startswith(("#", "data:image/svg+xml,")):
                self.faults.append(f"{tag} {name}={value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> at {self.getpos()}")

    def handle_comment(self, data):
        self.faults.append(f"comment {data!r}")

    def handle_data(self, data):
        self.texts[self.open[-1] if self.open else ""].append(data)

    def text(self):
        return " ".join("".join(part for tag, parts in self.texts.items() if tag not in ("script", "style")
                                for part in parts).split())


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.folder = pathlib.Path(cls.temporary.name)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def read(self, kind, document):
        page = Structure(render(kind, document, self.folder))
        self.assertEqual(page.faults, [])
        return page


class Page(Pages):
    def test_documents_are_documents(self):
        for kind, document in DOCUMENTS.items():
            jsonschema.Draft202012Validator(SCHEMAS[kind]).validate(document)

    def test_structure(self):
        for kind, document in DOCUMENTS.items():
            page = self.read(kind, document)
            ids = page.attributes["id"]
            self.assertEqual(sorted(ids), sorted(set(ids)))
            self.assertEqual(page.elements[0], ("html", ("lang",)))
            names = set(ids)
            for label in page.attributes["aria-labelledby"]:
                self.assertIn(label, names)
            count = collections.Counter(tag for tag, _ in page.elements)
            self.assertEqual((count["h1"], count["main"], count["title"]), (1, 1, 1))
            self.assertIn("cases", names)
            for tag, attributes in page.elements:
                self.assertTrue(tag != "th" or "scope" in attributes)

    def test_policy_allows_this_style_and_this_script_alone(self):
        for kind, document in DOCUMENTS.items():
            text = render(kind, document, self.folder)
            policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
            style = re.search(r"<style>(.*?)</style>", text, re.S).group(1)
            script = text[text.rindex("<script>") + len("<script>"):text.rindex("</script>")]
            for name, code in (("style-src", style), ("script-src", script)):
                digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
                self.assertIn(f"{name} 'sha256-{digest}';", policy)
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertNotRegex(re.sub(r"data:[^\"]*|http://www.w3.org/2000/svg", "", text), r"(src|href)=[\"']?(https?:)?//")

    def test_everything_is_there_without_script(self):
        page = self.read("report", DOCUMENTS["report"])
        text = page.text()
        for result in DOCUMENTS["report"]["body"]["results"]:
            self.assertIn(result["case"].split("/")[2], text)
        for words in ("2 guarantees broken", "skylake", "unproven on hardware", "OMP_NUM_THREADS", "1024 ulp"):
            self.assertIn(words.lower(), text.lower())

    def test_cells(self):
        text = render("report", DOCUMENTS["report"], self.folder)
        row = re.search(r'<tr id="case=cpu/atomics/append-counter".*', text).group(0)
        cells = re.findall(r'<td(?: class="cell [a-z-]+")?>([a-z ]*)</td>', row)
        self.assertEqual(cells, ["varies", "", "not measured", "moved", "confounded", "varies"])
        self.assertIn('data-moved="repeat threads threads*repeat"', row)
        other = re.search(r'<tr id="case=cpu/gemm/sgemm-nn-1".*', text).group(0)
        self.assertNotIn("moved", other)
        self.assertIn('<td class="cell repeats">repeats</td>', other)

    def test_sentence_and_tone(self):
        self.assertIn('<h1 class="bad">', render("report", DOCUMENTS["report"], self.folder))
        clean = render("report", pages.load(CORPUS / "good-clean.json"), self.folder)
        self.assertIn('<h1 class="good">no guarantee broken', clean)
        agreeing = {**DOCUMENTS["diff"], "changes": [], "causes": [],
                    "summary": {"agree": True, "compared": 4, "changed": 0, "kinds": {}}}
        self.assertIn('<h1 class="good">the results agree', render("diff", agreeing, self.folder))
        self.assertIn('<h1 class="bad">the results differ', render("diff", DOCUMENTS["diff"], self.folder))

    def test_gate(self):
        text = render("gate", DOCUMENTS["gate"], self.folder)
        self.assertIn('<h1 class="bad">gate failed: 2 findings in 4 cases', text)
        states = re.findall(r'data-state="([a-z]+)"', text)
        self.assertEqual(states, ["new", "finding", "allowed"])
        for words in ("8 runs, the policy asks for 25", "the entry for cpu/blas/* allowed nothing", "baseline.json",
                      "policy.json", "known, until 2030-01-31", "detprobe run it"):
            self.assertIn(words, text)
        passed = {**DOCUMENTS["gate"], "passed": True, "verdict": "passed", "findings": [], "problems": [], "notes": []}
        text = render("gate", passed, self.folder)
        self.assertIn('<h1 class="good">gate passed', text)
        self.assertNotIn("h-problems", text)
        self.assertIn('<h1 class="warn">', render("gate", {**passed, "verdict": "no_verdict"}, self.folder))

    def test_matrix(self):
        text = render("matrix", DOCUMENTS["matrix"], self.folder)
        self.assertIn('<h1 class="warn">the results differ', text)
        rows = [re.findall(r'<td class="(?:same same|word)-([a-z-]+)">', row)
                for row in re.findall(r'<tr data-case="[^"]*" data-family=.*', text)]
        self.assertEqual(rows, [["broken", "a", "a"], ["a", "b", "-"]])
        for words in ("cpu/conv/conv-2", "<td>1</td><td>2</td>", "not there", "third", "1: another definition"):
            self.assertIn(words, text)

    def test_diff_sides(self):
        text = render("diff", DOCUMENTS["diff"], self.folder)
        row = re.search(r'<tr data-case="cpu/gemm/sgemm-1".*', text).group(0)
        self.assertLess(row.index("repeats · kept"), row.index("varies · broken"))
        self.assertIn('data-cause="1"', row)
        self.assertIn("not there", re.search(r'<tr data-case="cpu/pool/pool-1".*', text).group(0))
        self.assertLess(text.index("OpenBLAS 1 → 2"), text.index("Changed cases"))
        for words in ("1: another definition", "cpu/gemm/sgemm-3", "1: vary on one side alone", "cpu/gemm/sgemm-4",
                      "ran on 1 thread before, 2 now"):
            self.assertIn(words, text)

    def test_hostile_strings_change_no_structure(self):
        """In each string and key by itself, and in all at once, against a harmless text at the same place."""
        for kind, document in DOCUMENTS.items():
            paths = sorted(set(pages.strings(document)))
            self.assertGreater(len(paths), 40, kind)
            for wanted in [None, *paths]:
                def here(path, _, wanted=wanted):
                    return path == wanted if wanted else True
                found, expected = (self.read(kind, pages.replaced(document, text, here))
                                   for text in (pages.HOSTILE, pages.HARMLESS))
                self.assertEqual(found.elements, expected.elements, wanted)

    def test_hostile_data_stays_data(self):
        document = pages.replaced(DOCUMENTS["report"], pages.HOSTILE, lambda path, _: path[-1] != "the key")
        text = render("report", document, self.folder)
        data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
        self.assertNotRegex(data, "[<>&\u2028]")
        shown = json.loads(data)
        self.assertIn("<script>window.__pwned=1</script>", json.dumps(shown, ensure_ascii=False))
        id = document["body"]["results"][0]["case"].replace("\u2028", "?").replace("\u202e", "?")
        words = shlex.split(shown["before"] + shown["cases"][0]["word"] + shown["after"])
        self.assertEqual(words[words.index("run") + 1], id)

    def test_what_to_do(self):
        """The remedies that apply to a case: of its verdict, or along the axes that it is sensitive to."""
        document = pages.full_report(CORPUS)
        results = document["body"]["results"]
        sensitive = next(place for place, result in enumerate(results) if "remedy_along" in result)
        quiet = next(place for place, result in enumerate(results) if result["observed"] == "repeats" and
                     result["guarantee"]["status"] != "allows" and not result["sensitive_to"])
        unseen = next(place for place, result in enumerate(results) if result["observed"] == "repeats" and
                      result["guarantee"]["status"] == "allows" and not result["sensitive_to"])
        results[quiet]["remedy"] = results[unseen]["remedy"] = {"text": "do it"}
        text = render("report", document, self.folder)
        data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
        def applying(place):
            return [[kind, data["shared"][which]] for kind, which in data["cases"][place].get("remedies", [])]
        self.assertEqual(applying(0), [["varies", results[0]["remedy"]]])
        self.assertEqual(applying(sensitive), [["threads", results[sensitive]["remedy_along"]["threads"]],
                                               ["batch", results[sensitive]["remedy"]]])
        self.assertEqual(applying(quiet), [])
        self.assertEqual(applying(unseen), [["may vary", {"text": "do it"}]])
        self.assertEqual(data["shared"][data["cases"][sensitive]["used_by"]], ["aten::mm", "numpy.dot"])

    def test_commands(self):
        report, page = CORPUS / "good-findings.json", self.folder / "page.html"
        for arguments, code, words in ((("show", report), 0, "2 guarantees broken"),
                                       (("diff", report, report), 0, "the results agree"),
                                       (("diff", report, report, report), 0, "the results agree"),
                                       (("gate", report), 1, "gate failed")):
            done = subprocess.run([DETPROBE, *arguments, "--format", "html", "-o", page], capture_output=True, timeout=60,
                                  check=False)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (code, b"", b""))
            self.assertEqual(Structure(page.read_text(encoding="utf-8")).faults, [])
            self.assertIn(words, page.read_text(encoding="utf-8"))
            self.assertIn("good-findings", page.read_text(encoding="utf-8"))

    def test_weight(self):
        text = render("report", pages.many(MEASURED, 1000), self.folder)
        self.assertLessEqual(len(text.encode()), MOST)
        self.assertEqual(text.count('<tr id="case='), 1000)


class InChromium(Pages):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def open(self, kind, document, fragment=""):
        file = self.folder / "page.html"
        file.write_text(render(kind, document, self.folder), encoding="utf-8")
        self.browser.open(file, fragment)

    def value(self, expression):
        return self.browser.value(expression)

    def shown(self):
        return self.value("[...document.querySelectorAll('tbody tr[data-observed], tbody tr[data-change]')]"
                          ".filter((row) => row.offsetHeight > 0).length")

    def no_harm(self):
        self.assertEqual(self.browser.complaints(), [])
        self.assertEqual(self.browser.fetched(), [])
        self.assertIsNone(self.value("window.__pwned"))
        self.assertEqual(self.value("document.querySelectorAll('img, iframe, object, embed').length"), 0)

    def choose(self, name, value):
        self.value(f"(() => {{ const field = document.forms[0].elements[{json.dumps(name)}]; "
                   f"field.value = {json.dumps(value)}; "
                   "field.dispatchEvent(new Event('input', {bubbles: true})); })()")

    def test_filters(self):
        results = DOCUMENTS["report"]["body"]["results"]
        self.open("report", DOCUMENTS["report"])
        ran = [result for result in results if result["backend"] == "cpu" or result["observed"] != "skipped"]
        self.assertEqual(self.value("document.forms[0].hidden"), False)
        self.assertGreaterEqual(self.shown(), len(ran) - 1)
        for name, value, expected in (
                ("observed", "varies", [result for result in results if result["observed"] == "varies"]),
                ("backend", "python", [result for result in results if result["backend"] == "python"]),
                ("guarantee", "broken", [r for r in results if r["guarantee"].get("status") == "broken"]),
                ("family", "gemm", [result for result in results if result["family"] == "gemm"]),
                ("text", "sgemm-NN", [result for result in results if "sgemm-nn" in result["case"]])):
            self.choose(name, value)
            self.assertEqual(self.shown(), len(expected), name)
            self.assertIn(f"{len(expected)} of {len(results)} cases shown",
                          self.value("document.getElementById('count').textContent"))
            self.choose(name, "")
        self.choose("text", "nothing is called so")
        self.assertEqual(self.shown(), 0)
        self.no_harm()

    def test_tiles_and_address(self):
        self.open("report", DOCUMENTS["report"])
        self.value("document.querySelector('.tiles button[data-value=varies]').click()")
        self.assertEqual(self.shown(), 7)
        self.assertEqual(self.value("location.hash"), "#observed=varies")
        self.assertEqual(self.value("document.querySelector('.tiles [aria-pressed=true]').dataset.value"), "varies")
        self.open("report", DOCUMENTS["report"], "#family=gemm&observed=varies")
        self.assertEqual(self.shown(), 1)
        self.open("report", DOCUMENTS["report"], "#observed=no-such-word")
        self.assertGreater(self.shown(), 10)
        self.no_harm()

    def test_case_from_the_address(self):
        self.open("report", DOCUMENTS["report"], "#case=cpu/atomics/append-counter")
        text = self.value("document.querySelector('tr.detail').innerText")
        for words in ("the manual, section 3", "call()", "another algorithm was chosen", "kernel_b", "900 of 1024 (88 %)",
                      "detprobe run cpu/atomics/append-counter --level quick --seed 1", "threads*repeat", "did not run",
                      "[1, 0, 5] of 4 × 16 × 16", "a tile, within 1 × 4 × 16 at [1, 0, 0]",
                      "2 of other sign, 1 not finite on one side", "0x40", "12.5 of the error bound",
                      "race_sized: too far from <b>the</b> reference", "2 to 3", "8 to 15", "varies: do", "aten::add"):
            self.assertIn(words, text)
        self.assertNotIn("1 to 1", text)
        self.assertEqual(self.value("document.querySelectorAll('tr.detail').length"), 1)
        self.no_harm()
        self.assertEqual(self.value("document.activeElement.getAttribute('aria-expanded')"), "true")

    def test_what_to_do_along_axes(self):
        sensitive = next(result for result in DOCUMENTS["report"]["body"]["results"] if "remedy_along" in result)
        self.open("report", DOCUMENTS["report"], f"#case={sensitive['case']}")
        text = self.value("document.querySelector('tr.detail').innerText")
        for words in ("sensitive to threads: fix them", "THREADS", "manual, section 2", "sensitive to batch: do without",
                      "aten::mm, numpy.dot"):
            self.assertIn(words, text)
        self.no_harm()

    def test_keyboard(self):
        self.open("report", DOCUMENTS["report"])
        self.browser.key("Tab", 9)
        self.assertEqual(self.value("document.activeElement.className"), "skip")
        self.value("document.querySelector('tbody th > a').focus()")
        for expected in (1, 0):
            self.browser.key("Enter", 13)
            self.assertEqual(self.value("document.querySelectorAll('tr.detail').length"), expected)
        self.browser.key("Enter", 13)
        self.assertEqual(self.value("location.hash"), "#case=cpu/atomics/append-counter")
        self.value("document.querySelector('tr.group button').focus()")
        before = self.shown()
        self.browser.key("Enter", 13)
        self.assertLess(self.shown(), before)
        self.no_harm()

    def test_roles_and_names(self):
        """What a screen reader is told."""
        for kind, document in DOCUMENTS.items():
            self.open(kind, document, "#case=cpu/atomics/append-counter")
            told = collections.defaultdict(list)
            for node in self.browser.call("Accessibility.getFullAXTree")["nodes"]:
                if not node["ignored"]:
                    told[node["role"]["value"]].append(node.get("name", {}).get("value", ""))
            for role in ("button", "link", "combobox", "searchbox", "region", "heading", "columnheader", "rowheader"):
                self.assertTrue(told[role], f"{kind}: no {role}")
                self.assertTrue(all(told[role]), f"{kind}: a {role} without a name")
            self.assertTrue(told["table"] and told["status"] and told["main"])
            if kind == "report":
                self.assertIn("moved", told["cell"] + told["gridcell"])
                self.assertIn("not measured", told["cell"] + told["gridcell"])

    def test_without_script(self):
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.open("report", DOCUMENTS["report"])
            self.assertEqual(self.shown(), len(DOCUMENTS["report"]["body"]["results"]))
            self.assertTrue(self.value("document.forms[0].hidden"))
            self.assertIn("need the script", self.value("document.querySelector('noscript').innerText"))
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_hostile_document_harms_nothing(self):
        """Free strings alone, so that every part is shown, and then each and every string."""
        for kind, document in DOCUMENTS.items():
            words, members = pages.words_of(SCHEMAS[kind])
            kept = words | members | set(pages.full_report(CORPUS)["body"]["plan"]["axes"])
            for wanted in (lambda path, string, kept=kept: string not in kept, lambda path, _: path[-1] != "the key"):
                counts = []
                for text in (pages.HOSTILE, pages.HARMLESS):
                    self.open(kind, pages.replaced(document, text, wanted))
                    self.value("document.querySelectorAll('tbody th > a').forEach((link) => link.click())")
                    self.no_harm()
                    # a word with blanks is several to a filter
                    counts.append(self.value("document.querySelectorAll('*:not(option)').length"))
                self.assertEqual(*counts)
                self.assertEqual(self.value("document.scripts.length"), 2 if kind == "report" else 1)

    def test_hostile_address(self):
        for fragment in ("#case=%22%3E%3Cscript%3Ewindow.__pwned=1%3C/script%3E", "#observed=%3Cimg%20src=x%3E&text=%27)", "#%", "#constructor=1&__proto__=2"):
            self.open("report", DOCUMENTS["report"], fragment)
            self.no_harm()

    def test_policy_holds(self):
        """A script that came in all the same would not run, nor would anything be fetched."""
        self.open("report", DOCUMENTS["report"])
        self.value("(() => { const script = document.createElement('script'); "
                   "try { script.text = 'window.__pwned = 3'; } catch (refused) { return; } "
                   "document.body.append(script); })()")
        self.assertIsNone(self.value("window.__pwned"))
        self.value("(() => { const image = document.createElement('img'); image.src = 'http://127.0.0.1:9/x'; "
                   "document.body.append(image); })()")
        self.assertTrue(any("Content Security Policy" in text for text in self.browser.complaints()))

    def test_dark(self):
        colours = []
        for scheme in ("light", "dark"):
            self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.open("report", DOCUMENTS["report"])
            colours.append(self.value("getComputedStyle(document.body).backgroundColor"))
        self.browser.call("Emulation.setEmulatedMedia", features=[])
        light, dark = ([int(part) for part in re.findall(r"\d+", colour)] for colour in colours)
        self.assertGreater(min(light[:3]), 200)
        self.assertLess(max(dark[:3]), 60)

    def test_narrow(self):
        """Nothing but the table is wider than the screen, and a state has a sign."""
        self.browser.call("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=1, mobile=True)
        try:
            for kind, document in DOCUMENTS.items():
                self.open(kind, document)
                self.assertLessEqual(self.value("document.documentElement.scrollWidth"), 400)
            self.open("report", DOCUMENTS["report"])
            signs = self.value("[...document.querySelectorAll('td.cell')].map((cell) => getComputedStyle(cell, '::before').content)")
            self.assertEqual(set(signs), {'"="', '"≠"', '"Δ"', '"?"', '"–"'})
        finally:
            self.browser.call("Emulation.clearDeviceMetricsOverride")

    def test_print(self):
        self.open("report", DOCUMENTS["report"], "#case=cpu/atomics/append-counter")
        document = base64.b64decode(self.browser.call("Page.printToPDF", preferCSSPageSize=True)["data"])
        self.assertTrue(document.startswith(b"%PDF-"))
        self.assertGreater(len(re.findall(rb"/Type\s*/Page\b", document)), 1)

    def test_diff(self):
        self.open("diff", DOCUMENTS["diff"])
        self.assertEqual(self.shown(), 5)
        self.value("document.querySelector('.causes a').click()")
        self.value("new Promise((done) => setTimeout(done, 100))")
        self.assertEqual(self.shown(), 3)
        self.choose("cause", "")
        self.choose("change", "new")
        self.assertEqual(self.shown(), 1)
        self.no_harm()

    def test_gate(self):
        self.open("gate", DOCUMENTS["gate"])
        rows = "[...document.querySelectorAll('tbody tr')].filter((row) => row.offsetHeight > 0).length"
        self.assertEqual(self.value(rows), 3)
        self.value("document.querySelector('.tiles button[data-value=allowed]').click()")
        self.assertEqual(self.value(rows), 1)
        self.assertEqual(self.value("document.querySelectorAll('.command button').length"), 3)
        self.no_harm()


if __name__ == "__main__":
    PART = {"page": Page, "browser": InChromium}[sys.argv[5]]
    if PART is InChromium and not browser.program():
        print("no Chromium here, skipped")
        sys.exit(77)
    names = sys.argv[6:] or [PART.__name__]
    for unused in {Page, InChromium, Pages} - {PART}:
        del globals()[unused.__name__]
    unittest.main(argv=[sys.argv[0], *names], verbosity=2)
