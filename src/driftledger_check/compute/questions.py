"""What the benchmarks of questions share: how answers were read, and what counts.

A reply in which nothing could be read is in the denominators as a wrong one, or in none, as ``unread`` says; one whose
call failed says nothing of the model and is in none.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftledger_check.compute import given
from driftledger_check.compute.found import PERCENT, Found
from driftledger_check.compute.intervals import Intervals
from driftledger_check.files import ScoreFiles

Flags = NDArray[np.bool_]
"""Questions × variants or gradings."""


class Graded:
    """The questions, and how each answer was read, by variant and grading."""

    def __init__(self, files: ScoreFiles, found: Found) -> None:
        self.found, self.settings = found, given.settings(files)
        self.questions = files.data.rows("questions.jsonl")
        self.intervals, self.unread = Intervals.of(self.settings), self.settings.get("unread", "left_out")
        grades: dict[str, list[given.Row]] = {}
        self.grades = files.collected["grade"].rows("records.jsonl")
        for each in sorted(self.grades, key=lambda each: (each["variant"], each.get("repeat", 0))):
            grades.setdefault(given.text(each, "question"), []).append(each)
        self.by_question = [grades[given.text(question, "id")] for question in self.questions]
        if len({len(row) for row in self.by_question}) != 1 or sum(map(len, self.by_question)) != len(self.grades):
            raise ValueError("not every question has been answered equally often")
        self.images = [given.text(question, "image_sha256") for question in self.questions]
        self._called = np.array([[given.text(each, "outcome") != "failed" for each in row] for row in self.by_question])
        found.outcomes(self.grades)
        answers = files.collected["answer"].rows("records.jsonl")
        found.served("model", answers, "served_model", "system_fingerprint")

    def column(self, key: str) -> list[str]:
        return [question[key] or "" for question in self.questions]

    def wrong(self, unread: str | None = None) -> Flags:
        """Which replies would be wrong ones if nothing could be read in them."""
        flags: Flags = self._called & ((unread or self.unread) == "wrong")
        return flags

    def both_ways(self, headline: str, read: Flags, measure: Callable[[Flags], float | None]) -> dict[str, float]:
        """The headline with unread replies as wrong ones, and without them."""
        found = {}
        for unread in ("wrong", "left_out"):
            wrong = self.wrong(unread)
            if (read | wrong).any() and (value := measure(wrong)) is not None:
                found[f"{headline}_unread_{unread}"] = value
        return found

    def refused(self) -> float:
        """In percent of the calls that were answered."""
        outcomes = [each["outcome"] for each in self.grades if each["outcome"] != "failed"]
        return PERCENT * outcomes.count("refused") / len(outcomes)

    def counts(self, read: Flags) -> None:
        self.found.counts(int(read.sum()), int((read | self.wrong()).sum()), read.size)

    def row(self, at: int, values: given.Row, **extra: str) -> None:
        """Of one question."""
        ended = [given.text(each, "outcome") for each in self.by_question[at]]
        unit = given.text(self.questions[at], "id")
        self.found.row(unit, given.ALL, self.images[at], joint(ended), extra | {"outcomes": ended}, values)


def joint(outcomes: list[str]) -> str:
    """Of several answers or gradings: ok if any of them is."""
    return "ok" if "ok" in outcomes else outcomes[0]
