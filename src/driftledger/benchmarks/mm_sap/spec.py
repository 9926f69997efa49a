"""MM-SAP: does the model answer what it can know, and refuse what it cannot?

Wang et al., "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language Models in
Perception".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks._questions.spec import (
    ANOTHER_PROMPT,
    READ,
    QuestionBenchmark,
    answer_stage,
    grade_stage,
    score_stage,
)
from driftledger.benchmarks.base import Metric, Rule, SideBySide, Stage, Table
from driftledger.benchmarks.mm_sap.questions import MMSAPQuestions
from driftledger.benchmarks.mm_sap.records import ChoiceRecord, check_orders
from driftledger.benchmarks.mm_sap.settings import MMSAPProtocol, MMSAPScoring, MMSAPSettings
from driftledger.benchmarks.records import CollectedCard, CollectedRecord, Linked
from driftledger.data.question_sets.rules import QuestionRules

_OVER_ORDERS = "mean over the stored orders of the options"
_PAPER = "Wang et al., MM-SAP"


class MMSAP(QuestionBenchmark):
    """Choices among five options, one of which refuses."""

    name: ClassVar[str] = "mm_sap"
    title: ClassVar[str] = "MM-SAP"
    questions: ClassVar[QuestionRules] = MMSAPQuestions()
    collects: ClassVar[tuple[Stage, ...]] = (
        answer_stage("permutations", "prompt"),
        grade_stage("driftledger.benchmarks.mm_sap.grade", ChoiceRecord),
    )
    scores: ClassVar[Stage] = score_stage("mm_sap", "count_free_refusals")
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "score",
            "self-awareness score",
            f"100 · accepted choices / all: the right option in basic, it or the refusal in know, the refusal in "
            f"beyond; {_OVER_ORDERS}",
            f"self_awareness.score; {_PAPER}, equation 2",
            READ,
            unit="%",
            headline=True,
            row="score",
            pairing="ratio",
        ),
        Metric(
            "answer_rate",
            "answer rate",
            f"100 · choices other than the refusal / all; {_OVER_ORDERS}",
            f"self_awareness.score; {_PAPER}, equation 6",
            READ,
            unit="%",
            headline=True,
            higher_is_better=None,
        ),
        Metric(
            "answer_accuracy",
            "answer accuracy",
            f"100 · right choices / choices other than the refusal; {_OVER_ORDERS}",
            f"self_awareness.score; {_PAPER}, equation 5",
            READ,
            unit="%",
            headline=True,
        ),
        Metric(
            "known_knowns",
            "known knowns",
            f"100 · right choices / all, in basic and know; {_OVER_ORDERS}",
            f"self_awareness.score; {_PAPER}, equation 3",
            READ,
            unit="%",
            headline=True,
        ),
        Metric(
            "known_unknowns",
            "known unknowns",
            f"100 · refusals / all, in know and beyond; {_OVER_ORDERS}",
            f"self_awareness.score; {_PAPER}, equation 4",
            READ,
            unit="%",
            headline=True,
        ),
        Metric(
            "score_with_free_refusals",
            "score, refusals in free text counted as choosing the refusal",
            f"as the self-awareness score; {_OVER_ORDERS}",
            f"self_awareness.score; {_PAPER}, equation 2",
            READ,
            unit="%",
        ),
        Metric(
            "score_without_free_refusals",
            "score, refusals in free text left out",
            f"as the self-awareness score; {_OVER_ORDERS}",
            f"self_awareness.score; {_PAPER}, equation 2",
            READ,
            unit="%",
        ),
        Metric(
            "free_refusals",
            "refused in free text",
            "100 · answers that decline in free text / all",
            "self_awareness.score",
            READ,
            unit="%",
            higher_is_better=None,
        ),
        Metric(
            "chosen",
            "chosen",
            "100 · answers that chose this letter / answers read",
            "positions.position_bias",
            READ,
            unit="%",
            higher_is_better=None,
            digits=1,
        ),
        Metric(
            "correct",
            "right option",
            "100 · of the answers read, and with a right option at all, those where it stood at this letter",
            "positions.position_bias",
            READ,
            unit="%",
            higher_is_better=None,
            digits=1,
        ),
        Metric(
            "refusal",
            "refusal",
            "100 · answers read in which the refusal stood at this letter / answers read",
            "positions.position_bias",
            READ,
            unit="%",
            higher_is_better=None,
            digits=1,
        ),
    )
    settings: ClassVar[type[MMSAPSettings]] = MMSAPSettings
    protocol: ClassVar[type[MMSAPProtocol]] = MMSAPProtocol
    scoring: ClassVar[type[MMSAPScoring]] = MMSAPScoring
    runner: ClassVar[str] = "driftledger.benchmarks.mm_sap.runner:MMSAPRunner"
    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other answers from the same replies"),
        Rule("count_free_refusals", "refusals in free text count in one of them only"),
    )
    dvc_metrics: ClassVar[tuple[str, ...]] = ("score", "answer_rate", "answer_accuracy")
    tracked_groups: ClassVar[tuple[str, ...]] = ("subset",)

    def links(
        self, stage: str, records: Sequence[CollectedRecord], card: CollectedCard, parents: Mapping[str, str]
    ) -> Iterator[Linked]:
        return check_orders([each for each in records if isinstance(each, AnswerRecord)], card)

    def tables(self, block: SideBySide) -> Iterator[Table]:
        from driftledger.benchmarks.mm_sap.tables import tables

        return tables(block)
