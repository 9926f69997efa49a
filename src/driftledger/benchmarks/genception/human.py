"""The sheet in which people describe images."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.collect.call import Ask, Call, Draw, walk
from driftledger.collect.store import CallStore
from driftledger.components.human import FORM, Human, name_of
from driftledger.core.errors import ConfigError
from driftledger.core.grouping import grouped
from driftledger.core.media import Medium
from driftledger.core.types import Result, Sample
from driftledger.data.sheet_page import PageTask, write_page
from driftledger.data.sheets import Cells, extend_sheet

RULES = (
    "Describe what you see in the picture, without searching for it and without help from a "
    "program.",
)


def write_human_sheet(
    collecting: Collecting, store: CallStore, add: Path | None = None
) -> str:
    """Write the sheet of images that people describe next, with its page, and count them.

    Args:
        add: a sheet that a person has sent back.

    Raises:
        ConfigError: the model is not of provider ``human``, or a sheet cannot be read or added.
    """
    name, person = collecting.components["model"]
    if not isinstance(person, Human):
        raise ConfigError(
            f"models.{name} in params.yaml is not of provider human; name one that is"
        )
    annotator = person.annotator or ""
    if add:
        extend_sheet(person.sheet, FORM, [], annotator, add)
    has_sheet = person.sheet.is_file()
    described = 0

    def answer(call: Call) -> Result | None:
        """Return the description in the sheet, or the drawing of one."""
        nonlocal described
        if not isinstance(call, Ask):
            return store.answer(call)
        [reply] = person.respond([call.conversation]) if has_sheet else [None]
        if reply is None or not reply.outcome.goes_on:
            return None
        described += 1
        return reply

    annotators = _in_turn(collecting.samples, person.annotators)
    rows: dict[str, Cells] = {}
    pictures: dict[str, Medium] = {}
    undrawn = 0
    for planned in collecting.planned:
        call = walk(planned.steps, answer).pending
        if isinstance(call, Draw):
            undrawn += 1
        elif call is not None:
            subject = call.conversation.subject
            image = call.conversation.last_medium
            if subject is not None and image is not None:
                named = name_of(subject, image)
                by = annotators.get(subject.sample, annotator)
                row = {"sample": subject.sample, "t": str(subject.t), "image": named}
                rows[named] = row | {"text": "", "annotator": by}
                pictures[named] = image
    waiting = extend_sheet(person.sheet, FORM, [*rows.values()], annotator)
    task = PageTask("Describe images", collecting.protocol["describe_prompt"], RULES)
    write_page(person.sheet, FORM, waiting, [*pictures.values()], task)
    summary = f"{person.sheet}: {len(rows)} images to describe, {described} described"
    if undrawn:
        summary += f"; {undrawn} wait to be drawn: run 'driftledger run'"
    return summary


def _in_turn(samples: Sequence[Sample], annotators: Sequence[str]) -> dict[str, str]:
    """Divide the samples of each category among people, the next one first in the next."""
    by_sample = {}
    if annotators:
        categories = grouped(samples, lambda sample: sample.category)
        for first, members in enumerate(categories.values()):
            for place, sample in enumerate(members, first):
                by_sample[sample.id] = annotators[place % len(annotators)]
    return by_sample
