"""What each checkpoint does with held-out arrangements, and how far a chain comes without faults in describing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from driftledger.benchmarks._chains.collect import ChainProtocol, CollectChains
from driftledger.benchmarks._chains.records import ChainRequest, generation_prompt
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import write_collected
from driftledger.benchmarks.scoring import ToScore
from driftledger.collect.features import encode_images, encode_texts
from driftledger.collect.store import CallStore
from driftledger.components.base import Encoder, Generator, Model
from driftledger.core.files import read_json, write_json
from driftledger.core.types import Conversation, Sample
from driftledger.data.datasets.base import DatasetProvider
from driftledger.data.datasets.build import build
from driftledger.data.records import DatasetCard, read_samples
from driftledger.demo.datasets.arrangements.grammar import Arrangement
from driftledger.demo.datasets.arrangements.provider import Arrangements
from driftledger.demo.models.faultless import Faultless, shown_in
from driftledger.metrics.retrieval import top1
from driftledger.project.asking import ask
from driftledger.project.project import Project
from driftledger.project.settings import Settings
from lab.trio.settings import genception_of, load_trio
from lab.validity.measured import MEASURED, Describer, Interval, Measured, Painter, Retrieval, Share, share

Item = TypeVar("Item")

_HELD_OUT = Arrangements(per_category=50, seed=2)
"""Others than those that the benchmarks go over."""
_AMONG = 100
"""Captions that retrieval chooses from."""
_DIGITS = 4
"""Of GC: its last bits are other ones on other processors."""


def measure_trio(project: Project) -> None:
    """Measure every checkpoint, into ``reports/trio.json``."""
    trio, settings = load_trio(project.root), project.settings
    target = project.root / MEASURED
    with project.only_one(target), TemporaryDirectory() as folder:
        bench = Bench(settings, Path(folder), trio.measured.iterations)
        encoders = {name: settings.encoder(name) for name in trio.measured.encoders}
        painters = {}
        for name, steps in trio.generators.items():
            generator = settings.generator(name)
            ceiling = {seen: bench.ceiling(generator, encoder) for seen, encoder in encoders.items()}
            painters[name] = Painter(steps, bench.redrawn(generator), ceiling)
        exact = {name: bench.exact(settings.model(name)) for name in trio.models}
        describers = {name: Describer(steps, exact[name]) for name, steps in trio.models.items()}
        retrieval = bench.retrieval(settings.encoder(trio.measured.retrieval))
        write_json(target, Measured(describers=describers, painters=painters, retrieval=retrieval))


@dataclass(frozen=True)
class Drawn:
    """A built dataset of arrangements, with what its images measure as."""

    folder: Path
    card: DatasetCard
    samples: list[Sample]

    @cached_property
    def truths(self) -> list[Arrangement]:
        return [shown_in(sample.image.open()) for sample in self.samples]


@dataclass(frozen=True)
class Bench:
    """Where things are measured: a folder that may be thrown away afterwards."""

    settings: Settings
    folder: Path
    iterations: int
    """T of chains."""

    def exact(self, model: Model) -> Share:
        """Of held-out arrangements, those that are described word for word as their caption does."""
        prompt = genception_of(self.settings).describe_prompt
        asked = [Conversation.ask(prompt, sample.image) for sample in self._held_out.samples]
        said = [reply.text for some in _batches(asked, model.batch_size) for reply in model.respond(some)]
        return share(text == truth.caption for text, truth in zip(said, self._held_out.truths, strict=True))

    def redrawn(self, generator: Generator) -> Share:
        """Of the things in true captions, those that are drawn in their cell with their colour and their shape."""
        truths, template = self._held_out.truths, genception_of(self.settings).generate_prompt
        asked = [generation_prompt(template, truth.caption) for truth in truths]
        made = [
            one
            for numbers in _batches(range(len(asked)), generator.batch_size)
            for one in generator.generate([asked[number] for number in numbers], list(numbers))
        ]
        there = [_looks(shown_in(one.image)) if one.image is not None else set() for one in made]
        return share(look in drawn for drawn, truth in zip(there, truths, strict=True) for look in _looks(truth))

    def ceiling(self, generator: Generator, encoder: Encoder) -> list[Interval]:
        """GC@1 … GC@T of a model that describes without fault, over the dataset ``arrangements``."""
        drawn = self._drawn("arrangements", self.settings.dataset("arrangements"))
        settings, seed = genception_of(self.settings), self.settings.run.seed
        asked = ChainRequest(
            iterations=self.iterations,
            describe_prompt=settings.describe_prompt,
            max_tokens=None,
            generate_prompt=settings.generate_prompt,
            seed=seed,
        )
        keys = {"dataset": "arrangements", "model": "faultless", "generator": "generator", "encoder": "encoder"}
        target = self.folder / "chains" / generator.fingerprint
        if not target.is_dir():
            chains = ChainProtocol(drawn.card, Faultless(), generator, asked)
            collecting = CollectChains("genception", "chain", keys, chains, drawn.samples)
            with CallStore(self.folder / "calls") as store:
                write_collected(target, collecting, ask(collecting, store))
        given = ToScore(
            keys=keys,
            folders={"dataset": drawn.folder, "chain": target},
            scoring=GenCeptionScoring(confidence=settings.confidence, seed=seed, iterations=self.iterations),
            min_coverage=settings.min_coverage,
            encoders={"encoder": encoder},
        )
        score = runner("genception").score(given).score
        return [
            Interval(*(round(score.metrics[f"gc_at_{t}{end}"], _DIGITS) for end in ("", "_low", "_high")))
            for t in range(1, self.iterations + 1)
        ]

    def retrieval(self, encoder: Encoder) -> Retrieval:
        """Among 100 captions the nearest to each image, and among their images the nearest to each caption."""
        samples, truths = self._held_out.samples[:_AMONG], self._held_out.truths[:_AMONG]
        captions = [truth.caption for truth in truths]
        seen = encode_images(encoder, (sample.image for sample in samples))
        read = encode_texts(encoder, captions)
        return Retrieval(
            image_to_text=_found(top1(read, captions, seen), captions),
            text_to_image=_found(top1(seen, captions, read), captions),
        )

    @cached_property
    def _held_out(self) -> Drawn:
        return self._drawn("held_out", _HELD_OUT)

    def _drawn(self, name: str, dataset: DatasetProvider) -> Drawn:
        folder = self.folder / "datasets" / name
        if not folder.is_dir():
            build(name, dataset, folder)
        return Drawn(folder, read_json(folder / "dataset.json", DatasetCard), read_samples(folder))


def _looks(arrangement: Arrangement) -> set[tuple[int, str, str]]:
    """Cell, colour and shape of each thing."""
    return {(thing.cell, thing.colour, thing.shape) for thing in arrangement.things}


def _found(taken: Sequence[str], own: Sequence[str]) -> Share:
    return share(one == other for one, other in zip(taken, own, strict=True))


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
