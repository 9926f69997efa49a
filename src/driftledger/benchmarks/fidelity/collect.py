"""Collecting: one description and one redrawing per image, which is a chain of one iteration."""

from driftledger.benchmarks._chains.collect import Chains, CollectChains
from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.descriptions import Description, filled
from driftledger.benchmarks.fidelity.encode import Redrawing, encode_reconstructions
from driftledger.collect.features import FeatureStore
from driftledger.components.base import Encoder
from driftledger.data.records import DatasetCard


class CollectRedraws(CollectChains):
    """A redraw stage."""

    def show(self, collected: Chains, encoder: Encoder, features: FeatureStore) -> None:
        for repeat in self.repeats:
            ends = [chain[-1] for chain in self.of_repeat(collected, repeat)]
            redrawings = [Redrawing(sample, *end) for sample, end in zip(self.samples, ends, strict=True)]
            encode_reconstructions(redrawings, encoder, features)


def asked_once(
    dataset: DatasetCard, way: tuple[str, Description], generate_prompt: str, seed: int, repeats: int = 1
) -> ChainRequest:
    """What is asked of every image, once in each repeat.

    Args:
        way: the catalogue's name of a way to ask, and what it says.

    Raises:
        ConfigError: the prompt wants a general category, and the dataset has none.
    """
    name, description = way
    return ChainRequest(
        iterations=1,
        describe_prompt=filled(description.prompt, dataset, name),
        max_tokens=description.lengths[0],
        prefix=description.prefix,
        generate_prompt=generate_prompt,
        seed=seed,
        repeats=repeats,
    )
