"""The sheet in which people describe images: the same prompt, the same chain, a person in the place of the model."""

from collections.abc import Callable, Sequence

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.spec import chain
from driftledger.benchmarks.collecting import StageInputs
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.collect.call import Ask, Call, Draw, Result, walk
from driftledger.collect.store import CallStore
from driftledger.components.human import SHEET, Human, Pending, write_sheet
from driftledger.core.errors import ConfigError
from driftledger.core.types import Sample


def write_human_sheet(given: StageInputs, store: CallStore) -> str:
    """Write the sheet for the images that people have to describe next, and say how many there are.

    Raises:
        ConfigError: the model is not of provider ``human``, or its path is a CSV file and no folder.
    """
    model, person = given.keys["model"], given.model(given.keys["model"])
    if not isinstance(person, Human):
        raise ConfigError(f"models.{model} in params.yaml is not of provider human; name one that is")
    if person.sheet.name != SHEET:
        raise ConfigError(
            f"models.{model}.path in params.yaml is the file {person.path}; let it be a folder for a sheet"
        )
    collecting = GenCeption().collecting(given)
    samples, request = collecting.samples, ChainRequest.model_validate(collecting.protocol)
    chains = [(sample, repeat) for repeat in range(request.repeats) for sample in samples]
    ends = [walk(chain(collecting, *each), _told_by(person, store)).pending for each in chains]
    by = _assigned(person.annotators, samples)
    pending = [
        _waiting(end, by.get(sample.id)) for (sample, _), end in zip(chains, ends, strict=True) if isinstance(end, Ask)
    ]
    to_describe, described = write_sheet(person.sheet.parent, pending, person.annotator, request.describe_prompt)
    summarised = f"{person.sheet}: {to_describe} images to describe, {described} described"
    undrawn = sum(isinstance(end, Draw) for end in ends)
    return f"{summarised}; {undrawn} described ones wait to be drawn: run 'dvc repro'" if undrawn else summarised


def _told_by(person: Human, store: CallStore) -> Callable[[Call], Result | None]:
    """What the sheet says now, and what was drawn from it."""
    stored, has_sheet = store.answer, person.sheet.is_file()

    def answer(call: Call) -> Result | None:
        if not isinstance(call, Ask):
            return stored(call)
        [reply] = person.respond([call.conversation]) if has_sheet else [None]
        return Result(reply.outcome, text=reply.text) if reply is not None and reply.outcome.goes_on else None

    return answer


def _assigned(annotators: Sequence[str], samples: Sequence[Sample]) -> dict[str, str]:
    """Sample → who describes it: in turn within a category, and the next category begins with the next person."""
    by_category: dict[str | None, list[str]] = {}
    for sample in samples if annotators else ():
        by_category.setdefault(sample.category, []).append(sample.id)
    return {
        name: annotators[(first + place) % len(annotators)]
        for first, names in enumerate(by_category.values())
        for place, name in enumerate(names)
    }


def _waiting(ask: Ask, annotator: str | None) -> Pending:
    subject, image = ask.conversation.subject, ask.conversation.last_image
    if subject is None or image is None:
        raise ValueError("a conversation without a subject or an image cannot be put into a sheet")
    return Pending(subject, image, annotator)
