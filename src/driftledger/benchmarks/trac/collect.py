"""Collecting: every image of a labelled dataset, described under every condition of one way to ask."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.descriptions import Description, filled
from driftledger.benchmarks.records import RECORDS, CollectedCard, called
from driftledger.benchmarks.runner import Collecting, FailedCalls, Planned, PlannedWhenDue, RunSteps
from driftledger.benchmarks.trac.examples import Examples, rank_examples
from driftledger.benchmarks.trac.records import DescriptionRecord, TracProtocol
from driftledger.collect.call import Ask, Context, NotStoredError, Result, Steps, Uncounted
from driftledger.components.base import Component, Model
from driftledger.core.errors import DataError
from driftledger.core.files import write_jsonl
from driftledger.core.types import Conversation, Outcome, Sample, Subject, Turn
from driftledger.data.records import DatasetCard


class Shown(NamedTuple):
    """An in-context example: a support sample and the description that is shown with it."""

    sample: Sample
    description: str


@dataclass(frozen=True)
class DescribeProtocol:
    """What is fixed for all samples of a describe stage."""

    dataset: DatasetCard
    model: Model
    name: str
    """The catalogue's name of this way to ask."""
    settings: Description
    examples: Examples | None
    run_seed: int

    @property
    def prompt(self) -> str:
        """The prompt for this dataset; errors as in :func:`~driftledger.benchmarks.descriptions.filled`."""
        return filled(self.settings.prompt, self.dataset, self.name)

    @property
    def asked(self) -> TracProtocol:
        """As the card and the score keep it."""
        return TracProtocol(
            prompt=self.prompt,
            prefix=self.settings.prefix,
            max_tokens=list(self.settings.lengths),
            choose=self.examples.choose if self.examples else None,
            shots=list(self.examples.shots) if self.examples else [],
            seed=self.run_seed,
        )

    def conversation(self, sample: Sample, max_tokens: int | None = None, shown: Sequence[Shown] = ()) -> Conversation:
        """What a model is given for one sample, after so many examples."""
        turns = tuple(turn for example in shown for turn in self._turns(example))
        subject, prefix = Subject(sample.id, 1), self.settings.prefix
        asked = Conversation.ask(self.prompt, sample.image, subject, max_tokens, prefix=prefix)
        return Conversation((*turns, *asked.turns), asked.subject, max_tokens)

    def _turns(self, example: Shown) -> tuple[Turn, Turn]:
        return Turn("user", (example.sample.image, self.prompt)), Turn("assistant", (example.description,))

    def ask(self, model: Model, asked: Conversation, sample: Sample) -> Steps[Result]:
        """One model's description of one sample."""
        return (yield Ask(model, "describe", asked, Context(self.dataset.name, sample.id, 1)))


class _Place(NamedTuple):
    """A description that is to be had."""

    sample: Sample
    max_tokens: int | None = None
    shown: Sequence[Shown] = ()


@dataclass(frozen=True)
class CollectDescriptions(Collecting[list[DescriptionRecord]]):
    """A describe stage: every sample at every length, without examples and then with each number of them.

    With examples, support samples are described as test samples are, so that retrieval compares like with like. An
    example is always a support sample, and never the same picture as what is asked about.
    """

    protocol: DescribeProtocol
    samples: Sequence[Sample]

    @property
    def components(self) -> Sequence[Component]:
        return self.protocol.model, *([self._by] if self._by else [])

    @property
    def calls(self) -> int:
        return len(self.samples) * len(self.protocol.settings.lengths) + sum(count for *_, count in self._rest())

    @property
    def _by(self) -> Model | None:
        """Whose descriptions are shown, if not the model's own."""
        examples = self.protocol.examples
        return examples.by[1] if examples is not None and examples.by is not None else None

    def run(self, run: RunSteps) -> list[DescriptionRecord]:
        places = [_Place(sample, length) for length in self.protocol.settings.lengths for sample in self.samples]
        try:
            records = self._described(places, run)
        except NotStoredError:
            raise NotStoredError(self._rest()) from None
        if self.protocol.examples is None:
            return records
        return records + self._described(list(self._with_examples(self.protocol.examples, records, run)), run)

    def _rest(self) -> Sequence[Uncounted]:
        """What is asked at most once everything is described without examples: which ones are shown depends on that."""
        examples = self.protocol.examples
        if examples is None:
            return ()
        one = self.protocol.conversation(self.samples[0])
        support = sum(sample.split == "support" for sample in self.samples)
        with_examples = len(examples.shots) * len(self.protocol.settings.lengths) * len(self.samples)
        shown = [(self._by, one, support)] if self._by else []
        return [*shown, (self.protocol.model, one, with_examples)]

    def _described(self, places: Sequence[_Place], run: RunSteps) -> list[DescriptionRecord]:
        results = run(PlannedWhenDue(partial(self._planned, self.protocol.model), places))
        return [_record(place, result) for place, result in zip(places, results, strict=True)]

    def _planned(self, model: Model, place: _Place) -> Planned[Result]:
        asked = self.protocol.conversation(*place)
        return Planned(partial(self.protocol.ask, model, asked, place.sample), [(model, asked)])

    def _with_examples(self, examples: Examples, plain: Sequence[DescriptionRecord], run: RunSteps) -> Iterator[_Place]:
        by_id = {sample.id: sample for sample in self.samples}
        for length in self.protocol.settings.lengths:
            own = {
                record.sample: record.description
                for record in plain
                if record.max_tokens == length and record.is_there and record.description is not None
            }
            dataset = self.protocol.dataset.name
            ranked = rank_examples(examples, self.samples, own, self.protocol.run_seed, dataset)
            needed = sorted({name for names in ranked.values() for name in names})
            shown_texts = own if self._by is None else self._told_by(self._by, [by_id[name] for name in needed], run)
            for shots in examples.shots:
                for sample in self.samples:
                    # The most similar one is shown last, beside the question.
                    shown = [Shown(by_id[name], shown_texts[name]) for name in reversed(ranked[sample.id][:shots])]
                    yield _Place(sample, length, shown)

    def _told_by(self, by: Model, support: Sequence[Sample], run: RunSteps) -> dict[str, str]:
        try:
            results = run(PlannedWhenDue(partial(self._planned, by), [_Place(sample) for sample in support]))
        except NotStoredError:
            raise NotStoredError(self._rest()[-1:]) from None
        for sample, result in zip(support, results, strict=True):
            if not result.outcome.goes_on or result.text is None:
                examples = self.protocol.examples
                name = examples.by[0] if examples and examples.by else ""
                raise DataError(
                    f"{name} gave no description of the support sample {sample.id} ({result.outcome}), which "
                    f"descriptions.{self.protocol.name} would show as an example; name another model in its "
                    "demonstrations.by"
                )
        return {sample.id: result.text or "" for sample, result in zip(support, results, strict=True)}

    def failures(self, collected: list[DescriptionRecord]) -> FailedCalls:
        failed = [f"{r.sample}: {r.error or 'no reason given'}" for r in collected if r.outcome is Outcome.FAILED]
        return FailedCalls(failed, len(collected), "descriptions")

    def write(self, folder: Path, collected: list[DescriptionRecord]) -> CollectedCard:
        """Write ``records.jsonl``."""
        write_jsonl(folder / RECORDS, collected)
        protocol, examples = self.protocol, self.protocol.examples
        components = {
            "model": (self.keys["model"], protocol.model),
            "example_encoder": examples.encoder if examples else None,
            "example_model": examples.by if examples else None,
        }
        return self.card(protocol.dataset.digest, components, protocol.asked.model_dump(mode="json"))


def check_splits(dataset: DatasetCard) -> None:
    """Refuse a dataset that TRAC cannot go over.

    Raises:
        DataError: it has no support and test set.
    """
    if not dataset.labels:
        raise DataError(
            f"dataset {dataset.name} has no support and test set of labelled samples, which TRAC needs; "
            "take it out of run.trac, or let its settings say where they are"
        )


def _record(place: _Place, result: Result) -> DescriptionRecord:
    return DescriptionRecord(
        sample=place.sample.id,
        split=place.sample.split or "test",
        max_tokens=place.max_tokens,
        shots=len(place.shown),
        demonstrations=[example.sample.id for example in place.shown],
        description=result.text,
        **called(result),
    )
