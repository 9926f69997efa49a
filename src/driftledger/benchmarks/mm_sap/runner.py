"""Runs MM-SAP: every question in several orders of its options, and the self-awareness in what is chosen."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from driftledger.benchmarks._questions.grading import CollectReadings, GivenAnswers
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks._questions.runner import QuestionRunner
from driftledger.benchmarks._questions.scoring import ANSWER, DATA
from driftledger.benchmarks.mm_sap.grade import PARSER, grade_stage, read_choices
from driftledger.benchmarks.mm_sap.records import ChoiceRecord
from driftledger.benchmarks.mm_sap.score import score
from driftledger.benchmarks.mm_sap.settings import MMSAPScoring, MMSAPSettings
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.files import read_jsonl
from driftledger.data.question_sets.files import QuestionEntry, read_questions

if TYPE_CHECKING:
    from driftledger.project.project import Project


class MMSAPRunner(QuestionRunner):
    """Asks, reads and scores."""

    parser: ClassVar[str] = PARSER

    def asked(self, project: "Project") -> dict[str, Any]:
        settings = cast(MMSAPSettings, project.settings.section(self.spec.name))
        return {
            "prompt": settings.prompt,
            "permutations": settings.permutations,
            "seed": project.settings.run.seed,
        }

    def variants(self, asked: Mapping[str, Any]) -> int:
        return int(asked["permutations"])

    def grading(
        self, project: "Project", keys: Mapping[str, str], questions: Sequence[QuestionEntry], given: GivenAnswers
    ) -> CollectReadings[ChoiceRecord]:
        return grade_stage(keys, questions, given)

    def read_again(self, where: Callable[[str], Path]) -> list[ChoiceRecord]:
        questions = {question.id: question for question in read_questions(where(DATA))}
        return read_choices(questions, read_jsonl(where(ANSWER) / RECORDS, AnswerRecord))

    def score(self, given: ToScore) -> Scored:
        return score(given, cast(MMSAPScoring, given.scoring))
