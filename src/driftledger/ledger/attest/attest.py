"""Making attestations, and those beside the ledger: ``attestations/<kind>-<n>.json``, committed with it.

``n`` is a line of ``ledger.jsonl``: of a checkpoint the last line that it covers, of anything else the line that notes
it. What a statement says is in ``driftledger_check/dsse.py``, which reads it without this package.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import write_bytes
from driftledger.ledger.attest.signing import sign
from driftledger.ledger.attest.timestamps import stamp
from driftledger_check.dsse import (
    MOST_BYTES,
    Attestation,
    AttestationError,
    Envelope,
    Statement,
    parse_attestation,
    parse_statement,
)

FOLDER = "attestations"
_MOST = 1_000
"""Files: each takes ssh-keygen a tenth of a second."""
_NAME = re.compile(r"(?P<kind>checkpoint|plan|score|reproduction)-(?P<n>[1-9][0-9]{0,11})\.json", re.ASCII)


class Kept(NamedTuple):
    """An attestation beside the ledger, whose statement can be read; who signed it is another question."""

    kind: str
    n: int
    attestation: Attestation

    @property
    def name(self) -> str:
        return f"{FOLDER}/{self.kind}-{self.n}.json"

    @property
    def statement(self) -> Statement:
        return self.attestation.envelope.statement


class Beside(NamedTuple):
    """What stands beside a ledger."""

    kept: list[Kept]
    """By kind and n."""
    wrong: dict[str, str]
    """File → why it is no attestation."""

    def of(self, kind: str) -> list[Kept]:
        return [each for each in self.kept if each.kind == kind]


def attest(statement: Statement, key: str | None, authorities: Sequence[str] = ()) -> Attestation:
    """Sign a statement with the user's key, and have it stamped by each authority.

    Args:
        key: of :func:`~driftledger.ledger.attest.signing.signing_key`; None leaves it unsigned.
        authorities: addresses that give RFC 3161 timestamps.

    Raises:
        LedgerError: it cannot be signed, or an authority does not answer.
        MissingExtraError: there are authorities, and the extra ``timestamps`` is not installed.
    """
    payload = statement.to_bytes()
    envelope = Envelope(payload, None) if key is None else sign(payload, key)
    return Attestation(envelope, [stamp(envelope, each) for each in authorities])


def write(root: Path, kind: str, n: int, attestation: Attestation) -> Path:
    """Write an attestation beside the ledger, in one step.

    Raises:
        LedgerError: it cannot be written.
    """
    path = root / FOLDER / f"{kind}-{n}.json"
    try:
        write_bytes(path, attestation.to_bytes(), synced=True)
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be written ({error.strerror}), so nothing is published; mend that and run again"
        ) from None
    return path


def read(path: Path) -> Attestation:
    """An attestation file.

    Raises:
        LedgerError: it cannot be read, or is no attestation with a statement.
    """
    try:
        attestation = _parse(path)
        parse_statement(attestation.envelope.payload)
    except OSError as error:
        raise LedgerError(f"{for_line(str(path))} cannot be read ({error.strerror})") from None
    except AttestationError as error:
        raise LedgerError(f"{for_line(str(path))} {error}") from None
    return attestation


def read_all(root: Path) -> Beside:
    """Every attestation beside the ledger; a link is not followed."""
    kept, wrong = list[Kept](), dict[str, str]()
    folder = root / FOLDER
    files = [] if folder.is_symlink() or not folder.is_dir() else sorted(folder.glob("*.json"))
    if len(files) > _MOST:
        return Beside([], {FOLDER: f"holds {len(files):,} files, and at most {_MOST:,} are read"})
    for path in files:
        name = _NAME.fullmatch(path.name)
        if name is None or path.is_symlink() or not path.is_file():
            wrong[f"{FOLDER}/{path.name}"] = "is not a file called <kind>-<n>.json"
            continue
        try:
            one = Kept(name["kind"], int(name["n"]), _parse(path))
            if one.statement.predicate_type != f"urn:driftledger:{one.kind}:1":
                raise AttestationError(f"is not a statement of a {one.kind}")
            kept.append(one)
        except AttestationError as error:
            wrong[f"{FOLDER}/{path.name}"] = str(error)
    return Beside(sorted(kept, key=lambda each: each[:2]), wrong)


def _parse(path: Path) -> Attestation:
    with path.open("rb") as file:
        return parse_attestation(file.read(MOST_BYTES + 1))
