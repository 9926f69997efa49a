"""Words: how many does a description have?"""

from typing import ClassVar

from driftledger.benchmarks.base import DATASET, RECORDS_OF, Benchmark, Input, Metric, Rule, Stage, score_stage
from tests.words.records import WordsRecord
from tests.words.settings import WordsProtocol, WordsScoring, WordsSettings

_NEEDS = frozenset({Input.DESCRIPTIONS, Input.DATA})


class Words(Benchmark):
    """The mean number of words of a model's descriptions."""

    name: ClassVar[str] = "words"
    title: ClassVar[str] = "Words"
    data: ClassVar[Stage] = DATASET
    collects: ClassVar[tuple[Stage, ...]] = (
        Stage(
            "tell",
            ("dataset", "model"),
            f"{RECORDS_OF}/words/{{dataset}}",
            record=WordsRecord,
            settings=("prompt",),
        ),
    )
    scores: ClassVar[Stage] = score_stage("words", ("dataset", "model"))
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(
            "words",
            "words",
            "the mean number of words of a description",
            "exact.exact_mean",
            _NEEDS,
            unit="words",
            digits=1,
            headline=True,
            row="words",
        ),
    )
    settings: ClassVar[type[WordsSettings]] = WordsSettings
    protocol: ClassVar[type[WordsProtocol]] = WordsProtocol
    scoring: ClassVar[type[WordsScoring]] = WordsScoring
    runner: ClassVar[str] = "tests.words.runner:WordsRunner"
    unfair: ClassVar[tuple[Rule, ...]] = (Rule("prompt", "another prompt asks for another description"),)
