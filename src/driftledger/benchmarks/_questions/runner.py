"""Runs a benchmark of questions: answers are collected in the same way, and each benchmark reads them in its own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from driftledger.benchmarks._questions.answers import AnswerProtocol, CollectAnswers
from driftledger.benchmarks._questions.grading import CollectReadings, GivenAnswers
from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks._questions.scoring import ANSWER, DATA, GRADE
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, recorded_result
from driftledger.benchmarks.runner import Caller, Collecting, RecordedCall, Reread, Runner, StageInputs
from driftledger.collect.call import Call, Steps
from driftledger.components.base import Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.text import for_line
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import CARD as QUESTION_SET_CARD
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions


class QuestionRunner(Runner):
    """Puts every question to the model, and has the answers graded."""

    parser: ClassVar[str]
    """The version of what reads the answers, or a judge's grades."""

    readings: ClassVar[type[CollectReadings[Any]]]
    """The grade stage; a benchmark that asks a judge has its own :meth:`grading` and :meth:`read_again`."""

    def variants(self, asked: Mapping[str, Any]) -> int:
        """How often each question is put."""
        return 1

    def grading(self, given: StageInputs, answers: GivenAnswers) -> Collecting[Any]:
        """The grade stage."""
        return self.readings(self.spec.name, GRADE, given.keys, answers)

    def read_again(
        self, questions: Sequence[QuestionEntry], answers: Sequence[AnswerRecord], graded: Path
    ) -> Sequence[GradeRecord]:
        """The records of the grade stage, whose folder is ``graded``, read once more; errors as in :meth:`reread`."""
        return self.readings.read(questions, answers)

    def collecting(self, given: StageInputs, stage: str, earlier: Mapping[str, Any] | None = None) -> Collecting[Any]:
        folder, keys = given.data(), given.keys
        card, questions = read_json(folder / QUESTION_SET_CARD, QuestionSetCard), read_questions(folder)
        if stage == ANSWER:
            asked = {name: getattr(given.section, name) for name in self.spec.collects[0].settings}
            asked["seed"] = given.seed
            protocol = AnswerProtocol(card, folder, given.model(keys["model"]), asked["prompt"], asked["seed"])
            return CollectAnswers(self.spec.name, stage, keys, protocol, questions, self.variants(asked), asked)
        file = given.folders[ANSWER] / RECORDS
        answers = read_jsonl(file, AnswerRecord) if earlier is None else earlier.get(ANSWER, [])
        return self.grading(given, GivenAnswers(questions, answers, file, card.digest))

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        path, folder, data = paths[ANSWER], where(ANSWER), where(DATA)
        card, answers = read_json(folder / CARD, CollectedCard), read_jsonl(folder / RECORDS, AnswerRecord)

        def calls(model: Model) -> Iterator[RecordedCall]:
            questions = {question.id: question for question in read_questions(data)}
            about, asked = read_json(data / QUESTION_SET_CARD, QuestionSetCard), card.protocol
            protocol = AnswerProtocol(about, data, model, asked["prompt"], asked["seed"])
            for answer in answers:
                if answer.text and answer.outcome is not Outcome.FAILED:
                    place = f"{path}/{RECORDS}: {answer.question}, variant {answer.variant}: text"
                    run = partial(protocol.run, questions[answer.question], answer.variant)
                    result = recorded_result(answer, answer.text)
                    yield RecordedCall("answer", model, place, partial(only_call, run), answer.text, result=result)

        yield Caller("model", card.components["model"], path, calls)

    def reread(self, stage: str, where: Callable[[str], Path]) -> Reread | None:
        if stage != GRADE:
            return None
        parser = read_json(where(GRADE) / CARD, CollectedCard).protocol.get("parser")
        if parser != self.parser:
            recorded = for_line(str(parser))
            return Reread((), f"the answers were read by parser version {recorded}, and version {self.parser} is here")
        answers = read_jsonl(where(ANSWER) / RECORDS, AnswerRecord)
        return Reread(self.read_again(read_questions(where(DATA)), answers, where(GRADE)))


def only_call(run: Callable[[], Steps[Any]]) -> Call:
    """The one call that a protocol makes."""
    return next(run())
