"""Which option each answer chooses, by its id and not its letter."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, cast

from driftledger.benchmarks._questions.grading import CollectReadings
from driftledger.benchmarks._questions.parsing import choice
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mm_sap.records import ChoiceRecord
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry

SHORT = 100
"""Characters of an answer that is parsed once: several models may give it to a question, above all a letter."""


class ChoiceReadings(CollectReadings[ChoiceRecord]):
    """The stage that reads the answers of one model."""

    record: ClassVar[type[ChoiceRecord]] = ChoiceRecord
    parser: ClassVar[str] = choice.VERSION

    @classmethod
    def parsed(cls, question: QuestionEntry, answer: AnswerRecord) -> Mapping[str, Any]:
        shown, refusal = tuple(question.options[option] for option in answer.order), cast(int, question.refusal)
        text, cut = answer.text or "", answer.outcome is Outcome.TRUNCATED
        parse = _parsed if len(text) <= SHORT else choice.parse_choice
        read = parse(text, shown, answer.order.index(refusal), cut=cut)
        chosen = None if read.value is None else answer.order[read.value]
        return {"outcome": read.outcome, "how": read.how, "choice": chosen}


_parsed = lru_cache(2**13)(choice.parse_choice)
