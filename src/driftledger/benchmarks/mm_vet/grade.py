"""What a judge gives each answer, several times, with a fixed few-shot prompt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks._questions.grading import GivenAnswers
from driftledger.benchmarks._questions.parsing import grade
from driftledger.benchmarks._questions.records import NO_ANSWER, AnswerRecord
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION, Known
from driftledger.benchmarks.mm_vet.records import CALIBRATION as CALIBRATION_FILE
from driftledger.benchmarks.mm_vet.records import CALIBRATION_REPLIES, Calibration, JudgedRecord, JudgeReply
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, Planned, RunSteps
from driftledger.collect.call import Ask, Context, NotStoredError, Result, Steps, Uncounted
from driftledger.components.base import Component, Model
from driftledger.core.canonical import sha256_file
from driftledger.core.files import write_jsonl
from driftledger.core.types import Conversation, Outcome, Turn
from driftledger.data.question_sets.files import QuestionEntry

PARSER = grade.VERSION
GRADE, ASKED_AGAIN, NO_GRADE = "grade", "grade, asked again", "no grade"

SHORT = 100
"""Characters of a reply that is read once: most are a grade and nothing else."""


@dataclass(frozen=True)
class Judging:
    """How a judge grades open answers, several times each.

    What brings no grade is asked once more, with :attr:`again` behind the prompt, as MM-Vet's evaluator does it. Its
    further tries, at temperatures from 0.5 to 2, are not made: a hotter judge is another one.
    """

    question_set: str
    judge: Model
    prompt: str
    again: str
    gradings: int

    def run(self, answer: AnswerRecord, repeat: int, asks: Sequence[Ask]) -> Steps[JudgedRecord]:
        """One grading of one answer, given what the judge is asked for it."""
        if not answer.readable:
            return unread(answer, repeat)
        replies = yield from _replies(asks)
        return JudgedRecord(
            question=answer.question, variant=answer.variant, repeat=repeat, replies=replies, **read(replies)._asdict()
        )

    def calibrate(self, number: int, repeat: int, asks: Sequence[Ask]) -> Steps[JudgedRecord]:
        """One grading of an answer whose grade is known, given what the judge is asked for it."""
        replies = yield from _replies(asks)
        return JudgedRecord(
            question="calibration", variant=number, repeat=repeat, replies=replies, **read(replies)._asdict()
        )

    def asks(self, question: QuestionEntry, answer: AnswerRecord, repeat: int) -> list[Ask]:
        """What the judge is asked first, and what where that brings no grade."""
        return self._asks(question.id, question.question, str(question.answer), answer.text or "", repeat)

    def asks_known(self, known: Known, repeat: int) -> list[Ask]:
        return self._asks("calibration", known.question, known.truth, known.answer, repeat)

    def _asks(self, name: str, question: str, truth: str, prediction: str, repeat: int) -> list[Ask]:
        context = Context(self.question_set, name, repeat + 1)
        prompt = graded_prompt(self.prompt, question, truth, prediction)
        return [Ask(self.judge, "grade", asked, context, repeat) for asked in self.conversations(prompt)]

    def conversations(self, prompt: str) -> list[Conversation]:
        """The first and the second asking of a prompt."""
        return [Conversation((Turn("user", (text,)),)) for text in (prompt, prompt + self.again)]


def _replies(asks: Iterable[Ask]) -> Steps[list[JudgeReply]]:
    """Ask until there is a grade. A call that failed is tried again by the next run, and not here."""
    replies: list[JudgeReply] = []
    for ask in asks:
        result: Result = yield ask
        replies.append(JudgeReply(outcome=result.outcome, text=result.text, served_model=result.served_model))
        if result.outcome is Outcome.FAILED or read(replies).grade is not None:
            break
    return replies


class ReadGrade(NamedTuple):
    """What was read in a judge's replies, by the names of :class:`JudgedRecord`."""

    outcome: Outcome
    how: str
    grade: float | None = None


def read(replies: Sequence[JudgeReply]) -> ReadGrade:
    """The grade in the first reply that holds one."""
    for reply, how in zip(replies, (GRADE, ASKED_AGAIN), strict=False):
        found = _grade_in(reply)
        if found is not None:
            return ReadGrade(Outcome.OK, how, found)
    last = replies[-1].outcome
    return ReadGrade(Outcome.UNPARSED if last.goes_on else last, NO_GRADE)


def _grade_in(reply: JudgeReply) -> float | None:
    text = reply.text or ""
    if not reply.outcome.goes_on:
        return None
    return (_parsed if len(text) <= SHORT else grade.parse_grade)(text, cut=reply.outcome is Outcome.TRUNCATED).value


_parsed = lru_cache(2**10)(grade.parse_grade)


def unread(answer: AnswerRecord, repeat: int) -> JudgedRecord:
    """The grading of an answer that there is nothing to grade in."""
    return JudgedRecord(
        question=answer.question, variant=answer.variant, repeat=repeat, outcome=answer.outcome, how=NO_ANSWER
    )


@lru_cache(1)  # all gradings of an answer come one after the other
def graded_prompt(prompt: str, question: str, truth: str, prediction: str) -> str:
    """The judge's prompt as MM-Vet's evaluator writes it: texts stay as they are, whatever lines and cells they hold,
    and only the ground truth's ``<AND>`` and ``<OR>`` get a blank on either side.

    Source: mm-vet_evaluator.ipynb in github.com/yuweihao/MM-Vet at acde843.

    >>> graded_prompt("{question} | {truth} | {prediction} | ", "What is x?", "-1<AND>-5", "x = |-1|\\nor 5")
    'What is x? | -1 <AND> -5 | x = |-1|\\nor 5 | '
    """
    spaced = truth.replace("<AND>", " <AND> ").replace("<OR>", " <OR> ")
    pieces = {"{question}": question, "{truth}": spaced, "{prediction}": prediction}
    return re.sub("|".join(map(re.escape, pieces)), lambda place: pieces[place[0]], prompt)


class Judged(NamedTuple):
    """What came of a grade stage."""

    grades: list[JudgedRecord]
    calibration: list[JudgedRecord]


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
        return 2 * self._gradings

    @property
    def _gradings(self) -> int:
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
        asks = self.judging.asks(question, answer, repeat) if answer.readable else []
        return Planned(partial(self.judging.run, answer, repeat, asks), _calls(asks))

    def _calibrate(self, run: RunSteps) -> list[JudgedRecord]:
        judging, repeats = self.judging, range(self.judging.gradings)
        return run(
            [
                Planned(partial(judging.calibrate, number, repeat, asks), _calls(asks))
                for number, item in enumerate(CALIBRATION)
                for repeat in repeats
                for asks in [judging.asks_known(item, repeat)]
            ]
        )

    def uncounted(self) -> Sequence[Uncounted]:
        """By the prompt alone, which holds no answer yet."""
        judging = self.judging
        return [(judging.judge, asked, self._gradings) for asked in judging.conversations(judging.prompt)]

    def failures(self, collected: Judged) -> FailedCalls:
        failed = [g.question for g in collected.grades if g.outcome is Outcome.FAILED and g.how != NO_ANSWER]
        return FailedCalls(failed, len(collected.grades), "gradings")

    def write(self, folder: Path, collected: Judged) -> CollectedCard:
        """Write ``records.jsonl``, and beside it ``calibration.jsonl`` and what the judge said there."""
        write_jsonl(folder / RECORDS, collected.grades)
        write_jsonl(folder / CALIBRATION_REPLIES, collected.calibration)
        given: dict[int, list[float | None]] = {}
        for record in collected.calibration:
            given.setdefault(record.variant, []).append(record.grade)
        write_jsonl(
            folder / CALIBRATION_FILE,
            [
                Calibration(
                    question=item.question,
                    answer=item.answer,
                    known=item.grade,
                    forged=item.forged,
                    given=given[number],
                )
                for number, item in enumerate(CALIBRATION)
            ],
        )
        return self.card(
            self.given.data_digest,
            {"judge": (self.judge_name, self.judging.judge)},
            {
                "grade_prompt": self.judging.prompt,
                "grade_again": self.judging.again,
                "gradings": self.judging.gradings,
                "parser": PARSER,
            },
            {"answer": sha256_file(self.given.file)},
        )


def _calls(asks: Iterable[Ask]) -> list[tuple[Component, Conversation | str]]:
    return [(ask.component, ask.conversation) for ask in asks]


def read_again(stored: Iterable[JudgedRecord], answers: Iterable[AnswerRecord]) -> list[JudgedRecord]:
    """The grades in what the judge said of those answers."""
    known = {(answer.question, answer.variant): answer for answer in answers}
    return [_read_again(each, known[key]) for each in stored if (key := (each.question, each.variant)) in known]


def _read_again(record: JudgedRecord, answer: AnswerRecord) -> JudgedRecord:
    if not answer.readable:
        return unread(answer, record.repeat)
    return record.model_copy(update=read(record.replies)._asdict()) if record.replies else record
