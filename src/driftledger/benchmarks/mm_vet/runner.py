"""Runs MM-Vet: open questions, and a judge that grades the answers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from driftledger.benchmarks._questions.parsing.grade import VERSION
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks._questions.runner import GivenAnswers, QuestionRunner
from driftledger.benchmarks._questions.scoring import ANSWER, DATA, GRADE
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION
from driftledger.benchmarks.mm_vet.grade import CollectGrades, Judging, read_again
from driftledger.benchmarks.mm_vet.records import CALIBRATION_REPLIES, JudgedRecord
from driftledger.benchmarks.mm_vet.score import score
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.runner import Caller, RecordedCall, StageInputs
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.collect.call import Ask, Call, Result
from driftledger.components.base import Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry, read_questions

_HOW = ("grade_prompt", "grade_again", "gradings")
_KINDS = ("grade", "grade: again")


class MMVetRunner(QuestionRunner):
    """Asks, has the answers graded, and scores."""

    parser: ClassVar[str] = VERSION
    record: ClassVar[type[JudgedRecord]] = JudgedRecord

    def grading(self, given: StageInputs, answers: GivenAnswers) -> CollectGrades:
        judge = given.judge or ""
        judging = Judging(given.keys[DATA], given.model(judge), *(getattr(given.section, name) for name in _HOW))
        return CollectGrades(self.spec.name, GRADE, given.keys, judging, judge, answers)

    def read_again(
        self, questions: Sequence[QuestionEntry], answers: Sequence[AnswerRecord], graded: Path
    ) -> list[JudgedRecord]:
        return read_again(read_jsonl(graded / RECORDS, JudgedRecord), answers)

    def score(self, given: ToScore) -> Scored:
        return score(given)

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        yield from super().callers(paths, where)
        if GRADE not in paths:
            return
        path, folder, data = paths[GRADE], where(GRADE), where(DATA)
        card, graded = read_json(folder / CARD, CollectedCard), read_jsonl(folder / RECORDS, JudgedRecord)
        calibrated = read_jsonl(folder / CALIBRATION_REPLIES, JudgedRecord)
        answers = {(each.question, each.variant): each for each in read_jsonl(where(ANSWER) / RECORDS, AnswerRecord)}

        def calls(judge: Model) -> Iterator[RecordedCall]:
            questions = {question.id: question for question in read_questions(data)}
            judging = Judging(card.keys[DATA], judge, *(card.protocol[name] for name in _HOW))
            for record in graded:
                question, answer = questions[record.question], answers[record.question, record.variant]
                asks = partial(judging.asks, question, answer, record.repeat)
                yield from _calls(record, f"{path}/{RECORDS}: {record.question}", judge, asks)
            for record in calibrated:
                asks = partial(judging.asks_known, CALIBRATION[record.variant], record.repeat)
                yield from _calls(record, f"{path}/{CALIBRATION_REPLIES}: {record.variant}", judge, asks)

        yield Caller("judge", card.components["judge"], path, calls)


def _calls(record: JudgedRecord, where: str, judge: Model, asks: Callable[[], list[Ask]]) -> Iterator[RecordedCall]:
    for number, reply in enumerate(record.replies):
        if reply.text and reply.outcome is not Outcome.FAILED:
            place = f"{where}, grading {record.repeat}: replies.{number}"
            result = Result(reply.outcome, reply.text, served_model=reply.served_model)
            yield RecordedCall(_KINDS[number], judge, place, partial(_asked, asks, number), reply.text, result=result)


def _asked(asks: Callable[[], list[Ask]], number: int) -> Call:
    return asks()[number]
