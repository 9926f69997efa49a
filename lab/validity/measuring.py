"""What each checkpoint does with held-out arrangements, and how far a chain comes without faults in
describing.

Written by ``python -m lab.trio measure`` into ``reports/trio.json``.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

from driftledger.benchmarks.base.benchmark import Collecting, Scoring
from driftledger.benchmarks.base.chains.records import ChainRequest
from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.features import encode_media, encode_texts
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.commands.collect import ask
from driftledger.components.base import Encoder, Generator, Model
from driftledger.core.files import write_json
from driftledger.core.types import Conversation
from driftledger.data.build import build
from driftledger.data.records import read_samples
from driftledger.metrics.retrieval import top1
from driftledger.project.project import Project
from driftledger.project.settings import Settings
from driftledger_demo.datasets.arrangements.grammar import Arrangement
from driftledger_demo.datasets.arrangements.provider import Arrangements
from lab.trio.settings import genception_of, load_trio
from lab.validity.faultless import Faultless, shown_in

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
    target = project.root / "reports/trio.json"
    with TemporaryDirectory() as folder:
        bench = Bench(settings, Path(folder), trio.measured.iterations)
        encoders = {
            name: settings.build("encoders", name) for name in trio.measured.encoders
        }
        painters, describers = {}, {}
        for name, steps in trio.generators.items():
            generator = settings.build("generators", name)
            ceiling = {
                seen: bench.ceiling(generator, encoder)
                for seen, encoder in encoders.items()
            }
            painters[name] = {
                "steps": steps,
                "things": bench.redrawn(generator),
                "ceiling": ceiling,
            }
        for name, steps in trio.models.items():
            describers[name] = {
                "steps": steps,
                "exact": bench.exact(settings.build("models", name)),
            }
        retrieval = bench.retrieval(settings.build("encoders", trio.measured.retrieval))
        write_json(
            target,
            {
                "schema": 2,
                "describers": describers,
                "painters": painters,
                "retrieval": retrieval,
            },
        )


def share(hits: Iterable[object]) -> dict[str, float]:
    """Return the share of what is true, with its 95 % Wilson interval.

    Source: Wilson 1927, "Probable Inference, the Law of Succession, and Statistical Inference".

    >>> share([True, True, True, False])
    {'share': 0.75, 'low': 0.300642, 'high': 0.954413, 'right': 3, 'of': 4}
    """
    from scipy.stats import binomtest

    known = [bool(hit) for hit in hits]
    right, of = sum(known), len(known)
    low, high = binomtest(right, of).proportion_ci(0.95, method="wilson")
    rounded = {
        name: round(float(value), 6)
        for name, value in (("share", right / of), ("low", low), ("high", high))
    }
    return {**rounded, "right": right, "of": of}


class Bench:
    """Where things are measured: a folder that may be thrown away afterwards."""

    def __init__(self, settings: Settings, folder: Path, iterations: int) -> None:
        self.settings, self.folder, self.iterations = settings, folder, iterations
        build("held_out", _HELD_OUT, folder / "held_out")
        build(
            "arrangements",
            settings.build("datasets", "arrangements"),
            folder / "arrangements",
        )
        self.samples = read_samples(folder / "held_out")
        self.truths = [shown_in(sample.medium.open()) for sample in self.samples]

    def exact(self, model: Model) -> dict[str, float]:
        """Of held-out arrangements, the share that is described word for word as the caption
        does."""
        prompt = genception_of(self.settings).describe_prompt
        asked = [Conversation.ask(prompt, sample.medium) for sample in self.samples]
        said = [
            reply.text
            for some in _batches(asked, model.batch_size)
            for reply in model.respond(some)
        ]
        return share(
            text == truth.caption for text, truth in zip(said, self.truths, strict=True)
        )

    def redrawn(self, generator: Generator) -> dict[str, float]:
        """Of the things in true captions, the share that is drawn in its cell with its colour and
        its shape."""
        template = genception_of(self.settings).generate_prompt
        asked = [
            template.replace("{description}", truth.caption) for truth in self.truths
        ]
        made = [
            one
            for numbers in _batches(range(len(asked)), generator.batch_size)
            for one in generator.generate(
                [asked[number] for number in numbers], list(numbers)
            )
        ]
        drawn = [
            _looks(shown_in(one.image)) if one.image is not None else set()
            for one in made
        ]
        return share(
            look in some
            for some, truth in zip(drawn, self.truths, strict=True)
            for look in _looks(truth)
        )

    def ceiling(self, generator: Generator, encoder: Encoder) -> list[dict[str, float]]:
        """GC@1 … GC@T of a model that describes without fault, over the dataset
        ``arrangements``."""
        drawn = self.folder / "arrangements"
        settings, seed = genception_of(self.settings), self.settings.run.seed
        asked = ChainRequest(
            iterations=self.iterations,
            describe_prompt=settings.describe_prompt,
            max_tokens=None,
            generate_prompt=settings.generate_prompt,
            seed=seed,
        )
        keys = {
            "dataset": "arrangements",
            "model": "faultless",
            "generator": "generator",
            "encoder": "encoder",
        }
        target = self.folder / "chains" / generator.fingerprint
        if not target.is_dir():
            asks = {
                "model": ("faultless", Faultless()),
                "generator": ("generator", generator),
            }
            collecting = Collecting(
                spec=benchmark("genception"),
                keys=keys,
                data=drawn,
                components=asks,
                protocol=asked.model_dump(mode="json"),
            )
            with (
                CallStore(self.folder / "calls") as store,
                Collector(store) as collector,
            ):
                write_collected(target, collecting, ask(collecting, collector))
        given = Scoring(
            spec=benchmark("genception"),
            keys=keys,
            folders={"dataset": drawn, "chain": target},
            section=settings.model_copy(update={"iterations": self.iterations}),
            seed=seed,
            encoders={"encoder": encoder},
        )
        score = benchmark("genception").score(given).score
        rounded = []
        for number in score.over_t("gc"):
            ends = number.model_dump(include={"value", "low", "high"})
            rounded.append({name: round(end, _DIGITS) for name, end in ends.items()})
        return rounded

    def retrieval(self, encoder: Encoder) -> dict[str, Any]:
        """Among 100 captions the nearest to each image, and among their images the nearest to each
        caption."""
        captions = [truth.caption for truth in self.truths[:_AMONG]]
        seen = encode_media(
            encoder, (sample.medium for sample in self.samples[:_AMONG])
        )
        read = encode_texts(encoder, captions)
        return {
            "image_to_text": _right(top1(read, captions, seen), captions),
            "text_to_image": _right(top1(seen, captions, read), captions),
        }


def _looks(arrangement: Arrangement) -> set[tuple[int, str, str]]:
    """Cell, colour and shape of each thing."""
    return {(thing.cell, thing.colour, thing.shape) for thing in arrangement.things}


def _right(taken: Sequence[str], own: Sequence[str]) -> dict[str, float]:
    return share(one == other for one, other in zip(taken, own, strict=True))


def _batches(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
