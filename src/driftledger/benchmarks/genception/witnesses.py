"""What other models say of the same images: a stage of its own, beside the chains.

Its folder holds the first descriptions by the models of ``genception.cross_check`` and of no others, so that a model
which is added to a run changes no other model's score. A call is the one that the model's own chain begins with, and is
made once for both.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.genception.records import WITNESS, WitnessRecord, role_of
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, called
from driftledger.benchmarks.runner import Caller, Collecting, FailedCalls, Planned, RecordedCall, RunSteps
from driftledger.collect.call import Ask, Context, Result, Steps
from driftledger.components.base import Component, Model
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.types import Conversation, Outcome, Sample, Subject
from driftledger.data.records import DatasetCard, read_samples


class Witness(NamedTuple):
    """What is asked of one model for every sample, as a chain's first iteration asks it."""

    dataset: str
    model: Model
    prompt: str

    def asks(self, sample: Sample) -> Ask:
        asked = Conversation.ask(self.prompt, sample.image, Subject(sample.id, 1))
        return Ask(self.model, "describe", asked, Context(self.dataset, sample.id, 1))

    def run(self, sample: Sample) -> Steps[Result]:
        return (yield self.asks(sample))


@dataclass(frozen=True)
class CollectWitnesses(Collecting[list[WitnessRecord]]):
    """The witness stage of a dataset: every sample, described by every model of the setting."""

    dataset: DatasetCard
    prompt: str
    models: Mapping[str, Model]
    samples: Sequence[Sample]

    @property
    def components(self) -> Sequence[Component]:
        return tuple(self.models.values())

    @property
    def calls(self) -> int:
        return len(self.models) * len(self.samples)

    def run(self, run: RunSteps) -> list[WitnessRecord]:
        places = [(name, sample) for name in self.models for sample in self.samples]
        results = run([self._planned(*place) for place in places]) if places else []
        return [
            WitnessRecord(sample=sample.id, model=name, description=result.text, **called(result))
            for (name, sample), result in zip(places, results, strict=True)
        ]

    def _planned(self, name: str, sample: Sample) -> Planned[Result]:
        witness = Witness(self.dataset.name, self.models[name], self.prompt)
        return Planned(partial(witness.run, sample), [(witness.model, witness.asks(sample).conversation)])

    def failures(self, collected: list[WitnessRecord]) -> FailedCalls:
        failed = [f"{each.place}: {each.error or 'no reason given'}" for each in collected if _failed(each)]
        return FailedCalls(failed, len(collected), "descriptions")

    def write(self, folder: Path, collected: list[WitnessRecord]) -> CollectedCard:
        """Write ``records.jsonl``."""
        write_jsonl(folder / RECORDS, collected)
        asked = {role_of(name): (name, model) for name, model in self.models.items()}
        return self.card(self.dataset.digest, asked, {"describe_prompt": self.prompt})


def _failed(record: WitnessRecord) -> bool:
    return record.outcome is Outcome.FAILED


def witness_callers(path: str, dataset: Path, folder: Path) -> Iterator[Caller]:
    """Who was asked, and what.

    Args:
        path: of the stage's folder, relative to the top folder.
        dataset, folder: the recorded bytes of the dataset and of the stage.
    """
    card, records = read_json(folder / CARD, CollectedCard), read_jsonl(folder / RECORDS, WitnessRecord)
    samples = {sample.id: sample for sample in read_samples(dataset)}

    def calls(name: str, model: Model) -> Iterator[RecordedCall]:
        witness = Witness(card.keys["dataset"], model, card.protocol["describe_prompt"])
        for record in records:
            if record.model == name and record.description:
                place = f"{path}/{RECORDS}: {record.place}: description"
                ask = partial(witness.asks, samples[record.sample])
                yield RecordedCall(f"{WITNESS}: describe", model, place, ask, record.description)

    for role, each in card.components.items():
        yield Caller(role, each, path, partial(calls, each.name))
