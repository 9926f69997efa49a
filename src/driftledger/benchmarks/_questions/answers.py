"""The collecting half: every question to one model, with its options in each of the stored orders."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from driftledger.benchmarks._questions.records import AnswerRecord, permutation
from driftledger.benchmarks.records import RECORDS, CollectedCard, called
from driftledger.benchmarks.runner import Collecting, FailedCalls, Planned, RunSteps
from driftledger.collect.call import Ask, Context, Steps
from driftledger.components.base import Component, Model
from driftledger.core.files import write_jsonl
from driftledger.core.types import Conversation, Outcome, Subject
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard
from driftledger.data.question_sets.images import QuestionImage

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class AnswerProtocol:
    """What is fixed for all questions of an answer stage."""

    card: QuestionSetCard
    folder: Path
    """Of the question set."""
    model: Model
    prompt: str
    seed: int

    def run(self, question: QuestionEntry, variant: int) -> Steps[AnswerRecord]:
        """One question, with its options in one order."""
        order = self.order(question, variant)
        return self.put(question, variant, order, self.asked(question, variant, order))

    def put(self, question: QuestionEntry, variant: int, order: list[int], asked: Conversation) -> Steps[AnswerRecord]:
        """The same, given the order of that variant and what the model is given."""
        result = yield Ask(self.model, "answer", asked, Context(self.card.name, question.id, variant + 1))
        return AnswerRecord(
            question=question.id,
            variant=variant,
            order=order,
            text=result.text,
            **called(result),
        )

    def order(self, question: QuestionEntry, variant: int) -> list[int]:
        return permutation(self.seed, question.id, variant, len(question.options))

    def asked(self, question: QuestionEntry, variant: int, order: Sequence[int]) -> Conversation:
        """What the model is given."""
        image = QuestionImage(self.folder / question.image, question.image_sha256)
        shown = [question.options[option] for option in order]
        text = rendered(self.prompt, question.question, shown)
        return Conversation.ask(text, image, Subject(question.id, variant + 1), options=shown)


def rendered(prompt: str, question: str, options: Sequence[str]) -> str:
    """``prompt`` with the question and the lettered options in their places, whatever they hold; one line each."""
    lines = "\n".join(f"{letter}. {' '.join(text.split())}" for letter, text in zip(LETTERS, options, strict=False))
    before, _, after = prompt.partition("{question}")
    return before + question + after.replace("{options}", lines)


@dataclass(frozen=True)
class CollectAnswers(Collecting[list[AnswerRecord]]):
    """An answer stage: all questions of a set, to one model."""

    protocol: AnswerProtocol
    questions: Sequence[QuestionEntry]
    variants: int
    """How often each question is asked: once per permutation of its options, where it has any."""
    asked: Mapping[str, Any]
    """The part of the benchmark's protocol that says how."""

    @property
    def components(self) -> Sequence[Component]:
        return (self.protocol.model,)

    @property
    def calls(self) -> int:
        return len(self.questions) * self.variants

    def run(self, run: RunSteps) -> list[AnswerRecord]:
        """Question by question, and per question variant by variant."""
        asked = [(question, variant) for question in self.questions for variant in range(self.variants)]
        return run([self._planned(each) for each in asked])

    def _planned(self, asked_for: tuple[QuestionEntry, int]) -> Planned[AnswerRecord]:
        question, variant = asked_for
        protocol, order = self.protocol, self.protocol.order(question, variant)
        asked = protocol.asked(question, variant, order)
        return Planned(partial(protocol.put, question, variant, order, asked), [(protocol.model, asked)])

    def failures(self, collected: list[AnswerRecord]) -> FailedCalls:
        failed = [f"{a.question}: {a.error or 'no reason given'}" for a in collected if a.outcome is Outcome.FAILED]
        return FailedCalls(failed, len(collected), "answers")

    def write(self, folder: Path, collected: list[AnswerRecord]) -> CollectedCard:
        """Write ``records.jsonl``."""
        write_jsonl(folder / RECORDS, collected)
        return self.card(self.protocol.card.digest, {"model": (self.keys["model"], self.protocol.model)}, self.asked)
