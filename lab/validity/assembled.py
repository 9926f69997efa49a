"""``reports/validity.json``: every metric, ranked over the stages of the model and the versions of the generator."""

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Literal, cast

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import ConfigError, StoreError, unknown_name
from driftledger.core.files import Record
from driftledger.core.grouping import grouped
from driftledger.project.settings import Settings
from lab.validity.collected import Place, Readings, Source, collect
from lab.validity.families import Family, Held, Together, families, together
from lab.validity.iterating import Iterated, iterating
from lab.validity.measured import MEASURED, Interval, Measured, Retrieval, Rounded, Share
from lab.validity.ranked import Drawing, Point, Ranking, Rungs, point_of, rank
from lab.validity.scores import Reading
from lab.validity.stages import Stages, climb

_FROZEN = ConfigDict(extra="forbid")

RESAMPLES = 2000
"""Of the order in which stages stand."""


@dataclass(frozen=True, config=_FROZEN)
class Ranked:
    """One metric, ranked; None where a role has no part in it."""

    benchmark: str
    on: str
    """The dataset or question set."""
    metric: str
    higher_is_better: bool
    encoder: str | None
    generator: str | None
    """None also where generators are what is ranked."""
    model: str | None
    """None where models are what is ranked, and for the model that describes without fault."""
    ranking: Ranking


@dataclass(frozen=True, config=_FROZEN)
class Drift:
    """Of what is lost of an image after t rounds, 1 − GC@t, what the generator loses and what the model does."""

    on: str
    generator: str
    encoder: str
    t: int
    ceiling: Interval
    """GC@t if every description were without fault."""
    final: Point
    """The final model's GC@t."""
    drift: Rounded
    """1 − GC@t."""
    by_generator: Rounded
    """1 − ceiling."""
    by_model: Rounded
    """Ceiling − GC@t: below 0 where the model's faults happen to help."""


@dataclass(frozen=True, config=_FROZEN)
class Drawn:
    """How the bootstrap drew."""

    resamples: int
    confidence: float
    """Of the intervals of scores."""
    seed: int


class Validity(Record):
    """The report, whole."""

    models: dict[str, int]
    """Stages of the model → training steps."""
    generators: dict[str, int]
    otherwise: list[str]
    """Stages that were trained on another mix than the ones before."""
    controls: list[str]
    encoder: str
    """The image encoder that the picture looks through."""
    iterations: int
    bootstrap: Drawn
    describers: dict[str, Share]
    """Of held-out images, those that are described word for word as their caption does."""
    painters: dict[str, Share]
    """Of the things in true captions, those that are redrawn with the right shape, colour and cell."""
    retrieval: Retrieval
    families: list[Family]
    together: Together
    iterating: list[Iterated]
    by_model: list[Ranked]
    """Over the stages of the model, by benchmark, dataset, metric, encoder and generator."""
    by_generator: list[Ranked]
    """Over the versions of the generator, where a metric sees what is drawn; under each model."""
    drift: list[Drift]


def assemble(root: Path, settings: Settings, stages: Stages, measured: Measured) -> Validity:
    """Read all scores of the models and generators of ``stages``, and rank them.

    Raises:
        ConfigError: fewer than two models or generators, or two with equal steps; an encoder that is not selected.
        StoreError: a score file is missing or of another T, or ``measured`` is of others than ``stages``.
    """
    run, genception = settings.run, cast(GenCeptionSettings, settings.section("genception"))
    models, generators = climb("models", stages.models), climb("generators", stages.generators)
    if stages.encoder not in run.encoders:
        raise ConfigError(unknown_name("among run.encoders of params.yaml, the encoder", stages.encoder, run.encoders))
    _check("describers", {name: each.steps for name, each in measured.describers.items()}, stages.models)
    _check("painters", {name: each.steps for name, each in measured.painters.items()}, stages.generators)
    source = Source(root, settings, genception.iterations, (*models, *stages.controls), generators)
    readings = collect(source)
    ceilings = dict(_ceilings(source, measured))
    faultless = {place: Reading(each.value, each.low, each.high) for place, each in ceilings.items()}
    seen = {place: each for place, each in readings.items() if place.generator}
    drawing = Drawing(RESAMPLES, run.seed)
    exact = {name: each.exact.share for name, each in measured.describers.items()}
    things = {name: each.things.share for name, each in measured.painters.items()}
    trained = Rungs(models, stages.models, exact, stages.controls)
    by_model = list(held(readings, "model", trained, drawing))
    versions = Rungs(generators, stages.generators, things)
    return Validity(
        models=dict(stages.models),
        generators=dict(stages.generators),
        otherwise=sorted(stages.otherwise),
        controls=list(stages.controls),
        encoder=stages.encoder,
        iterations=genception.iterations,
        bootstrap=Drawn(drawing.resamples, genception.confidence, drawing.seed),
        describers={name: each.exact for name, each in measured.describers.items()},
        painters={name: each.things for name, each in measured.painters.items()},
        retrieval=measured.retrieval,
        families=families(by_model, models, drawing),
        together=together(by_model, models),
        iterating=list(iterating(by_model, models)),
        by_model=list(map(_told, by_model)),
        by_generator=list(map(_told, held(seen | faultless, "generator", versions, drawing))),
        drift=list(_drift(ceilings, readings, models[-1])),
    )


def _check(what: str, measured: Mapping[str, int], ladder: Mapping[str, int]) -> None:
    for name, steps in sorted(ladder.items()):
        if measured.get(name) != steps:
            found = f"after {measured[name]} steps" if name in measured else "not at all"
            raise StoreError(
                f"{name}, which has {steps} training steps, was measured {found} among the {what} of {MEASURED}; "
                "run 'python -m lab.trio measure'"
            )


def held(readings: Readings, over: Literal["model", "generator"], rungs: Rungs, drawing: Drawing) -> Iterator[Held]:
    """Every metric that one of the rungs has; ``over`` is the role that they play."""

    def others(item: tuple[Place, Reading]) -> Place:
        return item[0]._replace(**{over: ""})

    for place, some in sorted(grouped(readings.items(), others).items()):
        metric = benchmark(place.benchmark).metric(place.metric)
        higher = metric is None or metric.higher_is_better is not False
        found = {getattr(one, over): reading for one, reading in some}
        yield Held(place, rank(found, rungs, higher_is_better=higher, drawing=drawing), found, 1.0 if higher else -1.0)


def _told(held: Held) -> Ranked:
    """As the report has it."""
    place = held.place
    return Ranked(
        place.benchmark,
        place.on,
        place.metric,
        held.sign > 0,
        place.encoder or None,
        place.generator or None,
        place.model or None,
        held.ranking,
    )


def _ceilings(source: Source, measured: Measured) -> Iterator[tuple[Place, Interval]]:
    """What was measured of GC@t without a model, over the first dataset, through encoders that are selected."""
    first = source.settings.run.names("genception", "dataset")[:1]
    for dataset, generator in product(first, sorted(source.generators)):
        ceiling = measured.painters[generator].ceiling
        for encoder in sorted(ceiling.keys() & set(source.settings.run.encoders)):
            for t, interval in enumerate(ceiling[encoder][: source.iterations], 1):
                yield Place("genception", dataset, f"gc_at_{t}", encoder, generator, ""), interval


def _drift(ceilings: Mapping[Place, Interval], readings: Readings, final: str) -> Iterator[Drift]:
    for place, ceiling in ceilings.items():
        found = readings.get(place._replace(model=final))
        if found is not None:
            yield Drift(
                on=place.on,
                generator=place.generator,
                encoder=place.encoder,
                t=int(place.metric.removeprefix("gc_at_")),
                ceiling=ceiling,
                final=point_of(found),
                drift=1 - found.value,
                by_generator=1 - ceiling.value,
                by_model=ceiling.value - found.value,
            )
