"""Chains over a few images, collected as a stage does it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from driftledger.benchmarks.base.benchmark import Benchmark, Collecting, Scoring
from driftledger.benchmarks.base.chains.records import ChainRequest
from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.commands.collect import ask
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard, SampleEntry

CARD = DatasetCard(
    name="d",
    provider="image_folder",
    settings={},
    source={},
    samples=3,
    categories={},
    groups={},
    digest="x",
)


def chains(
    samples: Sequence[Sample],
    model: Model,
    generator: Generator,
    iterations: int = 3,
    generate_prompt: str = "Draw: {description}",
    card: DatasetCard = CARD,
    **asked: Any,
) -> Collecting:
    """The chain stage over ``samples``, which are the files of one folder."""
    folder = samples[0].medium.path.parent
    files = [each.medium.path.relative_to(folder).as_posix() for each in samples]
    entries = [
        SampleEntry(
            id=each.id,
            file=file,
            category=each.category,
            sha256=each.medium.sha256,
            width=1,
            height=1,
        )
        for each, file in zip(samples, files, strict=True)
    ]
    write_jsonl(folder / "samples.jsonl", entries)
    write_json(folder / "dataset.json", card)
    request = ChainRequest(
        iterations=iterations,
        describe_prompt="Describe.",
        max_tokens=None,
        generate_prompt=generate_prompt,
        seed=7,
        **asked,
    )
    keys = {"dataset": "d", "model": "echo", "generator": "size"}
    components: dict[str, tuple[str, Component]] = {
        "model": ("echo", model),
        "generator": ("size", generator),
    }
    return Collecting(
        spec=benchmark("genception"),
        keys=keys,
        data=folder,
        components=components,
        protocol=request.model_dump(mode="json"),
    )


def collected(collecting: Collecting, store: Path) -> list[CollectedRecord]:
    """What came of a stage, asked through the call store in a folder."""
    with CallStore(store) as calls, Collector(calls) as collector:
        return ask(collecting, collector)


def scoring(
    spec: Benchmark,
    folder: Path,
    encoders: Mapping[str, Encoder],
    settings: Mapping[str, Any],
    **beside: Path,
) -> Scoring:
    """What scores the chains in ``folder/c`` of the dataset in ``folder/d``."""
    plain = {
        "confidence": 0.95,
        "min_coverage": 0.0,
        "unread": "worst",
        "ssim_side": 64,
        "iterations": 3,
        "iterations_by_group": None,
        "text_encoder": None,
    }
    return Scoring(
        spec=spec,
        keys={"dataset": "d", "model": "m", "generator": "g", "encoder": "e"},
        folders={"dataset": folder / "d", spec.collects.name: folder / "c"},
        section=spec.settings.model_construct(**plain | settings),
        seed=1,
        encoders=encoders,
        beside=beside,
    )
