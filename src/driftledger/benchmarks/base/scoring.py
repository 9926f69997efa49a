"""Input and output of the scoring half of a benchmark, and the steps all of them share.

It knows nothing of how records are collected.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, NamedTuple

from driftledger import __version__
from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CallFacts,
    CollectedCard,
    CollectedRecord,
    Folders,
    changed_versions,
    stream_records,
)
from driftledger.benchmarks.base.usage import USAGE, ScoreUsage
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import Json, sha256_file
from driftledger.core.errors import CoverageError, StoreError, first_few
from driftledger.core.files import new_folder, read_json, write_json, write_jsonl
from driftledger.core.media import Kind
from driftledger.core.types import Outcome, Sample
from driftledger.data.records import (
    DATASET_CARD,
    QUESTION_SET_CARD,
    DatasetCard,
    QuestionEntry,
    QuestionSetCard,
    loss_notes,
    notes_of,
    read_questions,
    read_samples,
)
from driftledger.scoring.number import Number
from driftledger.scoring.score import (
    ROWS,
    SCORE,
    AnyFlag,
    Inputs,
    Row,
    Score,
)

if TYPE_CHECKING:
    from driftledger.benchmarks.base.benchmark import Benchmark
    from driftledger.collect.features import FeatureStore
    from driftledger.components.base import Encoder

PERCENT = 100.0


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


@dataclass
class Scoring:
    """A folder of records that is scored, and all that the score is computed with."""

    spec: "Benchmark"
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
    facts: CallFacts = field(default_factory=CallFacts)
    """What :meth:`read` has noted of the calls."""
    _places: set[tuple[str, int, int]] = field(default_factory=set)

    @property
    def data(self) -> Path:
        """The folder of the dataset or question set."""
        return self.folders[self.spec.data.name]

    @property
    def folder(self) -> Path:
        """The folder of the records."""
        return self.folders[self.spec.collects.name]

    @cached_property
    def card(self) -> CollectedCard:
        """The card beside the records."""
        return read_json(self.folder / CARD, CollectedCard)

    @cached_property
    def dataset(self) -> DatasetCard:
        """The card of the dataset."""
        return read_json(self.data / DATASET_CARD, DatasetCard)

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """The samples of the dataset."""
        return read_samples(self.data)

    @cached_property
    def question_set(self) -> QuestionSetCard:
        """The card of the question set."""
        return read_json(self.data / QUESTION_SET_CARD, QuestionSetCard)

    @cached_property
    def questions(self) -> Sequence[QuestionEntry]:
        """The questions of the question set."""
        return read_questions(self.data)

    @property
    def kind(self) -> Kind:
        """The medium of the samples."""
        if "dataset" not in self.keys:
            return "image"
        return self.samples[0].medium.kind

    def read(self) -> Iterator[CollectedRecord]:
        """Yield the records, one at a time, and note what the score says of their calls.

        They are gone through once, before :meth:`score`.
        """
        for record in stream_records(self.folder, self.spec.collects.holds):
            self.facts.add(record)
            self._places.add((intern(record.unit), record.step, record.repeat))
            yield record

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
        least = self.section.min_coverage
        if scored / total >= least:
            return []
        asked = f"{self.card.benchmark}.min_coverage asks for {least:.0%}"
        return [
            f"only {scored} of {total} {what} ({first_few(lost)}), and {asked}: no rank"
        ]

    def score(
        self,
        numbers: Sequence[Number],
        *,
        scored: int,
        counted: int,
        total: int,
        outcomes: Iterable[Outcome],
        flags: Iterable[AnyFlag] = (),
        details: Json | None = None,
        **parser: str,
    ) -> Score:
        """Return the score that has these numbers, with all that it was computed from.

        Args:
            scored: how many units, answers or gradings could be scored by what they hold.
            counted: how many are in the denominators.
            outcomes: of the units, answers or gradings.
            flags: what else a reader must know, besides what all benchmarks say.
            parser: what the protocol says beside the card, of what reads the answers.
        """
        components = dict(self.card.components)
        for role, encoder in self.encoders.items():
            name = self.keys.get(role) or getattr(self.section, role, None) or ""
            components[role] = ComponentCard.of(name, encoder)
        return Score(
            benchmark=self.card.benchmark,
            keys=dict(self.keys),
            components=components,
            numbers=[*numbers],
            scored=scored,
            counted=counted,
            total=total,
            outcomes=dict(Counter(map(str, outcomes))),
            served=self.facts.served(),
            flags=[*self._notes(), *flags],
            details=details or {},
            inputs=self._inputs(parser),
        )

    def _inputs(self, parser: Json) -> Inputs:
        card = self.dataset if "dataset" in self.keys else self.question_set
        beside = {setting: sha256_file(file) for setting, file in self.beside.items()}
        return Inputs(
            data_digest=card.digest,
            records={self.spec.collects.name: sha256_file(self.folder / RECORDS)},
            protocol=self.card.protocol | parser,
            settings=self.spec.scored_with(self.section, self.seed),
            beside=beside,
        )

    def _notes(self) -> Iterator[AnyFlag]:
        """Yield what a reader must know of the calls and of the data."""
        model = self.card.components["model"]
        generator = self.card.components.get("generator")
        if not model.control:
            yield from self.facts.alarms(self.kind)
        if generator is not None and generator.fingerprint == model.fingerprint:
            yield f"{model.name} describes and draws, so the drift is that of both roles"
        yield from changed_versions(self.facts.served())
        if "dataset" in self.keys:
            yield from loss_notes(self.dataset, self.dataset.samples, f"{self.kind}s")
        else:
            yield from notes_of(
                self.question_set, self.question_set.questions, "questions' images"
            )
        yield from self.facts.reasoned()


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
