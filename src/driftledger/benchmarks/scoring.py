"""Input and output of the scoring half of a benchmark, and the steps all of them share.

It knows nothing of how records are collected.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from pydantic import BaseModel

from driftledger import __version__
from driftledger.benchmarks.records import (
    CARD,
    RECORDS,
    CallFacts,
    CollectedCard,
    CollectedRecord,
    Folders,
    Records,
    changed_versions,
    stream_records,
)
from driftledger.benchmarks.score import (
    HIGH,
    LOW,
    ROWS,
    SCORE,
    Inputs,
    Numbers,
    Row,
    Score,
)
from driftledger.benchmarks.usage import USAGE, ScoreUsage
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import Json, sha256_file
from driftledger.core.errors import CoverageError, StoreError, first_few
from driftledger.core.files import new_folder, read_json, write_json, write_jsonl
from driftledger.core.media import Kind
from driftledger.core.types import Float64, Outcome, Sample
from driftledger.data.records import DatasetCard, loss_notes, read_samples
from driftledger.metrics.exact import round_significant
from driftledger.metrics.intervals import DIGITS, Estimate, mean_interval

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark
    from driftledger.collect.features import FeatureStore
    from driftledger.components.base import Encoder

PERCENT = 100.0

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class ToScore:
    """The inputs that a score is computed from."""

    keys: Mapping[str, str]
    folders: Folders
    """Stage → the folder that it wrote, the data's and every collect stage's."""
    section: Any
    """The benchmark's section of ``params.yaml``; what a score was made with, where it is made
    again."""
    seed: int
    encoders: "Mapping[str, Encoder]" = field(default_factory=dict)
    """Role, ``encoder`` or ``text_encoder`` → who plays it, where the benchmark has one."""
    beside: Folders = field(default_factory=dict)
    """Setting → the user's file, of those that the benchmark names in ``beside`` and the settings
    give."""
    features: "FeatureStore | None" = None


class Scored(NamedTuple):
    """A score and its rows."""

    score: Score
    rows: list[Row]


def write_score(
    target: Path,
    spec: "Benchmark",
    scored: Scored,
    usage: ScoreUsage | None = None,
) -> None:
    """Write a score, its rows, the version of the scoring and what its calls took as ``target``,
    whole or not at all."""
    inputs = scored.score.inputs.model_copy(update={"version": spec.scores.version})
    with new_folder(target) as folder:
        made = {"driftledger": __version__, "inputs": inputs}
        write_json(folder / SCORE, scored.score.model_copy(update=made))
        write_jsonl(folder / ROWS, scored.rows)
        if usage is not None:
            write_json(folder / USAGE, usage)


class FromRecords:
    """The records of a benchmark, and what a score of them says of its origin."""

    digest: str
    """Of the dataset or question set, as it says itself."""
    kind: Kind = "image"
    """What its samples are."""

    def __init__(self, given: ToScore, spec: "Benchmark") -> None:
        self.data = given.folders[spec.data.name]
        self.folder = given.folders[spec.collects.name]
        self.card = read_json(self.folder / CARD, CollectedCard)
        self.confidence: float = given.section.confidence
        self.facts = CallFacts()
        self._places = set[tuple[str, int, int]]()
        self.data_notes: list[str] = []
        """What a reader must know of the data."""
        self._given = given
        self._spec = spec

    def read(self) -> Iterator[CollectedRecord]:
        """Yield the records, one at a time, and note what the score says of their calls.

        They are gone through once, before :meth:`origin`.
        """
        for record in stream_records(self.folder, self._spec.collects.holds):
            self.facts.add(record)
            self._places.add((intern(record.unit), record.step, record.repeat))
            yield record

    @cached_property
    def records(self) -> Records:
        """All records at once, where there are few: their objects take five times their bytes."""
        return [*self.read()]

    def require(self, places: Iterable[tuple[str, int, int]]) -> None:
        """Check that each of these units has a record of this step and repeat, after they are read.

        Raises:
            StoreError: one has none.
        """
        for unit, step, repeat in places:
            if (unit, step, repeat) not in self._places:
                lacks = f"lacks the record of {unit}, step {step}, repeat {repeat}"
                raise StoreError(
                    f"{self.folder / RECORDS} {lacks}; run 'dvc repro' to make it again"
                )

    def protocol(self, kind: type[M]) -> M:
        """Return how the model was asked."""
        return kind.model_validate(self.card.protocol)

    def too_little(
        self, scored: int, total: int, what: str, lost: Sequence[str], counted: int = 0
    ) -> list[str]:
        """Return a sentence if so little could be scored that the model has no rank.

        Args:
            what: for people, what became of those that are scored: ``answers could be read``.
            lost: the others, a phrase each.
            counted: how many are in the denominators, where these are more than those that are
                scored.

        Raises:
            CoverageError: nothing is in the denominators.
        """
        if not (scored or counted):
            raise CoverageError(
                f"none of {total} {what} ({first_few(lost)}): there is nothing to score"
            )
        least = self._given.section.min_coverage
        if scored / total >= least:
            return []
        asked = f"{self.card.benchmark}.min_coverage asks for {least:.0%}"
        return [
            f"only {scored} of {total} {what} ({first_few(lost)}), and {asked}: no rank"
        ]

    def origin(
        self, scored: int, total: int, flags: Iterable[str] = (), **parser: str
    ) -> Json:
        """Return the fields of a score that name it, say what it was computed from, and how much.

        Args:
            flags: what else a reader must know, besides what all benchmarks say.
            parser: what the protocol says beside the card, of what reads the answers.
        """
        given = self._given
        components = dict(self.card.components)
        model = components["model"]
        served = self.facts.served()
        notes = [] if model.control else self.facts.alarms(self.kind)
        generator = components.get("generator")
        if generator is not None and generator.fingerprint == model.fingerprint:
            notes.append(
                f"{model.name} describes and draws, so the drift is that of both roles"
            )
        for role, encoder in given.encoders.items():
            name = given.keys.get(role) or getattr(given.section, role, None) or ""
            components[role] = ComponentCard.of(name, encoder)
        inputs = Inputs(
            data_digest=self.digest,
            records={self._spec.collects.name: sha256_file(self.folder / RECORDS)},
            protocol=self.card.protocol | parser,
            settings=self._spec.scored_with(given.section, given.seed),
            beside={
                setting: sha256_file(file) for setting, file in given.beside.items()
            },
        )
        notes += changed_versions(served)
        notes += self.data_notes
        notes += self.facts.reasoned()
        return {
            "benchmark": self.card.benchmark,
            "keys": dict(given.keys),
            "components": components,
            "scored": scored,
            "total": total,
            "coverage": scored / total,
            "served": served,
            "flags": [*notes, *flags],
            "inputs": inputs,
        }


class FromDataset(FromRecords):
    """The records of a benchmark over a dataset, with the dataset."""

    def __init__(self, given: ToScore, spec: "Benchmark") -> None:
        super().__init__(given, spec)
        self.dataset = read_json(self.data / "dataset.json", DatasetCard)
        self.samples = read_samples(self.data)
        self.digest = self.dataset.digest
        self.kind = self.samples[0].medium.kind
        self.data_notes = loss_notes(
            self.dataset, self.dataset.samples, f"{self.kind}s"
        )


class Ends(NamedTuple):
    """The ends of intervals by their keys, and why some metrics have none."""

    metrics: Numbers
    absent: dict[str, str]


def interval_ends(estimates: Mapping[str, Estimate], unit: float = 1.0) -> Ends:
    """Return the ends of metrics that are ``unit`` times an estimate, to 9 significant digits."""
    ends = Ends({}, {})
    for key, estimate in estimates.items():
        if estimate.interval is None:
            ends.absent[f"{key} interval"] = estimate.reason
        else:
            low, high = estimate.interval
            ends.metrics[key + LOW] = round_significant(unit * low, DIGITS)
            ends.metrics[key + HIGH] = round_significant(unit * high, DIGITS)
    return ends


def clusters_of(samples: Sequence[Sample]) -> dict[str, str]:
    """Return the cluster of each sample: the id of the first with the same image or sound."""
    first: dict[str, str] = {}
    return {
        sample.id: first.setdefault(sample.medium.sha256, sample.id)
        for sample in samples
    }


def copies(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield a sentence where several samples are the same image or sound."""
    count = len(samples) - len({*clusters_of(samples).values()})
    kind = samples[0].medium.kind
    if count:
        yield (
            f"{count} of {len(samples)} {kind}s repeat an earlier one; equal {kind}s count as one "
            "for intervals"
        )


def interval_of_known(
    values: Float64,
    groups: Sequence[str],
    confidence: float,
    most: float = 1.0,
    clusters: Sequence[str] | None = None,
) -> Estimate:
    """Estimate a mean over groups of values from ``-most`` to ``most``; NaN is left out."""
    known = np.isfinite(values)
    drawn = None if clusters is None else [*compress(clusters, known)]
    estimate = mean_interval(
        values[known], [*compress(groups, known)], confidence, drawn
    )
    return estimate.within(-most, most)


def outcome_counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    """Return how often there is each outcome."""
    return dict(Counter(map(str, outcomes)))
