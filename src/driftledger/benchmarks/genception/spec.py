"""GenCeption's settings, metrics and calls.

Cao et al., "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data", Algorithm 1.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product, starmap
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from driftledger.benchmarks.base.benchmark import Collecting, Rule, Scored, Scoring
from driftledger.benchmarks.base.chains.distances import (
    DISTANCES,
    Distance,
    mean_of_distances,
    whole,
)
from driftledger.benchmarks.base.chains.records import ChainRequest
from driftledger.benchmarks.base.chains.spec import (
    ANOTHER_DESCRIPTION,
    ANOTHER_ENCODER,
    KEYS,
    LONGER,
    NOWHERE,
    SEEN,
    WORDS,
    ChainBenchmark,
    chain_stage,
)
from driftledger.benchmarks.base.settings import (
    DrawingPrompt,
    EntryOf,
    RepeatedSection,
)
from driftledger.benchmarks.base.stage import score_stage
from driftledger.benchmarks.genception.people import people
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.strict import Name
from driftledger.scoring.means import mean_over_categories, ratio
from driftledger.scoring.metric import FIRST, Input, Metric, MetricTable, ShownIn
from driftledger.scoring.number import Place
from driftledger.scoring.score import Rows, Score, Scores
from driftledger.scoring.table import Table

_OVER_CATEGORIES = (
    "averaged over a sample's repeats, over a category's samples, then over categories"
)
_PAPER = "Cao et al., GenCeption"
_SAID = frozenset({Input.TEXT_ENCODER, Input.DESCRIPTIONS, Input.DRAWN, Input.DATA})
_mean = partial(Metric, estimate=mean_over_categories, digits=3)
_cosine = partial(_mean, unit="0–1", range=(-1, 1))
_seen = partial(_cosine, needs=SEEN)
_said = partial(_cosine, needs=_SAID)
_ON_CURVES: frozenset[ShownIn] = frozenset({"headline", "compared", "table", "curve"})
_COMPARED: frozenset[ShownIn] = frozenset({"compared", "table"})


def _of_sets(distance: Distance, is_whole: bool) -> Metric:
    """Return the metric of a distance, per category or over the whole set."""
    title = f"GC_{distance.short}@{{t}}"
    formula = (
        f"{distance.what} between the originals' features and those of iteration t, weighted "
        "over t as GC@T is; per category, then averaged over categories"
    )
    if is_whole:
        title += " over the whole set"
        formula = (
            "as the distance per category, between all originals and all that came of them; "
            "where every category has a chain that reached t"
        )
    return Metric(
        whole(distance.name) if is_whole else distance.name,
        title,
        formula,
        source=f"{distance.source}; {_PAPER}, equation 4",
        needs=SEEN,
        estimate=mean_of_distances,
        direction="lower",
        digits=3,
        over_t=True,
        shown=NOWHERE if is_whole else frozenset({"table"}),
    )


class GenCeptionSettings(RepeatedSection):
    """Settings of chains: T iterations of describe → generate, and a text encoder."""

    iterations: int = Field(ge=1, le=100)
    iterations_by_group: dict[str, Annotated[int, Field(ge=1)]] | None
    """Group of the dataset → a smaller T of the chains in its categories."""
    describe_prompt: str = Field(min_length=1)
    generate_prompt: DrawingPrompt
    text_encoder: Annotated[Name | None, EntryOf("encoders", must="read")]
    """The encoder that compares descriptions; null leaves this out."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        for group, t in (self.iterations_by_group or {}).items():
            if t > self.iterations:
                raise ValueError(
                    f"iterations_by_group.{group} is {t}, above iterations, {self.iterations}; "
                    "lower it"
                )
        return self


class GenCeption(ChainBenchmark):
    """Chains of describe → generate, and GC@T."""

    name = "genception"
    title = "GenCeption"
    takes_texts = True
    collects = chain_stage(
        "chain",
        name,
        "iterations",
        "iterations_by_group",
        "repeats",
        "describe_prompt",
        "generate_prompt",
    )
    scores = score_stage(
        "genception",
        (*KEYS, "encoder"),
        "iterations",
        "iterations_by_group",
        "text_encoder",
        version=7,
    )
    metrics = MetricTable(
        _seen(
            "gc",
            "GC@{t}",
            f"Σ t·s(t) / Σ t over the iterations; {_OVER_CATEGORIES}",
            f"drift.gc_at; {_PAPER}, equation 3",
            over_t=True,
            in_rows=True,
            span=1.0,
            shown=FIRST | {"curve"},
        ),
        _seen(
            "similarity",
            "s({t})",
            "s(t), the cosine between the encoder's view of the original and of iteration t; "
            f"{_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, Algorithm 1",
            over_t=True,
            in_rows=True,
            span=1.0,
            shown=_ON_CURVES,
        ),
        Metric(
            "distinctive",
            "distinctive at {t}",
            "the share of chains whose image at t is nearer to their own original than to any "
            "other; 1/m if m originals are equally near",
            "neighbours.own_nearest; Liu et al. 2018, Show, Tell and Discriminate, for "
            "descriptions",
            needs=SEEN,
            estimate=ratio,
            unit="0–1",
            range=(0, 1),
            span=1.0,
            digits=3,
            over_t=True,
            in_rows=True,
            is_ratio=True,
            shown=frozenset({"compared", "table", "curve"}),
        ),
        _seen(
            "similarity_mean",
            "mean s(t)",
            f"the mean of s(1) … s(T); {_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, section 2.2",
            shown=NOWHERE,
        ),
        _seen(
            "gc_samples",
            "GC@{t} over samples",
            "as GC@t, averaged over all samples alike; where every category has a chain that "
            "reached t",
            f"drift.gc_at; {_PAPER}, Algorithm 1",
            over_t=True,
            shown=NOWHERE,
        ),
        *starmap(_of_sets, product(DISTANCES, (False, True))),
        _said(
            "text_similarity",
            "text s({t})",
            "the cosine between the text encoder's view of the first description and of that of "
            f"iteration t, t > 1; {_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, version 1, section 4 (6), as a wish",
            over_t=True,
            in_rows=True,
            span=1.0,
            shown=_COMPARED,
        ),
        _said(
            "text_similarity_mean",
            "mean text s(t)",
            f"the mean of text s(2) … s(T); {_OVER_CATEGORIES}",
            "drift.cosine_similarity",
            shown=NOWHERE,
        ),
        WORDS,
    )
    settings = GenCeptionSettings
    group_tables: ClassVar[Mapping[str, str]] = {"category": ""}
    group_bars = ("category",)
    means_of_groups = "group"
    first_look: ClassVar[Mapping[str, object]] = {"text_encoder": None}
    unfair = (
        ANOTHER_DESCRIPTION,
        LONGER,
        Rule("generate_prompt", "another prompt draws another image"),
        Rule("iterations", "more iterations drift further"),
        Rule("iterations_by_group", "more iterations drift further"),
        ANOTHER_ENCODER,
        Rule(
            "text_encoder",
            "values by different text encoders are on different scales",
            Input.TEXT_ENCODER,
        ),
    )

    def protocol(self, collecting: Collecting) -> Mapping[str, Any]:
        """Return the request about every sample.

        Raises:
            ConfigError: the settings name a group that the dataset does not have.
        """
        settings: GenCeptionSettings = collecting.section
        dataset = collecting.dataset
        for group in settings.iterations_by_group or ():
            if group not in dataset.groups:
                where = f"genception.iterations_by_group: group of {dataset.name}"
                raise ConfigError(unknown_name(where, group, dataset.groups))
        request = ChainRequest(
            iterations=settings.iterations,
            iterations_by_group=settings.iterations_by_group,
            describe_prompt=settings.describe_prompt,
            max_tokens=None,
            generate_prompt=settings.generate_prompt,
            seed=collecting.seed,
            repeats=settings.repeats,
        )
        return request.model_dump(mode="json")

    def score(self, scoring: Scoring) -> Scored:
        from driftledger.benchmarks.genception.score import (
            score_chains,
        )  # slow to import

        return score_chains(scoring, self)

    def facts(self, score: Score) -> Json:
        """Return the facts to compare; the text encoder is left to the components."""
        return {
            name: value
            for name, value in super().facts(score).items()
            if name != "text_encoder"
        }

    def is_complete(self, score: Score, place: Place) -> bool:
        """Return True if a mean over categories includes every category."""
        if place.group_kind is not None:
            return True
        categories = set()
        having = set()
        for number in score.numbers:
            if number.group_kind == "category":
                categories.add(number.group)
                is_part = number.metric == place.metric and number.t == place.t
                if is_part and number.value is not None:
                    having.add(number.group)
        return not having or having == categories

    def tables(self, scores: Scores) -> Iterator[Table]:
        return people(self, scores)

    def rows_in(self, score: Score, kind: str, name: str, rows: Rows) -> Rows:
        """Return the rows of a category, or of a group's categories."""
        members = score.details["groups"].get(name, ()) if kind == "group" else (name,)
        return [row for row in rows if row.group in members]
