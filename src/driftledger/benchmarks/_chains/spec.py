"""What the specifications of benchmarks over chains have in common: the flow from a dataset to a score."""

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from driftledger.benchmarks._chains.records import ChainRecord, check_chains
from driftledger.benchmarks.base import DATASET, Benchmark, Input, Metric, Rule, Stage
from driftledger.benchmarks.records import CollectedCard, Linked

KEYS = ("dataset", "model", "generator")
"""What names a folder of chains."""

SEEN = frozenset({Input.ENCODER, Input.DRAWN, Input.DESCRIPTIONS, Input.DATA})
"""What an encoder's view of chains depends on."""

ANOTHER_DESCRIPTION = Rule("describe_prompt", "another prompt asks for another description")
BEGUN = Rule("prefix", "a reply that is begun for a model goes on otherwise")
LONGER = Rule("max_tokens", "longer descriptions tell more")


WORDS = Metric(
    "words",
    "words",
    "mean number of words of the descriptions",
    "exact.exact_mean",
    frozenset({Input.DESCRIPTIONS}),
    higher_is_better=None,
    digits=1,
)
IMAGES = Metric(
    "images",
    "N",
    "how many images stand behind the Fréchet distance over all of them",
    "frechet.frechet_distance",
    SEEN - {Input.ENCODER},
    higher_is_better=None,
    digits=0,
)


class ChainBenchmark(Benchmark):
    """Collects chains of describe → generate over a dataset, in one stage."""

    data: ClassVar[Stage] = DATASET

    def links(
        self, stage: str, records: Sequence[ChainRecord], card: CollectedCard, parents: Mapping[str, str]
    ) -> Iterator[Linked]:
        return check_chains(records, card, parents)
