"""Words: how many does a description have?"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from driftledger.benchmarks.base import DATASET, RECORDS_OF, Benchmark, Input, Metric, Rule, Stage, score_stage
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, DescribedRecord, called, recorded_result
from driftledger.benchmarks.runner import Caller, Collecting, RecordedCall, Runner, StageInputs
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import FromDataset, Scored, ToScore, check_coverage
from driftledger.benchmarks.settings import Scoring, Section
from driftledger.collect.call import Ask, Context, Planned, RunSteps
from driftledger.components.base import Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, Sample, Subject
from driftledger.data.records import ONE_CATEGORY, DatasetCard, read_samples
from driftledger.metrics.exact import exact_mean


class WordsRecord(DescribedRecord):
    """What a model said of a sample."""

    @property
    def place(self) -> str:
        return f"sample {self.sample}"


class WordsSettings(Section):
    """What is asked of each image."""

    prompt: str


def tell(model: Model, prompt: str, dataset: str, sample: Sample) -> Ask:
    asked = Conversation.ask(prompt, sample.image, Subject(sample.id, 1))
    return Ask(model, "describe", asked, Context(dataset, sample.id, 1))


@dataclass(frozen=True)
class CollectWords(Collecting[list[WordsRecord]]):
    """One description per sample."""

    dataset: DatasetCard
    samples: Sequence[Sample]
    model: Model
    prompt: str

    @property
    def components(self) -> Sequence[Model]:
        return (self.model,)

    @property
    def calls(self) -> int:
        return len(self.samples)

    def run(self, run: RunSteps) -> list[WordsRecord]:
        calls = [tell(self.model, self.prompt, self.dataset.name, sample) for sample in self.samples]
        results = run([Planned.of(call) for call in calls])
        pairs = zip(self.samples, results, strict=True)
        return [WordsRecord(sample=sample.id, description=each.text, **called(each)) for sample, each in pairs]

    def about(self) -> CollectedCard:
        return self.card(self.dataset.digest, {"model": (self.keys["model"], self.model)}, {"prompt": self.prompt})


class WordsRunner(Runner):
    """Asks for one description per sample, and counts."""

    def collecting(self, given: StageInputs, stage: str, earlier: Mapping[str, Any] | None = None) -> CollectWords:
        model = given.model(given.keys["model"])
        return CollectWords(self.spec.name, stage, given.keys, *given.dataset(), model, given.section.prompt)

    def score(self, given: ToScore) -> Scored:
        data, rows, lost = FromDataset(given, "tell", WordsRecord), list[Row](), list[str]()
        for each in data.records:
            values = {"words": [float(len(each.description.split()))]} if each.is_there and each.description else {}
            lost += [] if values else [each.place]
            about = {"unit": each.sample, "group": ONE_CATEGORY, "cluster": each.sample, "outcome": each.outcome}
            rows.append(Row.model_validate(about | {"values": values}))
        counts = [value for row in rows for value in row.values.get("words", []) if value is not None]
        check_coverage(len(counts), len(rows), "samples were described", "words", given.min_coverage, lost)
        how_many = dict.fromkeys(("scored", "counted"), len(counts)) | {"total": len(rows)}
        coverage, means = len(counts) / len(rows), {"words": exact_mean(counts)}
        return Scored(Score(**data.origin(), **how_many, coverage=coverage, metrics=means), rows)

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        card, samples = read_json(where("tell") / CARD, CollectedCard), read_samples(where("dataset"))

        def calls(model: Model) -> Iterator[RecordedCall]:
            by_id = {sample.id: sample for sample in samples}
            for record in read_jsonl(where("tell") / RECORDS, WordsRecord):
                again = partial(tell, model, card.protocol["prompt"], card.keys["dataset"], by_id[record.sample])
                text, place = record.description or "", f"{paths['tell']}/{RECORDS}: {record.place}"
                yield RecordedCall("tell", model, place, again, text, result=recorded_result(record, text))

        yield Caller("model", card.components["model"], paths["tell"], calls)


class Words(Benchmark):
    """The mean number of words of a model's descriptions."""

    name: ClassVar[str] = "words"
    title: ClassVar[str] = "Words"
    data: ClassVar[Stage] = DATASET
    collects: ClassVar[tuple[Stage, ...]] = (
        Stage("tell", ("dataset", "model"), f"{RECORDS_OF}/words/{{dataset}}", 1, WordsRecord, ("prompt",)),
    )
    scores: ClassVar[Stage] = score_stage("words", ("dataset", "model"))
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("words", "words", "the mean number of words of a description", "exact.exact_mean",
               frozenset({Input.DESCRIPTIONS}), digits=1, headline=True, row="words"),
    )  # fmt: skip
    settings: ClassVar[type[Section]] = WordsSettings
    scoring: ClassVar[type[Scoring]] = Scoring
    runner: ClassVar[str] = "tests.words.spec:WordsRunner"
    unfair: ClassVar[tuple[Rule, ...]] = (Rule("prompt", "another prompt asks for another description"),)
