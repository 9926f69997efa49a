"""GenCeption: describe an image, redraw it from the description, repeat; how much meaning survives?

Cao et al., "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data", Algorithm 1.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks._chains.spec import ANOTHER_DESCRIPTION, IMAGES, KEYS, LONGER, SEEN, WORDS, ChainBenchmark
from driftledger.benchmarks._chains.traces import traces
from driftledger.benchmarks.base import Artifacts, Input, Metric, Rule, SideBySide, Stage, Table, score_stage
from driftledger.benchmarks.genception.artifacts import artifacts, chains_by_model
from driftledger.benchmarks.genception.records import WITNESS, WitnessRecord, check_witnesses
from driftledger.benchmarks.genception.settings import GenCeptionScoring, GenCeptionSettings
from driftledger.benchmarks.genception.tables import tables, tables_across
from driftledger.benchmarks.records import CollectedCard, Linked
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.traces import Trace

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage
    from driftledger.project.settings import Settings

_OVER_CATEGORIES = "averaged over a category's samples, then over categories"
_PAPER = "Cao et al., GenCeption"
_metric = partial(Metric, needs=SEEN, digits=3)
_SAID = frozenset({Input.TEXT_ENCODER, Input.DESCRIPTIONS, Input.DATA})


class GenCeption(ChainBenchmark):
    """Chains of describe → generate, and GC@T."""

    name: ClassVar[str] = "genception"
    title: ClassVar[str] = "GenCeption"
    topic: ClassVar[str] = "Drift"
    collects: ClassVar[tuple[Stage, ...]] = (
        Stage(
            "chain",
            KEYS,
            "data/chains/{dataset}/{model}/{generator}",
            "driftledger.benchmarks._chains.collect",
            ChainRecord,
            ("iterations", "iterations_by_group", "describe_prompt", "generate_prompt"),
        ),
        Stage(
            WITNESS,
            ("dataset",),
            "data/witnesses/{dataset}",
            "driftledger.benchmarks.genception.witnesses",
            WitnessRecord,
            ("describe_prompt", "cross_check"),
            apart=True,
        ),
    )
    scores: ClassVar[Stage] = score_stage(
        "genception", (*KEYS, "encoder"), "iterations", "iterations_by_group", "text_encoder"
    )
    metrics: ClassVar[tuple[Metric, ...]] = (
        _metric(
            "gc_at_{t}",
            "GC@{t}",
            f"Σ t·s(t) / Σ t over the iterations; {_OVER_CATEGORIES}",
            f"drift.gc_at; {_PAPER}, equation 3",
            headline=True,
            row="gc",
        ),
        _metric(
            "similarity_at_{t}",
            "s({t})",
            f"s(t), the cosine between the encoder's view of the original and of iteration t; {_OVER_CATEGORIES}",
            f"drift.cosine_similarity; {_PAPER}, Algorithm 1",
            headline=True,
            row="similarity",
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
        Metric(
            "cross_check",
            "cross-check",
            "of the sentences of the first description, the mean support by other models' descriptions of the same "
            "image: by each the largest cosine with one of its sentences, averaged over these models; "
            f"{_OVER_CATEGORIES}",
            "consistency.support; in the manner of Sun et al., CrossCheckGPT",
            _SAID | {Input.WITNESSES},
            digits=3,
            compared=True,
            row="cross_check",
        ),
        WORDS,
        IMAGES,
    )
    settings: ClassVar[type[GenCeptionSettings]] = GenCeptionSettings
    scoring: ClassVar[type[GenCeptionScoring]] = GenCeptionScoring
    runner: ClassVar[str] = "driftledger.benchmarks.genception.runner:GenCeptionRunner"
    pictures: ClassVar[tuple[str, ...]] = ("chains.png",)
    commands: ClassVar[Mapping[str, str]] = {"human": "driftledger.benchmarks.genception.commands:app"}
    drawn_groups: ClassVar[Mapping[str, str]] = {"category": "gc_at_{t}"}
    tracked_groups: ClassVar[tuple[str, ...]] = ("category", "group")
    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_DESCRIPTION,
        LONGER,
        Rule("generate_prompt", "another prompt draws another image"),
        Rule("iterations", "more iterations drift further"),
        Rule("iterations_by_group", "more iterations drift further"),
        Rule("encoder", "values seen through different encoders are on different scales", Input.ENCODER),
        Rule("text_encoder", "values by different text encoders are on different scales", Input.TEXT_ENCODER),
        Rule("witnesses", "other models bear out other sentences", Input.WITNESSES),
    )

    def check(self, settings: "Settings") -> None:
        """Refuse to compare descriptions by an encoder that does not read."""
        name = cast(GenCeptionSettings, settings.section(self.name)).text_encoder
        if name is not None and not settings.encoder(name).reads:
            raise ValueError(f"genception.text_encoder: {name!r} has no text tower; name another, or set null")

    def facts(self, score: Score) -> dict[str, Any]:
        """Who bears descriptions out is the whole list, the model itself with it: any two of one list are ranked."""
        facts = {name: value for name, value in super().facts(score).items() if name != "text_encoder"}
        cards = sorted(card.fingerprint for role, card in score.components.items() if role.startswith(f"{WITNESS}."))
        return facts | ({"witnesses": cards} if cards else {})

    def links(
        self, stage: str, records: Sequence[Any], card: CollectedCard, parents: Mapping[str, str]
    ) -> Iterator[Linked]:
        return check_witnesses(records, card) if stage == WITNESS else super().links(stage, records, card, parents)

    def ranked(self, score: Score, key: str) -> float | None:
        """A mean over categories is compared if every category has its part in it."""
        there = {key in row for row in score.groups["category"].values()}
        return score.metrics.get(key) if len(there) < 2 else None

    def tables(self, block: SideBySide) -> Iterator[Table]:
        return tables(self, block)

    def tables_across(self, blocks: Sequence[SideBySide]) -> Iterator[Table]:
        return tables_across(self, blocks)

    def artifacts(self, lineage: "Lineage", root: Path) -> Artifacts:
        return artifacts(lineage, root)

    def traces(self, lineage: "Lineage", root: Path, rows: Sequence[Row]) -> Iterator[Trace]:
        return traces(lineage, root, rows, "chain", "generate")

    def picture(self, name: str, scores: Sequence[Score], root: Path) -> bytes:
        return chains_by_model(self, scores, root)
