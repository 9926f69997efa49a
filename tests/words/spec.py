"""Words: how many does a description have?"""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar

from driftledger.benchmarks.base import DATASET, RECORDS_OF, Benchmark, Input, Metric, Rule, Stage, score_stage
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import FromDataset, Scored, ToScore
from driftledger.benchmarks.settings import Section
from driftledger.collect.call import Ask, Planned, Steps
from driftledger.core.types import Conversation, Subject
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.exact import exact_mean


class WordsSettings(Section):
    """What is asked of each image."""

    prompt: str


class Words(Benchmark):
    """The mean number of words of a model's descriptions."""

    name: ClassVar[str] = "words"
    title: ClassVar[str] = "Words"
    data: ClassVar[Stage] = DATASET
    collects: ClassVar[Stage] = Stage(
        "tell", ("dataset", "model"), f"{RECORDS_OF}/words/{{dataset}}", settings=("prompt",)
    )
    scores: ClassVar[Stage] = score_stage("words", ("dataset", "model"))
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("words", "words", "the mean number of words of a description", "exact.exact_mean",
               frozenset({Input.DESCRIPTIONS}), digits=1, headline=True, row="words"),
    )  # fmt: skip
    settings: ClassVar[type[Section]] = WordsSettings
    unfair: ClassVar[tuple[Rule, ...]] = (Rule("prompt", "another prompt asks for another description"),)

    def steps(self, collecting: Collecting) -> Iterator[Planned[list[CollectedRecord]]]:
        for sample in collecting.samples:
            context = Subject(sample.id, 1, collecting.on)
            asked = Conversation.ask(collecting.protocol["prompt"], sample.medium, context)
            ask = Ask(collecting.model(), "describe", asked, context)
            yield Planned(partial(self.tell, ask), [(ask.component, asked)])

    def tell(self, ask: Ask) -> Steps[list[CollectedRecord]]:
        told = yield ask
        return [CollectedRecord(unit=ask.context.sample, step=1, results=[RecordedResult.of("model", ask, told)])]

    def score(self, given: ToScore) -> Scored:
        data, rows, lost = FromDataset(given, self), list[Row](), list[str]()
        for each in data.records:
            values = {"words": [float(len(each.text.split()))]} if each.is_there and each.text else {}
            lost += [] if values else [each.place]
            about = {"unit": each.unit, "group": ONE_CATEGORY, "cluster": each.unit, "outcome": each.outcome}
            rows.append(Row.model_validate(about | {"values": values}))
        counts = [value for row in rows for value in row.values.get("words", []) if value is not None]
        flags = data.too_little(len(counts), len(rows), "samples were described", lost)
        return Scored(Score(**data.origin(len(counts), len(rows), flags), metrics={"words": exact_mean(counts)}), rows)
