"""Results of checking the ledger.

They are what does not hold, what cannot be checked here, and how much was checked.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["bytes", "numbers", "missing"]
"""A file or lock entry is not the one that was recorded; a score is not what its records give;
evidence that should be there is not."""


class Finding(NamedTuple):
    """One thing that does not hold."""

    kind: Kind
    where: str
    """A path, ``dvc.lock: <stage>``, a line of the ledger, or ``path: metric``."""
    what: str


class Skipped(NamedTuple):
    """One thing that cannot be checked here, and why."""

    where: str
    why: str


@dataclass
class VerifyResult:
    """The findings of several checks together."""

    findings: list[Finding] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)
    """What was looked at, ``files`` for instance, and how many of it."""

    @property
    def holds(self) -> bool:
        return not self.findings

    def find(self, where: str, what: str, kind: Kind = "bytes") -> None:
        """Note, once, something that does not hold."""
        if (finding := Finding(kind, where, what)) not in self.findings:
            self.findings.append(finding)

    def skip(self, where: str, why: str) -> None:
        """Note, once, that something cannot be checked here."""
        if (skipped := Skipped(where, why)) not in self.skipped:
            self.skipped.append(skipped)

    def __add__(self, other: "VerifyResult") -> "VerifyResult":
        return VerifyResult(
            self.findings + other.findings,
            self.skipped + other.skipped,
            self.checked + other.checked,
        )
