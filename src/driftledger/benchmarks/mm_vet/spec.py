"""MM-Vet: open questions, graded by a pinned judge.

Yu et al., "MM-Vet: Evaluating Large Multimodal Models for Integrated Capabilities".
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar

from driftledger.benchmarks._questions.spec import (
    ANOTHER_PROMPT,
    READ,
    UNREAD_COUNTS,
    QuestionBenchmark,
    both_ways,
    flow,
)
from driftledger.benchmarks.base import Metric, Rule, SideBySide, Stage, Table
from driftledger.benchmarks.mm_vet.questions import CAPABILITIES, MMVetQuestions
from driftledger.benchmarks.mm_vet.records import ALPHA, CORRECTED, SENSITIVITY, SPECIFICITY, JudgedRecord
from driftledger.benchmarks.mm_vet.settings import MMVetProtocol, MMVetSettings
from driftledger.data.question_sets.base import QuestionRules

_grade = partial(Metric, source="capabilities.score; Yu et al., MM-Vet, section 3", needs=READ)
_STAGES = flow("mm_vet", JudgedRecord, graded=("grade_prompt", "grade_again", "gradings"))
_TOTAL = _grade(
    "total",
    "total grade",
    "100 · the mean of the judge's grades, mean over the gradings",
    headline=True,
    row="total",
    pairing="ratio",
    steps=10,
    tracked="mm_vet_total",
)
_KNOWN = "of the calibration answers that are not forged; a line is fitted where their worth is not 0 or 1"
_LEE = 'Lee et al., "How to Correctly Report LLM-as-a-Judge Evaluations" (arXiv 2511.21140)'
_JUDGE = (
    Metric(
        CORRECTED,
        "total grade, corrected for the judge's mistakes",
        "100 · (p + specificity − 1) / (sensitivity + specificity − 1), p the mean grade; what has no grade is worth 0",
        f"correction.corrected_mean; Rogan and Gladen 1978; {_LEE}",
        READ,
    ),
    Metric(
        SENSITIVITY,
        "sensitivity of the judge",
        f"the mean grade of right answers, {_KNOWN}",
        f"correction.operating_characteristics; {_LEE}",
        READ,
        higher_is_better=None,
        digits=3,
    ),
    Metric(
        SPECIFICITY,
        "specificity of the judge",
        f"1 − the mean grade of wrong answers, {_KNOWN}",
        f"correction.operating_characteristics; {_LEE}",
        READ,
        higher_is_better=None,
        digits=3,
    ),
    Metric(
        ALPHA,
        "alpha of the judge with itself",
        "1 − observed / expected squared difference of two gradings of one answer",
        "agreement.krippendorff_alpha; Krippendorff 2011, Computing Krippendorff's Alpha-Reliability",
        READ,
        higher_is_better=None,
        digits=3,
    ),
)


class MMVet(QuestionBenchmark):
    """Grades of open answers, by the capabilities that their questions take."""

    name: ClassVar[str] = "mm_vet"
    title: ClassVar[str] = "MM-Vet"
    questions: ClassVar[QuestionRules] = MMVetQuestions()
    collects: ClassVar[tuple[Stage, ...]] = _STAGES[:2]
    scores: ClassVar[Stage] = _STAGES[2]
    metrics: ClassVar[tuple[Metric, ...]] = (
        _TOTAL,
        *both_ways(_TOTAL),
        _grade(
            "grade", "grade", "as the total grade, over the questions that take a capability, or a combination of them"
        ),
        *_JUDGE,
    )
    settings: ClassVar[type[MMVetSettings]] = MMVetSettings
    protocol: ClassVar[type[MMVetProtocol]] = MMVetProtocol
    runner: ClassVar[str] = "driftledger.benchmarks.mm_vet.runner:MMVetRunner"
    judged: ClassVar[bool] = True
    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other grades in what the judge says"),
        Rule("judge", "another judge grades otherwise"),
        Rule("served_judge", "another served version of the judge may grade otherwise"),
        Rule("grade_prompt", "another prompt asks for another grade"),
        Rule("grade_again", "another second prompt brings other grades where the first brought none"),
        UNREAD_COUNTS,
    )
    drawn_groups: ClassVar[Mapping[str, str]] = {"capability": "grade"}
    tracked_groups: ClassVar[tuple[str, ...]] = ("capability",)
    shown: ClassVar[Mapping[str, Mapping[str, str]]] = {
        "grade by capability, as in the paper's Table 2": {name: f"capability/{name}/grade" for name in CAPABILITIES}
        | {"total": "total"}
    }
    published_groups: ClassVar[Mapping[str, str]] = {"combination": ", as in the paper's Table 3"}
    not_shown: ClassVar[tuple[str, ...]] = (
        *("total_unread_wrong", "total_unread_left_out"),
        *(metric.key for metric in _JUDGE),
    )

    def tables(self, block: SideBySide) -> Iterator[Table]:
        """Those of every question benchmark, and one of the judge."""
        from driftledger.benchmarks.mm_vet.tables import judge_tables

        yield from super().tables(block)
        yield from judge_tables(self, block)
