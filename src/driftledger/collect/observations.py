"""Calls that several stores made, and how many of them gave different answers.

The counts per component are in ``data/observations.json``, in Git, because the store may be deleted and reports show
them.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, RootModel, ValidationError

from driftledger.core.errors import StoreError
from driftledger.core.files import read_bytes, write_json
from driftledger.core.strict import Strict, explain


class Observed(Strict):
    """Repeated calls to one version of a component."""

    name: str
    """Its provider."""
    asked_again: int = Field(ge=1)
    """Calls that were made at least twice."""
    other: int = Field(ge=0)
    """Those among them that gave other bytes at least once."""

    def __str__(self) -> str:
        calls = "call" if self.asked_again == 1 else "calls"
        return f"{self.other} of {self.asked_again} {calls} made twice gave other bytes"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return self.model_dump(mode="json")


Observations = Mapping[str, Observed]
"""By the fingerprints of components."""
_File = RootModel[dict[str, Observed]]


def read_observations(path: Path) -> dict[str, Observed]:
    """Read the file; empty where there is none.

    Raises:
        StoreError: it is damaged.
    """
    try:
        return _File.model_validate_json(read_bytes(path)).root if path.is_file() else {}
    except ValidationError as error:
        raise StoreError(f"{explain(error, str(path))}; take it from Git, or delete it") from None


def write_observations(path: Path, seen: Observations) -> None:
    """Bring what a store has seen into the file; the caller holds the lock on it.

    Counts of more calls in the file stay: their store may be deleted, or another's. Other bytes are news, however many
    calls gave the same bytes before.
    """
    merged = read_observations(path)
    before = dict(merged)
    for fingerprint, now in seen.items():
        known = merged.get(fingerprint)
        if known is None or (now.other > 0, now.asked_again, now.other) > (
            known.other > 0,
            known.asked_again,
            known.other,
        ):
            merged[fingerprint] = now
    if merged != before:
        write_json(path, {fingerprint: each.to_dict() for fingerprint, each in sorted(merged.items())})
