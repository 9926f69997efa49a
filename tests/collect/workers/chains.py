"""Chains of describing and drawing that any workers can make, for comparing what comes of them."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.collect.call_result import Context, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Draw, Steps
from driftledger.collect.workers.base import InThisProcess, Workers
from driftledger.collect.workers.replicas import Launcher, Replicas
from driftledger.collect.workers.settings import WorkerSettings
from driftledger.components.base import Generator, Model
from driftledger.core.canonical import sha256_file
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, ImageFile
from tests.conftest import draw


def chain(model: Model, generator: Generator, image: ImageFile, number: int) -> Steps[list[Result]]:
    """Describe, draw, describe, draw."""
    results: list[Result] = []
    for t in (1, 2):
        context = Context("d", f"s{number}", t)
        results.append((yield Ask(model, "describe", Conversation.ask(f"s{number}", image), context)))
        if not results[-1].outcome.goes_on:
            break
        results.append((yield Draw(generator, results[-1].text or "", number, context)))
        assert results[-1].image is not None
        image = results[-1].image
    return results


def ask_once(model: Model, image: ImageFile, number: int) -> Steps[Result]:
    """A protocol of one call."""
    return (yield Ask(model, "describe", Conversation.ask(f"s{number}", image), Context("d", f"s{number}", 1)))


def images(folder: Path, count: int) -> list[ImageFile]:
    paths = [draw(folder / "images" / f"{number}.png", number) for number in range(count)]
    return [ImageFile(path, sha256_file(path)) for path in paths]


def run(
    model: Model, generator: Generator, shown: Sequence[ImageFile], store: Path, workers: Workers | None = None
) -> list[list[Result]]:
    """The results of every chain; those of a run by other workers are equal, but for where the images lie."""
    with CallStore(store) as calls, Progress("chain", total=4 * len(shown)) as progress:
        protocols = [chain(model, generator, image, number) for number, image in enumerate(shown)]
        return run_protocols(protocols, calls, progress, most_calls=4, workers=workers)


def rows(results: Sequence[Sequence[Result]]) -> list[list[dict[str, object]]]:
    """Results without where their images lie."""
    return [[result.to_row() for result in chain] for chain in results]


def replicas(launcher: Launcher, count: int) -> Replicas:
    """So many of every component."""
    return Replicas(launcher, lambda _: WorkerSettings(replicas=count, num_cpus=0.25), InThisProcess())
