"""The sheet in which people describe images."""

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.collect.call import Ask, Call, Draw, walk
from driftledger.collect.store import CallStore
from driftledger.components.human import Human, Pending, write_sheet
from driftledger.core.errors import ConfigError
from driftledger.core.grouping import grouped
from driftledger.core.types import Result


def write_human_sheet(collecting: Collecting, store: CallStore) -> str:
    """Write the sheet of images that people describe next, and count them.

    Raises:
        ConfigError: the model is not of provider ``human``.
    """
    name, person = collecting.components["model"]
    if not isinstance(person, Human):
        raise ConfigError(
            f"models.{name} in params.yaml is not of provider human; name one that is"
        )
    samples = collecting.samples
    has_sheet = person.sheet.is_file()
    annotator_of = {}
    if person.annotators:  # in turn, each category from the next one on
        for first, members in enumerate(
            grouped(samples, lambda item: item.category).values()
        ):
            for place, sample in enumerate(members, first):
                annotator_of[sample.id] = person.annotators[
                    place % len(person.annotators)
                ]

    def answer(call: Call) -> Result | None:
        """Return the description in the sheet, or the drawing of one."""
        if not isinstance(call, Ask):
            return store.answer(call)
        [reply] = person.respond([call.conversation]) if has_sheet else [None]
        return reply if reply is not None and reply.outcome.goes_on else None

    pending = []
    undrawn = 0
    for planned in collecting.planned:
        call = walk(planned.steps, answer).pending
        if isinstance(call, Draw):
            undrawn += 1
        elif call is not None:
            subject = call.conversation.subject
            image = call.conversation.last_medium
            if subject is not None and image is not None:
                pending.append(
                    Pending(subject, image, annotator_of.get(subject.sample))
                )
    to_describe, described = write_sheet(
        person.sheet.parent,
        pending,
        person.annotator,
        collecting.protocol["describe_prompt"],
    )
    summary = f"{person.sheet}: {to_describe} images to describe, {described} described"
    if undrawn:
        summary += f"; {undrawn} described ones wait to be drawn: run 'dvc repro'"
    return summary
