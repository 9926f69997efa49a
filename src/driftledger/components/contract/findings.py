"""What a check of a component comes to: it holds, or something else was seen, or it does not apply for some reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Verdict = Literal["holds", "differs", "not applicable"]


class Finding(NamedTuple):
    """Something that a component does otherwise than it must."""

    what: str
    """Which of its parts, and on what."""
    expected: str
    seen: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}; seen: {self.seen}"


class NotApplicableError(Exception):
    """A check has nothing to look at; its text says why."""


@dataclass(frozen=True)
class Checked:
    """One check, and what came of it."""

    name: str
    asks: str
    """The question that it answers."""
    verdict: Verdict
    note: str = ""
    """Where it holds how closely, where it does not apply why."""
    findings: tuple[Finding, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "check": self.name,
            "asks": self.asks,
            "verdict": self.verdict,
            "note": self.note,
            "findings": [finding._asdict() for finding in self.findings],
        }


class MadeTwice(NamedTuple):
    """Calls that were made twice, and those among them that gave other bytes."""

    calls: int
    other: int


@dataclass(frozen=True)
class Report:
    """All checks of one component, in the order in which they were made."""

    checks: Sequence[Checked]
    made_twice: MadeTwice
    """Of a model or a generator; no calls of an encoder, which the call store does not hold."""

    @property
    def problems(self) -> list[str]:
        """Everything that does not hold, a sentence each.

        A component none of whose results could be looked at has that for a problem.
        """
        found = [f"{check.name}: {finding}" for check in self.checks for finding in check.findings]
        return found or [
            f"{check.name}: nothing can be checked: {check.note}"
            for check in self.checks
            if check.name == RESULTS and check.verdict == "not applicable"
        ]

    def verdict(self, name: str) -> Verdict:
        """That of the check called ``name``."""
        return next(check.verdict for check in self.checks if check.name == name)

    def to_dict(self) -> dict[str, Any]:
        return {
            "checks": [check.to_dict() for check in self.checks],
            "made_twice": self.made_twice._asdict(),
            "problems": self.problems,
        }


RESULTS = "results"
"""The check that all others build upon."""
