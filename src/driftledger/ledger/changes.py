"""What changed from one run to another beside their means: answers that are read otherwise, and
descriptions with other words.

Two runs of equal score may differ in a third of their answers. How many change by themselves shows
where A was asked twice.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from driftledger.benchmarks.records import RECORDS, CollectedRecord
from driftledger.benchmarks.score import Answer
from driftledger.collect.features import encode_texts
from driftledger.components.base import ComponentCard, Encoder
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.canonical import Json
from driftledger.core.errors import DriftledgerError, LedgerError, StoreError
from driftledger.core.files import read_jsonl
from driftledger.core.types import Outcome
from driftledger.data.records import QUESTIONS, SAMPLES, QuestionEntry, SampleEntry
from driftledger.ledger.compare import paired_scores, rows_of
from driftledger.ledger.lineage import Folder, Lineage, Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.sources import Sources
from driftledger.ledger.verify.components import Components
from driftledger.metrics.changes import mcnemar, more_than_floor
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.intervals import DIGITS, proportion_interval, share_interval
from driftledger.project.project import Project

_NOT_HERE = "descriptions are not here; run 'dvc fetch'"


class Side(NamedTuple):
    """An answer or a description of one run."""

    reading: str
    """``right``, ``wrong``, ``partly right``, ``refused``, ``unread``; or ``described``."""
    read: Any
    """What it is taken for: an option, a grade, a class; its text, of a description."""
    text: str | None
    """The model's reply; None where its record is not here."""
    drawing: Path | None = None
    """The image or sound that was drawn from it, if it was looked up."""


class Change(NamedTuple):
    """A sample or an answer that differs between A and B."""

    unit: str
    step: int
    """Of a description, the first iteration or condition at which the texts differ; of an answer,
    which of the unit's answers."""
    a: Side
    b: Side
    similarity: float | None = None
    """The cosine of both texts by the text encoder of A's score."""
    medium: Path | None = None
    """The sample's image or sound, if it was looked up."""


class Transition(NamedTuple):
    """How often a reading in A became another in B; equal ones are other answers of one worth."""

    a: str
    b: str
    samples: int


class Floor(NamedTuple):
    """How much changes by itself, where A was asked twice."""

    source: str
    """The second asking: ``repeats``, or its ``as_of``."""
    samples: int
    """Those that both askings of A and B have."""
    changed: int
    """Those that differ between both askings of A."""
    further: int
    """Those in which B is further from A's first asking than A's second is."""
    nearer: int
    """The reverse."""
    p_value: float
    """One-sided, of more changes than a second asking shows."""


@dataclass(frozen=True)
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
    transitions: list[Transition] = field(default_factory=list)
    """The commonest first."""
    p_value: float | None = None
    """McNemar's, exact and two-sided: are as many questions better in B as worse? None of
    descriptions."""
    floor: Floor | None = None
    similarity: float | None = None
    """The mean over the texts that changed."""
    furthest: list[Change] = field(default_factory=list)
    """All that changed, those furthest apart first."""
    note: str = ""
    """What could not be told, and why."""

    def to_dict(self, most: int | None = None) -> Json:
        """Return it ready for JSON, with at most so many of the furthest; no paths."""
        data: Json = {**vars(self)}
        data["transitions"] = [each._asdict() for each in self.transitions]
        data["floor"] = self.floor and self.floor._asdict()
        data["furthest"] = []
        for change in self.furthest[:most]:
            sides = {}
            for name, side in (("a", change.a), ("b", change.b)):
                shown = side._asdict()
                del shown["drawing"]
                sides[name] = shown
            each = {"unit": change.unit, "step": change.step, **sides}
            data["furthest"].append({**each, "similarity": change.similarity})
        return data


def changes_between(
    project: Project, sources: Sources, a: Run, b: Run, *, media: int = 0
) -> list[list[Changes]]:
    """Find what changed from A to B.

    Nothing is called but the text encoder of A's scores, if it needs no download.

    Args:
        media: of how many of the furthest the files of images or sounds are looked up.

    Returns:
        For each pair of scores, in the order of a comparison's, the changes of its answers and of
        its descriptions; none where the data differ.
    """
    contents = sources.contents
    components = Components(project)
    again, day = _second_asking(a, b, sources)
    changes = []
    for one, two in paired_scores(a, b)[0]:
        first = _Evidence(one, contents)
        second = None
        for lineage in again.lineages if again else ():
            if lineage.place == one.place and _asked_alike(one, lineage):
                second = _Evidence(lineage, contents)
        found: list[Changes] = []
        if one.score.inputs.data_digest == two.score.inputs.data_digest:
            pair = _Pair(first, _Evidence(two, contents), second, day)
            found = [*pair.changes(components, media)]
        changes.append(found)
    return changes


Steps: TypeAlias = Mapping[int, Answer]
Asking: TypeAlias = dict[tuple[str, int], dict[int, Answer]]
"""A question and which of its answers → that step → the answer; or a sample and 0 → each step →
the description."""


class _Evidence:
    """The rows of a score and the records behind it, each read once."""

    def __init__(self, lineage: Lineage, contents: Contents) -> None:
        self.lineage = lineage
        self.contents = contents
        self.clusters: dict[tuple[str, int], str] = {}
        """What is asked about one image; filled by :meth:`answers`."""

    def answers(self) -> Asking:
        """Return the answers, one each.

        Raises:
            LedgerError: the rows are not here, or cannot be read.
        """
        asking: Asking = {}
        for row in rows_of(self.lineage, self.contents):
            self.clusters[row.unit, 0] = row.cluster
            try:
                for answer in self.lineage.spec.answers(row):
                    asking[answer.unit, answer.step] = {answer.step: answer}
                    self.clusters[answer.unit, answer.step] = row.cluster
            except (LookupError, TypeError, ValueError) as error:
                raise LedgerError(
                    f"{self.lineage.rows_path}, {row.unit}: its answers cannot be read ({error})"
                ) from None
        return asking

    @cached_property
    def records(self) -> dict[tuple[str, int, int], CollectedRecord]:
        """Unit, step and repeat → record.

        Raises:
            LedgerError: they are not here.
        """
        stage = self.lineage.spec.collects.name
        folder = self.lineage.collected.get(stage)
        path = None
        if folder is not None:
            path = self.contents.within(folder, RECORDS)
        if path is None:
            raise LedgerError(_NOT_HERE)
        records = {}
        for record in read_jsonl(path, CollectedRecord, RECORDS):
            if record.step:
                records[record.unit, record.step, record.repeat] = record
        return records

    def descriptions(self) -> Asking:
        """Return the descriptions of each sample, all steps; errors as in :attr:`records`."""
        asking: Asking = {}
        for (unit, step, repeat), record in self.records.items():
            answer = _description(record)
            if repeat == 0 and answer is not None:
                asking.setdefault((unit, 0), {})[step] = answer
        return asking

    def repeated(self) -> Asking:
        """Return first descriptions that the model was asked for once more.

        Later ones are of images that other seeds drew. A model that draws no lots was not asked.
        """
        asking: Asking = {}
        for (unit, step, repeat), record in self.records.items():
            first = self.records.get((unit, step, 0))
            answer = _description(record)
            if (step, repeat) != (1, 1) or answer is None or first is None:
                continue
            if _key(first) != _key(record):
                asking[unit, 0] = {step: answer}
        return asking

    def record(self, unit: str, step: int) -> CollectedRecord | None:
        """Return the record of an answer or a description, if it is here."""
        with suppress(DriftledgerError):
            return self.records.get((unit, step, 0))
        return None

    def side(self, answer: Answer) -> Side:
        """Return an answer with the reply that it was read in."""
        record = self.record(answer.unit, answer.step)
        return Side(answer.reading, answer.read, record.text if record else None)

    def drawing(self, unit: str, step: int) -> Path | None:
        """Return the file that was drawn at a step, if it is here."""
        record = self.record(unit, step)
        drawn = record.drawing if record else None
        folder = self.lineage.collected.get(self.lineage.spec.collects.name)
        if drawn is None or drawn.file is None or folder is None:
            return None
        return self._file(folder, drawn.file)

    def medium(self, unit: str) -> Path | None:
        """Return the image or sound that a sample or question is about, if it is here."""
        name = self._media.get(unit)
        return None if name is None else self._file(self.lineage.data, name)

    @cached_property
    def _media(self) -> dict[str, str]:
        is_of_questions = self.lineage.spec.questions is not None
        listed = QUESTIONS if is_of_questions else SAMPLES
        path = self._file(self.lineage.data, listed)
        if path is None:
            return {}
        if is_of_questions:
            return {each.id: each.image for each in read_jsonl(path, QuestionEntry)}
        return {each.id: each.file for each in read_jsonl(path, SampleEntry)}

    def _file(self, folder: Folder, name: str) -> Path | None:
        with suppress(LedgerError):
            return self.contents.within(folder, name)
        return None


class _Pair(NamedTuple):
    """Two scores on the same data, and a second asking of the first, if there was one."""

    a: _Evidence
    b: _Evidence
    again: _Evidence | None
    day: str

    def changes(self, components: Components, media: int) -> Iterator[Changes]:
        """Yield the changes of answers, and of descriptions."""
        try:
            answers = self.a.answers()
            others = self.b.answers()
            if answers or others:
                again = self.again.answers() if self.again else {}
                floor = _floor(answers, again, others, self.day)
                found = self._found("answers", answers, others, floor)
                yield self._with_media(found, media)
        except DriftledgerError as error:
            yield Changes("answers", note=str(error))
        if not self.a.lineage.spec.describes:
            return
        try:
            described = self.a.descriptions()
            others = self.b.descriptions()
            if self.again:
                again = self.again.descriptions()
                floor = _floor(described, again, others, self.day)
            else:
                floor = _floor(described, self.a.repeated(), others, "repeats")
        except LedgerError:
            yield Changes("descriptions", note=_NOT_HERE)
        except StoreError as error:
            yield Changes("descriptions", note=str(error))
        else:
            found = self._found("descriptions", described, others, floor)
            found = _with_similarity(found, self.a.lineage, components)
            yield self._with_media(found, media)

    def _found(
        self,
        of: Literal["answers", "descriptions"],
        a: Asking,
        b: Asking,
        floor: Floor | None,
    ) -> Changes:
        common = [key for key in a if a[key].keys() & b.get(key, {}).keys()]
        if not common:
            return Changes(of, note=f"A and B have no {of} in common")
        differs = []
        clusters = []
        transitions: Counter[tuple[str, str]] = Counter()
        gained: defaultdict[str, float] = defaultdict(float)
        furthest = []
        for key in common:
            step = _difference(a[key], b[key])
            differs.append(step is not None)
            clusters.append(self.a.clusters.get(key, key[0]))
            if step is None:
                continue
            one = a[key][step]
            two = b[key][step]
            transitions[one.reading, two.reading] += 1
            gained[one.unit] += (two.worth or 0.0) - (one.worth or 0.0)
            furthest.append(
                Change(one.unit, step, a=self.a.side(one), b=self.b.side(two))
            )
        furthest.sort(key=lambda change: -_apart(change.a.text, change.b.text))
        confidence = self.a.lineage.score.confidence
        better = sum(gain > 0 for gain in gained.values())
        worse = sum(gain < 0 for gain in gained.values())
        share, low, high = _share(differs, clusters, confidence)
        return Changes(
            of,
            samples=len(common),
            changed=sum(differs),
            share=share,
            low=low,
            high=high,
            transitions=[
                Transition(*readings, count)
                for readings, count in transitions.most_common()
            ],
            p_value=mcnemar(better, worse) if of == "answers" else None,
            floor=floor,
            furthest=furthest,
        )

    def _with_media(self, changes: Changes, most: int) -> Changes:
        """Look up the files of the furthest."""
        furthest = []
        for change in changes.furthest[:most]:
            place = (change.unit, change.step)
            a = change.a._replace(drawing=self.a.drawing(*place))
            b = change.b._replace(drawing=self.b.drawing(*place))
            medium = self.a.medium(change.unit)
            furthest.append(change._replace(a=a, b=b, medium=medium))
        return replace(changes, furthest=furthest + changes.furthest[most:])


def _description(record: CollectedRecord) -> Answer | None:
    """Return what the model said; None of a failed call."""
    reply = record.by("model")
    if reply is None or reply.outcome is Outcome.FAILED:
        return None
    reading = "described"
    if record.is_unread:
        reading = "unread"
        if reply.outcome in (Outcome.REFUSED, Outcome.FILTERED):
            reading = "refused"
    return Answer(record.unit, record.step, reading, worth=None, read=reply.text)


def _key(record: CollectedRecord) -> str | None:
    reply = record.by("model")
    return None if reply is None else reply.key


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
    one = a[step]
    two = b[step]
    apart = 1.0
    if one.reading == two.reading == "described":
        apart = _apart(one.read, two.read)
    return 1 / (step + 1), apart


def _apart(one: str | None, two: str | None) -> float:
    """Return the share of words that only one of two texts has, each as often as it is there.

    >>> _apart("a red cup", "a red road")
    0.3333333333333333
    """
    first = Counter((one or "").casefold().split())
    second = Counter((two or "").casefold().split())
    words = first.total() + second.total()
    return 1 - 2 * (first & second).total() / words if words else 0.0


def _share(
    differs: list[bool], clusters: list[str], confidence: float
) -> tuple[float, float | None, float | None]:
    """Return the share that differs and the ends of its interval; None about one image alone."""
    if len({*clusters}) == len(clusters):
        estimate = proportion_interval(differs, confidence)
    else:
        ones = np.ones(len(differs), dtype=int)
        estimate = share_interval(differs, ones, clusters, confidence)
    if estimate.interval is None:
        return estimate.value, None, None
    low, high = estimate.interval
    return (
        estimate.value,
        round_significant(low, DIGITS),
        round_significant(high, DIGITS),
    )


def _floor(a: Asking, again: Asking, b: Asking, source: str) -> Floor | None:
    """Count what changes by itself, at the steps that were asked twice; None if none were."""
    samples = 0
    changed = 0
    further = 0
    nearer = 0
    for key, second in again.items():
        first = {step: each for step, each in a.get(key, {}).items() if step in second}
        if not first.keys() & b.get(key, {}).keys():
            continue
        by_itself = _distance(first, second)
        to_b = _distance(first, b[key])
        samples += 1
        changed += by_itself > (0.0, 0.0)
        further += to_b > by_itself
        nearer += to_b < by_itself
    if not samples:
        return None
    return Floor(
        source,
        samples,
        changed=changed,
        further=further,
        nearer=nearer,
        p_value=more_than_floor(further, nearer),
    )


def _with_similarity(
    changes: Changes, lineage: Lineage, components: Components
) -> Changes:
    """Compare the texts that changed by the text encoder of a score, if it can be had here."""
    pairs = [change for change in changes.furthest if change.a.text and change.b.text]
    card = lineage.score.components.get("text_encoder")
    if not pairs:
        return changes
    if card is None:
        return replace(changes, note="no similarity: the score has no text encoder")
    try:
        encoder = _reader(card, components)
        texts = []
        for change in pairs:
            texts += [change.a.text or "", change.b.text or ""]
        vectors = encode_texts(encoder.fitted(texts), texts)
    except (DriftledgerError, ValueError, OSError) as error:
        return replace(changes, note=f"no similarity: {error}")
    similarity: dict[tuple[str, int], float] = {}
    for place, change in enumerate(pairs):
        ends = vectors[2 * place : 2 * place + 2]
        if ends.any(axis=1).all():
            cosine = float(cosine_similarity(ends[0], ends[1]))
            similarity[change.unit, change.step] = round_significant(cosine, DIGITS)
    furthest = []
    for change in changes.furthest:
        known = similarity.get((change.unit, change.step))
        furthest.append(change._replace(similarity=known))
    furthest.sort(key=lambda change: change.similarity or 0.0)
    mean = exact_mean([*similarity.values()]) if similarity else None
    return replace(changes, furthest=furthest, similarity=mean)


def _reader(card: ComponentCard, components: Components) -> Encoder:
    """Return a text encoder; LedgerError if it is not here."""
    encoder = components.get(card, "text_encoder")
    if isinstance(encoder, str):
        raise LedgerError(encoder)
    if isinstance(encoder, CheckpointComponent) and encoder.source.folder is None:
        raise LedgerError(
            f"the weights of {card.name} are on a hub, and nothing is downloaded here"
        )
    return cast(Encoder, encoder)


def _second_asking(a: Run, b: Run, sources: Sources) -> tuple[Run | None, str]:
    """Find the run in which A's services were asked again on the same day, and its ``as_of``."""
    if not any("as_of" in card.identity for card in a.components.values()):
        return None, ""
    for run in sources.versions(a.combination):
        days = [*_other_days(a, run)]
        if run.fingerprint != b.fingerprint and days and None not in days:
            return run, days[0] or ""
    return None, ""


def _other_days(a: Run, again: Run) -> Iterator[str | None]:
    """Yield ``as_of`` of each component that was asked again; None for one that differs in more."""
    for role, one in a.components.items():
        two = again.components.get(role)
        if two is None:
            yield None
        elif one.fingerprint != two.fingerprint:
            day = two.identity.get("as_of")
            is_same = _but_the_day(one) == _but_the_day(two) and day is not None
            yield day if is_same else None


def _but_the_day(card: ComponentCard) -> Json:
    """Return what a component is, of ``as_of`` without which asking of its day."""
    day = str(card.identity.get("as_of"))[: len("2026-11-26")]
    spec = card.model_dump(include={"provider", "version", "settings", "identity"})
    return {**spec, "identity": {**card.identity, "as_of": day}}


def _asked_alike(a: Lineage, b: Lineage) -> bool:
    """Return True if two scores are of the same data and protocol."""
    one = a.score.inputs
    two = b.score.inputs
    return one.data_digest == two.data_digest and one.protocol == two.protocol
