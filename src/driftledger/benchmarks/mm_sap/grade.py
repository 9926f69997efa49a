"""Which option each answer chooses, by its id and not its letter."""

from collections.abc import Mapping, Sequence
from functools import partial

from driftledger.benchmarks._questions.grading import CollectReadings, GivenAnswers
from driftledger.benchmarks._questions.parsing import choice
from driftledger.benchmarks._questions.records import NO_ANSWER, AnswerRecord
from driftledger.benchmarks.mm_sap.records import ChoiceRecord
from driftledger.data.question_sets.files import QuestionEntry

PARSER = choice.VERSION


def read_choices(questions: Mapping[str, QuestionEntry], answers: Sequence[AnswerRecord]) -> list[ChoiceRecord]:
    """What each answer is read as; ``questions`` by id."""
    return [_read(questions[answer.question], answer) for answer in answers]


def _read(question: QuestionEntry, answer: AnswerRecord) -> ChoiceRecord:
    asked = {"question": answer.question, "variant": answer.variant}
    if not answer.readable or question.refusal is None:
        return ChoiceRecord(**asked, outcome=answer.outcome, how=NO_ANSWER)
    shown = [question.options[option] for option in answer.order]
    read = choice.parse_choice(answer.text or "", shown, answer.order.index(question.refusal))
    chosen = None if read.option is None else answer.order[read.option]
    return ChoiceRecord(**asked, outcome=read.outcome, how=read.how, choice=chosen)


def grade_stage(
    keys: Mapping[str, str], questions: Sequence[QuestionEntry], given: GivenAnswers
) -> CollectReadings[ChoiceRecord]:
    """The stage that reads the answers of one model."""
    read = partial(read_choices, {question.id: question for question in questions})
    return CollectReadings("mm_sap", "grade", keys, given, read, PARSER)
