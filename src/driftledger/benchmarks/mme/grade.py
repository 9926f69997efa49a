"""Whether each answer says yes or no."""

from collections.abc import Mapping
from typing import Any, ClassVar

from driftledger.benchmarks._questions.grading import CollectReadings
from driftledger.benchmarks._questions.parsing import yes_no
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry


class YesNoReadings(CollectReadings[YesNoRecord]):
    """The stage that reads the answers of one model."""

    record: ClassVar[type[YesNoRecord]] = YesNoRecord
    parser: ClassVar[str] = yes_no.VERSION

    @classmethod
    def parsed(cls, question: QuestionEntry, answer: AnswerRecord) -> Mapping[str, Any]:
        read = yes_no.parse_yes_no(answer.text or "", cut=answer.outcome is Outcome.TRUNCATED)
        return {"outcome": read.outcome, "how": read.how, "answer": read.value}
