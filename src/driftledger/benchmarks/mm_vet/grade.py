"""What a judge gives each answer, several times, with a fixed few-shot prompt."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing import grade
from driftledger.benchmarks._questions.records import NO_ANSWER, AnswerRecord
from driftledger.benchmarks._questions.runner import GivenAnswers
from driftledger.benchmarks._questions.scoring import ANSWER
from driftledger.benchmarks.mm_vet.calibration import CALIBRATION, Known
from driftledger.benchmarks.mm_vet.records import CALIBRATION as CALIBRATION_FILE
from driftledger.benchmarks.mm_vet.records import CALIBRATION_REPLIES, Calibration, JudgedRecord, JudgeReply
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, RunSteps
from driftledger.collect.call import Ask, Context, NotStoredError, Planned, Steps, Uncounted
from driftledger.components.base import Component, Model
from driftledger.core.canonical import sha256_file
from driftledger.core.files import write_jsonl
from driftledger.core.types import Conversation, Outcome, Turn
from driftledger.data.question_sets.files import QuestionEntry

GRADE, ASKED_AGAIN, NO_GRADE = "grade", "grade, asked again", "no grade"


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

    def run(
        self, question: str, variant: int, repeat: int, asks: Sequence[Ask], unread: Outcome
    ) -> Steps[JudgedRecord]:
        """One grading: ask until there is a grade. A call that failed is tried again by the next run, and not here.

        Args:
            asks: what the judge is asked first, and what where that brings no grade; empty if there is no answer.
            unread: the outcome in that case.
        """
        replies: list[JudgeReply] = []
        for ask in asks:
            result = yield ask
            replies.append(JudgeReply(outcome=result.outcome, text=result.text, served_model=result.served_model))
            if result.outcome is Outcome.FAILED or _grade_in(replies[-1]) is not None:
                break
        return judged(JudgedRecord(question=question, variant=variant, repeat=repeat, outcome=unread, how=""), replies)

    def asks(self, question: QuestionEntry, answer: AnswerRecord, repeat: int) -> list[Ask]:
        """What the judge is asked first, and what where that brings no grade."""
        return self._asks(question.id, question.question, str(question.answer), answer.text or "", repeat)

    def asks_known(self, known: Known, repeat: int) -> list[Ask]:
        """The same of an answer whose grade is known."""
        return self._asks("calibration", known.question, known.truth, known.answer, repeat)

    def _asks(self, name: str, question: str, truth: str, prediction: str, repeat: int) -> list[Ask]:
        context = Context(self.question_set, name, repeat + 1)
        prompt = graded_prompt(self.prompt, question, truth, prediction)
        return [Ask(self.judge, "grade", asked, context, repeat) for asked in self.conversations(prompt)]

    def conversations(self, prompt: str) -> list[Conversation]:
        """The first and the second asking of a prompt."""
        return [Conversation((Turn("user", (text,)),)) for text in (prompt, prompt + self.again)]


def judged(record: JudgedRecord, replies: Sequence[JudgeReply]) -> JudgedRecord:
    """``record`` with the grade in the first reply that holds one; its outcome stays where there is none to read."""
    for reply, how in zip(replies, (GRADE, ASKED_AGAIN), strict=False):
        if (found := _grade_in(reply)) is not None:
            read = {"outcome": Outcome.OK, "how": how, "grade": found}
            break
    else:
        last = replies[-1].outcome if replies else record.outcome
        outcome = Outcome.UNPARSED if replies and last.goes_on else last
        read = {"outcome": outcome, "how": NO_GRADE if replies else NO_ANSWER, "grade": None}
    return record.model_copy(update={**read, "replies": list(replies)})


def _grade_in(reply: JudgeReply) -> float | None:
    if not reply.outcome.goes_on:
        return None
    return grade.parse_grade(reply.text or "", cut=reply.outcome is Outcome.TRUNCATED).value


def read_again(stored: Iterable[JudgedRecord], answers: Iterable[AnswerRecord]) -> list[JudgedRecord]:
    """The grades in what the judge said of those answers."""
    known = {(answer.question, answer.variant): answer for answer in answers}
    pairs = [(each, known[key]) for each in stored if (key := (each.question, each.variant)) in known]
    return [
        judged(each.model_copy(update={"outcome": answer.outcome}), each.replies if answer.readable else [])
        for each, answer in pairs
    ]


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
        answers = [
            self._planned(answer.question, answer.variant, repeat, asks, answer.outcome)
            for answer in self.given.answers
            for repeat in repeats
            for asks in [self.judging.asks(questions[answer.question], answer, repeat) if answer.readable else []]
        ]
        calibration = [
            self._planned("calibration", number, repeat, self.judging.asks_known(known, repeat), Outcome.FAILED)
            for number, known in enumerate(CALIBRATION)
            for repeat in repeats
        ]
        try:
            grades = run(answers)
        except NotStoredError:  # calls are only counted: these are as well
            run(calibration)
            raise
        return Judged(grades, run(calibration))

    def _planned(
        self, question: str, variant: int, repeat: int, asks: list[Ask], unread: Outcome
    ) -> Planned[JudgedRecord]:
        steps = partial(self.judging.run, question, variant, repeat, asks, unread)
        return Planned(steps, [(ask.component, ask.conversation) for ask in asks])

    def uncounted(self) -> Sequence[Uncounted]:
        """Estimate from the prompt without an answer."""
        judging = self.judging
        return [(judging.judge, asked, self._gradings) for asked in judging.conversations(judging.prompt)]

    def failures(self, collected: Judged) -> FailedCalls:
        failed = [g.question for g in collected.grades if g.outcome is Outcome.FAILED and g.how != NO_ANSWER]
        return FailedCalls(failed, len(collected.grades), "gradings")

    def write(self, folder: Path, collected: Judged) -> CollectedCard:
        """Write ``records.jsonl``, and beside it ``calibration.jsonl`` and what the judge said there."""
        write_jsonl(folder / RECORDS, collected.grades)
        write_jsonl(folder / CALIBRATION_REPLIES, collected.calibration)
        given: dict[int, list[float | None]] = {number: [] for number in range(len(CALIBRATION))}
        for record in collected.calibration:
            given[record.variant].append(record.grade)
        known = [
            Calibration(question=k.question, answer=k.answer, known=k.grade, forged=k.forged, given=given[number])
            for number, k in enumerate(CALIBRATION)
        ]
        write_jsonl(folder / CALIBRATION_FILE, known)
        judging = self.judging
        protocol = {"grade_prompt": judging.prompt, "grade_again": judging.again, "gradings": judging.gradings}
        return self.card(
            self.given.data_digest,
            {"judge": (self.judge_name, judging.judge)},
            {**protocol, "parser": grade.VERSION},
            {ANSWER: sha256_file(self.given.file)},
        )
