"""MME: yes or no, two questions about each image.

Fu et al., "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language Models".
"""

from collections.abc import Iterator
from typing import ClassVar

from driftledger.benchmarks._questions.spec import (
    ANOTHER_PROMPT,
    READ,
    QuestionBenchmark,
    answer_stage,
    grade_stage,
    score_stage,
)
from driftledger.benchmarks.base import Metric, Rule, SideBySide, Stage, Table
from driftledger.benchmarks.mme.questions import MMEQuestions
from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.mme.settings import MMEProtocol, MMEScoring, MMESettings
from driftledger.data.question_sets.rules import QuestionRules

_SOURCE = "yes_no.score; Fu et al., MME, section 2.2"


class MME(QuestionBenchmark):
    """Accuracy over questions, and over images of which both questions are answered right."""

    name: ClassVar[str] = "mme"
    title: ClassVar[str] = "MME"
    questions: ClassVar[QuestionRules] = MMEQuestions()
    collects: ClassVar[tuple[Stage, ...]] = (
        answer_stage("prompt"),
        grade_stage("driftledger.benchmarks.mme.grade", YesNoRecord),
    )
    scores: ClassVar[Stage] = score_stage("mme")
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "score",
            "score",
            "100 · (accuracy + accuracy+) of a category, mean over categories; 0 to 200",
            f"yes_no.total; {_SOURCE.partition('; ')[2]}",
            READ,
            headline=True,
            row="score",
        ),
        Metric(
            "accuracy",
            "accuracy",
            "100 · questions answered right / questions; in total over the questions of all categories",
            _SOURCE,
            READ,
            unit="%",
        ),
        Metric(
            "accuracy_plus",
            "accuracy+",
            "100 · images with both questions answered right / images; in total over the images of all categories",
            _SOURCE,
            READ,
            unit="%",
        ),
        Metric(
            "score_sum",
            "sum of scores",
            "the sum of the categories' scores; 0 to 200 times the number of categories",
            f"yes_no.total; {_SOURCE.partition('; ')[2]}",
            READ,
        ),
        Metric(
            "refused",
            "refused",
            "100 · answers that decline, which counts as wrong / all",
            "yes_no.score",
            READ,
            unit="%",
            higher_is_better=None,
        ),
    )
    settings: ClassVar[type[MMESettings]] = MMESettings
    protocol: ClassVar[type[MMEProtocol]] = MMEProtocol
    scoring: ClassVar[type[MMEScoring]] = MMEScoring
    runner: ClassVar[str] = "driftledger.benchmarks.mme.runner:MMERunner"
    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other answers from the same replies"),
    )

    def tables(self, block: SideBySide) -> Iterator[Table]:
        from driftledger.benchmarks.mme.tables import tables

        return tables(block)
