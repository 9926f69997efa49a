"""Envelopes and signatures: what can be read in one way alone, and whose it is."""

import base64
import json
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from driftledger.ledger.attest.signing import sign
from driftledger_check import dsse
from driftledger_check.dsse import (
    Attestation,
    AttestationError,
    CannotVerify,
    Envelope,
    Refused,
    Signed,
    Stamp,
    Statement,
    armored,
    canonical,
    parse_attestation,
    parse_envelope,
    parse_statement,
    unarmored,
    verify_ssh,
)
from tests.support.signers import make_key, trusting

STATEMENT = Statement(dsse.CHECKPOINT, {"ledger.jsonl": "ab" * 32}, {"n": 3, "of": "Zürich"})


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("keys"), "alice")


@pytest.fixture(scope="module")
def envelope(key: Path) -> Envelope:
    return sign(STATEMENT.to_bytes(), str(key))


def test_pre_authentication_encoding_is_that_of_the_specification() -> None:
    assert dsse.pae("http://example.com/HelloWorld", b"hello world") == (
        b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_everything_comes_back(envelope: Envelope) -> None:
    made = Attestation(envelope, [Stamp("https://time.example", b"token")])
    assert parse_attestation(made.to_bytes()) == made
    assert parse_envelope(canonical(envelope.to_dict())) == envelope
    assert parse_attestation(made.to_bytes()).envelope.statement == STATEMENT
    unsigned = Attestation(Envelope(STATEMENT.to_bytes(), None))
    assert parse_attestation(unsigned.to_bytes()) == unsigned._replace(stamps=[])


def test_the_statement_is_in_totos(envelope: Envelope) -> None:
    said = json.loads(envelope.payload)
    assert said["_type"] == "https://in-toto.io/Statement/v1"
    assert said["subject"] == [{"digest": {"sha256": "ab" * 32}, "name": "ledger.jsonl"}]
    assert said["predicateType"] == "urn:driftledger:checkpoint:1"


def test_ssh_keygen_itself_verifies_the_signature(envelope: Envelope, key: Path, tmp_path: Path) -> None:
    assert envelope.signature
    allowed = trusting(tmp_path / "allowed", key)
    (tmp_path / "sig").write_text(armored(envelope.signature), encoding="ascii")
    command = ["ssh-keygen", "-Y", "verify", "-n", "driftledger", "-f", str(allowed), "-I", "alice@example.org"]
    subprocess.run([*command, "-s", str(tmp_path / "sig")], input=envelope.signed_bytes, check=True)


def test_the_key_is_known_by_ssh_keygens_fingerprint(envelope: Envelope, key: Path, tmp_path: Path) -> None:
    shown = subprocess.run(["ssh-keygen", "-l", "-f", str(key)], capture_output=True, text=True, check=True).stdout
    assert envelope.key == shown.split()[1]
    assert verify_ssh(envelope, None) == Signed(str(envelope.key), None)
    allowed = trusting(tmp_path / "allowed", key)
    assert verify_ssh(envelope, allowed) == Signed(str(envelope.key), "alice@example.org")


def test_nobody_signed_and_no_ssh_keygen(envelope: Envelope, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert verify_ssh(envelope._replace(signature=None), None) == Refused("nobody signed it")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotVerify, match="ssh-keygen cannot be run here"):
        verify_ssh(envelope, None)


def test_a_program_beside_the_reader_is_not_ssh_keygen(
    envelope: Envelope, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ssh-keygen").write_text("#!/bin/sh\ntouch mark\n", encoding="ascii")
    (tmp_path / "ssh-keygen").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", ".:/usr/bin:/bin")
    assert isinstance(verify_ssh(envelope, None), Signed)
    assert not (tmp_path / "mark").exists()


@pytest.mark.parametrize(
    ("options", "at", "signer"),
    [
        ('namespaces="driftledger"', None, "alice@example.org"),
        ("", None, "alice@example.org"),
        ('namespaces="git,file"', None, None),
        ('namespaces="driftledger",valid-before="20200101"', None, None),
        ('namespaces="driftledger",valid-before="20200101"', datetime(2019, 6, 1, tzinfo=UTC), "alice@example.org"),
        ('namespaces="driftledger",valid-after="20200101"', datetime(2019, 6, 1, tzinfo=UTC), None),
        ('cert-authority,namespaces="driftledger"', None, None),
    ],
)
def test_a_key_counts_for_what_and_when_the_reader_says(
    envelope: Envelope, key: Path, tmp_path: Path, options: str, at: datetime | None, signer: str | None
) -> None:
    allowed = trusting(tmp_path / "allowed", key, options=options)
    assert verify_ssh(envelope, allowed, at) == Signed(str(envelope.key), signer)


def test_a_signature_by_another_key_or_for_something_else_is_nobodys(
    envelope: Envelope, key: Path, tmp_path: Path
) -> None:
    mallory = make_key(tmp_path, "mallory")
    forged = sign(STATEMENT.to_bytes(), str(mallory))
    assert verify_ssh(forged, trusting(tmp_path / "allowed", key)) == Signed(str(forged.key), None)
    for namespace, data in (("git", envelope.signed_bytes), ("driftledger", envelope.payload)):
        command = ["ssh-keygen", "-Y", "sign", "-n", namespace, "-f", str(key)]
        text = subprocess.run(command, input=data, capture_output=True, check=True).stdout.decode()
        assert isinstance(verify_ssh(Envelope(envelope.payload, unarmored(text)), None), Refused)


def test_a_swapped_payload_or_signature_is_refused(envelope: Envelope, key: Path) -> None:
    other = sign(STATEMENT._replace(predicate={"n": 4}).to_bytes(), str(key))
    assert isinstance(verify_ssh(envelope._replace(payload=other.payload), None), Refused)
    assert isinstance(verify_ssh(envelope._replace(signature=other.signature), None), Refused)


def test_every_bit_of_a_signature_counts(envelope: Envelope) -> None:
    signature = envelope.signature or b""
    for at in range(0, len(signature), 9):
        changed = signature[:at] + bytes([signature[at] ^ 1]) + signature[at + 1 :]
        try:
            dsse.key_of(changed)
        except AttestationError:
            continue
        found = verify_ssh(envelope._replace(signature=changed), None)
        assert isinstance(found, Refused), at


def changed(value: dict[str, Any], path: str, new: object) -> dict[str, Any]:
    *above, last = path.split(".")
    inner: Any = value
    for name in above:
        inner = inner[int(name) if name.isdigit() else name]
    inner[last] = new
    return value


def other_bits(text: str) -> str:
    """The same bytes in base64 whose unused bits are not 0."""
    assert text.endswith("=")
    stem, pad = text.rstrip("="), text[len(text.rstrip("=")) :]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    return stem[:-1] + letters[letters.index(stem[-1]) + 1] + pad


PLAIN: list[Callable[[dict[str, Any]], object]] = [
    lambda one: changed(one, "schema", 2),
    lambda one: changed(one, "schema", True),
    lambda one: changed(one, "schema", 1.0),
    lambda one: changed(one, "more", 1),
    lambda one: changed(one, "timestamps", {}),
    lambda one: changed(one, "timestamps", [{"authority": 1, "token": ""}]),
    lambda one: changed(one, "timestamps", [{"authority": "a", "token": "A==="}]),
    lambda one: changed(one, "envelope", None),
    lambda one: changed(one, "envelope.payload", None),
    lambda one: changed(one, "envelope.payload", one["envelope"]["payload"] + "\n"),
    lambda one: changed(one, "envelope.payload", one["envelope"]["payload"].rstrip("=") + "!"),
    lambda one: changed(one, "envelope.payloadType", "application/json"),
    lambda one: changed(one, "envelope.signatures", one["envelope"]["signatures"] * 2),
    lambda one: changed(one, "envelope.signatures", {}),
    lambda one: changed(one, "envelope.signatures.0.keyid", "SHA256:another"),
    lambda one: changed(one, "envelope.signatures.0.cert", "x"),
    lambda one: changed(one, "envelope.signatures.0.sig", base64.b64encode(b"SSHSIG").decode()),
    lambda one: changed(one, "envelope.signatures.0.sig", base64.b64encode(b"\x30\x45 of another kind").decode()),
    lambda one: [one],
    lambda one: None,
]


@pytest.mark.parametrize("change", PLAIN)
def test_what_is_no_attestation_is_said_in_a_sentence(
    envelope: Envelope, change: Callable[[dict[str, Any]], object]
) -> None:
    value = json.loads(Attestation(envelope).to_bytes())
    with pytest.raises(AttestationError):
        parse_attestation(canonical(change(value)))


def test_base64_with_other_bits_at_its_end_is_no_envelope() -> None:
    value = Attestation(Envelope(b"ab", None)).to_bytes().decode()
    good = base64.b64encode(b"ab").decode()
    assert base64.b64decode(other_bits(good)) == b"ab"
    parse_attestation(value.encode())
    with pytest.raises(AttestationError, match="canonical base64"):
        parse_attestation(value.replace(good, other_bits(good)).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'":', b'": ', 1),
        lambda data: b" " + data,
        lambda data: data + b"\n",
        lambda data: data.replace(b'"schema":1', b'"schema":1,"schema":1'),
        lambda data: data.replace(b'"schema":1', b'"schema":1e0'),
        lambda data: data.replace(b'"schema"', b'"\\u0073chema"'),
        lambda data: data.replace(b'"schema":1', b'"schema":NaN'),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data[:-2],
        lambda data: b"[" * 100_000,
        lambda data: b'{"schema":' + b"9" * 10_000 + b"}",
        lambda data: b'"\\ud800"',
        lambda data: b"{" + b" " * 4_000_001 + b"}",
        lambda data: b"",
    ],
)
def test_json_that_has_several_readings_is_no_attestation(envelope: Envelope, change: Callable[[bytes], bytes]) -> None:
    with pytest.raises(AttestationError):
        parse_attestation(change(Attestation(envelope).to_bytes()))


@pytest.mark.parametrize(
    "change",
    [
        lambda said: changed(said, "_type", "https://in-toto.io/Statement/v0.1"),
        lambda said: changed(said, "predicateType", 1),
        lambda said: changed(said, "predicate", []),
        lambda said: changed(said, "subject", {}),
        lambda said: changed(said, "subject", said["subject"] * 2),
        lambda said: changed(said, "subject.0.digest", {"md5": "00"}),
        lambda said: changed(said, "subject.0.digest.sha256", "AB" * 32),
        lambda said: changed(said, "subject.0.digest.sha256", "ab" * 32 + "\n"),
        lambda said: changed(said, "subject.0.name", None),
        lambda said: changed(said, "subject.0.uri", "x"),
        lambda said: changed(said, "more", 1),
    ],
)
def test_what_is_no_statement_is_said_in_a_sentence(change: Callable[[dict[str, Any]], object]) -> None:
    with pytest.raises(AttestationError):
        parse_statement(canonical(change(json.loads(STATEMENT.to_bytes()))))
