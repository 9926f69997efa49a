"""How questions are put to a model."""

from collections.abc import Iterator, Sequence
from functools import partial
from string import ascii_uppercase
from typing import NamedTuple

from driftledger.benchmarks._questions.records import permutation
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.collect.call import Ask, Context, Planned, Steps
from driftledger.core.types import Conversation, Subject
from driftledger.data.question_sets.files import QuestionEntry, QuestionImage


class Put(NamedTuple):
    """A question, put to a model with its options in one order."""

    ask: Ask
    order: list[int]
    """Option ids in the order in which they are shown."""


def put(collecting: Collecting, question: QuestionEntry, variant: int = 0) -> Put:
    """Return the call for one question.

    Args:
        variant: which of the orders of its options is shown, from 0 on.
    """
    order = permutation(collecting.protocol["seed"], question.id, variant, len(question.options))
    image = QuestionImage(collecting.data / question.image, question.image_sha256)
    shown = [question.options[option] for option in order]
    text = rendered(collecting.protocol["prompt"], question.question, shown)
    asked = Conversation.ask(text, image, Subject(question.id, variant + 1), options=shown)
    return Put(Ask(collecting.model(), "answer", asked, Context(collecting.on, question.id, variant + 1)), order)


def steps(collecting: Collecting) -> Iterator[Planned[list[CollectedRecord]]]:
    """Yield question by question, and per question variant by variant."""
    for question in collecting.questions:
        for variant in range(int(collecting.protocol.get("permutations", 1))):
            asked = put(collecting, question, variant)
            step = partial(_answered, question.id, variant + 1, asked)
            yield Planned(step, [(asked.ask.component, asked.ask.conversation)])


def _answered(question: str, step: int, asked: Put) -> Steps[list[CollectedRecord]]:
    result = yield asked.ask
    answer = RecordedResult.of("model", asked.ask, result)
    extra = {"order": asked.order} if asked.order else {}
    return [CollectedRecord(unit=question, step=step, results=[answer], extra=extra)]


def rendered(prompt: str, question: str, options: Sequence[str]) -> str:
    """``prompt`` with the question and the lettered options in their places, whatever they hold; one line each."""
    lettered = zip(ascii_uppercase, options, strict=False)
    lines = "\n".join(f"{letter}. {' '.join(text.split())}" for letter, text in lettered)
    before, _, after = prompt.partition("{question}")
    return before + question + after.replace("{options}", lines)
