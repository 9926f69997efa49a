"""Words: how many does a description have?"""

from collections.abc import Mapping
from typing import Any

from driftledger.benchmarks.base.benchmark import Rule
from driftledger.benchmarks.base.one_call import OneCallPerSample
from driftledger.benchmarks.base.settings import Section
from driftledger.core.types import Sample
from driftledger.scoring.means import mean_over_samples
from driftledger.scoring.metric import Input, Metric, MetricTable


class WordsSettings(Section):
    """The prompt about each image."""

    prompt: str


class Words(OneCallPerSample):
    """The mean number of words of a model's descriptions."""

    name = "words"
    title = "Words"
    settings = WordsSettings
    asked = ("prompt",)
    metrics = MetricTable(
        Metric("words", "words", "the mean number of words of a description", "exact.exact_mean",
               needs=frozenset({Input.DESCRIPTIONS}), estimate=mean_over_samples, digits=1,
               in_rows=True, shown=frozenset({"headline", "compared", "table"})),
    )  # fmt: skip
    unfair = (Rule("prompt", "another prompt asks for another description"),)

    def ask(self, sample: Sample, settings: Mapping[str, Any]) -> str:
        return str(settings["prompt"])

    def worth(self, sample: Sample, text: str) -> float:
        return float(len(text.split()))
