"""The sheet in which people describe images: the same prompt, the same chain, a person in the place
of the model."""

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.spec import chain
from driftledger.benchmarks.collecting import StageInputs
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.collect.call import Ask, Call, Draw, walk
from driftledger.collect.store import CallStore
from driftledger.components.human import Human, Pending, write_sheet
from driftledger.core.errors import ConfigError
from driftledger.core.grouping import grouped
from driftledger.core.types import Result


def write_human_sheet(given: StageInputs, store: CallStore) -> str:
    """Write the sheet for the images that people have to describe next, and say how many there are.

    Raises:
        ConfigError: the model is not of provider ``human``.
    """
    model, person = given.keys["model"], given.model(given.keys["model"])
    if not isinstance(person, Human):
        raise ConfigError(
            f"models.{model} in params.yaml is not of provider human; name one that is"
        )
    collecting = GenCeption().collecting(given)
    samples, request = collecting.samples, ChainRequest.model_validate(collecting.protocol)
    has_sheet, annotator_of = person.sheet.is_file(), dict[str, str]()
    for first, some in enumerate(grouped(samples, lambda sample: sample.category).values()):
        for place, sample in enumerate(
            some if person.annotators else ()
        ):  # in turn, each category from the next one on
            annotator_of[sample.id] = person.annotators[(first + place) % len(person.annotators)]

    def answer(call: Call) -> Result | None:
        """Return what the sheet says now, or what was drawn from it."""
        if not isinstance(call, Ask):
            return store.answer(call)
        [reply] = person.respond([call.conversation]) if has_sheet else [None]
        return reply if reply is not None and reply.outcome.goes_on else None

    chains = [(sample, repeat) for repeat in range(request.repeats) for sample in samples]
    calls = [walk(chain(collecting, *each), answer).pending for each in chains]
    conversations = [call.conversation for call in calls if isinstance(call, Ask)]
    pending = [
        Pending(subject, image, annotator_of.get(subject.sample))
        for each in conversations
        if (subject := each.subject) is not None and (image := each.last_medium) is not None
    ]
    to_describe, described = write_sheet(
        person.sheet.parent, pending, person.annotator, request.describe_prompt
    )
    summary = f"{person.sheet}: {to_describe} images to describe, {described} described"
    undrawn = sum(isinstance(call, Draw) for call in calls)
    return (
        f"{summary}; {undrawn} described ones wait to be drawn: run 'dvc repro'"
        if undrawn
        else summary
    )
