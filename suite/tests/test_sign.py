# SPDX-License-Identifier: Apache-2.0
"""Signed reports from outside, verified independently by the openssl command.

usage: test_sign.py DETPROBE SOURCE_FOLDER [TEST...]
Keys are made by openssl; envelopes are read by Python's base64 and json, and held against the published schemas.
"""

import base64
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

DETPROBE, SOURCE = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
REPORT = SOURCE / "suite" / "tests" / "corpus" / "good-findings.json"
SCHEMAS = SOURCE / "reports" / "schema"
TYPE = "application/vnd.in-toto+json"
SIGNING = "https://detprobe.dev/signing/v1"


def detprobe(*arguments, **options):
    return subprocess.run([DETPROBE, *map(str, arguments)], capture_output=True, text=True, timeout=60, **options)


def openssl(*arguments):
    return subprocess.run(["openssl", *map(str, arguments)], capture_output=True, check=True, timeout=60).stdout


def encoded(payload, kind=TYPE):
    """The bytes that DSSE signs."""
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)


def valid(name, document):
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keys = pathlib.Path(tempfile.mkdtemp(prefix="detprobe-keys-"))
        for name in ("k", "other"):
            openssl("genpkey", "-algorithm", "ed25519", "-out", cls.keys / f"{name}.pem")
            openssl("pkey", "-in", cls.keys / f"{name}.pem", "-pubout", "-out", cls.keys / f"{name}.pub.pem")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.keys)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="detprobe-test-"))
        self.file = self.folder / "report.json"
        self.file.write_bytes(REPORT.read_bytes())
        self.key, self.public = self.keys / "k.pem", self.keys / "k.pub.pem"

    def tearDown(self):
        shutil.rmtree(self.folder)

    def signed(self):
        done = detprobe("sign", "--key", self.key, self.file)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        return self.folder / "report.json.dsse.json"

    def envelope(self, **members):
        """An envelope, with some members replaced, as a file."""
        path = self.folder / "changed.dsse.json"
        path.write_text(json.dumps({**json.loads(self.signed().read_text()), **members}))
        return path

    def sign_payload(self, payload, kind=TYPE, key="k"):
        """What somebody else's program signs, as a signature of the envelope."""
        body = self.folder / "body"
        body.write_bytes(encoded(payload, kind))
        return {"sig": base64.b64encode(openssl("pkeyutl", "-sign", "-rawin", "-inkey", self.keys / f"{key}.pem",
                                                "-in", body)).decode()}

    def verify(self, path, *options, key=None):
        return detprobe("verify", "--key", key or self.public, path, *options)

    def one_line(self, done, code, *words):
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (code, "", 1), done.stderr)
        for word in ("detprobe: ", *words):
            self.assertIn(word, done.stderr)

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


class Signing(Case):
    def test_openssl_verifies(self):
        envelope = json.loads(self.signed().read_text())
        valid("envelope", envelope)
        self.assertEqual(envelope["payloadType"], TYPE)
        payload = base64.b64decode(envelope["payload"], validate=True)
        (signature,) = envelope["signatures"]
        body, raw = self.folder / "body", self.folder / "raw"
        body.write_bytes(encoded(payload))
        raw.write_bytes(base64.b64decode(signature["sig"], validate=True))
        told = openssl("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", self.public, "-in", body, "-sigfile", raw)
        self.assertIn(b"Verified Successfully", told)
        der = openssl("pkey", "-pubin", "-in", self.public, "-outform", "DER")
        self.assertEqual(signature["keyid"], hashlib.sha256(der).hexdigest())

    def test_statement(self):
        statement = json.loads(base64.b64decode(json.loads(self.signed().read_text())["payload"]))
        valid("statement", statement)
        (subject,) = statement["subject"]
        content = base64.b64decode(subject["content"], validate=True)
        self.assertEqual(content, self.file.read_bytes())
        self.assertEqual(subject["digest"]["sha256"], hashlib.sha256(content).hexdigest())
        self.assertEqual(subject["name"], "report.json")
        predicate = statement["predicate"]
        results = {row["case"]: row for row in json.loads(content)["body"]["results"]}
        skipped = {case for case, row in results.items() if row["observed"] == "skipped"}
        listed = predicate["passedTests"] + predicate["warnedTests"] + predicate["failedTests"]
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual(set(listed), set(results) - skipped)
        for case in predicate["failedTests"]:
            row = results[case]
            self.assertTrue(row["observed"] in ("wrong", "error") or row["guarantee"]["status"] == "broken", case)
        self.assertEqual(predicate["result"], "FAILED")
        self.assertEqual(predicate[SIGNING]["host_name"], os.uname().nodename)
        body = json.loads(content)["body"]
        for part in predicate["configuration"][1:]:
            canonical = json.dumps(body[part["name"]], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
            self.assertEqual(part["digest"]["sha256"], hashlib.sha256(canonical.encode()).hexdigest())

    def test_there_and_back(self):
        path, out = self.signed(), self.folder / "out.json"
        done = self.verify(path, "--max-age", "99999d", "-o", out)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^verified: 'report.json', result FAILED, signed 20\S+Z on '.+'\n$")
        self.assertEqual(out.read_bytes(), self.file.read_bytes())
        done = subprocess.run([DETPROBE, "verify", "--key", self.public, "-", "-o", "-"], input=path.read_bytes(),
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, self.file.read_bytes(), b""))

    def test_elsewhere(self):
        done = subprocess.run([DETPROBE, "sign", "--key", self.key, "-", "-o", "-"], input=self.file.read_bytes(),
                              capture_output=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        valid("envelope", json.loads(done.stdout))
        done = subprocess.run([DETPROBE, "sign", "--key", self.key, "-"], input=self.file.read_text(), text=True,
                              capture_output=True, timeout=60)
        self.one_line(done, 64, "-o FILE")
        self.one_line(detprobe("sign", "--key", self.key, self.file, "-o", "/dev/full"), 2, "/dev/full")
        self.one_line(detprobe("sign", "--key", self.key, self.file, "-o", self.folder / "no" / "x"), 2, "no/x")

    def test_keys(self):
        key = self.folder / "mine.pem"
        shutil.copy(self.key, key)
        for mode in (0o640, 0o604, 0o660, 0o644):
            key.chmod(mode)
            self.one_line(detprobe("sign", "--key", key, self.file), 65, "mine.pem", "chmod 600")
        key.chmod(0o400)
        self.assertEqual(detprobe("sign", "--key", key, self.file).returncode, 0)
        (self.folder / "report.json.dsse.json").unlink()
        self.one_line(detprobe("sign", "--key", self.folder / "none.pem", self.file), 65, "none.pem")
        self.one_line(detprobe("sign", self.file), 64, "--key")
        self.one_line(detprobe("verify", self.file), 64, "--key")
        rsa = self.folder / "rsa.pem"
        openssl("genpkey", "-algorithm", "rsa", "-out", rsa)
        self.one_line(detprobe("sign", "--key", rsa, self.file), 65, "rsa.pem", "not an Ed25519 key")
        key.chmod(0o600)
        for text in (b"", b"nonsense", self.key.read_bytes()[:60], b"\0" * 70000):
            key.write_bytes(text)
            self.one_line(detprobe("sign", "--key", key, self.file), 65, "mine.pem")
            self.one_line(detprobe("verify", "--key", key, self.file), 65, "mine.pem")
        self.assertNotIn("report.json.dsse.json", self.names())

    def test_passphrase(self):
        key, phrase = self.folder / "locked.pem", self.folder / "phrase"
        phrase.write_text("over the hills\nand far away\n")
        phrase.chmod(0o600)
        openssl("pkey", "-in", self.key, "-aes256", "-passout", f"file:{phrase}", "-out", key)
        key.chmod(0o600)
        # Nobody is asked, though there may be a terminal.
        self.one_line(detprobe("sign", "--key", key, self.file, stdin=subprocess.DEVNULL), 65, "--passphrase-file")
        done = detprobe("sign", "--key", key, "--passphrase-file", phrase, self.file)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.verify(self.folder / "report.json.dsse.json").returncode, 0)
        phrase.chmod(0o644)
        self.one_line(detprobe("sign", "--key", key, "--passphrase-file", phrase, self.file), 65, "chmod 600")
        phrase.chmod(0o600)
        phrase.write_text("under the hills\n")
        self.one_line(detprobe("sign", "--key", key, "--passphrase-file", phrase, self.file), 65, "passphrase")

    def test_no_report(self):
        self.file.write_bytes(REPORT.read_bytes().replace(b'"varies"', b'"repeats"', 1))
        self.one_line(detprobe("sign", "--key", self.key, self.file), 65, "report.json")
        self.assertEqual(self.names(), ["report.json"])

    def test_nothing_is_replaced(self):
        link = self.folder / "link"
        link.symlink_to(self.file)
        key = self.folder / "mine.pem"
        shutil.copy(self.key, key)
        key.chmod(0o600)
        for place in (self.file, link, key):
            self.one_line(detprobe("sign", "--key", key, self.file, "-o", place), 64, "replace")
        path = self.signed()
        before = path.read_bytes()
        for place in (path, self.public):
            self.one_line(self.verify(path, "-o", place), 64, "replace")
        self.assertEqual((path.read_bytes(), key.read_bytes()), (before, self.key.read_bytes()))


class Verifying(Case):
    def test_wrong_key(self):
        self.one_line(self.verify(self.signed(), key=self.keys / "other.pub.pem"), 65, "not signed by key")
        self.one_line(self.verify(self.signed(), key=self.key), 65, "not a public key")

    def test_changed(self):
        envelope = json.loads(self.signed().read_text())
        payload = bytearray(base64.b64decode(envelope["payload"]))
        for place in (0, len(payload) // 2, len(payload) - 1):
            payload[place] ^= 1
            path = self.envelope(payload=base64.b64encode(payload).decode())
            self.one_line(self.verify(path, "-o", self.folder / "out.json"), 65, "changed")
            payload[place] ^= 1
        signature = envelope["signatures"][0]
        raw = bytearray(base64.b64decode(signature["sig"]))
        raw[10] ^= 128
        path = self.envelope(signatures=[{**signature, "sig": base64.b64encode(raw).decode()}])
        self.one_line(self.verify(path, "-o", self.folder / "out.json"), 65, "changed")
        self.assertNotIn("out.json", self.names())

    def test_unsigned(self):
        self.one_line(self.verify(self.file), 65, "not signed")
        self.one_line(self.verify(self.envelope(signatures=[])), 65, "signatures")
        self.one_line(self.verify(self.envelope(signatures=[{"keyid": "x"}])), 65, "sig")
        self.one_line(self.verify(self.envelope(payload=None)), 65, "payload")
        self.one_line(self.verify(self.envelope(payload="*")), 65, "base64")
        truncated = self.folder / "truncated"
        truncated.write_bytes(self.signed().read_bytes()[:-40])
        self.one_line(self.verify(truncated), 65, "truncated", "line")

    def test_other_type(self):
        """A good signature by the key, over something else than a test result."""
        payload = base64.b64decode(json.loads(self.signed().read_text())["payload"])
        kind = "application/vnd.somebody+json"
        path = self.envelope(payloadType=kind, signatures=[self.sign_payload(payload, kind)])
        self.one_line(self.verify(path), 65, kind)
        other = base64.b64encode(b"{}").decode()
        path = self.envelope(payload=other, signatures=[self.sign_payload(b"{}")])
        self.one_line(self.verify(path), 65, "not a test result")
        # The type that was signed is not the one that is written.
        path = self.envelope(signatures=[self.sign_payload(payload, kind)])
        self.one_line(self.verify(path), 65, "not signed by key")

    def test_somebody_elses_envelope(self):
        """Made and signed without detprobe; of two signatures one is good."""
        statement = json.loads(base64.b64decode(json.loads(self.signed().read_text())["payload"]))
        payload = json.dumps(statement, indent=1).encode()
        text = base64.b64encode(payload).decode()
        both = [self.sign_payload(payload, key="other"), self.sign_payload(payload)]
        for signatures in (both, both[::-1], both[1:]):
            self.assertEqual(self.verify(self.envelope(payload=text, signatures=signatures)).returncode, 0)
        self.one_line(self.verify(self.envelope(payload=text, signatures=both[:1])), 65, "not signed by key")

    def resigned(self, change):
        statement = json.loads(base64.b64decode(json.loads(self.signed().read_text())["payload"]))
        change(statement)
        payload = json.dumps(statement).encode()
        return self.envelope(payload=base64.b64encode(payload).decode(), signatures=[self.sign_payload(payload)])

    def test_times(self):
        def at(time):
            return lambda statement: statement["predicate"][SIGNING].update(time=time)

        self.one_line(self.verify(self.signed(), "--max-age", "1d"), 65, "measured until", "too old")
        self.one_line(self.verify(self.resigned(at("2020-01-01T00:00:00Z")), "--max-age", "1d"), 65, "signed at",
                      "too old")
        late = self.resigned(at("2999-01-01T00:00:00Z"))
        self.one_line(self.verify(late, "--max-age", "99999d"), 65, "in the future")
        self.assertEqual(self.verify(late).returncode, 0, "without --max-age no clock is asked")
        self.one_line(self.verify(self.signed(), "--max-age", "soon"), 64, "soon")

    def test_a_statement_that_lies(self):
        def passed(statement):
            statement["predicate"].update(result="PASSED")

        def other_report(statement):
            report = json.loads(self.file.read_text())
            report["body"]["results"].pop()
            content = json.dumps(report).encode()
            statement["subject"][0].update(content=base64.b64encode(content).decode(),
                                           digest={"sha256": hashlib.sha256(content).hexdigest()})

        self.one_line(self.verify(self.resigned(passed)), 65, "does not follow")
        self.one_line(self.verify(self.resigned(other_report)), 65, "report.json")

    def test_hostile_names(self):
        """Names of a statement are shown, never followed."""
        def climb(statement):
            statement["subject"][0]["name"] = "../../../../tmp/\x1b[31mdetprobe-was-here"

        done = self.verify(self.resigned(climb), "-o", self.folder / "out.json")
        self.assertEqual(done.returncode, 0)
        self.assertNotIn("\x1b", done.stdout)
        self.assertFalse(list(pathlib.Path("/tmp").glob("*detprobe-was-here")))

    def test_other_commands_say_so(self):
        path = self.signed()
        for command in (("show",), ("validate",), ("diff", self.file), ("gate",), ("gate", self.file, "--baseline")):
            self.one_line(detprobe(*command, path), 65, "detprobe verify")


class Gating(Case):
    def gate(self, path, *options):
        return detprobe("gate", path, "--require-signed", *options)

    def test_what_is_signed_is_judged(self):
        path = self.signed()
        plain = detprobe("gate", self.file)
        done = self.gate(path, "--key", self.public)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertEqual(done.stdout.splitlines()[-1], plain.stdout.splitlines()[-1])
        self.file.write_bytes((SOURCE / "suite" / "tests" / "corpus" / "good-clean.json").read_bytes())
        done = self.gate(self.signed(), "--key", self.public, "--max-age", "99999d")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_refusals(self):
        path = self.signed()
        self.one_line(self.gate(self.file, "--key", self.public), 65, "not signed")
        self.one_line(self.gate(path, "--key", self.keys / "other.pub.pem"), 65, "not signed by key")
        self.one_line(self.gate(path, "--key", self.public, "--max-age", "1d"), 65, "too old")
        self.one_line(self.gate(path), 64, "--key")
        self.one_line(detprobe("gate", self.file, "--key", self.public), 64, "--require-signed")
        self.one_line(detprobe("gate", self.file, "--max-age", "1d"), 64, "--require-signed")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
