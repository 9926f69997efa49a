"""Chains over a few images, collected as a stage does it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from driftledger.benchmarks._chains.collect import ChainProtocol, CollectChains
from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.runner import Collecting
from driftledger.collect.store import CallStore
from driftledger.components.base import Generator, Model
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard
from driftledger.project.asking import ask

T = TypeVar("T")

CARD = DatasetCard(
    name="d", provider="image_folder", settings={}, source={}, samples=3, categories={}, groups={}, digest="x"
)


def chains(
    samples: Sequence[Sample],
    model: Model,
    generator: Generator,
    iterations: int = 3,
    generate_prompt: str = "Draw: {description}",
) -> CollectChains:
    """The chain stage over ``samples``."""
    asked = ChainRequest(
        iterations=iterations, describe_prompt="Describe.", max_tokens=None, generate_prompt=generate_prompt, seed=7
    )
    keys = {"dataset": "d", "model": "echo", "generator": "size"}
    return CollectChains("genception", "chain", keys, ChainProtocol(CARD, model, generator, asked), samples)


def collected(collecting: Collecting[T], store: Path) -> T:
    """What came of a stage, asked through the call store in a folder."""
    with CallStore(store) as calls:
        return ask(collecting, calls)
