"""What the scores over questions have in common: reading the records, denominators, and the record that comes of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks._questions.settings import UNREAD, QuestionScoring, Unread
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import Inputs, Row, Score
from driftledger.benchmarks.scoring import Ends, ToScore, check_coverage, outcomes
from driftledger.benchmarks.settings import Scoring
from driftledger.collect.call import changed_versions, count_versions, version
from driftledger.core.canonical import sha256_file
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import CARD as QUESTION_SET_CARD
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions
from driftledger.metrics._checks import Integers
from driftledger.metrics.intervals import share_interval

PERCENT = 100.0
DATA, ANSWER, GRADE = "question_set", "answer", "grade"
"""The stages before a score."""

G = TypeVar("G", bound=GradeRecord)


Flags = NDArray[np.bool_]
"""Questions × variants or gradings."""


class GradedAnswers(Generic[G]):
    """What a score over questions is computed from.

    Raises:
        CoverageError: of fewer than ``min_coverage`` of the answers could be said what they are worth, or no answer is
            in the denominators.
    """

    def __init__(self, given: ToScore, benchmark: str, kind: type[G]) -> None:
        self._given, self._benchmark = given, benchmark
        self.grades: list[G] = read_jsonl(given.folders[GRADE] / RECORDS, kind)
        unread = [grade for grade in self.grades if grade.read is None and grade.outcome is not Outcome.REFUSED]
        lost = [f"{grade.question}: {grade.outcome}, {grade.how}" for grade in unread]
        read, total = len(self.grades) - len(unread), len(self.grades)
        unread_is_wrong = cast(QuestionScoring, given.scoring).unread == "wrong"
        counts = read or (unread_is_wrong and any(grade.outcome is not Outcome.FAILED for grade in unread))
        check_coverage(read, total, "answers could be read", benchmark, given.min_coverage, lost, nothing=not counts)
        self.answers = read_jsonl(given.folders[ANSWER] / RECORDS, AnswerRecord)
        self.questions = read_questions(given.folders[DATA])
        self._card = read_json(given.folders[DATA] / QUESTION_SET_CARD, QuestionSetCard)
        self.groups = self._card.groups
        """Group name → its categories."""
        self.by_question: dict[str, list[G]] = {}
        """Each question's grades, by variant and grading."""
        for grade in sorted(self.grades, key=lambda grade: (grade.variant, grade.grading)):
            self.by_question.setdefault(grade.question, []).append(grade)

    def wrong(self, unread: Unread | None = None) -> Flags:
        """Which answers count as wrong where nothing could be read in them: all of them or none, but those of a failed
        call, which says nothing of the model.

        Args:
            unread: by default as the settings have it.
        """
        told = [[grade.outcome is not Outcome.FAILED for grade in self.by_question[each.id]] for each in self.questions]
        return np.array(told) & ((unread or cast(QuestionScoring, self._given.scoring).unread) == "wrong")

    def both_ways(self, headline: str, read: Flags, measure: Callable[[Flags], float | None]) -> dict[str, float]:
        """The headline with unread answers as wrong ones, and with these left out; without one that is over nothing.

        Args:
            read: which answers could be read.
            measure: the headline, by which of the others count as wrong.
        """
        found = {}
        for unread in UNREAD:
            wrong = self.wrong(unread)
            value = measure(wrong) if (read | wrong).any() else None
            if value is not None:
                found[f"{headline}_unread_{unread}"] = value
        return found

    def share(self, outcome: Outcome) -> float:
        """How many of the answers ended so, in percent; a failed call gave none."""
        ended = [grade.outcome for grade in self.grades if grade.outcome is not Outcome.FAILED]
        return PERCENT * sum(each is outcome for each in ended) / len(ended)

    def score(
        self,
        metrics: dict[str, float],
        groups: dict[str, dict[str, dict[str, float]]],
        read: Flags,
        absent: dict[str, str],
        *,
        served: Mapping[str, Iterable[str]] | None = None,
        flags: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
    ) -> Score:
        """The score, with what stands behind its numbers.

        Args:
            read: which answers could be read.
            served: role → the version that its service said for each call, beside the model's.
        """
        folders = self._given.folders
        cards = [read_json(folders[stage] / CARD, CollectedCard) for stage in (ANSWER, GRADE)]
        said = (version(answer.served_model, answer.system_fingerprint) for answer in self.answers)
        versions = count_versions({"model": said, **(served or {})})
        return Score(
            benchmark=self._benchmark,
            keys=dict(self._given.keys),
            components={role: card for each in cards for role, card in each.components.items()},
            metrics=metrics,
            groups=groups,
            outcomes=outcomes(self.grades),
            scored=int(read.sum()),
            counted=int((read | self.wrong()).sum()),
            total=read.size,
            coverage=int(read.sum()) / read.size,
            absent=absent,
            served=versions,
            flags=[*changed_versions(versions), *flags],
            details=dict(details or {}),
            inputs=Inputs(
                data_digest=self._card.digest,
                records={stage: sha256_file(folders[stage] / RECORDS) for stage in (ANSWER, GRADE)},
                protocol={key: value for card in cards for key, value in card.protocol.items()},
                settings=self._given.scoring.model_dump(mode="json"),
            ),
        )


def question_row(
    question: QuestionEntry, grades: Sequence[GradeRecord], values: dict[str, list[float | None]], **extra: str
) -> Row:
    """The row of a question that is worth ``values``, one per grade."""
    ended = [grade.outcome for grade in grades]
    return Row(
        unit=question.id,
        group="all",
        cluster=question.image_sha256,
        outcome=joint_outcome(ended),
        values=values,
        extra={**extra, "outcomes": ended},
    )


def interval(key: str, numerator: Integers, denominator: Integers, clusters: Sequence[str], scoring: Scoring) -> Ends:
    """The interval of a metric that is Σ numerator / Σ denominator over questions, in percent."""
    return Ends.of(key, share_interval(numerator, denominator, clusters, scoring.confidence), PERCENT)


def joint_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """That of a question or pair: ok if any of its answers or gradings is, else that of the first."""
    return Outcome.OK if Outcome.OK in outcomes else outcomes[0]
