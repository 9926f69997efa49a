"""What changed from one run to another beside their means: answers that are read otherwise, and
descriptions with other words.

Two runs of equal score may differ in a third of their answers. How many change by themselves shows
where A was asked twice.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, cast

import numpy as np

from driftledger.benchmarks.records import RECORDS, CollectedRecord, RecordedResult
from driftledger.benchmarks.score import Answer, answer_as
from driftledger.benchmarks.scoring import interval_ends
from driftledger.collect.features import encode_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import Json
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.files import read_jsonl
from driftledger.core.text import shortened
from driftledger.core.types import Outcome
from driftledger.ledger.compare import paired_scores, rows_of
from driftledger.ledger.lineage import Lineage, Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.sources import Sources
from driftledger.metrics.changes import mcnemar, more_than_floor
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.groups import holm
from driftledger.metrics.intervals import share_interval
from driftledger.project.project import Project


@dataclass
class ChangedSample:
    """An answer, or a sample's description, that differs between A and B."""

    unit: str
    step: int
    """Of a description, the first iteration or condition at which the texts differ; of an answer,
    which of its question's."""
    a: str
    """The reading in A, as :class:`Answer` has it."""
    b: str
    a_text: str
    """The reply; where its record is not here, what it was taken for."""
    b_text: str
    similarity: float | None = None
    """The cosine of both texts by the text encoder of A's score."""


@dataclass(frozen=True)
class Floor:
    """How much changes by itself, where A was asked twice."""

    samples: int
    """Those that both askings of A and B have."""
    changed: int
    """Those that differ between both askings of A."""
    p_value: float
    """One-sided, of more changes than a second asking shows."""


@dataclass
class Changes:
    """The answers or the descriptions of two scores, and which of them changed.

    An answer has changed if it is read otherwise, a sample if a description of it has other words.
    """

    of: Literal["answers", "descriptions"]
    samples: int = 0
    """How many answers or described samples both runs have."""
    changed: int = 0
    share: float | None = None
    """``changed / samples``, from ``low`` to ``high``."""
    low: float | None = None
    high: float | None = None
    transitions: dict[str, int] = field(default_factory=dict)
    """``right → wrong``, ``wrong → other wrong answer`` → how many, the commonest first."""
    p_value: float | None = None
    """McNemar's, exact and two-sided: are as many questions better in B as worse? None of
    descriptions."""
    p_holm: float | None = None
    """Of the floor, or else McNemar's, after Holm's correction over all that changed."""
    floor: Floor | None = None
    similarity: float | None = None
    """The mean over the texts that changed."""
    furthest: list[ChangedSample] = field(default_factory=list)
    """All that changed, those furthest apart first."""
    note: str = ""
    """What could not be told, and why."""

    @property
    def tested(self) -> float | None:
        """The p-value of more changes than by chance, before Holm's correction."""
        return self.floor.p_value if self.floor else self.p_value


def changes_between(
    project: Project, sources: Sources, a: Run, b: Run
) -> list[list[Changes]]:
    """Find what changed from A to B.

    Nothing is called but the text encoder of A's scores, if it needs no download.

    Returns:
        For each pair of scores, in the order of a comparison's, the changes of its answers and of
        its descriptions; none where the data differ.
    """
    again = _second_asking(a, b, sources)
    changes = []
    tested = []
    for one, two in paired_scores(a, b)[0]:
        found: list[Changes] = []
        if one.score.inputs.data_digest == two.score.inputs.data_digest:
            askings = [one, two]
            for lineage in again.lineages if again else ():
                inputs = lineage.score.inputs
                is_alike = inputs.protocol == one.score.inputs.protocol
                is_same = inputs.data_digest == one.score.inputs.data_digest
                if lineage.place == one.place and is_alike and is_same:
                    askings.append(lineage)
            found = [*_of_askings(askings, sources.contents)]
        for each in found:
            if each.of == "descriptions" and each.changed:
                _compare_texts(each, one, project)
            if each.tested is not None:
                tested.append(each)
        changes.append(found)
    corrected = holm([each.tested or 0.0 for each in tested])
    for each, p_holm in zip(tested, corrected, strict=True):
        each.p_holm = p_holm
    return changes


Replies: TypeAlias = Mapping[tuple[str, int, int], RecordedResult]
"""Unit, step and repeat → the model's reply."""
Steps: TypeAlias = dict[int, Answer]
Asking: TypeAlias = dict[tuple[str, str, int], Steps]
"""Cluster, question and which of its answers → its step → the answer; or cluster, sample and 0 →
each step → the description."""


def _of_askings(askings: list[Lineage], contents: Contents) -> Iterator[Changes]:
    """Yield the changes of answers, and of descriptions: of A, B and, if there is one, A again."""
    confidence = askings[0].score.confidence
    replies: list[Replies] = [{}, {}]
    missing = ""
    try:
        replies = [_replies(each, contents) for each in askings[:2]]
        with suppress(LedgerError):
            replies += [_replies(each, contents) for each in askings[2:]]
    except DriftledgerError as error:
        missing = str(error)
    try:
        answers = [_answers(each, contents) for each in askings]
    except DriftledgerError as error:
        yield Changes("answers", note=str(error))
    else:
        if any(answers):
            yield _changes("answers", answers, replies, confidence)
    if not askings[0].spec.describes:
        return
    one = askings[0].score
    if missing and one.inputs.records == askings[1].score.inputs.records:
        yield Changes("descriptions", samples=one.total, share=0.0)
        return
    if missing:
        yield Changes("descriptions", note=missing)
        return
    described = [_descriptions(each) for each in replies]
    if len(described) == 2:
        described.append(_descriptions(replies[0], repeat=1))
    yield _changes("descriptions", described, replies, confidence)


def _answers(lineage: Lineage, contents: Contents) -> Asking:
    asking: Asking = {}
    for row in rows_of(lineage, contents):
        try:
            answers = [*lineage.spec.answers(row)]
        except (TypeError, ValueError) as error:
            raise LedgerError(
                f"{lineage.rows_path}: {row.unit} holds no answers as this benchmark writes them "
                f"({shortened(str(error))}); run 'dvc repro'"
            ) from None
        for answer in answers:
            asking[row.cluster, answer.unit, answer.step] = {answer.step: answer}
    return asking


def _replies(lineage: Lineage, contents: Contents) -> Replies:
    """Return the model's replies, without those of failed calls.

    Raises:
        LedgerError: the records are not here.
    """
    path = None
    with suppress(LedgerError):
        folder = lineage.collected[lineage.spec.collects.name]
        path = contents.within(folder, RECORDS)
    if path is None:
        raise LedgerError("descriptions are not here; run 'dvc fetch'")
    replies = {}
    for record in read_jsonl(path, CollectedRecord, RECORDS):
        reply = record.by("model")
        if record.step and reply is not None and reply.outcome is not Outcome.FAILED:
            replies[record.unit, record.step, record.repeat] = reply
    return replies


def _descriptions(replies: Replies, repeat: int = 0) -> Asking:
    """Return the descriptions of one repeat.

    Of a further one these are first descriptions that were asked for anew: later ones are of images
    that other seeds drew, and a model that draws no lots is not asked again.
    """
    keys = {reply.key for (_, _, number), reply in replies.items() if number < repeat}
    asking: Asking = {}
    for (unit, step, number), reply in replies.items():
        is_anew = not repeat or (step == 1 and reply.key not in keys)
        if number == repeat and is_anew:
            text = reply.text
            answer = answer_as(unit, step, reply.outcome, worth=None, read=text)
            if text and reply.outcome.goes_on:
                answer = answer._replace(reading="described")
            asking.setdefault((unit, unit, 0), {})[step] = answer
    return asking


def _changes(
    of: Literal["answers", "descriptions"],
    askings: list[Asking],
    replies: list[Replies],
    confidence: float,
) -> Changes:
    a, b, *again = askings
    common = [key for key in a if a[key].keys() & b.get(key, {}).keys()]
    if not common:
        return Changes(of, note=f"A and B have no {of} in common")
    differs = []
    transitions: Counter[str] = Counter()
    gained: defaultdict[str, float] = defaultdict(float)
    furthest = []
    for key in common:
        step = _difference(a[key], b[key])
        differs.append(step is not None)
        if step is not None:
            one = a[key][step]
            two = b[key][step]
            reading = two.reading
            if reading == one.reading and of == "answers":
                reading = f"other {reading} answer"
            transitions[f"{one.reading} → {reading}"] += 1
            gained[one.unit] += two.worth - one.worth
            texts = (_text(one, replies[0]), _text(two, replies[1]))
            changed = ChangedSample(one.unit, step, one.reading, two.reading, *texts)
            furthest.append(changed)
    furthest.sort(key=lambda each: -_apart(each.a_text, each.b_text))
    p_value = None
    if of == "answers":
        better = sum(gain > 0 for gain in gained.values())
        p_value = mcnemar(better, sum(gain < 0 for gain in gained.values()))
    ones = np.ones(len(differs), dtype=int)
    clusters = [cluster for cluster, _, _ in common]
    share = share_interval(differs, ones, clusters, confidence)
    ends = interval_ends({"share": share}).metrics
    return Changes(
        of,
        samples=len(common),
        changed=sum(differs),
        share=share.value,
        low=ends.get("share_low"),
        high=ends.get("share_high"),
        transitions=dict(transitions.most_common()),
        p_value=p_value,
        floor=_floor(a, b, again[0]) if again else None,
        furthest=furthest,
    )


def _text(answer: Answer, replies: Replies) -> str:
    reply = replies.get((answer.unit, answer.step, 0))
    return str(answer.read if reply is None else reply.text or "")


def _difference(a: Steps, b: Steps) -> int | None:
    """Return the first step of both at which they differ, if they do."""
    for step in sorted(a.keys() & b.keys()):
        one = a[step]
        two = b[step]
        if (one.reading, one.read) != (two.reading, two.read):
            return step
    return None


def _distance(a: Steps, b: Steps) -> tuple[float, float]:
    """Return how far two askings are apart: further if they differ earlier, or in more words."""
    step = _difference(a, b)
    if step is None:
        return 0.0, 0.0
    return 1 / (step + 1), _apart(str(a[step].read or ""), str(b[step].read or ""))


def _apart(one: str, two: str) -> float:
    """Return the share of words that only one of two texts has, each as often as it is there.

    >>> _apart("a red cup", "a blue cup and saucer")
    0.5
    """
    first = Counter(one.casefold().split())
    second = Counter(two.casefold().split())
    words = first.total() + second.total()
    return 1 - 2 * (first & second).total() / words if words else 0.0


def _floor(a: Asking, b: Asking, again: Asking) -> Floor | None:
    """Count what changes by itself, at the steps that were asked twice; None if none were."""
    samples = 0
    changed = 0
    further = 0
    nearer = 0
    for key, second in again.items():
        first = {step: each for step, each in a.get(key, {}).items() if step in second}
        if first.keys() & b.get(key, {}).keys():
            by_itself = _distance(first, second)
            to_b = _distance(first, b[key])
            samples += 1
            changed += by_itself > (0.0, 0.0)
            further += to_b > by_itself
            nearer += to_b < by_itself
    if not samples:
        return None
    return Floor(samples, changed, more_than_floor(further, nearer))


def _compare_texts(changes: Changes, lineage: Lineage, project: Project) -> None:
    """Note how alike the texts that changed are, by the text encoder of a score if it is here."""
    # late, as a project is opened without code of a model
    from driftledger.components.checkpoints import CheckpointComponent
    from driftledger.ledger.verify.components import Components

    pairs = [each for each in changes.furthest if each.a == each.b == "described"]
    card = lineage.score.components.get("text_encoder")
    if not pairs:
        return
    if card is None:
        changes.note = "no similarity: the score has no text encoder"
        return
    try:
        encoder = Components(project).get(card, "text_encoder")
        if isinstance(encoder, CheckpointComponent) and encoder.source.folder is None:
            encoder = f"the weights of {card.name} are on a hub; nothing is downloaded"
        if isinstance(encoder, str):
            raise LedgerError(encoder)
        one = [each.a_text for each in pairs]
        two = [each.b_text for each in pairs]
        reader = cast(Encoder, encoder).fitted([*one, *two])
        a = encode_texts(reader, one)
        b = encode_texts(reader, two)
    except (DriftledgerError, ValueError, OSError) as error:
        changes.note = f"no similarity: {error}"
        return
    known = np.flatnonzero(a.any(axis=1) & b.any(axis=1))
    if known.size:
        cosines = cosine_similarity(a[known], b[known])
        for place, cosine in zip(known, cosines, strict=True):
            pairs[place].similarity = float(cosine)
        changes.similarity = exact_mean(cosines)
    changes.furthest.sort(key=lambda each: each.similarity or 0.0)


def _second_asking(a: Run, b: Run, sources: Sources) -> Run | None:
    """Find the run in which A's services were asked once more on the same day."""
    if not any("as_of" in card.identity for card in a.components.values()):
        return None
    versions = _versions(a)
    for run in sources.versions(a.combination):
        is_other = run.fingerprint != b.fingerprint and _versions(run) != versions
        if is_other and _versions(run, whole=False) == _versions(a, whole=False):
            return run
    return None


def _versions(run: Run, *, whole: bool = True) -> Json:
    """Return role → its version, whole or without which asking of its day it is."""
    versions: Json = {}
    for role, card in run.components.items():
        versions[role] = card.fingerprint
        if not whole:
            day = str(card.identity.get("as_of", ""))[: len("2026-11-26")]
            identity = {**card.identity, "as_of": day}
            versions[role] = (card.provider, card.version, card.settings, identity)
    return versions
