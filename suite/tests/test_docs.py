# SPDX-License-Identifier: Apache-2.0
"""The manual and shell completion: what they say is what the program does, and their readers accept them.

usage: test_docs.py DETPROBE DOCUMENT DOCS_FOLDER TOP [TEST...]

DOCUMENT is the program that made DOCS_FOLDER, TOP the source tree. Readers that are not installed are skipped, by
name.
"""

import functools
import json
import os
import pathlib
import pty
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import surroundings

DETPROBE, DOCUMENT, DOCS, TOP = (pathlib.Path(path).resolve() for path in sys.argv[1:5])
SCHEMAS = TOP / "reports" / "schema"
SECTIONS = {
    "1": ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO"],
    "5": ["NAME", "DESCRIPTION", "WORDS", "DIGEST", "VERSIONS", "MEMBERS", "FILES", "SEE ALSO"],
    "7": ["NAME", "DESCRIPTION", "PROTOCOL", "CATALOGUE FILES", "ENVIRONMENT", "FILES", "SEE ALSO"],
}
ESCAPES = {r"\-": "-", r"\(aq": "'", r"\(dq": '"', r"\(ga": "`", r"\(ha": "^", r"\(ti": "~", r"\e": "\\",
           r"\(bu": "•"}
SCRIPTS = ["detprobe", "_detprobe", "detprobe.fish"]
# One less than a run needs to say something: here only that it runs.
SHORT = " --runs 2 --seeds 1 --fresh 1 --budget 2s"


def environment(**more):
    variables = surroundings.real()
    variables.pop("SOURCE_DATE_EPOCH", None)
    variables.update(LC_ALL="C.UTF-8", PATH=f"{DETPROBE.parent}:{variables['PATH']}", **more)
    return variables


def run(command, **options):
    options = {"env": environment(), "capture_output": True, "text": True, "timeout": 300, **options}
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, **options)


def needed(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise unittest.SkipTest(f"{tool} is not installed")


def pages():
    return sorted(DOCS.glob("*.[157]"))


def plain(roff):
    """The text of a page's source, macros left in place."""
    roff = re.sub(r"(?m)^\.\\\".*\n|\\f[BIR]|\\%|\\&", "", roff)
    roff = re.sub(r"\\\[u([0-9A-F]+)\]", lambda found: chr(int(found.group(1), 16)), roff)
    return re.sub(r"\\\(..|\\.", lambda found: ESCAPES[found.group(0)], roff)


def section(page, heading):
    """The lines of a section of a page, unescaped."""
    text = plain((DOCS / page).read_text())
    return text.split(f'.SH "{heading}"\n', 1)[1].split("\n.SH ", 1)[0]


def entries(page, heading):
    """tag -> text of the list of a section."""
    return {tag: text.strip() for tag, text in
            re.findall(r"^\.TP\n(.*)\n((?:(?!\.).*\n?)*)", section(page, heading) + "\n", re.M)}


@functools.cache
def commands():
    """Names of the commands, from the program."""
    return re.findall(r"^  (\S+) +\S", run([DETPROBE, "--help"]).stdout, re.M)


@functools.cache
def help_of(command):
    return run([DETPROBE, command, "--help"]).stdout


def options_of(command):
    """(-l or None, --level, LEVEL or None, text) of each option, from --help."""
    block = help_of(command).split("\noptions:\n")[1].split("\n\n")[0]
    rows = re.findall(r"^  (?:(-\w),|   ) (--[\w-]+)(?: (\S+))?(.*(?:\n {20}.*)*)", block, re.M)
    return [(letter or None, name, argument or None, " ".join(text.split())) for letter, name, argument, text in rows]


def codes_of(command):
    text = help_of(command).split("\nexit codes:\n")[1].split("\n\n")[0]
    rows = re.findall(r"^  (\S+) +(.*(?:\n {9}.*)*)", text, re.M)
    return {code: " ".join(words.split()) for code, words in rows}


def examples_of(command):
    text = help_of(command).partition("\nexamples:\n")[2]
    return re.findall(r"^  (\S.*)\n      \S", text, re.M)


class Pages(unittest.TestCase):
    def test_a_page_for_each(self):
        self.assertEqual({page.name for page in pages()},
                         {"detprobe.1", "detprobe-report.5", "detprobe-probe.7"}
                         | {f"detprobe-{command}.1" for command in commands()})

    def test_sections(self):
        for page in pages():
            found = re.findall(r'^\.SH "(.*)"$', page.read_text(), re.M)
            wanted = SECTIONS[page.suffix[1:]]
            with self.subTest(page.name):
                self.assertEqual([heading for heading in found if heading in wanted], wanted)

    def test_sections_of_a_command(self):
        for page, heading, words in (("detprobe-run.1", "AXES", "poison"), ("detprobe-gate.1", "POLICY", "expires"),
                                     ("detprobe-run.1", "LEVELS", "quick"), ("detprobe-list.1", "FAMILIES", "cpu/fft"),
                                     ("detprobe-show.1", "FORMATS", "junit"),
                                     ("detprobe-verify.1", "SIGNED REPORTS", "--require-signed")):
            self.assertIn(words, section(page, heading))

    def quiet(self, done):
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_groff(self):
        needed("groff")
        for page in pages():
            with self.subTest(page.name):
                self.quiet(run(["groff", "-ww", "-man", "-z", page]))

    def test_man(self):
        needed("man")
        for page in pages():
            with self.subTest(page.name):
                self.quiet(run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page]))

    def test_mandoc(self):
        """A build has no date, and that is all that mandoc finds."""
        needed("mandoc")
        for page in pages():
            with self.subTest(page.name):
                found = run(["mandoc", "-T", "lint", "-W", "warning", page]).stdout.splitlines()
                self.assertEqual([line for line in found if "missing date" not in line], [])

    def test_whatis(self):
        needed("lexgrog")
        for page in pages():
            with self.subTest(page.name):
                self.assertIn(f'"{page.stem} - ', run(["lexgrog", page]).stdout)

    def test_no_hyphen_inside_what_is_typed(self):
        for page in pages():
            with self.subTest(page.name):  # \% begins a word to forbid hyphens, inside it would allow one
                self.assertIsNone(re.search(r"\S(?<!\\f[BI])\\%|\S\\f[BI]\\%", page.read_text()))

    def test_ascii(self):
        for page in pages():
            self.assertTrue(page.read_text().isascii(), page.name)

    def make(self, folder, names, **variables):
        return run([DOCUMENT, folder, TOP, *names], env=environment(**variables), cwd="/")

    def test_reproducible(self):
        names = [page.name for page in pages()] + SCRIPTS
        with tempfile.TemporaryDirectory() as folder:
            day = {name: os.environ[name] for name in ("SOURCE_DATE_EPOCH",) if name in os.environ}
            self.quiet(self.make(folder, names, TZ="Asia/Tokyo", LANG="tr_TR.UTF-8", COLUMNS="40", **day))
            for name in names:
                self.assertEqual((pathlib.Path(folder) / name).read_bytes(), (DOCS / name).read_bytes(), name)

    def test_dated(self):
        """A package has a date, the same everywhere, and then mandoc finds nothing."""
        names = [page.name for page in pages()] + SCRIPTS
        with tempfile.TemporaryDirectory() as folder:
            self.quiet(self.make(folder, names, SOURCE_DATE_EPOCH="1700000000", TZ="Asia/Tokyo"))
            for page in pages():
                made = pathlib.Path(folder) / page.name
                self.assertIn(' "2023-11-14" "detprobe ', made.read_text())
                if shutil.which("mandoc"):
                    self.assertEqual(run(["mandoc", "-T", "lint", "-W", "warning", made]).stdout, "")

    def test_no_page_is_forgotten(self):
        names = [page.name for page in pages()] + SCRIPTS
        with tempfile.TemporaryDirectory() as folder:
            fewer = self.make(folder, [name for name in names if name != "detprobe-run.1"])
            self.assertEqual(fewer.returncode, 65)
            self.assertIn("'detprobe-run.1'", fewer.stderr)
            more = self.make(folder, [*names, "detprobe-frobnicate.1"])
            self.assertEqual(more.returncode, 65)
            self.assertIn("'detprobe-frobnicate.1'", more.stderr)


class Markdown(unittest.TestCase):
    """What a page for people may hold, as the manual shows it."""

    TEXT = r"""
.TH is no request, and `.so /etc/passwd` neither:
'quoted' words, a \n backslash, **bold**, *slanted*, an unended * star, `code-with-dashes`, --option, well-known.

.PP

| word | | where |
|---|---|---|
| `a\|b` | one of \"two\" | here |
| c | three | |

1. first
2. second, which
   goes on

- [a link](https://example.org/x) [not one]

    indented -code
    .so /etc/passwd

```
.fenced 'code' `kept` \\
```

- → × é
"""
    PLAIN = r"""
.TH is no request, and .so /etc/passwd neither: 'quoted' words, a \n backslash, bold, slanted, an unended * star, code-with-dashes, --option, well-known.
.PP
.PP
.TP
a|b
one of \"two\"; where: here
.TP
c
three
.IP "" 4
1. first
.IP "" 4
2. second, which goes on
.IP "•" 4
a link [not one]
.PP
.EX
indented -code
.so /etc/passwd
.EE
.PP
.EX
.fenced 'code' `kept` \\
.EE
.IP "•" 4
→ × é
"""

    def make(self, change):
        """detprobe.1 of a tree whose README.md is changed, as source."""
        temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(temporary.cleanup)
        top = pathlib.Path(temporary.name)
        frames = (f"suite/docs/completion.{shell}" for shell in ("bash", "zsh", "fish"))
        for name in ("README.md", "probes/README.md", *frames):
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(TOP / name, top / name)
        readme = top / "README.md"
        readme.write_text(change(readme.read_text()))
        names = [page.name for page in pages()] + SCRIPTS
        return run([DOCUMENT, top, top, *names]), top / "detprobe.1"

    def test_everything(self):
        done, page = self.make(lambda readme: f"# detprobe\n{self.TEXT}\n## " + readme.split("\n## ", 1)[1])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        source = page.read_text()
        described = plain(source.split('.SH "DESCRIPTION"\n')[1].split(".SH ")[0])
        self.assertEqual(described.splitlines(), self.PLAIN.splitlines()[1:])
        for line in source.splitlines():
            self.assertNotRegex(line, r"^[.'](so |TH is|fenced|quoted)", "a text became a request")
        if shutil.which("groff"):
            self.assertEqual(run(["groff", "-ww", "-man", "-z", page]).stderr, "")

    def test_heading_that_went_away(self):
        done, _ = self.make(lambda readme: readme.replace("### What is varied", "### What varies"))
        self.assertEqual(done.returncode, 65)
        self.assertIn("'detprobe-run.1': README.md: no heading 'What is varied'", done.stderr)


class Options(unittest.TestCase):
    def test_in_the_page(self):
        for command in commands():
            tags = entries(f"detprobe-{command}.1", "OPTIONS")
            expected = ["".join([f"{letter}, " if letter else "", name, f" {argument}" if argument else ""])
                        for letter, name, argument, _ in options_of(command)]
            with self.subTest(command):
                self.assertEqual(list(tags), expected)
                self.assertTrue(all(tags.values()), "an option without a text")

    def test_defaults(self):
        for command in commands():
            page = entries(f"detprobe-{command}.1", "OPTIONS")
            for (_, name, _, help_text), text in zip(options_of(command), page.values()):
                shown = re.search(r"\bdefault (\S+)\)$", help_text)
                given = re.search(r"Unless it is given: (.*)\.$", text)
                with self.subTest(f"{command} {name}"):
                    self.assertEqual(given and given.group(1), shown and shown.group(1))

    def test_defaults_are_told(self):
        self.assertIn("Unless it is given: broken.", entries("detprobe-run.1", "OPTIONS")["--fail-on WHAT"])
        self.assertNotIn("Unless", entries("detprobe-run.1", "OPTIONS")["-r, --runs N"])

    def test_axes_stand_once(self):
        text = " ".join(help_of("run").split("--axis AXIS")[1].split("-r, --runs")[0].split())
        page = entries("detprobe-run.1", "OPTIONS")["-a, --axis AXIS"]
        for axis in ("fresh|", "concurrency|", "isa|", "device|"):
            self.assertEqual(text.count(axis), 1, text)
        self.assertEqual((page.count("concurrency"), page.count("device")), (1, 1), page)

        self.assertLessEqual(max(map(len, help_of("run").split("\nexamples:")[0].splitlines())), 96)

    def test_help_of_a_command(self):
        for command in commands():
            self.assertEqual(run([DETPROBE, "help", command]).stdout, help_of(command))
        done = run([DETPROBE, "help", "rnu"])
        self.assertEqual((done.returncode, done.stdout), (64, ""))
        self.assertEqual(done.stderr, "detprobe: unknown command 'rnu', did you mean 'run'?\n")
        for words in (["help"], ["help", "help"], ["help", "--help"], ["-h"]):
            self.assertEqual(run([DETPROBE, *words]).stdout, run([DETPROBE, "--help"]).stdout)

    def test_readme_names_each(self):
        table = (TOP / "README.md").read_text().split("\n## Commands\n")[1].strip().split("\n\n")[0]
        named = [name for row in table.splitlines() for name in re.findall(r"`detprobe ([\w-]+)", row.split(" | ")[0])]
        self.assertEqual(sorted(named), commands())

    def test_readme_names_each_family(self):
        table = (TOP / "README.md").read_text().split("\n## What is measured\n")[1].split("\n## ")[0]
        listed = json.loads(run([DETPROBE, "list", "--json"]).stdout)
        self.assertEqual(set(re.findall(r"`(\w+/[\w-]+)`", table)), {case["id"].rsplit("/", 1)[0] for case in listed})

    def test_hidden_command(self):
        self.assertNotIn("__complete", run([DETPROBE, "--help"]).stdout)
        self.assertNotIn("'__complete'", run([DETPROBE, "__complet"]).stderr)


class ExitCodes(unittest.TestCase):
    def readme(self):
        table = (TOP / "README.md").read_text().split("| exit code | |\n|---|---|\n")[1].split("\n\n")[0]
        return {code: words.replace("`", "") for code, words in re.findall(r"^\| (\S+) \| (.*) \|$", table, re.M)}

    def test_readme_and_manual(self):
        self.assertEqual(entries("detprobe.1", "EXIT STATUS"), self.readme())

    def test_commands(self):
        for command in commands():
            codes = codes_of(command)
            with self.subTest(command):
                self.assertEqual(entries(f"detprobe-{command}.1", "EXIT STATUS"), codes)
                self.assertLessEqual({"0", "64"}, codes.keys(), "every command succeeds, and refuses bad usage")
                self.assertLessEqual(codes.keys(), self.readme().keys())
                self.assertEqual(codes["64"], self.readme()["64"])
                self.assertEqual(help_of(command).count("exit codes"), 1, "said twice")

    def test_every_code_is_some_commands(self):
        used = set().union(*(codes_of(command) for command in commands()))
        self.assertEqual(used, self.readme().keys())

    def test_bad_usage_is_64(self):
        for command in commands():
            self.assertEqual(run([DETPROBE, command, "--no-such-option"]).returncode, 64, command)


class Surroundings(unittest.TestCase):
    def test_variables(self):
        """Every variable that the sources name is in the manual, and no other that is ours."""
        sources = [path.relative_to(TOP) for folder in ("suite", "reports", "probes")
                   for path in (TOP / folder).rglob("*.[ch]")]
        text = "".join((TOP / path).read_text() for path in sources if not {"tests", "docs"} & set(path.parts))
        told = set(entries("detprobe.1", "ENVIRONMENT"))
        text = re.sub(r"DETPROBE_LIB_[A-Z]*", "DETPROBE_LIB_<ROLE>", text)
        ours = set(re.findall(r'"(DETPROBE_[A-Z_]*(?:[A-Z]|<ROLE>))"', text))
        self.assertEqual({name for name in told if name.startswith("DETPROBE_")}, ours)
        self.assertLessEqual(set(re.findall(r'getenv\("([A-Z_<>]+)"\)', text)), told)

    def test_members_of_a_report(self):
        told = set(re.findall(r"^\.TP\n(\w+)\n", section("detprobe-report.5", "MEMBERS"), re.M))
        schema = json.loads((SCHEMAS / "report.schema.json").read_text())

        def members(node):
            if isinstance(node, dict):
                for name, member in node.get("properties", {}).items():
                    if "type" in node:  # not a condition of the schema
                        yield name, member
                for child in node.values():
                    yield from members(child)
            elif isinstance(node, list):
                for child in node:
                    yield from members(child)

        def is_described(member):
            while "description" not in member and "$ref" in member:
                member = schema["$defs"][member["$ref"].rsplit("/", 1)[1]]
            return "description" in member

        self.assertLessEqual({name for name, _ in members(schema)}, told)
        # words that the section WORDS explains
        closed = json.dumps([schema["$defs"][name] for name in ("observed", "status", "axis")])
        silent = {name for name, member in members(schema) if not is_described(member)}
        self.assertLessEqual(silent - set(re.findall(r"\w+", closed)), {"name", "report_of"}, "nothing describes them")
        text = section("detprobe-report.5", "MEMBERS")
        for word in ("not_guaranteed", "run_to_run", "untested", "selection"):
            self.assertIn(word, text)

    def test_digest_as_the_page_says(self):
        needed("jq", "sha256sum")
        command = re.search(r"^jq .*sha256sum$", section("detprobe-report.5", "DIGEST"), re.M).group(0)
        kept = TOP / "reports" / "measured" / "cpu-debian12-quick.json"
        done = run(["bash", "-c", command.replace("report.json", str(kept))])
        self.assertEqual(done.stdout.split()[0], json.loads(kept.read_text())["digest"])

    def test_arguments_have_a_completion(self):
        """An argument that no table knows completes to nothing; suite/docs/surroundings.c has a row for each."""
        table = set(re.findall(r'\{"([A-Z:]+)", DP_COMPLETES', (TOP / "suite" / "docs" / "surroundings.c").read_text()))
        for command in commands():
            used = {argument for _, _, argument, _ in options_of(command) if argument}
            used |= set(re.findall(r"\b[A-Z]{2,}\b", help_of(command).splitlines()[0])) - {"OPTION"}
            self.assertLessEqual(used, table, command)


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        cls.folder = pathlib.Path(cls.temporary.name)
        command = "detprobe run python/stdlib/list-sum --level quick -o {}.json" + SHORT
        made = [command.format(name) for name in ("report", "before", "after")]
        made.append("openssl genpkey -algorithm ed25519 -out k.pem")
        for command in made:
            done = run(["bash", "-c", f"umask 077; {command}"], cwd=cls.folder)
            assert done.returncode == 0, done.stderr

    def setUp(self):
        """The other half of whatever key is there now: an example makes one."""
        done = run(["openssl", "pkey", "-in", "k.pem", "-pubout", "-out", "p.pem"], cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_in_the_pages(self):
        for command in commands():
            shown = re.findall(r"^\.EX\n(.*)\n\.EE", section(f"detprobe-{command}.1", "EXAMPLES"), re.M)
            self.assertEqual(shown, examples_of(command))
            self.assertTrue(shown, command)
            self.assertIn(shown[0], section("detprobe.1", "EXAMPLES"))

    def test_each_works(self):
        for command in commands():
            good = [int(code) for code in codes_of(command) if code in ("0", "1", "2", "77")]
            for example in examples_of(command):
                with self.subTest(example):
                    words = shlex.split(example)
                    needed(*(word for before, word in zip(words, words[1:]) if before == "|"))
                    cut = SHORT if re.match(r"detprobe run (?!.*--(resume|dry-run|price))", example) else ""
                    self.setUp()
                    done = run(["bash", "-c", "set -o pipefail; " + example + cut], cwd=self.folder)
                    self.assertIn(done.returncode, good, done.stderr)


def bash_completes(*words, folder=None):
    """COMPREPLY of the installed function; the last word is what the cursor stands behind."""
    script = """
        source "$1"; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _detprobe "$1" "${!#}"
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    done = run(["bash", "-c", script, "bash", DOCS / "detprobe", *words], cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split()


def fish_completes(line, folder=None):
    script = "source $argv[1]; complete -C $argv[2]"
    done = run(["fish", "--no-config", "-c", script, DOCS / "detprobe.fish", line], cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [row.split("\t")[0] for row in done.stdout.splitlines()]


class Terminal:
    """A shell that a person sits before: what is typed goes through its own line editor."""

    def __init__(self, command, folder, **variables):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], [str(word) for word in command],
                       environment(TERM="xterm", COLUMNS="200", HOME=str(folder), **variables))
        self.seen = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, pattern):
        """The match; everything before it is forgotten."""
        deadline = time.monotonic() + 30
        while not (found := re.search(pattern, self.seen)):
            ready, _, _ = select.select([self.fd], [], [], deadline - time.monotonic())
            if not ready:
                raise AssertionError(f"{pattern!r} was not shown: {self.seen!r}")
            self.seen += os.read(self.fd, 65536).decode(errors="replace")
        self.seen = self.seen[found.end():]
        return found

    def line(self, keys):
        """What the command line is after these keys."""
        self.type(keys)
        self.type("\x18")
        return self.wait_for(r"<<(.*?)>>").group(1)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Completion(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="detprobe-test-")
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name)
        for name in ("first.json", "second.json"):
            (self.folder / name).touch()
        (self.folder / "stack").mkdir()

    def bash(self, *words):
        return bash_completes("detprobe", *words, folder=self.folder)

    def fish(self, line):
        return fish_completes("detprobe " + line, folder=self.folder)

    def test_program(self):
        """The hidden command that the scripts ask."""
        def ask(prefix, **variables):
            return run([DETPROBE, "__complete", prefix], env=environment(**variables)).stdout.split()
        listed = {case["id"] for case in json.loads(run([DETPROBE, "list", "--json"]).stdout)}
        families = sorted({case.rsplit("/", 1)[0] + "/" for case in listed})
        self.assertEqual(ask(""), sorted({case.split("/")[0] + "/" for case in listed}))
        self.assertIn("cpu/gemm/", ask("cpu/"))
        self.assertEqual(ask("cp"), ask("cpu/"), "one way to go on is gone")
        self.assertEqual(ask("py"), [family for family in families if family.startswith("python/")])
        (self.folder / "alone.py").touch()
        (self.folder / "alone.json").write_text(json.dumps(
            {"schema_version": "1.0", "program": "alone.py", "cases": [{"id": "alone/x/a", "op": "o"}, {"id": "alone/x/b", "op": "o"}]}))
        for name in ("first.json", "second.json"):
            (self.folder / name).unlink()
        self.assertEqual(ask("al", DETPROBE_PROBE_PATH=str(self.folder)), ["alone/x/a", "alone/x/b"])
        self.assertEqual(ask("python/stdlib/list-s"), ["python/stdlib/list-sum"])
        self.assertEqual(ask("@pyth"), ["@python"])
        self.assertIn("@openmp", ask("@"))
        self.assertEqual(ask("nothing/"), [])
        self.assertEqual({case for family in families for case in ask(family)}, listed, "controls are none of them")
        for tag in ask("@"):
            self.assertEqual(run([DETPROBE, "list", tag]).returncode, 0, tag)

    def test_program_is_silent_in_trouble(self):
        done = run([DETPROBE, "__complete", "c"], env=environment(DETPROBE_PROBE_PATH="/nowhere"))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (65, "", ""))

    def test_bash_options(self):
        for command in commands():
            options = [name for _, name, _, _ in options_of(command)]
            with self.subTest(command):
                self.assertEqual(self.bash(command, "--"), options)
                self.assertEqual(self.bash(command, "--vers"), ["--version"])

    def test_bash_commands(self):
        self.assertEqual(self.bash("")[:-3], commands())
        self.assertEqual(self.bash("help", ""), commands())
        self.assertEqual(self.bash("va"), ["validate"])

    def test_bash_values(self):
        self.assertEqual(self.bash("run", "--level", ""), ["quick", "default", "deep"])
        self.assertEqual(self.bash("run", "-l", "q"), ["quick"])
        self.assertEqual(self.bash("run", "--level", "=", "q"), ["quick"])
        self.assertEqual(self.bash("run", "--level", "="), ["quick", "default", "deep"])
        self.assertEqual(self.bash("run", "--axis", "fresh,threads*"), ["fresh,threads*repeat", "fresh,threads*batch", "fresh,threads*order"])
        self.assertEqual(self.bash("run", "--require", "cu"), ["cuda"])
        self.assertEqual(self.bash("run", "--runs", ""), [])
        self.assertEqual(self.bash("run", "--output", "f"), ["first.json"])
        self.assertEqual(self.bash("run", "--stack", "s"), ["stack"])
        self.assertEqual(self.bash("run", "--report", "js"), ["json:"])
        self.assertEqual(sorted(self.bash("run", "--report", "json", ":")), sorted(os.listdir(self.folder)))
        self.assertEqual(self.bash("run", "--report", "json", ":", "f"), ["first.json"])
        self.assertEqual(self.bash("run", "--report", "=", "json", ":", "f"), ["first.json"])
        self.assertEqual(self.bash("run", "--report", "json:f"), ["json:first.json"])

    def test_bash_operands(self):
        self.assertEqual(bash_completes(DETPROBE, "run", "python/stdlib/list-s"), ["python/stdlib/list-sum"])
        self.assertEqual(bash_completes(DETPROBE, "run", "'python/stdlib/list-s"), ["python/stdlib/list-sum"])
        self.assertEqual(bash_completes(DETPROBE, "run", "@pyth"), ["@python"])
        self.assertEqual(bash_completes(DETPROBE, "list", "--exclude", "@pyth"), ["@python"])
        self.assertEqual(bash_completes(DETPROBE, "list", "--exclude", "@"),
                         run([DETPROBE, "__complete", "@"]).stdout.split())
        self.assertEqual(self.bash("show", "se"), ["second.json"])
        self.assertEqual(self.bash("diff", "first.json", "se"), ["second.json"])
        self.assertEqual(self.bash("doctor", ""), [])

    def typed(self, terminal, rows):
        for keys, line in rows:
            self.assertEqual(terminal.line("\x15" + keys), line, repr(keys))

    # Typed, and what the line is then; what zsh makes of it where that is something else.
    ROWS = (
        ("detprobe run --lev\t", "detprobe run --level ", "detprobe run --level="),
        ("detprobe run --level q\t", "detprobe run --level quick "),
        ("detprobe run --level=q\t", "detprobe run --level=quick "),
        ("detprobe run pyt\tst\tlist-s\t", "detprobe run python/stdlib/list-sum "),
        ("detprobe run @pyth\t", "detprobe run @python "),
        ("detprobe run --exclude @pyth\t", "detprobe run --exclude @python "),
        ("detprobe run --exclude=@pyth\t", "detprobe run --exclude=@python "),
        ("detprobe run 'pyt\tst\tlist-s\t", "detprobe run 'python/stdlib/list-sum' "),
        ("detprobe list --exclude=pyt\tst\t", "detprobe list --exclude=python/stdlib/"),
        ("detprobe val\tse\t", "detprobe validate second.json "),
        ("detprobe run --report js\tfi\t", "detprobe run --report json:first.json "),
        ("detprobe run --axis fresh,bus\t", "detprobe run --axis fresh,busy ", "detprobe run --axis fresh,busy"),
    )

    BASH = """
        source '{scripts}/detprobe'
        tell() {{ printf '<%s' "<$READLINE_LINE>>"; }}
        bind 'set enable-bracketed-paste off'; bind 'set bell-style none'; bind -x '"\\C-x": tell'
        echo r'e'ady
    """
    ZSH = """
        fpath=('{scripts}' $fpath); autoload -U compinit; compinit -u -D; unsetopt auto_list beep
        tell() {{ print -rn -- '<'; print -r -- "<$BUFFER>>"; }}
        zle -N tell; bindkey '^X' tell; bindkey '^U' kill-whole-line
        echo r'e'ady
    """

    def start(self, command, rc):
        (self.folder / "rc").write_text(rc.format(scripts=DOCS))
        terminal = Terminal(command, self.folder, PS1="$ ")
        self.addCleanup(terminal.close)
        terminal.type("source ./rc\n")
        terminal.wait_for("ready")
        return terminal

    def test_bash_in_a_terminal(self):
        self.typed(self.start(["bash", "--norc", "-i"], self.BASH), [row[:2] for row in self.ROWS])

    def test_zsh_in_a_terminal(self):
        needed("zsh")
        self.typed(self.start(["zsh", "-f", "-i"], self.ZSH), [(row[0], row[-1]) for row in self.ROWS])

    def test_zsh_syntax(self):
        needed("zsh")
        self.assertEqual(run(["zsh", "-n", DOCS / "_detprobe"]).stderr, "")

    def test_zsh_options(self):
        text = (DOCS / "_detprobe").read_text()
        for command in commands():
            own = text.split(f"\n    {command})\n")[1].split(";;")[0]
            for letter, name, argument, _ in options_of(command):
                equals = "=" if argument else ""
                spec = rf"\{{-{letter[1]}\+?,{name}{equals}\}}'\[" if letter else rf"'\*?{name}{equals}\["
                self.assertRegex(own, spec, f"{command} {name}")

    def test_fish(self):
        needed("fish")
        self.assertEqual(run(["fish", "-n", DOCS / "detprobe.fish"]).stderr, "")
        for command in commands():
            self.assertEqual({name.rstrip("=") for name in self.fish(f"{command} --")},
                             {name for _, name, _, _ in options_of(command)})
        self.assertEqual(sorted(self.fish("")), sorted([*commands(), "help"]))
        self.assertEqual(sorted(self.fish("help ")), sorted(commands()))
        self.assertEqual(self.fish("run --level q"), ["quick"])
        self.assertEqual(self.fish("run --level=q"), ["--level=quick"])
        self.assertEqual(self.fish("run python/stdlib/list-s"), ["python/stdlib/list-sum"])
        self.assertEqual(self.fish("run @pyth"), ["@python"])
        self.assertEqual(self.fish("run 'python/stdlib/list-s"), ["python/stdlib/list-sum"])
        self.assertEqual(self.fish("validate se"), ["second.json"])
        self.assertEqual(self.fish("run --axis fresh,bus"), ["fresh,busy"])
        self.assertEqual(self.fish("run --stack s"), ["stack/"])
        self.assertEqual(self.fish("run --report js"), ["json:"])
        self.assertEqual(self.fish("run --report json:fi"), ["json:first.json"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
