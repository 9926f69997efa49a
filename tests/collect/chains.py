"""Chains of describing and drawing over images of eight sizes, and what comes of them."""

from pathlib import Path

from driftledger.collect.call import Ask, Draw
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, Medium, Subject
from tests.conftest import draw
from tests.support.fakes.services import FarGenerator

STORE = Path("store")
"""In the current folder."""
EXPECTED = [[f"{20 + 10 * number + t}x30" for t in range(3)] for number in range(8)]


def eight_images(folder):
    paths = [
        draw(folder / f"{number}.png", number, (20 + 10 * number, 30))
        for number in range(8)
    ]
    return [Medium(path, sha256_file(path)) for path in paths]


def chain(model, generator, image, number, length=3):
    """Describe and draw ``length`` times; the sizes that the model said, or why it ended."""
    said = []
    for t in range(length):
        context = Subject(f"s{number}", t, "d")
        asked = Conversation.ask("What is it?", image)
        described = yield Ask(model, "describe", asked, context)
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


def chains(model, generator, images, steps=chain):
    """Begin a chain at each image."""
    return [steps(model, generator, image, n) for n, image in enumerate(images)]


def run(model, generator, images, folder=STORE, steps=chain):
    """Run a chain over each image, with a store."""
    with CallStore(folder) as store:
        return run_protocols(chains(model, generator, images, steps), store)
