"""MM-Vet: open questions, graded by a pinned judge.

Yu et al., "MM-Vet: Evaluating Large Multimodal Models for Integrated Capabilities".
"""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from driftledger.benchmarks._questions.parsing import grade
from driftledger.benchmarks._questions.parsing.reply import Parsed
from driftledger.benchmarks._questions.spec import (
    ANOTHER_PROMPT,
    READ,
    UNREAD_COUNTS,
    GradedAnswers,
    QuestionBenchmark,
    QuestionSection,
    flow,
    question_row,
)
from driftledger.benchmarks.base import Layout, Metric, Rule
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.mm_vet.judging import calibrations, graded, judge_flags, steps
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import STD
from driftledger.benchmarks.scoring import PERCENT, Scored, ToScore, interval_ends
from driftledger.benchmarks.settings import holding
from driftledger.collect.call import Planned
from driftledger.core.errors import unknown_name
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion
from driftledger.data.records import QuestionEntry
from driftledger.metrics import capabilities
from driftledger.metrics.capabilities import CAPABILITIES, CapabilityScores
from driftledger.metrics.intervals import share_interval

STEPS = 10**6
"""Of a grade, so that sums are of whole numbers."""


class MMVetSettings(QuestionSection):
    """How open questions are put, and how a judge grades the answers."""

    grade_prompt: Annotated[str, holding("{question}", "{truth}", "{prediction}")]
    grade_again: str = Field(min_length=1)
    """What follows the same prompt where the judge is asked once more, since no grade could be read."""
    gradings: int = Field(ge=1, le=100)
    """Of each answer, for their deviation."""


class MMVetQuestions(QuestionRules):
    """A ground truth with ``<AND>`` and ``<OR>``, which stays text, and the capabilities that it takes."""

    needed: ClassVar[tuple[str, ...]] = ("question", "image", "answer", "capabilities")
    optional: ClassVar[tuple[str, ...]] = ("id", "image_id")

    def problem(self, question: SourceQuestion) -> str | None:
        if not (question.answer or "").strip():
            return "has no answer (write one, or remove the question)"
        if not question.capabilities:
            return f"has no capability (name some of {', '.join(CAPABILITIES)})"
        for name, count in Counter(question.capabilities).items():
            if name not in CAPABILITIES:
                return f"names no capability of MM-Vet ({unknown_name('capability', name[:80], CAPABILITIES)})"
            if count > 1:
                return f"names the capability {name!r} twice (keep one)"
        return None


_grade = partial(Metric, source="capabilities.score; Yu et al., MM-Vet, section 3", needs=READ)


class MMVet(QuestionBenchmark):
    """Grades of open answers, by the capabilities that their questions take."""

    name: ClassVar[str] = "mm_vet"
    title: ClassVar[str] = "MM-Vet"
    questions: ClassVar[QuestionRules] = MMVetQuestions()
    collects, scores = flow("mm_vet", "grade_prompt", "grade_again", "gradings", judged=True, version=5)
    metrics: ClassVar[tuple[Metric, ...]] = (
        _grade(
            "total",
            "total grade",
            "100 · the mean of the judge's grades, mean over the gradings",
            unit="0–100",
            headline=True,
            row="total",
            pairing="ratio",
            tracked="mm_vet_total",
        ),
        _grade(
            "grade", "grade", "as the total grade, over the questions that take a capability, or a combination of them"
        ),
    )
    settings: ClassVar[type[MMVetSettings]] = MMVetSettings
    parser: ClassVar[str] = grade.VERSION
    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other grades in what the judge says"),
        Rule("judge", "another judge grades otherwise"),
        Rule("served_judge", "another served version of the judge may grade otherwise"),
        Rule("grade_prompt", "another prompt asks for another grade"),
        Rule("grade_again", "another second prompt brings other grades where the first brought none"),
        UNREAD_COUNTS,
    )
    layout: ClassVar[Layout] = Layout(
        tables={
            "grade by capability, as in the paper's Table 2": {
                name: f"capability/{name}/grade" for name in CAPABILITIES
            }
            | {"total": "total"}
        },
        group_bars={"capability": "grade"},
        groups={"combination": ", as in the paper's Table 3"},
    )

    def steps(self, collecting: Collecting) -> Iterator[Planned[list[CollectedRecord]]]:
        return steps(collecting)

    def parsed(self, question: QuestionEntry, record: CollectedRecord) -> Parsed[float]:
        """Read the grade in what the judge said of an answer."""
        return graded(record)

    def score(self, given: ToScore) -> Scored:
        """Score grades by capability, combination and in total: means and deviations over the gradings, and an interval
        over questions."""
        answers = GradedAnswers(given, self)
        questions, wrong = answers.questions, answers.wrong
        grades = [[grade.read for grade in answers.by_question[question.id]] for question in questions]
        needed = [question.capabilities for question in questions]
        read = np.array([[grade is not None for grade in row] for row in grades])
        counted = read | wrong
        total = capabilities.score(grades, unread_is_wrong=wrong)
        by_capability = capabilities.by_capability(grades, needed, unread_is_wrong=wrong)
        by_combination = capabilities.by_combination(grades, needed, unread_is_wrong=wrong)
        sums = np.array([sum(round(STEPS * (grade or 0)) for grade in row) for row in grades])
        images = [question.image_sha256 for question in questions]
        estimate = share_interval(sums, STEPS * counted.sum(axis=1), images, given.scoring.confidence)
        ends = interval_ends({"total": estimate}, PERCENT)
        rows = [
            question_row(
                question,
                answers.by_question[question.id],
                {"total": [(grade or 0.0) if counts else None for grade, counts in zip(row, counting, strict=True)]},
                combination="+".join(question.capabilities),
            )
            for question, row, counting in zip(questions, grades, counted, strict=True)
        ]
        absent = {f"{name}: grade": "no question needs it" for name in CAPABILITIES if name not in by_capability}
        unread = [name for name, each in by_capability.items() if each.mean is None]
        absent |= {f"{name}: grade": "no grade could be read" for name in unread} | ends.absent
        calibration = calibrations(answers.records)
        score = answers.score(
            _values("total", total) | ends.metrics,
            {
                "capability": {name: _values("grade", each) for name, each in by_capability.items()},
                "combination": {name: _values("grade", each) for name, each in by_combination.items()},
            },
            read,
            absent,
            flags=judge_flags(calibration),
            details={"calibration": calibration},
        )
        return Scored(score, rows)


def _values(name: str, grades: CapabilityScores) -> dict[str, float]:
    values = {name: grades.mean, name + STD: grades.std}
    return {key: value for key, value in values.items() if value is not None}
