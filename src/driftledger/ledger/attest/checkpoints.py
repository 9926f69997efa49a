"""Checkpoints: a statement that the ledger had n lines, and which, by a Merkle root over them.

Whoever keeps one can tell later whether those lines are still the first ones. Each names the one before it by the
SHA-256 of its payload.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from driftledger.core.canonical import sha256_bytes
from driftledger.ledger.log.lines import Sha256
from driftledger_check import merkle
from driftledger_check.dsse import CHECKPOINT, Statement

LEDGER = "ledger.jsonl"


class Checkpoint(BaseModel):
    """The predicate of a checkpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    n: int = Field(ge=1)
    root: Sha256
    """Over the first ``n`` lines."""
    previous: Sha256 | None
    """SHA-256 of the payload of the checkpoint before."""
    commit: str | None
    """That was checked out."""


def checkpoint(rows: Sequence[bytes], previous: bytes | None, commit: str | None) -> Statement:
    """The statement about a ledger of these lines.

    Args:
        previous: the payload of the checkpoint before.
    """
    before = None if previous is None else sha256_bytes(previous)
    made = Checkpoint(n=len(rows), root=root_of(rows), previous=before, commit=commit)
    return Statement(CHECKPOINT, {LEDGER: _digest(rows)}, made.model_dump())


def root_of(rows: Sequence[bytes]) -> str:
    """Hex Merkle root over lines of the ledger."""
    return merkle.root([merkle.leaf_hash(row) for row in rows]).hex()


class NotKept(NamedTuple):
    """Why a ledger is not the one that a checkpoint is of."""

    missing: bool
    """Whether it has fewer lines."""
    what: str


def read_checkpoint(statement: Statement) -> Checkpoint | None:
    """What a statement says, if it is a checkpoint."""
    if statement.predicate_type != CHECKPOINT or set(statement.subject) != {LEDGER}:
        return None
    try:
        return Checkpoint.model_validate(statement.predicate)
    except ValidationError:
        return None


def begins(statement: Statement, said: Checkpoint, rows: Sequence[bytes]) -> NotKept | None:
    """Whether the ledger begins with what a checkpoint was made of, by a consistency proof; None where it does."""
    if len(rows) < said.n:
        return NotKept(True, f"was over {said.n} lines, and there are {len(rows)}: lines were removed")
    leaves, old = [merkle.leaf_hash(row) for row in rows], bytes.fromhex(said.root)
    proof = merkle.consistency_proof(said.n, leaves)
    if not merkle.verify_consistency(said.n, len(leaves), old, merkle.root(leaves), proof):
        return NotKept(False, f"was over other lines than the first {said.n} are: the ledger was written again")
    if statement.subject[LEDGER] != _digest(rows[: said.n]):
        return NotKept(False, "holds the SHA-256 of other bytes than its Merkle root")
    return None


def _digest(rows: Sequence[bytes]) -> str:
    return sha256_bytes(b"".join(row + b"\n" for row in rows))
