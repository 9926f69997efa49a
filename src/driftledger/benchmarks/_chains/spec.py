"""What the specifications of benchmarks over chains have in common: the flow from a dataset to a score."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from driftledger.benchmarks._chains.costs import chain_calls
from driftledger.benchmarks._chains.records import ChainRecord, ChainRequest, check_chains
from driftledger.benchmarks.base import DATASET, Benchmark, Input, Rule, Stage
from driftledger.benchmarks.records import CollectedCard, Linked

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

KEYS = ("dataset", "model", "generator")
"""What names a folder of chains."""

SEEN = frozenset({Input.ENCODER, Input.DRAWN, Input.DESCRIPTIONS, Input.DATA})
"""What an encoder's view of chains depends on."""

ANOTHER_DESCRIPTION = Rule("describe_prompt", "another prompt asks for another description")
LONGER = Rule("max_tokens", "longer descriptions tell more")


class ChainBenchmark(Benchmark):
    """Collects chains of describe → generate over a dataset, in one stage."""

    data: ClassVar[Stage] = DATASET
    protocol: ClassVar[type[ChainRequest]] = ChainRequest

    def links(
        self, stage: str, records: Sequence[ChainRecord], card: CollectedCard, parents: Mapping[str, str]
    ) -> Iterator[Linked]:
        return check_chains(records, card, parents)

    def costs(self, lineage: "Lineage", root: Path) -> Mapping[str, Sequence[str]]:
        [folder] = lineage.collected.values()
        return chain_calls(lineage.score, root / folder.path)
