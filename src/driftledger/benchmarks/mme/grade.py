"""Whether each answer says yes or no."""

from collections.abc import Mapping, Sequence

from driftledger.benchmarks._questions.grading import CollectReadings, GivenAnswers
from driftledger.benchmarks._questions.parsing import yes_no
from driftledger.benchmarks._questions.records import NO_ANSWER, AnswerRecord
from driftledger.benchmarks.mme.records import YesNoRecord

PARSER = yes_no.VERSION


def read_yes_no(answers: Sequence[AnswerRecord]) -> list[YesNoRecord]:
    """What each answer is read as."""
    return [_read(answer) for answer in answers]


def _read(answer: AnswerRecord) -> YesNoRecord:
    asked = {"question": answer.question, "variant": answer.variant}
    if not answer.readable:
        return YesNoRecord(**asked, outcome=answer.outcome, how=NO_ANSWER)
    read = yes_no.parse_yes_no(answer.text or "")
    return YesNoRecord(**asked, outcome=read.outcome, how=read.how, answer=read.answer)


def grade_stage(keys: Mapping[str, str], given: GivenAnswers) -> CollectReadings[YesNoRecord]:
    """The stage that reads the answers of one model."""
    return CollectReadings("mme", "grade", keys, given, read_yes_no, PARSER)
