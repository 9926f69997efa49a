"""What was seen of components: calls that were made twice, and how many of them gave different answers; and whether a
watched service still answers as it did.

Counts per component are in ``data/observations.json``, in Git, because the store may be deleted and the report shows
them.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, RootModel, ValidationError, model_validator

from driftledger.core.errors import StoreError
from driftledger.core.files import load_json, read_bytes, write_json
from driftledger.core.strict import Strict, explain

LONGEST_NAME = 300


class Watched(Strict):
    """What watching a service has shown; each time is set beside the first."""

    times: int = Field(ge=1)
    """How often its probe was asked."""
    answers: int = Field(ge=1)
    """How many answers the last time gave."""
    first: date
    last: date
    p: float | None = Field(default=None, ge=0, le=1)
    """Of the last time: how often answers of one service would lie as far apart, or farther. None of the first time."""
    changed: date | None = None
    """The first time on which it answered otherwise than at first."""
    unchanged: date | None = None
    """The last time before on which it answered as it did at first."""
    served: list[Annotated[str, Field(max_length=LONGEST_NAME)]] = Field(default_factory=list)
    """All that the service said it is."""

    def __str__(self) -> str:
        named = f"; it called itself {', '.join(self.served)}" if len(self.served) > 1 else ""
        if self.times == 1:
            return f"watched since {self.first}, with nothing yet to compare with"
        if self.changed is None:
            p = "" if self.p is None else f" (p = {self.p:.3f})"
            return f"watched {self.times} times, and on {self.last} answers as on {self.first}{p}{named}"
        since = f"between {self.unchanged or self.first} and {self.changed}"
        last = "" if self.p is None else f" (p = {self.p:.4f} on {self.last})"
        return (
            f"watched {self.times} times, and {since} it began to answer otherwise than on {self.first}{last}: scores "
            f"from before and after rest on different services under one name{named}"
        )


class Observed(Strict):
    """What was seen of one version of a component."""

    name: str = Field(max_length=LONGEST_NAME)
    """Its provider."""
    asked_again: int = Field(default=0, ge=0)
    """Calls that were made at least twice."""
    other: int = Field(default=0, ge=0)
    """Those among them that gave other bytes at least once."""
    watched: Watched | None = None
    """Of a service that is watched."""

    @model_validator(mode="after")
    def _part_of_all(self) -> "Observed":
        if self.other > self.asked_again:
            raise ValueError("other is more than asked_again")
        if not self.asked_again and self.watched is None:
            raise ValueError("asked_again is 0, and it was not watched: nothing was seen")
        return self

    def __str__(self) -> str:
        calls = "call" if self.asked_again == 1 else "calls"
        twice = f"{self.other} of {self.asked_again} {calls} made twice gave other bytes"
        return "; ".join([*([twice] if self.asked_again else []), *([str(self.watched)] if self.watched else [])])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, without what was not seen."""
        return self.model_dump(mode="json", exclude_none=True, exclude=None if self.watched else {"watched"})


Observations = Mapping[str, Observed]
"""Fingerprint of a component → what was seen."""


class _File(RootModel[dict[str, Observed]]):
    pass


def read_observations(path: Path) -> dict[str, Observed]:
    """What the file says; nothing where there is none.

    Raises:
        StoreError: it is not what is written there.
    """
    if not path.is_file():
        return {}
    try:
        return _File.model_validate(load_json(read_bytes(path))).root
    except ValidationError as error:
        raise StoreError(explain(error, f"{path} holds no observations")) from None
    except ValueError as error:
        raise StoreError(f"{path} holds no observations: {error}; take it from Git, or delete it") from None


def write_observations(path: Path, seen: Observations) -> None:
    """Bring what a store or a check has seen into the file. What it says of more calls stays: that store may be gone,
    or be another's. The caller holds the lock on the file, since it is read and written."""
    before = read_observations(path)
    more = {one: each for one, each in seen.items() if one not in before or _extent(each) > _extent(before[one])}
    kept = {one: each.model_copy(update={"watched": _watched(each, before.get(one))}) for one, each in more.items()}
    if kept:
        _write(path, {**before, **kept})


def write_watched(path: Path, fingerprint: str, name: str, watched: Watched) -> None:
    """Bring what watching a service has shown into the file, beside what else was seen of it; under the same lock."""
    before = read_observations(path)
    seen = before.get(fingerprint)
    now = Observed(name=name, watched=watched) if seen is None else seen.model_copy(update={"watched": watched})
    _write(path, {**before, fingerprint: now})


def _write(path: Path, seen: Observations) -> None:
    write_json(path, {one: each.to_dict() for one, each in sorted(seen.items())})


def _watched(now: Observed, before: Observed | None) -> Watched | None:
    return now.watched or (before.watched if before else None)


def _extent(observed: Observed) -> tuple[bool, int, int]:
    """Other bytes are news, however many calls gave the same before."""
    return observed.other > 0, observed.asked_again, observed.other
