"""Collecting: every sample of a labelled dataset, described under every condition of one way to
ask.

In-context examples follow the TRAC paper's section 4.2: RS, SIIR (Yang et al. 2023, "Exploring
Diverse In-Subject Configurations for Image Captioning") and STTR.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, product
from typing import cast

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.collect.call import Ask, Planned, RunSteps, Steps
from driftledger.collect.features import encode_media, encode_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import DataError
from driftledger.core.types import Conversation, Sample, Subject, Turn
from driftledger.metrics.neighbours import nearest

BY = "example_model"
"""The role of the model that describes the examples, where that is not the model under
evaluation."""

Examples = Sequence[tuple[Sample, str]]
"""Support samples, each with the description that is shown with it."""


class TracProtocol(BaseModel):
    """How descriptions were asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    """As it was sent, with the dataset's general category in its place."""
    prefix: str | None = Field(default=None, exclude_if=lambda prefix: prefix is None)
    """The beginning of every reply."""
    max_tokens: list[int | None]
    """Every length; the first is the headline's."""
    choose: str | None
    """How in-context examples were chosen; None where there were none."""
    shots: list[int]
    """Numbers of examples, beside none."""
    seed: int


def condition_of(record: CollectedRecord) -> tuple[int | None, int]:
    """Return the length that was allowed, and how many examples were shown."""
    return record.extra.get("max_tokens"), record.extra.get("shots", 0)


def length_name(max_tokens: int | None) -> str:
    """Return a length as the paper writes it, e.g. l30."""
    return "no limit" if max_tokens is None else f"l{max_tokens}"


def condition_name(max_tokens: int | None, shots: int) -> str:
    """A condition as the paper names it, e.g. l30, 4-shot."""
    return f"{length_name(max_tokens)}, {shots}-shot"


def collect_descriptions(collecting: Collecting, run: RunSteps) -> list[CollectedRecord]:
    """Describe every sample at every length, without examples and then with each number of them.

    With examples, support samples are described as test samples are, so that retrieval compares
    like with like. An example is always a support sample, and never the same file as what is asked
    about.
    """
    protocol = TracProtocol.model_validate(collecting.protocol)
    samples, by_another = (
        {sample.id: sample for sample in collecting.samples},
        BY in collecting.components,
    )
    support = (
        [sample for sample in samples.values() if sample.split == "support"] if by_another else []
    )
    planned = [_planned(collecting, protocol, sample, role=BY) for sample in support]
    for length in protocol.max_tokens:
        planned += [_planned(collecting, protocol, sample, length) for sample in samples.values()]
    records = run(planned)
    if not protocol.shots:
        return records
    replies = {record.unit: record.results[0] for record in records if record.step == 0}
    by_others = {
        name: reply.text for name, reply in replies.items() if reply.outcome.goes_on and reply.text
    }
    planned = []
    for length in protocol.max_tokens:
        of_length = (
            each
            for each in records
            if each.step and condition_of(each)[0] == length and each.is_there
        )
        own = {record.unit: record.text or "" for record in of_length}
        texts = by_others if by_another else own
        ranked = rank_examples(collecting, protocol, own, own.keys() & texts.keys())
        for shots, sample in product(protocol.shots, samples.values()):
            # The most similar example is shown last, next to the question.
            examples = [
                (samples[name], texts[name]) for name in reversed(ranked[sample.id][:shots])
            ]
            planned.append(_planned(collecting, protocol, sample, length, examples))
    return [*records, *run(planned)]


def _planned(
    collecting: Collecting,
    protocol: TracProtocol,
    sample: Sample,
    length: int | None = None,
    examples: Examples = (),
    role: str = "model",
) -> Planned[CollectedRecord]:
    """Plan one description, and count those with examples, which can only be asked for after all
    others."""
    model = collecting.model(role)
    context = Subject(sample.id, 1, collecting.on)
    asked = conversation(protocol, context, sample, length, examples=examples)
    ask = Ask(model, "describe", asked, context)
    later = protocol.shots if role == "model" and not examples else ()
    stand_ins = [
        (model, conversation(protocol, context, sample, length, examples=[(sample, "")] * shots))
        for shots in later
    ]
    step = (
        0
        if role == BY
        else 1
        + [*product(protocol.max_tokens, [0, *protocol.shots])].index((length, len(examples)))
    )
    shown = [example.id for example, _ in examples]
    extra = {
        "split": sample.split or "test",
        "max_tokens": length,
        "shots": len(shown),
        "demonstrations": shown,
    }

    def steps() -> Steps[CollectedRecord]:
        described = yield ask
        return CollectedRecord(
            unit=sample.id,
            step=step,
            results=[RecordedResult.of(role, ask, described)],
            extra={key: value for key, value in extra.items() if value},
        )

    return Planned(steps, [(model, asked)], stand_ins)


def conversation(
    protocol: TracProtocol,
    context: Subject,
    sample: Sample,
    max_tokens: int | None,
    *,
    examples: Examples,
) -> Conversation:
    """Return what a model is given for one sample, after so many examples."""
    turns: list[Turn] = []
    for example, description in examples:
        turns += [
            Turn("user", (example.medium, protocol.prompt)),
            Turn("assistant", (description,)),
        ]
    last = Conversation.ask(
        protocol.prompt, sample.medium, context, max_tokens, prefix=protocol.prefix
    )
    return Conversation((*turns, *last.turns), context, max_tokens)


def rank_examples(
    collecting: Collecting,
    protocol: TracProtocol,
    described: Mapping[str, str],
    usable: Collection[str],
) -> dict[str, list[str]]:
    """Return sample id → ids of the support samples to show, the first to be shown with one shot.

    The same file as what is asked about is never an example.

    Args:
        described: sample id → the model's own description, without examples, where it gave one.
        usable: ids of the samples with a description that can be shown.

    Raises:
        DataError: there are fewer candidates than the most shots ask for.
    """
    samples, dataset, most = collecting.samples, collecting.on, max(protocol.shots)
    candidates = [sample for sample in samples if sample.split == "support" and sample.id in usable]
    files = Counter(sample.medium.sha256 for sample in candidates)
    if len(files) <= most:
        raise DataError(
            f"{dataset} has {len(files)} different support samples with a description, and {most} "
            "examples are asked "
            "for beside the sample in question; ask for fewer shots"
        )

    def at_random(sample: Sample) -> Iterator[Sample]:
        """Draw with replacement, depending on the sample, and not on the model or on other
        samples."""
        for draw in count():
            yield candidates[
                int(sha256_of([protocol.seed, "example", dataset, sample.id, draw]), 16)
                % len(candidates)
            ]

    orders: Iterable[Iterator[Sample]] = map(at_random, samples)
    if "example_encoder" in collecting.components:
        encoder = cast(Encoder, collecting.components["example_encoder"][1])
        if protocol.choose == "similar_text":
            reader = encoder.fitted([described[sample.id] for sample in candidates])
            features = encode_texts(reader, [described.get(sample.id, "") for sample in samples])
        else:
            features = encode_media(encoder, (sample.medium for sample in samples))
        support = features[[s.split == "support" and s.id in usable for s in samples]]
        deep = min(len(candidates), (most + 1) * max(files.values()))
        orders = (
            iter([candidates[at] for at in row]) for row in nearest(support, features, deep).indices
        )
    ranked = {}
    for sample, order in zip(samples, orders, strict=True):
        shown, names = {sample.medium.sha256}, list[str]()
        while len(names) < most:  # neither the sample's file nor one that is shown already
            other = next(order)
            if other.medium.sha256 not in shown:
                shown.add(other.medium.sha256)
                names.append(other.id)
        ranked[sample.id] = names
    return ranked
