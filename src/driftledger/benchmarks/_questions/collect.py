"""How questions are put to a model."""

from collections.abc import Iterator, Sequence
from functools import partial
from string import ascii_uppercase

from driftledger.benchmarks._questions.records import permutation
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.collect.call import Ask, Context, Planned, Steps
from driftledger.core.types import Conversation, Subject
from driftledger.data.question_sets.files import QuestionEntry, QuestionImage


def put(collecting: Collecting, question: QuestionEntry, variant: int = 0, order: Sequence[int] = ()) -> Ask:
    """Return the call for one question.

    Args:
        variant: its number, from 0 on.
        order: of the ids of its options, in which this variant shows them.
    """
    image = QuestionImage(collecting.data / question.image, question.image_sha256)
    shown = [question.options[option] for option in order]
    text = rendered(collecting.protocol["prompt"], question.question, shown)
    asked = Conversation.ask(text, image, Subject(question.id, variant + 1), options=shown)
    return Ask(collecting.model(), "answer", asked, Context(collecting.on, question.id, variant + 1))


def steps(collecting: Collecting) -> Iterator[Planned[list[CollectedRecord]]]:
    """Yield question by question, and per question variant by variant."""
    for question in collecting.questions:
        for variant in range(int(collecting.protocol.get("permutations", 1))):
            order = permutation(collecting.protocol["seed"], question.id, variant, len(question.options))
            ask = put(collecting, question, variant, order)
            yield Planned(partial(_answered, ask, order), [(ask.component, ask.conversation)])


def _answered(ask: Ask, order: list[int]) -> Steps[list[CollectedRecord]]:
    result = yield ask
    answer, extra = RecordedResult.of("model", ask, result), {"order": order} if order else {}
    return [CollectedRecord(unit=ask.context.sample, step=ask.context.t, results=[answer], extra=extra)]


def rendered(prompt: str, question: str, options: Sequence[str]) -> str:
    """``prompt`` with the question and the lettered options in their places, whatever they hold; one line each."""
    lettered = zip(ascii_uppercase, options, strict=False)
    lines = "\n".join(f"{letter}. {' '.join(text.split())}" for letter, text in lettered)
    before, _, after = prompt.partition("{question}")
    return before + question + after.replace("{options}", lines)
