"""What the specifications of benchmarks over chains have in common: the flow from a dataset to a score."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from driftledger.benchmarks._chains.records import ChainRecord, check_chains
from driftledger.benchmarks.base import DATASET, Artifacts, Benchmark, Input, Metric, Rule, Stage
from driftledger.benchmarks.records import RECORDS, CollectedCard, Linked
from driftledger.benchmarks.score import Score
from driftledger.core.files import read_jsonl
from driftledger.core.text import csv_table

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

    def artifacts(self, folders: Mapping[str, Path], score: Score) -> Artifacts:
        """Every description."""
        return {"descriptions.csv": partial(_descriptions_csv, folders[self.collects[0].name])}


def _descriptions_csv(folder: Path) -> bytes:
    records = read_jsonl(folder / RECORDS, ChainRecord)
    rows = ([each.sample, each.repeat, each.t, each.outcome, each.description, each.error] for each in records)
    return csv_table(["sample", "repeat", "t", "outcome", "description", "error"], rows)
