"""Results of checking the ledger."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal["bytes", "numbers", "missing"]
"""A file or lock entry is not the one that was recorded; a score is not what its records give;
evidence that should be there is not."""


Status = Literal[
    "reproduced", "from the bundle's own features", "not checkable", "differs"
]
"""From the best to the worst."""
FROM_FEATURES: Status = "from the bundle's own features"
"""Status of a number whose features are not computed here: forged features give any number."""


class Line(NamedTuple):
    """A comparison, and its result."""

    where: str
    """A file and the place in it: ``reports/scores/…/score.json: gc_at_5``."""
    status: Status
    what: str = ""
    """The difference, or why it is not checkable here; empty if it is reproduced."""
    values: int = 1
    """How many values it is about; ``where`` is the place of the first."""
    metric: str = ""
    """The metric, for a number over all samples of a score; else empty."""


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
    """The things that were checked, ``files`` for instance → how many."""

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

    def add(self, lines: Iterable[Line], what: str, kind: Kind = "bytes") -> None:
        """Add the results of comparisons.

        Args:
            what: the things compared, ``links`` for instance.
        """
        for line in lines:
            self.checked[what] += line.values
            if line.status == "differs":
                self.find(line.where, line.what, kind)
            elif line.status == "not checkable":
                self.skip(line.where, line.what)

    def __add__(self, other: "VerifyResult") -> "VerifyResult":
        return VerifyResult(
            self.findings + other.findings,
            self.skipped + other.skipped,
            self.checked + other.checked,
        )
