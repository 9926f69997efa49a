"""One description per sample."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, Planned, RunSteps
from driftledger.collect.call import Ask, Context, Steps
from driftledger.components.base import Component, Model
from driftledger.core.files import write_jsonl
from driftledger.core.types import Conversation, Outcome, Sample, Subject
from driftledger.data.records import DatasetCard
from tests.words.records import WordsRecord


@dataclass(frozen=True)
class CollectWords(Collecting[list[WordsRecord]]):
    """A tell stage."""

    dataset: DatasetCard
    samples: Sequence[Sample]
    model: Model
    prompt: str

    @property
    def components(self) -> Sequence[Component]:
        return (self.model,)

    @property
    def calls(self) -> int:
        return len(self.samples)

    def run(self, run: RunSteps) -> list[WordsRecord]:
        return run([Planned(lambda s=s: self.tell(s), [(self.model, self.asked(s))]) for s in self.samples])  # type: ignore[misc]

    def asked(self, sample: Sample) -> Conversation:
        return Conversation.ask(self.prompt, sample.image, Subject(sample.id, 1))

    def tell(self, sample: Sample) -> Steps[WordsRecord]:
        result = yield Ask(self.model, "describe", self.asked(sample), Context(self.dataset.name, sample.id, 1))
        return WordsRecord(sample=sample.id, outcome=result.outcome, text=result.text)

    def failures(self, collected: list[WordsRecord]) -> FailedCalls:
        failed = [record.sample for record in collected if record.outcome is Outcome.FAILED]
        return FailedCalls(failed, len(collected), "descriptions")

    def write(self, folder: Path, collected: list[WordsRecord]) -> CollectedCard:
        write_jsonl(folder / RECORDS, collected)
        return self.card(self.dataset.digest, {"model": (self.keys["model"], self.model)}, {"prompt": self.prompt})
