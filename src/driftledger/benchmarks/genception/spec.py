"""GenCeption: describe an image, redraw it from the description, repeat; how much meaning survives?

Cao et al., "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data", Algorithm 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from driftledger.benchmarks._chains.records import ChainRecord, ChainRequest, check_chains
from driftledger.benchmarks.base import (
    DATASET,
    SCORES,
    Artifacts,
    Benchmark,
    Input,
    Metric,
    Rule,
    SideBySide,
    Stage,
    Table,
)
from driftledger.benchmarks.genception.settings import GenCeptionScoring, GenCeptionSettings
from driftledger.benchmarks.records import CollectedCard, Linked
from driftledger.benchmarks.score import Score

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

CHAIN = frozenset({Input.ENCODER, Input.DRAWN, Input.DESCRIPTIONS, Input.DATA})
_OVER_CATEGORIES = "averaged over a category's samples, then over categories"
_PAPER = "Cao et al., GenCeption"


class GenCeption(Benchmark):
    """Chains of describe → generate, and GC@T."""

    name: ClassVar[str] = "genception"
    title: ClassVar[str] = "GenCeption"
    data: ClassVar[Stage] = DATASET
    collects: ClassVar[tuple[Stage, ...]] = (
        Stage(
            "chain",
            ("dataset", "model", "generator"),
            "data/chains/{dataset}/{model}/{generator}",
            "driftledger.benchmarks._chains.collect",
            ChainRecord,
            ("iterations", "describe_prompt", "generate_prompt"),
        ),
    )
    scores: ClassVar[Stage] = Stage(
        "genception",
        ("dataset", "model", "generator", "encoder"),
        SCORES + "/genception/{dataset}/{model}/{generator}/{encoder}",
        "driftledger.benchmarks.genception.score",
        settings=("iterations", "min_coverage", "bootstrap"),
    )
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "gc_at_{t}",
            "GC@{t}",
            f"Σ t·s(t) / Σ t over the iterations; {_OVER_CATEGORIES}",
            f"drift.gc_at; {_PAPER}, equation 3",
            CHAIN,
            digits=3,
            headline=True,
            row="gc",
        ),
        Metric(
            "similarity_at_{t}",
            "s({t})",
            f"s(t), the cosine between the encoder's view of the original and of iteration t; {_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, Algorithm 1",
            CHAIN,
            digits=3,
            headline=True,
            row="similarity",
        ),
        Metric(
            "similarity_mean",
            "mean s(t)",
            f"the mean of s(1) … s(T); {_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, section 2.2",
            CHAIN,
            digits=3,
        ),
        Metric(
            "{frechet}_at_{t}",
            "GC_{frechet}@{t}",
            "the Fréchet distance between the originals' features and those of iteration t, weighted over t as GC@T "
            "is; per category, then averaged over categories",
            f"frechet.frechet_distance; {_PAPER}, equation 4",
            CHAIN,
            higher_is_better=False,
            digits=3,
        ),
    )
    settings: ClassVar[type[GenCeptionSettings]] = GenCeptionSettings
    protocol: ClassVar[type[ChainRequest]] = ChainRequest
    scoring: ClassVar[type[GenCeptionScoring]] = GenCeptionScoring
    runner: ClassVar[str] = "driftledger.benchmarks.genception.runner:GenCeptionRunner"
    pictures: ClassVar[tuple[str, ...]] = ("chains.png",)
    commands: ClassVar[Mapping[str, str]] = {"human": "driftledger.benchmarks.genception.commands:app"}
    tracked_groups: ClassVar[tuple[str, ...]] = ("category", "group")
    unfair: ClassVar[tuple[Rule, ...]] = (
        Rule("describe_prompt", "another prompt asks for another description"),
        Rule("max_tokens", "longer descriptions tell more"),
        Rule("generate_prompt", "another prompt draws another image"),
        Rule("iterations", "more iterations drift further"),
        Rule("encoder", "values seen through different encoders are on different scales"),
    )

    def ranked(self, score: Score, key: str) -> float | None:
        """A mean over categories is compared if every category has its part in it."""
        return score.metrics.get(key) if all(key in row for row in score.groups["category"].values()) else None

    def links(
        self, stage: str, records: Sequence[ChainRecord], card: CollectedCard, parents: Mapping[str, str]
    ) -> Iterator[Linked]:
        return check_chains(records, card, parents)

    def tables(self, block: SideBySide) -> Iterator[Table]:
        from driftledger.benchmarks.genception.tables import tables

        return tables(self, block.scores)

    def artifacts(self, lineage: "Lineage", root: Path) -> Artifacts:
        from driftledger.benchmarks.genception.artifacts import artifacts

        return artifacts(lineage, root)

    def picture(self, name: str, scores: Sequence[Score], root: Path) -> bytes:
        from driftledger.benchmarks.genception.artifacts import chains_by_model

        return chains_by_model(self, scores, root)

    def costs(self, lineage: "Lineage", root: Path) -> Mapping[str, Sequence[str]]:
        from driftledger.benchmarks._chains.costs import chain_calls

        return chain_calls(lineage.score, root / lineage.collected["chain"].path)
