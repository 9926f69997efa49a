"""Describe every sample under every condition.

In-context examples follow the TRAC paper's section 4.2: RS, SIIR (Yang et al. 2023, "Exploring
Diverse In-Subject Configurations for Image Captioning") and STTR.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, product
from typing import cast

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.benchmarks.base.one_call import answered
from driftledger.benchmarks.base.records import Records
from driftledger.benchmarks.trac.protocol import Condition, TracProtocol
from driftledger.collect.call import Ask, Planned, RunSteps
from driftledger.collect.features import encode_media, encode_texts
from driftledger.components.base import Encoder, longest_reply
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import DataError
from driftledger.core.types import Conversation, Float32, Sample, Subject, Turn
from driftledger.metrics.neighbours import nearest

BY = "example_model"
"""The role of another model that describes the examples."""

Examples = Sequence[tuple[Sample, str]]
"""Support samples, each with the description that is shown with it."""


def collect_descriptions(collecting: Collecting, run: RunSteps) -> Records:
    """Describe every sample at every length, first without and then with examples.

    With examples, support samples are described as test samples are, so that retrieval compares
    like with like. An example is always a support sample, and never the same file as what is asked
    about.
    """
    protocol = TracProtocol.model_validate(collecting.protocol)
    samples = {sample.id: sample for sample in collecting.samples}
    by_another = BY in collecting.components
    planned = []
    for sample in samples.values():
        if by_another and sample.split == "support":
            planned.append(_planned(collecting, protocol, sample, role=BY))
    for length, sample in product(protocol.max_tokens, samples.values()):
        planned.append(_planned(collecting, protocol, sample, length))
    records = [*chain.from_iterable(run(planned))]
    if not protocol.shots:
        return records
    planned = []
    for length in protocol.max_tokens:
        own = _texts(records, protocol.step(Condition(length)))
        texts = _texts(records, 0) if by_another else own
        ranked = rank_examples(collecting, protocol, own, own.keys() & texts.keys())
        for shots, sample in product(protocol.shots, samples.values()):
            # The most similar example is shown last, next to the question.
            chosen = reversed(ranked[sample.id][:shots])
            examples = [(samples[name], texts[name]) for name in chosen]
            planned.append(_planned(collecting, protocol, sample, length, examples))
    return [*records, *chain.from_iterable(run(planned))]


def _texts(records: Records, step: int) -> dict[str, str]:
    """Map each sample to its description in a step."""
    texts = {}
    for record in records:
        [reply] = record.results
        if record.step == step and reply.outcome.goes_on and reply.text:
            texts[record.unit] = reply.text
    return texts


def _planned(
    collecting: Collecting,
    protocol: TracProtocol,
    sample: Sample,
    length: int | None = None,
    examples: Examples = (),
    role: str = "model",
) -> Planned[Records]:
    """Plan one description, and count later ones with examples."""
    model = collecting.model(role)
    context = Subject(sample.id, 1, collecting.on)
    question = conversation(protocol, context, sample, length, examples=examples)
    ask = Ask(model, "describe", question, context)
    longest = longest_reply(model, length)
    if BY in collecting.components:
        longest = longest_reply(collecting.model(BY), None)
    stand_ins = []
    if role == "model" and not examples:
        for shots in protocol.shots:
            stand_in = [(sample, longest)] * shots
            later = conversation(protocol, context, sample, length, examples=stand_in)
            stand_ins.append(
                (model, Ask(model, "describe", later, context).conversation)
            )
    step = 0
    if role == "model":
        step = protocol.step(Condition(length, len(examples)))
    example_ids = [example.id for example, _ in examples]
    extra = {
        "split": sample.split or "test",
        "max_tokens": length,
        "shots": len(example_ids),
        "demonstrations": example_ids,
    }
    known = {key: value for key, value in extra.items() if value}
    steps = answered(ask, step, extra=known, role=role)
    return Planned(steps, [(model, ask.conversation)], stand_ins)


def conversation(
    protocol: TracProtocol,
    context: Subject,
    sample: Sample,
    max_tokens: int | None,
    *,
    examples: Examples,
) -> Conversation:
    """Return the conversation about a sample, with examples before it."""
    turns: list[Turn] = []
    for example, description in examples:
        turns.append(Turn("user", (example.medium, protocol.prompt)))
        turns.append(Turn("assistant", (description,)))
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
    """Map each sample to the support samples to show with it, best first.

    An example is never the file in question, and names of samples do not matter.

    Args:
        described: sample id → the model's own description without examples.
        usable: ids of the samples with a description that can be shown.

    Raises:
        DataError: there are fewer candidates than the most shots ask for.
    """
    samples = sorted(collecting.samples, key=lambda sample: sample.medium.sha256)
    most = max(protocol.shots)
    places = []
    for place, sample in enumerate(samples):
        if sample.split == "support" and sample.id in usable:
            places.append(place)
    files = Counter(samples[place].medium.sha256 for place in places)
    if len(files) <= most:
        raise DataError(
            f"{collecting.on} has {len(files)} different support samples with a description, and "
            f"{most} examples are asked for beside the sample in question; ask for fewer shots"
        )
    orders: Iterable[Iterable[int]]
    if protocol.choose == "random":
        orders = (_at_random(protocol.seed, each, len(places)) for each in samples)
    else:
        features = _features(collecting, samples, places, described)
        deep = min(len(places), (most + 1) * max(files.values()))
        orders = nearest(features[places], features, deep)
    ranked = {}
    for sample, order in zip(samples, orders, strict=True):
        # Neither the sample's file nor one that is shown already.
        names_by_file = {sample.medium.sha256: ""}
        for number in order:
            other = samples[places[number]]
            names_by_file.setdefault(other.medium.sha256, other.id)
            if len(names_by_file) > most:
                break
        ranked[sample.id] = [*names_by_file.values()][1:]
    return ranked


def _at_random(seed: int, sample: Sample, candidates: int) -> Iterator[int]:
    """Draw with replacement, by the seed and the sample alone."""
    for draw in count():
        number = sha256_of([seed, "example", sample.medium.sha256, draw])
        yield int(number, 16) % candidates


def _features(
    collecting: Collecting,
    samples: Sequence[Sample],
    support: Sequence[int],
    described: Mapping[str, str],
) -> Float32:
    """Return the features that examples are chosen by: of images or descriptions.

    Args:
        support: places of the samples to whose descriptions the encoder is fitted.
    """
    encoder = cast(Encoder, collecting.components["example_encoder"][1])
    if TracProtocol.model_validate(collecting.protocol).choose == "similar_image":
        return encode_media(encoder, (sample.medium for sample in samples))
    texts = [described.get(sample.id, "") for sample in samples]
    return encode_texts(encoder.fitted([texts[place] for place in support]), texts)
