"""Signed statements: in-toto statements (v1) in DSSE envelopes (v1), signed by ``ssh-keygen -Y sign``.

What is signed are the bytes of the statement and their type, never their meaning; what cannot be read in one way alone
is no envelope: blanks, a member twice, a number written otherwise, base64 with other bits at its end. An envelope has
one signature or none, whose bytes are SSH's ``SSHSIG`` and whose ``keyid`` is the fingerprint of the key in it.

An attestation file is one line of JSON: an envelope, and RFC 3161 timestamps over the SHA-256 of its canonical bytes.
"""

import base64
import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from driftledger_check.strict_json import canonical

NAMESPACE = "driftledger"
"""Of signatures: what a key signs for Git or for files stands for nothing here, and the other way round."""
PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
CHECKPOINT, PLAN, SCORE, REPRODUCTION = (
    f"urn:driftledger:{kind}:1" for kind in ("checkpoint", "plan", "score", "reproduction")
)
"""What our statements are about: their predicate types."""

MOST_BYTES = 4_000_000
"""Of an attestation file: a plan with a thousand prompts has less."""
_SECONDS = 60
"""For ssh-keygen, which takes 0.03."""
_SHA256 = re.compile(r"[0-9a-f]{64}")
_MAGIC = b"SSHSIG\0\0\0\1"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----\n", "-----END SSH SIGNATURE-----\n"


class AttestationError(ValueError):
    """Not an attestation, an envelope or a statement; its text says why, after the name of what was read."""


class CannotVerify(Exception):  # noqa: N818 - nothing is wrong with what was to be verified
    """A signature cannot be verified here: there is no working ssh-keygen."""


class Statement(NamedTuple):
    """An in-toto statement: what is said (``predicate``) of which bytes."""

    predicate_type: str
    subject: Mapping[str, str]
    """Name → hex SHA-256."""
    predicate: Mapping[str, Any]

    def to_bytes(self) -> bytes:
        subject = [{"name": name, "digest": {"sha256": sha256}} for name, sha256 in self.subject.items()]
        said = {"predicateType": self.predicate_type, "predicate": self.predicate}
        return canonical({"_type": STATEMENT_TYPE, "subject": subject} | said)


class Envelope(NamedTuple):
    """A DSSE envelope."""

    payload: bytes
    signature: bytes | None
    """SSH's ``SSHSIG``; None where nobody signed."""

    @property
    def signed_bytes(self) -> bytes:
        """DSSE's pre-authentication encoding: what the signature is of."""
        return pae(PAYLOAD_TYPE, self.payload)

    @property
    def key(self) -> str | None:
        """The fingerprint of the key that signed, as ssh-keygen shows it: ``SHA256:…``."""
        return None if self.signature is None else key_of(self.signature)

    @property
    def statement(self) -> Statement:
        """Errors as in :func:`parse_statement`."""
        return parse_statement(self.payload)

    @property
    def sha256(self) -> str:
        """Of its canonical bytes: what timestamps are over."""
        return hashlib.sha256(canonical(self.to_dict())).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        signatures = [] if self.signature is None else [{"keyid": self.key, "sig": _b64(self.signature)}]
        return {"payload": _b64(self.payload), "payloadType": PAYLOAD_TYPE, "signatures": signatures}


class Stamp(NamedTuple):
    """An RFC 3161 timestamp token, as an authority gave it."""

    authority: str
    """The address that was asked; only the token says who answered."""
    token: bytes


class Attestation(NamedTuple):
    """An attestation file."""

    envelope: Envelope
    stamps: Sequence[Stamp] = ()

    def to_bytes(self) -> bytes:
        """One line, with its line end."""
        stamps = [{"authority": each.authority, "token": _b64(each.token)} for each in self.stamps]
        return canonical({"schema": 1, "envelope": self.envelope.to_dict(), "timestamps": stamps}) + b"\n"


class Signed(NamedTuple):
    """A signature that holds."""

    key: str
    """``SHA256:…``."""
    signer: str | None
    """What the reader's allowed_signers calls the owner of the key; None where it does not name the key for this."""


class Refused(NamedTuple):
    """A signature that does not hold, or that is not there."""

    why: str


def pae(kind: str, payload: bytes) -> bytes:
    """DSSE v1: the type and the payload with their lengths, so that neither runs into the other."""
    name = kind.encode()
    return b"DSSEv1 %d %s %d %s" % (len(name), name, len(payload), payload)


def parse_attestation(data: bytes) -> Attestation:
    """Read an attestation file strictly.

    Raises:
        AttestationError: it is not one, in canonical bytes.
    """
    value = _read(data.removesuffix(b"\n"), "attestation", ("envelope", "schema", "timestamps"))
    if type(value["schema"]) is not int or value["schema"] != 1 or not isinstance(value["timestamps"], list):
        raise AttestationError("is not an attestation of schema 1")
    stamps = [_members(each, "timestamp", ("authority", "token")) for each in value["timestamps"]]
    if not all(isinstance(each["authority"], str) for each in stamps):
        raise AttestationError("holds a timestamp of no authority")
    tokens = [Stamp(each["authority"], _bytes(each["token"], "timestamp")) for each in stamps]
    return Attestation(_envelope(value["envelope"]), tokens)


def parse_envelope(data: bytes) -> Envelope:
    """Read a DSSE envelope strictly; errors as in :func:`parse_attestation`."""
    return _envelope(_read(data, "envelope", ("payload", "payloadType", "signatures")))


def parse_statement(payload: bytes) -> Statement:
    """Read an in-toto statement strictly; errors as in :func:`parse_attestation`."""
    value = _read(payload, "statement", ("_type", "predicate", "predicateType", "subject"))
    if value["_type"] != STATEMENT_TYPE or not isinstance(value["predicateType"], str):
        raise AttestationError(f"is not a statement of type {STATEMENT_TYPE}")
    if not isinstance(value["predicate"], dict) or not isinstance(value["subject"], list):
        raise AttestationError("is a statement without a predicate or a subject")
    subject: dict[str, str] = {}
    for each in value["subject"]:
        name = _members(each, "subject", ("digest", "name"))["name"]
        digest = _members(each["digest"], "digest", ("sha256",))["sha256"]
        if not isinstance(name, str) or name in subject or not isinstance(digest, str) or not _SHA256.fullmatch(digest):
            raise AttestationError("is a statement with a subject twice, or without its SHA-256")
        subject[name] = digest
    return Statement(value["predicateType"], subject, value["predicate"])


def armored(signature: bytes) -> str:
    """``SSHSIG`` as ssh-keygen reads and writes it in files."""
    text = base64.b64encode(signature).decode()
    return _BEGIN + "".join(f"{text[at : at + 70]}\n" for at in range(0, len(text), 70)) + _END


def unarmored(text: str) -> bytes:
    """The other way round.

    Raises:
        AttestationError: it is not a signature of SSH.
    """
    if not text.startswith(_BEGIN) or not text.endswith(_END):
        raise AttestationError("is not a signature of SSH")
    signature = _bytes(text.removeprefix(_BEGIN).removesuffix(_END).replace("\n", ""), "signature")
    key_of(signature)
    return signature


def key_of(signature: bytes) -> str:
    """The fingerprint of the key in an ``SSHSIG``; errors as in :func:`unarmored`."""
    start = len(_MAGIC) + 4
    key = signature[start : start + int.from_bytes(signature[len(_MAGIC) : start])]
    if not signature.startswith(_MAGIC) or not key or start + len(key) >= len(signature):
        raise AttestationError("holds a signature that is not of SSH")
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def verify_ssh(envelope: Envelope, allowed_signers: Path | None, at: datetime | None = None) -> Signed | Refused:
    """Whether the signature is of these bytes and for driftledger, and whose it is.

    Args:
        allowed_signers: the reader's own file of whom they trust, as ``man ssh-keygen`` has it; None for nobody.
        at: when it was signed, as a trusted timestamp has it, since keys expire; None for now.

    Raises:
        CannotVerify: ssh-keygen is not installed, or does not answer.
    """
    if envelope.signature is None or (key := envelope.key) is None:
        return Refused("nobody signed it")
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        file = Path(folder, "signature")
        file.write_text(armored(envelope.signature), encoding="ascii")
        given = ["-n", NAMESPACE, "-s", str(file)]
        if keygen(folder, ["-Y", "check-novalidate", *given], envelope.signed_bytes) is None:
            return Refused(f"its signature by {key} is not of these bytes for driftledger")
        if allowed_signers is None:
            return Signed(key, None)
        trusted = ["-f", str(allowed_signers.absolute())]
        if at is not None:
            trusted.append(f"-Overify-time={at.astimezone():%Y%m%d%H%M%S}")
        names = keygen(folder, ["-Y", "find-principals", "-s", str(file), *trusted], b"") or ""
        for name in names.splitlines():
            if keygen(folder, ["-Y", "verify", *given, *trusted, "-I", name], envelope.signed_bytes) is not None:
                return Signed(key, name)
    return Signed(key, None)


def keygen(folder: str, arguments: Sequence[str], given: bytes) -> str | None:
    """What ssh-keygen writes, run in ``folder`` by no shell; None where it refuses; errors as in :func:`verify_ssh`."""
    try:
        done = subprocess.run(
            ["ssh-keygen", *arguments], input=given, capture_output=True, check=False, cwd=folder, timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        why = error.strerror if isinstance(error, OSError) else f"no answer in {_SECONDS} s"
        raise CannotVerify(f"ssh-keygen cannot be run here ({why})") from None
    return done.stdout.decode(errors="replace") if done.returncode == 0 else None


def _envelope(value: Any) -> Envelope:
    value = _members(value, "envelope", ("payload", "payloadType", "signatures"))
    if value["payloadType"] != PAYLOAD_TYPE:
        raise AttestationError(f"is not an envelope of {PAYLOAD_TYPE}")
    payload = _bytes(value["payload"], "payload")
    if not isinstance(value["signatures"], list) or len(value["signatures"]) > 1:
        raise AttestationError("is an envelope with more than one signature")
    for each in value["signatures"]:
        each = _members(each, "signature", ("keyid", "sig"))
        envelope = Envelope(payload, _bytes(each["sig"], "signature"))
        if each["keyid"] != envelope.key:
            raise AttestationError("is an envelope that names another key than signed it")
        return envelope
    return Envelope(payload, None)


def _read(data: bytes, what: str, members: Sequence[str]) -> dict[str, Any]:
    if len(data) > MOST_BYTES:
        raise AttestationError(f"has more than {MOST_BYTES:,} bytes, which no {what} has")
    try:
        value = json.loads(data.decode())
        same = canonical(value) == data
    except (ValueError, RecursionError):
        raise AttestationError(f"is not the JSON of any {what}") from None
    if not same:
        raise AttestationError(f"holds a {what} in other bytes than driftledger writes")
    return _members(value, what, members)


def _members(value: Any, what: str, members: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict) or set(value) != set(members):
        raise AttestationError(f"holds no {what} with the members {', '.join(members)} and no others")
    return value


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: Any, what: str) -> bytes:
    """Decoded; base64 has several texts for some bytes, of which one is taken."""
    try:
        data = base64.b64decode(text, validate=True) if isinstance(text, str) else None
    except ValueError:
        data = None
    if data is None or _b64(data) != text:
        raise AttestationError(f"holds a {what} that is not canonical base64")
    return data
