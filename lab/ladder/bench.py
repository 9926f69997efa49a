"""One describer, damaged rung by rung, through the very code that collects and scores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from driftledger.benchmarks._chains.collect import ChainProtocol, CollectChains
from driftledger.benchmarks.base import Benchmark, Input
from driftledger.benchmarks.descriptions import Description
from driftledger.benchmarks.genception.runner import chains_of
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.runner import Collecting
from driftledger.benchmarks.scoring import ToScore
from driftledger.benchmarks.trac.collect import CollectDescriptions, DescribeProtocol
from driftledger.benchmarks.writing import write_collected
from driftledger.collect.features import FeatureStore
from driftledger.collect.store import CallStore
from driftledger.commands.stages import ask
from driftledger.components.base import Model
from driftledger.core.files import read_json
from driftledger.core.types import Sample
from driftledger.data.datasets.base import DatasetProvider
from driftledger.data.datasets.build import build
from driftledger.data.records import DatasetCard, read_samples
from driftledger.demo.models.blind import Blind
from driftledger.project.settings import Settings
from lab.ladder.damage import KINDS
from lab.ladder.describer import Damaged, Speaker
from lab.trio.settings import genception_of
from lab.validity.collected import Place
from lab.validity.scores import Reading, Scored

ITERATIONS = 3
"""T of chains."""
RANKED: Mapping[str, Sequence[str]] = {
    "genception": ("gc_at_{t}", "similarity_at_{t}", "{frechet}_at_{t}", "text_similarity_at_{t}"),
    "fidelity": ("clip_s", "clip_s_i", "image_similarity", "ssim", "fid", "frechet_{name}"),
    "trac": ("top1", "class_mean"),
}
"""Benchmark → the metrics that are held against loss, by the keys of its table; of those over t the last. What is left
out is another mean of the same values. s(1) is fidelity's image similarity, and answers rest on no description."""
FLOOR = "blind"
"""The describer that never looks: below it there is nothing to lose."""


class Rung(NamedTuple):
    """A describer."""

    kind: str
    """A kind of damage, or :data:`FLOOR`."""
    dose: float


Readings: TypeAlias = Mapping[Place, Reading]
"""What one rung scores; the model of a place is empty."""


class Ground(NamedTuple):
    """What a ladder stands on: the images, who describes them, and everything that they go through."""

    title: str
    speaker: Speaker
    dataset: tuple[str, DatasetProvider]
    labelled: tuple[str, DatasetProvider]
    generators: Sequence[str]
    """Names of the catalogue; likewise the others."""
    encoders: Sequence[str]
    text_encoders: Sequence[str]
    losing: Sequence[float]
    """Doses above 0 of what loses facts, the last of them 1."""
    keeping: Sequence[float]
    """The same of what keeps them."""
    things: int | None = None
    """In each image, where that is known: a dose that is too small to change anything is then left out."""

    @property
    def rungs(self) -> Iterator[Rung]:
        """The undamaged one is the first, the floor is the last."""
        yield Rung(next(iter(KINDS)), 0.0)
        for kind, damage in KINDS.items():
            doses = self.losing if damage.loses else self.keeping
            yield from (Rung(kind, dose) for dose in doses if self.changes(dose, damage.least))
        yield Rung(FLOOR, 1.0)

    def changes(self, dose: float, least: int) -> bool:
        """Whether a dose hits at least so many things."""
        return self.things is None or round(dose * self.things) >= least


@dataclass(frozen=True)
class Bench:
    """Where a ladder is climbed."""

    settings: Settings
    ground: Ground
    folder: Path
    """It may be thrown away afterwards."""
    calls: Path
    """Where finished calls are kept, and what encoders saw, so that no rung makes again what another has made."""

    def readings(self, rung: Rung) -> Readings:
        """All of :data:`RANKED`."""
        found: dict[Place, Reading] = {}
        with CallStore(self.calls) as store:
            for scored in self._scored(rung, store):
                for key in filter(partial(_is_ranked, scored.spec), scored.metrics):
                    reading, metric = scored.reading(key), scored.spec.metric(key)
                    if reading is not None and metric is not None:
                        keys = scored.score.keys
                        encoder = keys.get("encoder") if Input.ENCODER in metric.needs else None
                        reader = _reader(scored) if Input.TEXT_ENCODER in metric.needs else None
                        drawn = keys.get("generator", "") if Input.DRAWN in metric.needs else ""
                        place = Place(scored.spec.name, scored.score.on, key, encoder or reader or "", drawn, "")
                        found.setdefault(place, reading)  # what sees through no encoder is the same through each
        return found

    def _scored(self, rung: Rung, store: CallStore) -> Iterator[Scored]:
        floor = rung.kind == FLOOR
        model = Blind() if floor else Damaged(speaker=self.ground.speaker, damage=rung.kind, dose=rung.dose)
        for generator in self.ground.generators:
            for name, stage, iterations in (("genception", "chain", ITERATIONS), ("fidelity", "redraw", 1)):
                yield from self._chained(name, stage, iterations, (rung, model, generator), store)
        yield from self._retrieved(rung, model, store)

    def _chained(
        self, name: str, stage: str, iterations: int, who: tuple[Rung, Model, str], store: CallStore
    ) -> Iterator[Scored]:
        """Fidelity's redrawing is the chain's first, asked for alike, so that nothing is drawn twice."""
        rung, model, generator = who
        dataset, card, samples = self._pictures
        whole = {"iterations": iterations, "iterations_by_group": None, "repeats": 1}
        asked = chains_of(genception_of(self.settings).model_copy(update=whole), card, self.settings.run.seed)
        keys = {"dataset": self.ground.dataset[0], "model": model.provider, "generator": generator}
        chains = ChainProtocol(card, model, self._component("generator", generator), asked)
        folder = self._collected(CollectChains(name, stage, keys, chains, samples), (stage, rung, generator), store)
        for encoder in self.ground.encoders:
            yield self._score(name, keys | {"encoder": encoder}, {"dataset": dataset, stage: folder})

    def _retrieved(self, rung: Rung, model: Model, store: CallStore) -> Iterator[Scored]:
        dataset, card, samples = self._labelled
        way = Description(prompt="What are the main features in this image?")
        keys = {"dataset": self.ground.labelled[0], "model": model.provider, "description": "features"}
        protocol = DescribeProtocol(card, model, "features", way, None, self.settings.run.seed)
        folder = self._collected(
            CollectDescriptions("trac", "describe", keys, protocol, samples), ("describe", rung, ""), store
        )
        for encoder in self.ground.text_encoders:
            yield self._score("trac", keys | {"text_encoder": encoder}, {"dataset": dataset, "describe": folder})

    def _collected(self, collecting: Collecting[Any], place: tuple[str, Rung, str], store: CallStore) -> Path:
        stage, rung, generator = place
        folder = self.folder / "collected" / stage / generator / f"{rung.kind}-{rung.dose:.3f}"
        write_collected(folder, collecting, ask(collecting, store))
        return folder

    def _score(self, name: str, keys: Mapping[str, str], folders: Mapping[str, Path]) -> Scored:
        spec = benchmark(name)
        scoring = spec.scoring_of(self.settings)
        if name == "genception":
            scoring = scoring.model_copy(update={"iterations": ITERATIONS, "iterations_by_group": None})
        named = {role: keys.get(role) or getattr(scoring, role, None) for role in ("encoder", "text_encoder")}
        given = ToScore(
            keys=keys,
            folders=folders,
            scoring=scoring,
            min_coverage=0.0,
            encoders={role: self._component("encoder", str(each)) for role, each in named.items() if each},
            features=FeatureStore(self.calls / "features"),
        )
        return Scored(spec, *runner(name).score(given))

    def _component(self, kind: str, name: str) -> Any:
        """A generator or an encoder, whose weights are loaded once for all rungs."""
        if (kind, name) not in self._loaded:
            self._loaded[kind, name] = getattr(self.settings, kind)(name)
        return self._loaded[kind, name]

    @cached_property
    def _loaded(self) -> dict[tuple[str, str], Any]:
        return {}

    @cached_property
    def _pictures(self) -> tuple[Path, DatasetCard, list[Sample]]:
        return self._built(*self.ground.dataset)

    @cached_property
    def _labelled(self) -> tuple[Path, DatasetCard, list[Sample]]:
        return self._built(*self.ground.labelled)

    def _built(self, name: str, provider: DatasetProvider) -> tuple[Path, DatasetCard, list[Sample]]:
        folder = self.folder / "datasets" / name
        if not folder.is_dir():
            build(name, provider, folder)
        return folder, read_json(folder / "dataset.json", DatasetCard), read_samples(folder)


def _is_ranked(spec: Benchmark, key: str) -> bool:
    metric = spec.metric(key)
    t = (metric.match(key) or {}).get("t") if metric else None
    return metric is not None and metric.key in RANKED[spec.name] and t in (None, str(ITERATIONS))


def _reader(scored: Scored) -> str | None:
    return scored.score.keys.get("text_encoder") or scored.score.inputs.settings.get("text_encoder")
