"""Runs MM-SAP: every question in several orders of its options, and the self-awareness in what is chosen."""

from collections.abc import Mapping
from typing import Any, ClassVar

from driftledger.benchmarks._questions.parsing import choice
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks._questions.runner import QuestionRunner
from driftledger.benchmarks.mm_sap.records import ChoiceRecord
from driftledger.benchmarks.mm_sap.score import score
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry


class MMSAPRunner(QuestionRunner):
    """Asks, reads and scores."""

    parser: ClassVar[str] = choice.VERSION
    record: ClassVar[type[ChoiceRecord]] = ChoiceRecord

    def parsed(self, question: QuestionEntry, answer: AnswerRecord) -> Mapping[str, Any]:
        """Which option an answer chooses, by its id and not its letter."""
        shown, refusal = [question.options[option] for option in answer.order], question.refusal
        at, cut = answer.order.index(refusal if refusal is not None else -1), answer.outcome is Outcome.TRUNCATED
        read = choice.parse_choice(answer.text or "", shown, at, cut=cut)
        chosen = None if read.value is None else answer.order[read.value]
        return {"outcome": read.outcome, "how": read.how, "choice": chosen}

    def score(self, given: ToScore) -> Scored:
        return score(given)
