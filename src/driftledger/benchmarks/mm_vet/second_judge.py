"""Another judge about answers that are graded already: how far two judges agree is what one of them cannot tell.

It is asked with the prompts of the first, as often, and through the call store: nothing is asked twice, budgets hold,
and what it says is there should it become ``run.judge``. No stage has a part in it, and no score changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from driftledger.benchmarks._questions.grading import GivenAnswers
from driftledger.benchmarks._questions.scoring import GRADE
from driftledger.benchmarks.mm_vet.grade import CollectGrades, Judging
from driftledger.benchmarks.mm_vet.instrument import KnownGrades, known_grades
from driftledger.benchmarks.mm_vet.raters import Place, mean_grades
from driftledger.benchmarks.mm_vet.spec import MMVet
from driftledger.benchmarks.mm_vet.stored import StoredAnswers
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.collect.call import NotStoredError
from driftledger.collect.plan import Plan, PlannedCalls
from driftledger.commands import stages
from driftledger.components.base import Model
from driftledger.core.errors import ConfigError
from driftledger.core.files import read_json
from driftledger.data.question_sets.files import CARD as QUESTION_SET_CARD
from driftledger.data.question_sets.files import QuestionSetCard
from driftledger.metrics.correction import Operating, operating_characteristics

if TYPE_CHECKING:
    from driftledger.collect.run import Collector
    from driftledger.collect.store import CallStore


class SecondGrades(NamedTuple):
    """What a second judge gives."""

    grades: dict[Place, float]
    operating: Operating | None
    """Its sensitivity and specificity on the calibration answers."""
    failed: int
    """Gradings that a failed call ended, which are tried again the next time."""


@dataclass(frozen=True)
class SecondJudge:
    """A judge beside the one that the scores rest on."""

    name: str
    judge: Model
    asked: Mapping[str, CollectGrades]
    """Model → the answers, and how they are graded."""

    def planned(self, store: "CallStore") -> PlannedCalls:
        """What it would still be asked at most; nobody is."""
        plan = Plan(store)
        for each in self.asked.values():
            try:
                each.run(plan.run)
            except NotStoredError:
                continue
        return plan.of(self.judge)

    def ask(self, store: "CallStore", collector: "Collector") -> SecondGrades:
        """Have every answer graded that is not yet; errors as in :func:`~driftledger.commands.stages.ask`."""
        grades, failed = dict[Place, float](), 0
        known: KnownGrades | None = None
        for model, each in self.asked.items():
            made = stages.ask(each, store, collector)
            grades |= {(model, question): grade for question, grade in mean_grades(made.grades).items()}
            known = known_grades(made.calibration)
            failed += len(each.failures(made).failed)
        return SecondGrades(grades, None if known is None else operating_characteristics(*known), failed)


def second_judge(stored: StoredAnswers, name: str) -> SecondJudge:
    """The model of that name, as a judge of what the selected models have answered.

    Raises:
        ConfigError: there is no such model, or it is the judge that graded these answers.
        StoreError: the answers have not been graded yet.
    """
    judge = stored.project.settings.model(name)
    digest = read_json(stored.data / QUESTION_SET_CARD, QuestionSetCard).digest
    asked = {}
    for model in stored.models:
        card = read_json(stored.graded(model) / CARD, CollectedCard)
        if card.components["judge"].fingerprint == judge.fingerprint:
            raise ConfigError(f"{name} is the judge that graded these answers; name another model")
        prompts = (card.protocol[key] for key in ("grade_prompt", "grade_again", "gradings"))
        given = GivenAnswers(stored.questions, stored.answers[model], stored.answered(model) / RECORDS, digest)
        judging = Judging(stored.question_set, judge, *prompts)
        keys = {"question_set": stored.question_set, "model": model}
        asked[model] = CollectGrades(MMVet.name, GRADE, keys, judging, name, given)
    return SecondJudge(name, judge, asked)
