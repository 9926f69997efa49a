"""Runs a benchmark of questions: every question to one model, and each answer read as the benchmark reads it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any, ClassVar

from driftledger.benchmarks._questions.records import NO_ANSWER, AnswerRecord, GradeRecord, permutation
from driftledger.benchmarks._questions.scoring import ANSWER, DATA, GRADE
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, called, recorded_result
from driftledger.benchmarks.runner import Caller, Collecting, FailedCalls, RecordedCall, Reread, Runner, StageInputs
from driftledger.collect.call import Ask, Context, Planned, RunSteps, Steps
from driftledger.components.base import Component, Model
from driftledger.core.canonical import sha256_file
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.text import for_line
from driftledger.core.types import Conversation, Outcome, Subject
from driftledger.data.question_sets.files import CARD as QUESTION_SET_CARD
from driftledger.data.question_sets.files import QuestionEntry, QuestionImage, QuestionSetCard, read_questions


@dataclass(frozen=True)
class AnswerProtocol:
    """How the questions of a set are put to a model."""

    folder: Path
    """Of the question set."""
    name: str
    model: Model
    prompt: str
    seed: int

    def ask(self, question: QuestionEntry, variant: int) -> Ask:
        """The call for one question, with its options in one order."""
        image = QuestionImage(self.folder / question.image, question.image_sha256)
        shown = [question.options[option] for option in self.order(question, variant)]
        text = rendered(self.prompt, question.question, shown)
        asked = Conversation.ask(text, image, Subject(question.id, variant + 1), options=shown)
        return Ask(self.model, "answer", asked, Context(self.name, question.id, variant + 1))

    def run(self, question: QuestionEntry, variant: int, ask: Ask) -> Steps[AnswerRecord]:
        """Make that call."""
        result = yield ask
        order, about = self.order(question, variant), called(result)
        return AnswerRecord(question=question.id, variant=variant, order=order, text=result.text, **about)

    def order(self, question: QuestionEntry, variant: int) -> list[int]:
        return permutation(self.seed, question.id, variant, len(question.options))


def rendered(prompt: str, question: str, options: Sequence[str]) -> str:
    """``prompt`` with the question and the lettered options in their places, whatever they hold; one line each."""
    lettered = zip(ascii_uppercase, options, strict=False)
    lines = "\n".join(f"{letter}. {' '.join(text.split())}" for letter, text in lettered)
    before, _, after = prompt.partition("{question}")
    return before + question + after.replace("{options}", lines)


@dataclass(frozen=True)
class CollectAnswers(Collecting[list[AnswerRecord]]):
    """An answer stage: all questions of a set, to one model."""

    protocol: AnswerProtocol
    questions: Sequence[QuestionEntry]
    data_digest: str
    asked: Mapping[str, Any]
    """The settings that say how; ``permutations``: how often each question is asked, in other orders of its options."""

    things: ClassVar[str] = "answers"

    @property
    def components(self) -> Sequence[Component]:
        return (self.protocol.model,)

    @property
    def calls(self) -> int:
        return len(self.questions) * self._variants

    @property
    def _variants(self) -> int:
        return int(self.asked.get("permutations", 1))

    def run(self, run: RunSteps) -> list[AnswerRecord]:
        """Question by question, and per question variant by variant."""
        planned = []
        for question in self.questions:
            for variant in range(self._variants):
                ask = self.protocol.ask(question, variant)
                steps = partial(self.protocol.run, question, variant, ask)
                planned.append(Planned(steps, [(ask.component, ask.conversation)]))
        return run(planned)

    def about(self) -> CollectedCard:
        return self.card(self.data_digest, {"model": (self.keys["model"], self.protocol.model)}, self.asked)


@dataclass(frozen=True)
class GivenAnswers:
    """The answers that a grade stage goes on from."""

    questions: Sequence[QuestionEntry]
    answers: Sequence[AnswerRecord]
    file: Path
    """Where they are once they are written."""
    data_digest: str
    """Of the question set."""


@dataclass(frozen=True)
class CollectReadings(Collecting[list[GradeRecord]]):
    """A grade stage whose answers are read by a parser, which asks nobody."""

    given: GivenAnswers
    runner: "QuestionRunner"

    def run(self, run: RunSteps) -> list[GradeRecord]:
        return self.runner.readings(self.given.questions, self.given.answers)

    def failures(self, collected: list[GradeRecord]) -> FailedCalls:
        return FailedCalls([], len(collected), "readings")

    def write(self, folder: Path, collected: list[GradeRecord]) -> CollectedCard:
        write_jsonl(folder / RECORDS, collected)
        records = {ANSWER: sha256_file(self.given.file)}
        return self.card(self.given.data_digest, {}, {"parser": self.runner.parser}, records)


class QuestionRunner(Runner):
    """Puts every question to the model, and reads the answers or has them graded."""

    parser: ClassVar[str]
    """The version of what reads the answers, or a judge's grades."""
    record: ClassVar[type[GradeRecord]]

    def parsed(self, question: QuestionEntry, answer: AnswerRecord) -> Mapping[str, Any]:
        """``outcome``, ``how`` and what was read in an answer that has a text, by the names of :attr:`record`."""
        raise NotImplementedError(f"a judge grades the answers of {self.spec.name}")

    def readings(self, questions: Sequence[QuestionEntry], answers: Sequence[AnswerRecord]) -> list[GradeRecord]:
        """What each answer is read as."""
        by_id = {question.id: question for question in questions}
        records = []
        for answer in answers:
            unread = {"outcome": answer.outcome, "how": NO_ANSWER}
            read = self.parsed(by_id[answer.question], answer) if answer.readable else unread
            records.append(self.record(question=answer.question, variant=answer.variant, **read))
        return records

    def grading(self, given: StageInputs, answers: GivenAnswers) -> Collecting[Any]:
        """The grade stage."""
        return CollectReadings(self.spec.name, GRADE, given.keys, answers, self)

    def collecting(self, given: StageInputs, stage: str, earlier: Mapping[str, Any] | None = None) -> Collecting[Any]:
        folder, keys = given.data(), given.keys
        card, questions = read_json(folder / QUESTION_SET_CARD, QuestionSetCard), read_questions(folder)
        if stage == ANSWER:
            asked = {name: getattr(given.section, name) for name in self.spec.collects[0].settings}
            asked["seed"] = given.seed
            protocol = AnswerProtocol(folder, card.name, given.model(keys["model"]), asked["prompt"], given.seed)
            return CollectAnswers(self.spec.name, stage, keys, protocol, questions, card.digest, asked)
        file = given.folders[ANSWER] / RECORDS
        answers = read_jsonl(file, AnswerRecord) if earlier is None else earlier.get(ANSWER, [])
        return self.grading(given, GivenAnswers(questions, answers, file, card.digest))

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        path, folder, data = paths[ANSWER], where(ANSWER), where(DATA)
        card, answers = read_json(folder / CARD, CollectedCard), read_jsonl(folder / RECORDS, AnswerRecord)

        def calls(model: Model) -> Iterator[RecordedCall]:
            questions = {question.id: question for question in read_questions(data)}
            name = read_json(data / QUESTION_SET_CARD, QuestionSetCard).name
            protocol = AnswerProtocol(data, name, model, card.protocol["prompt"], card.protocol["seed"])
            for answer in answers:
                if answer.text and answer.outcome is not Outcome.FAILED:
                    place = f"{path}/{RECORDS}: {answer.question}, variant {answer.variant}: text"
                    call = partial(protocol.ask, questions[answer.question], answer.variant)
                    result = recorded_result(answer, answer.text)
                    yield RecordedCall("answer", model, place, call, answer.text, result=result)

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

    def read_again(
        self, questions: Sequence[QuestionEntry], answers: Sequence[AnswerRecord], graded: Path
    ) -> Sequence[GradeRecord]:
        """The records of the grade stage, in the folder ``graded``, read once more; errors as in :meth:`reread`."""
        return self.readings(questions, answers)
