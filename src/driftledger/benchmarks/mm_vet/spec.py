"""MM-Vet: open questions, graded by a pinned judge.

Yu et al., "MM-Vet: Evaluating Large Multimodal Models for Integrated Capabilities".
"""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from driftledger.benchmarks._questions.parsing import grade
from driftledger.benchmarks._questions.parsing.said import Parsed
from driftledger.benchmarks._questions.spec import (
    ANOTHER_PROMPT,
    READ,
    UNREAD_COUNTS,
    QuestionBenchmark,
    flow,
)
from driftledger.benchmarks.base import Layout, Metric, Rule, Stage
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.mm_vet.grades import graded
from driftledger.benchmarks.mm_vet.questions import CAPABILITIES, MMVetQuestions
from driftledger.benchmarks.mm_vet.settings import MMVetSettings
from driftledger.benchmarks.records import CollectedRecord
from driftledger.collect.call import Planned
from driftledger.data.question_sets.base import QuestionRules
from driftledger.data.question_sets.files import QuestionEntry

if TYPE_CHECKING:
    from driftledger.benchmarks.scoring import Scored, ToScore

_grade = partial(Metric, source="capabilities.score; Yu et al., MM-Vet, section 3", needs=READ)
_ANSWERS, _SCORES = flow("mm_vet", "grade_prompt", "grade_again", "gradings", judged=True)


class MMVet(QuestionBenchmark):
    """Grades of open answers, by the capabilities that their questions take."""

    name: ClassVar[str] = "mm_vet"
    title: ClassVar[str] = "MM-Vet"
    questions: ClassVar[QuestionRules] = MMVetQuestions()
    collects: ClassVar[Stage] = _ANSWERS
    scores: ClassVar[Stage] = _SCORES
    metrics: ClassVar[tuple[Metric, ...]] = (
        _grade(
            "total",
            "total grade",
            "100 · the mean of the judge's grades, mean over the gradings",
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
        from driftledger.benchmarks.mm_vet.judging import steps

        return steps(collecting)

    def parsed(self, question: QuestionEntry, record: CollectedRecord) -> Parsed[float]:
        """Read the grade in what the judge said of an answer."""
        return graded(record)

    def score(self, given: "ToScore") -> "Scored":
        from driftledger.benchmarks.mm_vet.score import score

        return score(given, self)
