"""What the specifications of benchmarks over chains have in common: the flow from a dataset to a score."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.base import DATASET, Benchmark, Input, Metric, Rule, Stage
from driftledger.benchmarks.collecting import Collecting, FailedCalls, StageInputs
from driftledger.benchmarks.descriptions import check_prefix
from driftledger.benchmarks.records import CollectedRecord
from driftledger.collect.call import RunSteps
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard

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

    @abstractmethod
    def asked(self, given: StageInputs, dataset: DatasetCard) -> ChainRequest:
        """Return what is asked of every sample of a dataset that is built."""

    def samples(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Return those that a chain is asked of."""
        return samples

    def collecting(self, given: StageInputs) -> Collecting:
        """Return what chains are made from; errors as in :meth:`Benchmark.collecting` and :meth:`asked`.

        Raises:
            ConfigError: the model cannot be given the beginning of its reply.
        """
        collecting = super().collecting(given)
        asked = self.asked(given, collecting.dataset)
        check_prefix(asked.prefix, given.keys["model"], collecting.model())
        return replace(collecting, protocol=asked.model_dump(mode="json"))

    def collect(self, collecting: Collecting, run: RunSteps) -> list[CollectedRecord]:
        from driftledger.benchmarks._chains.collect import collect_chains

        return collect_chains(collecting, self.samples(collecting.samples), run)

    def failures(self, records: Sequence[CollectedRecord]) -> FailedCalls:
        chains = {(record.unit, record.repeat) for record in records}
        return super().failures(records)._replace(total=len(chains), things="chains")
