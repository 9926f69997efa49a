"""The collecting half: every image of a labelled dataset, described under every condition of one way to ask."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.description_records import DemonstrationsCard, DescriptionRecord, DescriptionsCard
from driftledger.benchmarks.settings import Description
from driftledger.benchmarks.trac.examples import Examples, rank_examples
from driftledger.collect.call_result import Context, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.failures import refuse_failures
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Steps
from driftledger.components.base import Model
from driftledger.components.card import ComponentCard
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, Outcome, Sample, Subject, Turn
from driftledger.data.records import DatasetCard

CATEGORY = "{category}"

Runner = Callable[[Sequence[Steps[Result]]], Sequence[Result]]
"""Runs protocols of one call each and gives their results, in order."""


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
        """The prompt for this dataset; errors as in :func:`filled`."""
        return filled(self.settings.prompt, self.dataset, self.name)

    @property
    def conditions(self) -> list[tuple[int | None, int]]:
        """Every length limit with every number of examples, from none on."""
        shots = (0, *(self.examples.shots if self.examples else ()))
        return [(length, number) for length in self.settings.lengths for number in shots]

    def ask(self, sample: Sample, max_tokens: int | None, shown: Sequence[Shown] = ()) -> Steps[Result]:
        """The model's description of one sample, after so many examples."""
        turns = tuple(turn for example in shown for turn in self._turns(example))
        asked = Conversation.ask(self.prompt, sample.image, Subject(sample.id, 1), max_tokens)
        conversation = Conversation((*turns, *asked.turns), asked.subject, max_tokens)
        return (yield Ask(self.model, "describe", conversation, Context(self.dataset.name, sample.id, 1)))

    def _turns(self, example: Shown) -> tuple[Turn, Turn]:
        return Turn("user", (example.sample.image, self.prompt)), Turn("assistant", (example.description,))

    def ask_for_example(self, sample: Sample) -> Steps[Result]:
        """The description of a support sample by whoever describes the examples."""
        if self.examples is None or self.examples.by is None:
            raise ValueError("the model describes its examples itself")
        asked = Conversation.ask(self.prompt, sample.image, Subject(sample.id, 1))
        return (yield Ask(self.examples.by[1], "describe", asked, Context(self.dataset.name, sample.id, 1)))


def filled(prompt: str, dataset: DatasetCard, name: str) -> str:
    """``prompt`` with the dataset's general category in its place.

    Raises:
        ConfigError: the prompt of the ``descriptions`` entry ``name`` has the place, and the dataset has no category.
    """
    if CATEGORY in prompt and dataset.general_category is None:
        raise ConfigError(
            f"descriptions.{name} asks about {CATEGORY}, and datasets.{dataset.name} does not say what its classes "
            "are; set its general_category, e.g. bird"
        )
    return prompt.replace(CATEGORY, dataset.general_category or "")


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


def collect(protocol: DescribeProtocol, samples: Sequence[Sample], run: Runner) -> list[DescriptionRecord]:
    """Describe every sample at every length, without examples and then with each number of them.

    With examples, support samples are described as test samples are, so that retrieval compares like with like. An
    example is always a support sample, and never the same picture as what is asked about.
    """
    places = [(length, sample) for length in protocol.settings.lengths for sample in samples]
    plain = run([protocol.ask(sample, length) for length, sample in places])
    records = [_record(sample, length, (), result) for (length, sample), result in zip(places, plain, strict=True)]
    if protocol.examples is None:
        return records
    asked = list(_with_examples(protocol, samples, records, run))
    results = run([protocol.ask(sample, length, shown) for length, sample, shown in asked])
    more = [
        _record(sample, length, [example.sample.id for example in shown], result)
        for (length, sample, shown), result in zip(asked, results, strict=True)
    ]
    return records + more


def _with_examples(
    protocol: DescribeProtocol, samples: Sequence[Sample], plain: Sequence[DescriptionRecord], run: Runner
) -> Iterator[tuple[int | None, Sample, list[Shown]]]:
    """What is asked with examples: length, sample, and the examples in the order in which they are shown."""
    examples = protocol.examples
    if examples is None:
        return
    by_id = {sample.id: sample for sample in samples}
    for length in protocol.settings.lengths:
        said = {
            record.sample: record.description
            for record in plain
            if record.max_tokens == length and record.outcome.goes_on and record.description is not None
        }
        ranked = rank_examples(examples, samples, said, protocol.run_seed, protocol.dataset.name)
        needed = sorted({name for names in ranked.values() for name in names})
        told = said if examples.by is None else _told_by(protocol, [by_id[name] for name in needed], run)
        for shots in examples.shots:
            for sample in samples:
                # The most similar one is shown last, beside the question.
                shown = [Shown(by_id[name], told[name]) for name in reversed(ranked[sample.id][:shots])]
                yield length, sample, shown


def _told_by(protocol: DescribeProtocol, support: Sequence[Sample], run: Runner) -> dict[str, str]:
    results = run([protocol.ask_for_example(sample) for sample in support])
    for sample, result in zip(support, results, strict=True):
        if not result.outcome.goes_on or result.text is None:
            name = protocol.examples.by[0] if protocol.examples and protocol.examples.by else ""
            raise DataError(
                f"{name} gave no description of the support sample {sample.id} ({result.outcome}), which "
                f"descriptions.{protocol.name} would show as an example; name another model in its demonstrations.by"
            )
    return {sample.id: result.text or "" for sample, result in zip(support, results, strict=True)}


def _record(sample: Sample, max_tokens: int | None, shown: Sequence[str], result: Result) -> DescriptionRecord:
    return DescriptionRecord(
        sample=sample.id,
        split=sample.split or "test",
        max_tokens=max_tokens,
        shots=len(shown),
        demonstrations=list(shown),
        outcome=result.outcome,
        description=result.text,
        served_model=result.served_model,
        system_fingerprint=result.system_fingerprint,
        notes=[result.note] if result.note else [],
        error=result.error,
    )


def collect_stored(
    protocol: DescribeProtocol, samples: Sequence[Sample], store: CallStore, title: str
) -> list[DescriptionRecord]:
    """Collect with calls that are already stored taken from ``store``, and show how far it is."""
    with Progress(title, total=len(samples) * len(protocol.conditions)) as progress:
        return collect(protocol, samples, lambda steps: run_protocols(list(steps), store, progress, most_calls=1))


def check_failures(records: Sequence[DescriptionRecord], min_coverage: float) -> None:
    """Refuse descriptions of which too many failed; errors as in :func:`refuse_failures`."""
    failed = [f"{r.sample}: {r.error or 'no reason given'}" for r in records if r.outcome is Outcome.FAILED]
    refuse_failures(failed, len(records), min_coverage, "descriptions", "trac.min_coverage")


def write_descriptions(
    folder: Path, protocol: DescribeProtocol, model: str, records: Sequence[DescriptionRecord]
) -> None:
    """Write ``descriptions.jsonl`` and ``components.json`` into ``folder``."""
    write_jsonl(folder / "descriptions.jsonl", records)
    card = DescriptionsCard(
        dataset=protocol.dataset.name,
        dataset_digest=protocol.dataset.digest,
        model=ComponentCard.of(model, protocol.model),
        description=protocol.name,
        prompt=protocol.prompt,
        max_tokens=list(protocol.settings.lengths),
        demonstrations=_card(protocol.examples) if protocol.examples else None,
        seed=protocol.run_seed,
    )
    write_json(folder / "components.json", card)


def _card(examples: Examples) -> DemonstrationsCard:
    return DemonstrationsCard(
        choose=examples.choose,
        shots=list(examples.shots),
        encoder=ComponentCard.of(*examples.encoder) if examples.encoder else None,
        by=ComponentCard.of(*examples.by) if examples.by else None,
    )
