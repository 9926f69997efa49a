"""Runs MME: two questions about each image, and yes or no in the answers."""

from collections.abc import Mapping
from typing import Any, ClassVar

from driftledger.benchmarks._questions.parsing import yes_no
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks._questions.runner import QuestionRunner
from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.mme.score import score
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry


class MMERunner(QuestionRunner):
    """Asks, reads and scores."""

    parser: ClassVar[str] = yes_no.VERSION
    record: ClassVar[type[YesNoRecord]] = YesNoRecord

    def parsed(self, question: QuestionEntry, answer: AnswerRecord) -> Mapping[str, Any]:
        read = yes_no.parse_yes_no(answer.text or "", cut=answer.outcome is Outcome.TRUNCATED)
        return {"outcome": read.outcome, "how": read.how, "answer": read.value}

    def score(self, given: ToScore) -> Scored:
        return score(given)
