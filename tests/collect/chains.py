"""Chains of describing and drawing over images of eight sizes, and what comes of them."""

from typing import TypeVar

from driftledger.collect.call import Ask, Draw
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, Medium, Subject
from tests.conftest import draw
from tests.support.fakes.services import FarGenerator

R = TypeVar("R")

EXPECTED = [[f"{20 + 10 * number + t}x30" for t in range(3)] for number in range(8)]


def eight_images(folder):
    paths = [
        draw(folder / f"{number}.png", number, (20 + 10 * number, 30))
        for number in range(8)
    ]
    return [Medium(path, sha256_file(path)) for path in paths]


def chain(model, generator, image, number, length=3):
    """Describe and draw ``length`` times; the sizes that the model said, or why it ended."""
    said: list[str] = []
    for t in range(length):
        context = Subject(f"s{number}", t, "d")
        described = yield Ask(
            model, "describe", Conversation.ask("What is it?", image), context
        )
        if not described.outcome.goes_on:
            return [*said, f"{described.outcome}: {described.error}"]
        said.append((described.text or "").split(" ")[0])
        prompt = said[-1] if isinstance(generator, FarGenerator) else f"draw {said[-1]}"
        drawn = yield Draw(generator, prompt, number, context)
        if drawn.medium is None:
            return [*said, f"{drawn.outcome}: {drawn.error}"]
        image = drawn.medium
    return said


def run_protocols(protocols, store):
    with Collector(store) as collector, Progress("test", total=0) as progress:
        return collector.run(protocols, progress)


def run(model, generator, images, folder):
    with CallStore(folder) as store:
        protocols = [
            chain(model, generator, image, number)
            for number, image in enumerate(images)
        ]
        return run_protocols(protocols, store)
