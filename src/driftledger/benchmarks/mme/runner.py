"""Runs MME: two questions about each image, and yes or no in the answers."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from driftledger.benchmarks._questions.grading import CollectReadings, GivenAnswers
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks._questions.runner import QuestionRunner
from driftledger.benchmarks._questions.scoring import ANSWER
from driftledger.benchmarks.mme.grade import PARSER, grade_stage, read_yes_no
from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.mme.score import score
from driftledger.benchmarks.mme.settings import MMESettings
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.files import read_jsonl
from driftledger.data.question_sets.files import QuestionEntry

if TYPE_CHECKING:
    from driftledger.project.project import Project


class MMERunner(QuestionRunner):
    """Asks, reads and scores."""

    parser: ClassVar[str] = PARSER

    def asked(self, project: "Project") -> dict[str, Any]:
        settings = cast(MMESettings, project.settings.section(self.spec.name))
        return {"prompt": settings.prompt, "seed": project.settings.run.seed}

    def grading(
        self, project: "Project", keys: Mapping[str, str], questions: Sequence[QuestionEntry], given: GivenAnswers
    ) -> CollectReadings[YesNoRecord]:
        return grade_stage(keys, given)

    def read_again(self, where: Callable[[str], Path]) -> list[YesNoRecord]:
        return read_yes_no(read_jsonl(where(ANSWER) / RECORDS, AnswerRecord))

    def score(self, given: ToScore) -> Scored:
        return score(given)
