"""What a judge gives each answer, several times, with a fixed few-shot prompt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks._questions.grading import GivenAnswers
from driftledger.benchmarks._questions.parsing import grade
from driftledger.benchmarks._questions.records import NO_ANSWER, AnswerRecord
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION, Known
from driftledger.benchmarks.mm_vet.records import CALIBRATION as CALIBRATION_FILE
from driftledger.benchmarks.mm_vet.records import Calibration, JudgedRecord
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, Planned, RunSteps
from driftledger.collect.call_result import Context
from driftledger.collect.steps import Ask, NotStoredError, Steps, Uncounted
from driftledger.components.base import Component, Model
from driftledger.core.canonical import sha256_file
from driftledger.core.files import write_jsonl
from driftledger.core.types import Conversation, Outcome, Turn
from driftledger.data.question_sets.files import QuestionEntry

PARSER = grade.VERSION
GRADE, NO_GRADE = "grade", "no grade"


@dataclass(frozen=True)
class Judging:
    """How a judge grades open answers, several times each."""

    question_set: str
    judge: Model
    prompt: str
    gradings: int

    def run(self, question: QuestionEntry, answer: AnswerRecord, repeat: int) -> Steps[JudgedRecord]:
        """One grading of one answer."""
        if not answer.readable:
            return unread(answer, repeat)
        said = yield self._ask(self.asked(question, answer), repeat, question.id)
        record = JudgedRecord(
            question=answer.question,
            variant=answer.variant,
            repeat=repeat,
            outcome=said.outcome,
            how=NO_GRADE,
            judge_text=said.text,
            served_judge=said.served_model,
        )
        return _read(record) if said.outcome.goes_on else record

    def calibrate(self, known: Known, repeat: int) -> Steps[int | None]:
        """One grading of an answer whose grade is known."""
        said = yield self._ask(self.asked_known(known), repeat, "calibration")
        return grade.parse_grade(said.text or "").tenths if said.outcome.goes_on else None

    def asked(self, question: QuestionEntry, answer: AnswerRecord) -> Conversation:
        """What the judge is given."""
        return _conversation(graded_prompt(self.prompt, question.question, str(question.answer), answer.text or ""))

    def asked_known(self, known: Known) -> Conversation:
        return _conversation(graded_prompt(self.prompt, known.question, known.truth, known.answer))

    def _ask(self, asked: Conversation, repeat: int, question: str) -> Ask:
        return Ask(self.judge, "grade", asked, Context(self.question_set, question, repeat + 1), repeat)


def _conversation(text: str) -> Conversation:
    return Conversation((Turn("user", (text,)),))


def _read(record: JudgedRecord) -> JudgedRecord:
    """With the grade in what the judge said."""
    tenths = grade.parse_grade(record.judge_text or "").tenths
    outcome, how = (Outcome.UNPARSED, NO_GRADE) if tenths is None else (Outcome.OK, GRADE)
    return record.model_copy(update={"tenths": tenths, "outcome": outcome, "how": how})


def unread(answer: AnswerRecord, repeat: int) -> JudgedRecord:
    """The grading of an answer that there is nothing to grade in."""
    return JudgedRecord(
        question=answer.question, variant=answer.variant, repeat=repeat, outcome=answer.outcome, how=NO_ANSWER
    )


def graded_prompt(prompt: str, question: str, truth: str, prediction: str) -> str:
    """The judge's prompt: one row of its table, which no text can leave."""
    pieces = {"{question}": question, "{truth}": truth, "{prediction}": prediction}
    return re.sub("|".join(map(re.escape, pieces)), lambda place: _cell(pieces[place[0]]), prompt)


def _cell(text: str) -> str:
    """Text on one line, without the sign that ends a cell."""
    return " ".join(text.replace("|", "¦").split())


class Judged(NamedTuple):
    """What came of a grade stage."""

    grades: list[JudgedRecord]
    calibration: list[Calibration]


@dataclass(frozen=True)
class CollectGrades(Collecting[Judged]):
    """A grade stage: every answer, and every calibration answer, as often as the settings say."""

    judging: Judging
    judge_name: str
    """In the catalogue."""
    given: GivenAnswers

    @property
    def title(self) -> str:
        return " · ".join([*self.keys.values(), self.judge_name])

    @property
    def components(self) -> Sequence[Component]:
        return (self.judging.judge,)

    @property
    def calls(self) -> int:
        return (len(self.given.questions) + len(CALIBRATION)) * self.judging.gradings

    def run(self, run: RunSteps) -> Judged:
        questions, repeats = {question.id: question for question in self.given.questions}, range(self.judging.gradings)
        planned = [
            self._planned(questions[answer.question], answer, repeat)
            for answer in self.given.answers
            for repeat in repeats
        ]
        try:
            grades = run(planned)
        except NotStoredError:  # calls are only counted: these are as well
            self._calibrate(run)
            raise
        return Judged(grades, self._calibrate(run))

    def _planned(self, question: QuestionEntry, answer: AnswerRecord, repeat: int) -> Planned[JudgedRecord]:
        judging = self.judging
        calls = [(judging.judge, judging.asked(question, answer))] if answer.readable else []
        return Planned(partial(judging.run, question, answer, repeat), calls)

    def _calibrate(self, run: RunSteps) -> list[Calibration]:
        judging, repeats = self.judging, range(self.judging.gradings)
        given = run(
            [
                Planned(partial(judging.calibrate, item, repeat), [(judging.judge, judging.asked_known(item))])
                for item in CALIBRATION
                for repeat in repeats
            ]
        )
        by_item = [given[start : start + judging.gradings] for start in range(0, len(given), judging.gradings)]
        return [
            Calibration(question=item.question, answer=item.answer, known=item.tenths, given=found)
            for item, found in zip(CALIBRATION, by_item, strict=True)
        ]

    def uncounted(self) -> Sequence[Uncounted]:
        """By the prompt alone, which holds no answer yet."""
        return [(self.judging.judge, _conversation(self.judging.prompt), self.calls)]

    def failures(self, collected: Judged) -> FailedCalls:
        failed = [g.question for g in collected.grades if g.outcome is Outcome.FAILED and g.how != NO_ANSWER]
        return FailedCalls(failed, len(collected.grades), "gradings")

    def write(self, folder: Path, collected: Judged) -> CollectedCard:
        """Write ``records.jsonl``, and ``calibration.jsonl`` beside it."""
        write_jsonl(folder / RECORDS, collected.grades)
        write_jsonl(folder / CALIBRATION_FILE, collected.calibration)
        return self.card(
            self.given.data_digest,
            {"judge": (self.judge_name, self.judging.judge)},
            {"grade_prompt": self.judging.prompt, "gradings": self.judging.gradings, "parser": PARSER},
            {"answer": sha256_file(self.given.file)},
        )


def read_again(stored: Iterable[JudgedRecord], answers: Iterable[AnswerRecord]) -> list[JudgedRecord]:
    """The grades in what the judge said of those answers. One that was cut short or refused stays as it is: no grade
    was read in it."""
    known = {(answer.question, answer.variant): answer for answer in answers}
    return [_read_again(each, known[key]) for each in stored if (key := (each.question, each.variant)) in known]


def _read_again(record: JudgedRecord, answer: AnswerRecord) -> JudgedRecord:
    if not answer.readable:
        return unread(answer, record.repeat)
    looked_for = record.judge_text is not None and record.outcome in (Outcome.OK, Outcome.UNPARSED)
    return _read(record) if looked_for else record
