"""Collecting: every image of a labelled dataset, described under every condition of one way to ask.

In-context examples follow the TRAC paper's section 4.2: RS, SIIR (Yang et al. 2023, "Exploring Diverse In-Context
Configurations for Image Captioning") and STTR.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal, NamedTuple

from driftledger.benchmarks.descriptions import Description, filled
from driftledger.benchmarks.records import CollectedCard, called
from driftledger.benchmarks.runner import Collecting
from driftledger.benchmarks.trac.records import DescriptionRecord, TracProtocol
from driftledger.collect.call import Ask, Context, NotStoredError, Planned, Result, RunSteps, Uncounted
from driftledger.collect.features import encode_images, encode_texts
from driftledger.components.base import Component, Encoder, Model
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import DataError
from driftledger.core.types import Conversation, Sample, Subject, Turn
from driftledger.data.records import DatasetCard
from driftledger.metrics.neighbours import nearest


class Examples(NamedTuple):
    """How in-context examples are chosen; components with their catalogue names."""

    choose: Literal["random", "similar_image", "similar_text"]
    shots: tuple[int, ...]
    encoder: tuple[str, Encoder] | None = None
    by: tuple[str, Model] | None = None
    """Who describes the examples; None is the model that is asked."""


class Shown(NamedTuple):
    """An in-context example: a support sample and the description that is shown with it."""

    sample: Sample
    description: str


class _Place(NamedTuple):
    """A description that is to be had."""

    sample: Sample
    max_tokens: int | None = None
    shown: Sequence[Shown] = ()


def conversation(asked: TracProtocol, sample: Sample, max_tokens: int | None, shown: Sequence[Shown]) -> Conversation:
    """Return what a model is given for one sample, after so many examples."""
    turns: list[Turn] = []
    for example in shown:
        turns += [Turn("user", (example.sample.image, asked.prompt)), Turn("assistant", (example.description,))]
    subject = Subject(sample.id, 1)
    last = Conversation.ask(asked.prompt, sample.image, subject, max_tokens, prefix=asked.prefix)
    return Conversation((*turns, *last.turns), subject, max_tokens)


def describe(dataset: str, model: Model, asked: Conversation, sample: Sample) -> Ask:
    """Return the call for one model's description of one sample."""
    return Ask(model, "describe", asked, Context(dataset, sample.id, 1))


@dataclass(frozen=True)
class CollectDescriptions(Collecting[list[DescriptionRecord]]):
    """A describe stage: every sample at every length, without examples and then with each number of them.

    With examples, support samples are described as test samples are, so that retrieval compares like with like. An
    example is always a support sample, and never the same picture as what is asked about.
    """

    dataset: DatasetCard
    samples: Sequence[Sample]
    model: Model
    way: Description
    examples: Examples | None
    seed: int

    @property
    def asked(self) -> TracProtocol:
        """How descriptions are asked for; errors as in :func:`~driftledger.benchmarks.descriptions.filled`."""
        return TracProtocol(
            prompt=filled(self.way.prompt, self.dataset, self.keys["description"]),
            prefix=self.way.prefix,
            max_tokens=list(self.way.lengths),
            choose=self.examples.choose if self.examples else None,
            shots=list(self.examples.shots) if self.examples else [],
            seed=self.seed,
        )

    @property
    def components(self) -> Sequence[Component]:
        return self.model, *([self._by] if self._by else [])

    @property
    def calls(self) -> int:
        return len(self.samples) * len(self.way.lengths) + sum(count for *_, count in self._rest())

    @property
    def _by(self) -> Model | None:
        """Whose descriptions are shown, if not the model's own."""
        return self.examples.by[1] if self.examples is not None and self.examples.by is not None else None

    def run(self, run: RunSteps) -> list[DescriptionRecord]:
        places = [_Place(sample, length) for length in self.way.lengths for sample in self.samples]
        try:
            records = self._described(places, run)
        except NotStoredError:
            raise NotStoredError(self._rest()) from None
        if self.examples is None:
            return records
        return records + self._described(list(self._with_examples(self.examples, records, run)), run)

    def about(self) -> CollectedCard:
        components = {
            "model": (self.keys["model"], self.model),
            "example_encoder": self.examples.encoder if self.examples else None,
            "example_model": self.examples.by if self.examples else None,
        }
        return self.card(self.dataset.digest, components, self.asked.model_dump(mode="json"))

    def _rest(self) -> Sequence[Uncounted]:
        """What is asked at most once everything is described without examples: which are shown depends on that."""
        if self.examples is None:
            return ()
        one = conversation(self.asked, self.samples[0], None, ())
        support = sum(sample.split == "support" for sample in self.samples)
        with_examples = len(self.examples.shots) * len(self.way.lengths) * len(self.samples)
        return [*([(self._by, one, support)] if self._by else []), (self.model, one, with_examples)]

    def _described(self, places: Sequence[_Place], run: RunSteps) -> list[DescriptionRecord]:
        results = self._ask(self.model, places, run)
        return [
            DescriptionRecord(
                **called(result),
                sample=place.sample.id,
                split=place.sample.split or "test",
                max_tokens=place.max_tokens,
                shots=len(place.shown),
                demonstrations=[example.sample.id for example in place.shown],
                description=result.text,
            )
            for place, result in zip(places, results, strict=True)
        ]

    def _ask(self, model: Model, places: Sequence[_Place], run: RunSteps) -> list[Result]:
        asked, name = self.asked, self.dataset.name
        return run([Planned.of(describe(name, model, conversation(asked, *each), each.sample)) for each in places])

    def _with_examples(self, examples: Examples, plain: Sequence[DescriptionRecord], run: RunSteps) -> Iterator[_Place]:
        by_id = {sample.id: sample for sample in self.samples}
        for length in self.way.lengths:
            known = [record for record in plain if record.max_tokens == length and record.is_there]
            own = {record.sample: record.description or "" for record in known}
            ranked = rank_examples(examples, self.samples, own, self.seed, self.dataset.name)
            needed = sorted({name for names in ranked.values() for name in names})
            shown_texts = own if self._by is None else self._told_by(self._by, [by_id[name] for name in needed], run)
            for shots in examples.shots:
                for sample in self.samples:
                    # The most similar one is shown last, beside the question.
                    shown = [Shown(by_id[name], shown_texts[name]) for name in reversed(ranked[sample.id][:shots])]
                    yield _Place(sample, length, shown)

    def _told_by(self, by: Model, support: Sequence[Sample], run: RunSteps) -> dict[str, str]:
        try:
            results = self._ask(by, [_Place(sample) for sample in support], run)
        except NotStoredError:
            raise NotStoredError(self._rest()[-1:]) from None
        for sample, result in zip(support, results, strict=True):
            if not result.outcome.goes_on or result.text is None:
                name = self.examples.by[0] if self.examples and self.examples.by else ""
                raise DataError(
                    f"{name} gave no description of the support sample {sample.id} ({result.outcome}), which "
                    f"descriptions.{self.keys['description']} would show as an example; name another model in its "
                    "demonstrations.by"
                )
        return {sample.id: result.text or "" for sample, result in zip(support, results, strict=True)}


def rank_examples(
    examples: Examples, samples: Sequence[Sample], described: Mapping[str, str], seed: int, dataset: str
) -> dict[str, list[str]]:
    """Return sample id → ids of the support samples to show, the first to be shown with one shot.

    A sample that has no description of its own is never an example; neither is one that is the same picture as what is
    asked about.

    Args:
        samples: of both splits.
        described: sample id → the model's own description, without examples, where it gave one.

    Raises:
        DataError: there are fewer candidates than the most shots ask for.
    """
    most = max(examples.shots)
    candidates = [sample for sample in samples if sample.split == "support" and sample.id in described]
    pictures = Counter(sample.image.sha256 for sample in candidates)
    if len(pictures) <= most:
        raise DataError(
            f"{dataset} has {len(pictures)} different support images with a description, and {most} examples are asked "
            "for beside the image in question; ask for fewer shots"
        )

    def at_random(sample: Sample) -> Iterator[Sample]:
        """Draw with replacement, depending on the sample, and not on the model or on other samples."""
        for draw in count():
            yield candidates[int(sha256_of([seed, "example", dataset, sample.id, draw]), 16) % len(candidates)]

    orders: Iterable[Iterator[Sample]] = map(at_random, samples)
    if examples.encoder is not None:
        encoder = examples.encoder[1]
        if examples.choose == "similar_image":
            features = encode_images(encoder, (sample.image for sample in samples))
        else:
            reader = encoder.fitted([described[sample.id] for sample in candidates])
            features = encode_texts(reader, [described.get(sample.id, "") for sample in samples])
        support = features[[s.split == "support" and s.id in described for s in samples]]
        deep = min(len(candidates), (most + 1) * max(pictures.values()))
        orders = (iter([candidates[at] for at in row]) for row in nearest(support, features, deep).indices)
    ranked = {}
    for sample, order in zip(samples, orders, strict=True):
        shown, names = {sample.image.sha256}, list[str]()
        while len(names) < most:  # neither the sample's picture nor one that is shown already
            other = next(order)
            if other.image.sha256 not in shown:
                shown.add(other.image.sha256)
                names.append(other.id)
        ranked[sample.id] = names
    return ranked
