"""Collecting: every image of a labelled dataset, described under every condition of one way to ask.

In-context examples follow the TRAC paper's section 4.2: RS, SIIR (Yang et al. 2023, "Exploring Diverse In-Context
Configurations for Image Captioning") and STTR.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count, product
from typing import NamedTuple, cast

from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.benchmarks.trac.records import DescriptionExtra, TracProtocol
from driftledger.collect.call import Ask, Context, NotStoredError, Planned, RunSteps, Steps, Uncounted
from driftledger.collect.features import encode_images, encode_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import DataError
from driftledger.core.types import Conversation, Sample, Subject, Turn
from driftledger.metrics.neighbours import nearest

BY = "example_model"
"""The role of who describes the examples in the place of the model."""


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


def collect_descriptions(collecting: Collecting, run: RunSteps) -> list[CollectedRecord]:
    """Describe every sample at every length, without examples and then with each number of them.

    With examples, support samples are described as test samples are, so that retrieval compares like with like. An
    example is always a support sample, and never the same picture as what is asked about.
    """
    return _Descriptions(collecting, run).records()


class _Descriptions:
    def __init__(self, collecting: Collecting, run: RunSteps) -> None:
        self._collecting, self._run = collecting, run
        self._asked = TracProtocol.model_validate(collecting.protocol)
        self._samples = {sample.id: sample for sample in collecting.samples}
        self._told: dict[str, CollectedRecord] = {}
        """Support sample → its description by another model, which is shown as an example."""

    def records(self) -> list[CollectedRecord]:
        places = [_Place(sample, length) for length in self._asked.max_tokens for sample in self._samples.values()]
        try:
            plain = self._described("model", places)
        except NotStoredError:
            raise NotStoredError(self._rest()) from None
        if not self._asked.shots:
            return plain
        shown = self._described("model", list(self._with_examples(plain)))
        return [*self._told.values(), *plain, *shown]

    def _rest(self) -> Sequence[Uncounted]:
        """What is asked at most once everything is described without examples: which are shown depends on that."""
        if not self._asked.shots:
            return ()
        samples = [*self._samples.values()]
        one = conversation(self._asked, samples[0], None, ())
        support = sum(sample.split == "support" for sample in samples)
        by = [(self._collecting.model(BY), one, support)] if BY in self._collecting.components else []
        with_examples = len(self._asked.shots) * len(self._asked.max_tokens) * len(samples)
        return [*by, (self._collecting.model(), one, with_examples)]

    def _described(self, role: str, places: Sequence[_Place]) -> list[CollectedRecord]:
        planned = []
        for place in places:
            asked = conversation(self._asked, *place)
            ask = Ask(self._collecting.model(role), "describe", asked, Context(self._collecting.on, place.sample.id, 1))
            planned.append(Planned(partial(self._describe, role, place, ask), [(ask.component, asked)]))
        return self._run(planned)

    def _describe(self, role: str, place: _Place, ask: Ask) -> Steps[CollectedRecord]:
        described = yield ask
        step = 0
        if role != BY:
            conditions = [*product(self._asked.max_tokens, [0, *self._asked.shots])]
            step = 1 + conditions.index((place.max_tokens, len(place.shown)))
        extra = DescriptionExtra(
            split=place.sample.split or "test",
            max_tokens=place.max_tokens,
            shots=len(place.shown),
            demonstrations=[example.sample.id for example in place.shown],
        )
        return CollectedRecord(
            unit=place.sample.id,
            step=step,
            results=[RecordedResult.of(role, ask, described)],
            extra=extra.model_dump(mode="json", exclude_defaults=True),
        )

    def _with_examples(self, plain: Sequence[CollectedRecord]) -> Iterator[_Place]:
        for length in self._asked.max_tokens:
            known = [record for record in plain if record.extra.get("max_tokens") == length and record.is_there]
            own = {record.unit: record.text or "" for record in known}
            ranked = rank_examples(self._collecting, self._asked, own)
            needed = sorted({name for names in ranked.values() for name in names})
            texts = self._told_by_another(needed) if BY in self._collecting.components else own
            for shots in self._asked.shots:
                for sample in self._samples.values():
                    # The most similar one is shown last, beside the question.
                    shown = [Shown(self._samples[name], texts[name]) for name in reversed(ranked[sample.id][:shots])]
                    yield _Place(sample, length, shown)

    def _told_by_another(self, support: Sequence[str]) -> dict[str, str]:
        try:
            records = self._described(BY, [_Place(self._samples[name]) for name in support])
        except NotStoredError:
            raise NotStoredError(self._rest()[-1:]) from None
        for record in records:
            said = record.results[0]
            if not said.outcome.goes_on or said.text is None:
                raise DataError(
                    f"{self._collecting.components[BY][0]} gave no description of the support sample {record.unit} "
                    f"({said.outcome}), which descriptions.{self._collecting.keys['description']} would show as an "
                    "example; name another model in its demonstrations.by"
                )
            self._told[record.unit] = record
        return {name: self._told[name].results[0].text or "" for name in support}


def rank_examples(collecting: Collecting, asked: TracProtocol, described: Mapping[str, str]) -> dict[str, list[str]]:
    """Return sample id → ids of the support samples to show, the first to be shown with one shot.

    A sample that has no description of its own is never an example; neither is one that is the same picture as what is
    asked about.

    Args:
        described: sample id → the model's own description, without examples, where it gave one.

    Raises:
        DataError: there are fewer candidates than the most shots ask for.
    """
    samples, dataset, most = collecting.samples, collecting.on, max(asked.shots)
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
            yield candidates[int(sha256_of([asked.seed, "example", dataset, sample.id, draw]), 16) % len(candidates)]

    orders: Iterable[Iterator[Sample]] = map(at_random, samples)
    if "example_encoder" in collecting.components:
        encoder = cast(Encoder, collecting.components["example_encoder"][1])
        if asked.choose == "similar_image":
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
