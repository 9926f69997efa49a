"""The collecting half: one description and one redrawing per image, which is a chain of one iteration."""

from collections.abc import Sequence

from driftledger.benchmarks.genception.chain import ChainProtocol
from driftledger.benchmarks.settings import Description
from driftledger.benchmarks.trac.describe import filled
from driftledger.components.base import Generator, Model
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard


def redraw_protocol(
    dataset: DatasetCard,
    model: Model,
    generator: Generator,
    asked: tuple[str, Description],
    generate_prompt: str,
    run_seed: int,
) -> ChainProtocol:
    """How an image is described and drawn again.

    Args:
        asked: the catalogue's name of a way to ask, and what it says.

    Raises:
        ConfigError: the prompt wants a general category, and the dataset has none.
    """
    name, description = asked
    return ChainProtocol(
        dataset=dataset,
        model=model,
        generator=generator,
        iterations=1,
        describe_prompt=filled(description.prompt, dataset, name),
        generate_prompt=generate_prompt,
        run_seed=run_seed,
        max_tokens=description.lengths[0],
    )


def to_redraw(samples: Sequence[Sample]) -> list[Sample]:
    """The test set; all samples, where there is none."""
    return [sample for sample in samples if sample.split == "test"] or list(samples)
