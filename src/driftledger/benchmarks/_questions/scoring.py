"""What the scores over questions have in common: reading the records, denominators, and the record that comes of it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks._questions.records import ReadAnswer
from driftledger.benchmarks._questions.settings import QuestionScoring
from driftledger.benchmarks._questions.spec import QuestionBenchmark
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, changed_versions, read_records, served_versions
from driftledger.benchmarks.score import Inputs, Row, Score
from driftledger.benchmarks.scoring import PERCENT, ToScore, check_coverage, outcome_counts
from driftledger.core.canonical import sha256_file
from driftledger.core.files import read_json
from driftledger.core.grouping import grouped
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import CARD as QUESTION_SET_CARD
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions

DATA = "question_set"

Flags = NDArray[np.bool_]
"""Questions × variants or gradings."""


class GradedAnswers:
    """What a score over questions is computed from: the answers, each read or graded.

    Raises:
        CoverageError: of fewer than ``min_coverage`` of the answers could be said what they are worth, or no answer is
            in the denominators.
    """

    def __init__(self, given: ToScore, spec: QuestionBenchmark) -> None:
        self._given, self._spec = given, spec
        self._stage = spec.collects
        self.records = read_records(given.folders[self._stage.name])
        self.questions = read_questions(given.folders[DATA])
        by_id = {question.id: question for question in self.questions}
        answers = sorted((each for each in self.records if each.step), key=lambda each: (each.step, each.repeat))
        self.grades = [spec.read(by_id[record.unit], record) for record in answers]
        unread = [grade for grade in self.grades if grade.read is None and grade.outcome is not Outcome.REFUSED]
        lost = [f"{grade.record.unit}: {grade.outcome}, {grade.how}" for grade in unread]
        read, total = len(self.grades) - len(unread), len(self.grades)
        unread_is_wrong = cast(QuestionScoring, given.scoring).unread == "wrong"
        counts = read or (unread_is_wrong and any(grade.outcome is not Outcome.FAILED for grade in unread))
        check_coverage(read, total, "answers could be read", spec.name, given.min_coverage, lost, nothing=not counts)
        self._card = read_json(given.folders[DATA] / QUESTION_SET_CARD, QuestionSetCard)
        self.groups = self._card.groups
        """Group name → its categories."""
        self.by_question = grouped(self.grades, lambda grade: grade.record.unit)
        """Each question's grades, by variant and grading."""

    @property
    def wrong(self) -> Flags:
        """Which answers count as wrong where nothing could be read in them: all of them or none, but those of a failed
        call, which says nothing of the model."""
        told = [[grade.outcome is not Outcome.FAILED for grade in self.by_question[each.id]] for each in self.questions]
        return np.array(told) & (cast(QuestionScoring, self._given.scoring).unread == "wrong")

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
        flags: Sequence[str] = (),
        details: Mapping[str, Any] | None = None,
    ) -> Score:
        """The score, with what stands behind its numbers.

        Args:
            read: which answers could be read.
        """
        folder = self._given.folders[self._stage.name]
        card = read_json(folder / CARD, CollectedCard)
        versions = served_versions(record for record in self.records if record.step)
        return Score(
            benchmark=self._spec.name,
            keys=dict(self._given.keys),
            components=card.components,
            metrics=metrics,
            groups=groups,
            outcomes=outcome_counts(grade.outcome for grade in self.grades),
            scored=int(read.sum()),
            counted=int((read | self.wrong).sum()),
            total=read.size,
            coverage=int(read.sum()) / read.size,
            absent=absent,
            served=versions,
            flags=[*changed_versions(versions), *flags],
            details=dict(details or {}),
            inputs=Inputs(
                data_digest=self._card.digest,
                records={self._stage.name: sha256_file(folder / RECORDS)},
                protocol=card.protocol | {"parser": self._spec.parser},
                settings=self._given.scoring.model_dump(mode="json"),
            ),
        )


def question_row(
    question: QuestionEntry, grades: Sequence[ReadAnswer], values: dict[str, list[float | None]], **extra: str
) -> Row:
    """The row of a question that is worth ``values``, one per grade, with what was read."""
    ended = [grade.outcome for grade in grades]
    return Row(
        unit=question.id,
        group="all",
        cluster=question.image_sha256,
        outcome=joint_outcome(ended),
        values=values,
        extra={**extra, "outcomes": ended, "read": [grade.read for grade in grades]},
    )


def joint_outcome(outcomes: Sequence[Outcome]) -> Outcome:
    """That of a question or pair: ok if any of its answers or gradings is, else that of the first."""
    return Outcome.OK if Outcome.OK in outcomes else outcomes[0]
