"""GenCeption: describe an image, redraw it from the description, repeat; how much meaning survives?

Cao et al., "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data", Algorithm 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from driftledger.benchmarks._chains.records import ChainRequest, IterationExtra
from driftledger.benchmarks._chains.spec import ANOTHER_DESCRIPTION, IMAGES, KEYS, LONGER, SEEN, WORDS, ChainBenchmark
from driftledger.benchmarks._chains.traces import traces
from driftledger.benchmarks.base import (
    RECORDS_OF,
    Input,
    Layout,
    Metric,
    Rule,
    Stage,
    Table,
    score_stage,
)
from driftledger.benchmarks.collecting import StageInputs
from driftledger.benchmarks.genception.settings import GenCeptionScoring, GenCeptionSettings
from driftledger.benchmarks.genception.tables import people, rank_over_groups
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.traces import Trace
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.data.records import DatasetCard

if TYPE_CHECKING:
    from driftledger.benchmarks.scoring import Scored, ToScore

_OVER_CATEGORIES = "averaged over a sample's repeats, over a category's samples, then over categories"
_PAPER = "Cao et al., GenCeption"
_metric = partial(Metric, needs=SEEN, digits=3)
_SAID = frozenset({Input.TEXT_ENCODER, Input.DESCRIPTIONS, Input.DATA})


class GenCeption(ChainBenchmark):
    """Chains of describe → generate, and GC@T."""

    name: ClassVar[str] = "genception"
    title: ClassVar[str] = "GenCeption"
    collects: ClassVar[Stage] = Stage(
        "chain",
        KEYS,
        f"{RECORDS_OF}/genception/{{dataset}}/{{generator}}",
        version=2,
        extra=IterationExtra,
        settings=(
            "iterations",
            "iterations_by_group",
            "repeats",
            "describe_prompt",
            "generate_prompt",
        ),
    )
    scores: ClassVar[Stage] = score_stage(
        "genception", (*KEYS, "encoder"), "iterations", "iterations_by_group", "text_encoder", version=2
    )
    metrics: ClassVar[tuple[Metric, ...]] = (
        _metric(
            "gc_at_{t}",
            "GC@{t}",
            f"Σ t·s(t) / Σ t over the iterations; {_OVER_CATEGORIES}",
            f"drift.gc_at; {_PAPER}, equation 3",
            headline=True,
            row="gc",
            tracked="gc_at_{t}",
        ),
        _metric(
            "similarity_at_{t}",
            "s({t})",
            f"s(t), the cosine between the encoder's view of the original and of iteration t; {_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, Algorithm 1",
            headline=True,
            row="similarity",
            tracked="similarity",
        ),
        _metric(
            "similarity_mean",
            "mean s(t)",
            f"the mean of s(1) … s(T); {_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, section 2.2",
        ),
        _metric(
            "gc_images_at_{t}",
            "GC@{t} over images",
            "as GC@t, averaged over all samples alike; where every category has a chain that reached t",
            f"drift.gc_at; {_PAPER}, Algorithm 1",
        ),
        _metric(
            "{frechet}_at_{t}",
            "GC_{frechet}@{t}",
            "the Fréchet distance between the originals' features and those of iteration t, weighted over t as GC@T "
            "is; per category, then averaged over categories",
            f"frechet.frechet_distance; {_PAPER}, equation 4",
            higher_is_better=False,
        ),
        _metric(
            "whole_{frechet}_at_{t}",
            "GC_{frechet}@{t} over the whole set",
            "as the distance per category, between all originals and all their images; where every category has a "
            "chain that reached t",
            f"frechet.frechet_distance; {_PAPER}, section 2.2",
            higher_is_better=False,
        ),
        Metric(
            "text_similarity_at_{t}",
            "text s({t})",
            "the cosine between the text encoder's view of the first description and of that of iteration t, t > 1; "
            f"{_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, version 1, section 4 (6), as a wish",
            _SAID | {Input.DRAWN},
            digits=3,
            compared=True,
            row="text_similarity",
        ),
        Metric(
            "text_similarity_mean",
            "mean text s(t)",
            f"the mean of text s(2) … s(T); {_OVER_CATEGORIES}",
            "drift.cosine_similarity",
            _SAID | {Input.DRAWN},
            digits=3,
        ),
        WORDS,
        IMAGES,
    )
    settings: ClassVar[type[GenCeptionSettings]] = GenCeptionSettings
    scoring: ClassVar[type[GenCeptionScoring]] = GenCeptionScoring
    layout: ClassVar[Layout] = Layout(
        for_dvc=("gc_at_{t}", "similarity_at_{t}"),
        means_of_groups="group",
        group_bars={"category": "gc_at_{t}"},
        groups={"category": ""},
    )
    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_DESCRIPTION,
        LONGER,
        Rule("generate_prompt", "another prompt draws another image"),
        Rule("iterations", "more iterations drift further"),
        Rule("iterations_by_group", "more iterations drift further"),
        Rule("encoder", "values seen through different encoders are on different scales", Input.ENCODER),
        Rule("text_encoder", "values by different text encoders are on different scales", Input.TEXT_ENCODER),
    )

    def asked(self, given: StageInputs, dataset: DatasetCard) -> ChainRequest:
        """Return what is asked of every sample.

        Raises:
            ConfigError: the settings name a group that the dataset does not have.
        """
        settings: GenCeptionSettings = given.section
        for group in settings.iterations_by_group or ():
            if group not in dataset.groups:
                where = f"genception.iterations_by_group: group of {dataset.name}"
                raise ConfigError(unknown_name(where, group, dataset.groups))
        return ChainRequest(
            iterations=settings.iterations,
            iterations_by_group=settings.iterations_by_group,
            describe_prompt=settings.describe_prompt,
            max_tokens=None,
            generate_prompt=settings.generate_prompt,
            seed=given.seed,
            repeats=settings.repeats,
        )

    def score(self, given: "ToScore") -> "Scored":
        from driftledger.benchmarks.genception.score import score

        return score(given, self)

    def facts(self, score: Score) -> dict[str, Any]:
        """Return what makes scores unfair to compare; the text encoder counts as a component."""
        return {name: value for name, value in super().facts(score).items() if name != "text_encoder"}

    def ranked(self, score: Score, key: str) -> float | None:
        """A mean over categories is compared if every category has its part in it."""
        there = {key in row for row in score.groups["category"].values()}
        return score.metrics.get(key) if len(there) < 2 else None

    def tables(self, scores: Sequence[Score]) -> Iterator[Table]:
        yield from people(self, scores)
        yield from rank_over_groups(self, scores)

    def rows_in(self, score: Score, kind: str, name: str, rows: Sequence[Row]) -> Sequence[Row]:
        """A group's are those of its categories."""
        members = score.details["groups"].get(name, ()) if kind == "group" else (name,)
        return [row for row in rows if row.group in members]

    def traces(self, folders: Mapping[str, Path], score: Score, rows: Sequence[Row]) -> Iterator[Trace]:
        return traces(self, folders, score, rows, "chain", "generate")
