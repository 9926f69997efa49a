"""Compute a score again from its records.

First the records are followed: replayed with the results in them, the protocol has to give the same
records. Then the score is computed from them by the function that ``score``
calls, and every value is compared with the one that is stored.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar, cast

from driftledger import __version__
from driftledger.benchmarks.base.benchmark import Benchmark, Collecting, Scored, Scoring
from driftledger.benchmarks.base.collecting import Replay
from driftledger.benchmarks.base.records import (
    CARD,
    CollectedCard,
    CollectedRecord,
    Folders,
    stream_records,
)
from driftledger.benchmarks.base.settings import recorded
from driftledger.benchmarks.base.usage import USAGE, usage_behind
from driftledger.collect.features import FeatureStore
from driftledger.components.base import GREY, Component, ComponentCard, Encoder
from driftledger.core.canonical import Json, canonical_json
from driftledger.core.files import (
    Record,
    load_json,
    read_json,
    read_regular,
    stream_jsonl,
)
from driftledger.ledger.findings import Line, Status
from driftledger.scoring.number import Number, Place
from driftledger.scoring.score import ROWS, SCORE, Row, Score

Way = tuple[str, ...]
"""The keys that lead to a value in JSON, ``("inputs", "seed")``; of a number, its name and column,
``("gc_at_5", "low")``."""

CORRECTIONS: Mapping[tuple[str, str], str] = {}
"""Benchmark and metric → the version since which it has other values, as CHANGELOG says."""

_ABSENT: Any = ...
_UNCOMPARED = {("driftledger",), ("inputs", "version")}
"""Values that no record shows: the versions that made a score."""

R = TypeVar("R", bound=Record)


class Played(NamedTuple):
    """A protocol that was replayed with the results in its records."""

    replay: Replay
    records: Iterable[CollectedRecord]
    """The records that the replay gives, in order."""


def play(
    spec: Benchmark,
    folder: Path,
    data: Path,
    components: Mapping[str, Component | str],
    *,
    keeps_calls: bool = False,
) -> Played:
    """Replay the protocol behind a folder of records; nothing is called.

    Args:
        components: role → the recorded version, or why it is not here. Those that are not here are
            known by their fingerprints.

    Raises:
        ValueError: the protocol has a number that no settings may have.
    """
    replay = Replay(folder, keeps_calls=keeps_calls)
    card = read_json(folder / CARD, CollectedCard)
    recorded(spec.settings, card.protocol)
    named = {}
    for role, known in card.components.items():
        component = components.get(role, "")
        if isinstance(component, str):
            component = _absent(known)
        named[role] = known.name, component
    collecting = Collecting(
        spec=spec, keys=card.keys, data=data, components=named, protocol=card.protocol
    )
    return Played(replay, spec.collect(collecting, replay))


def _absent(card: ComponentCard) -> Component:
    """Return a stand-in for a component that is not here; it is never called."""
    absent = SimpleNamespace(
        fingerprint=card.fingerprint,
        spec={},
        longest=0,
        sees=card.settings.get("sees"),
        blank=GREY if "weights" in card.identity else None,
    )
    absent.model_dump = lambda: dict(card.settings)
    return cast(Component, absent)


def rescore(
    spec: Benchmark,
    stored: Score,
    folders: Folders,
    encoders: Mapping[str, Encoder],
    beside: Folders,
    features: FeatureStore | None,
) -> Scored:
    """Compute a score from records, features and settings, as it was first made.

    Args:
        folders: stage → its folder, of the data and of every collect stage.
        encoders: role → the encoder that plays it.
        beside: setting → the user's file that went in.
    """
    settings = stored.inputs.settings
    return spec.score(
        Scoring(
            spec=spec,
            keys=stored.keys,
            folders=folders,
            section=recorded(spec.settings, settings, spec.scores.settings),
            seed=settings["seed"],
            encoders=encoders,
            beside=beside,
            features=features,
        )
    )


class ComparedValue(NamedTuple):
    """A value of a score, row or record, as stored and as computed again."""

    way: Way
    stored: Any
    again: Any
    number: Place | None = None
    """The place of its number; for a value of a row, the metric alone."""

    @property
    def is_equal(self) -> bool:
        return type(self.stored) is type(self.again) and bool(self.stored == self.again)

    @property
    def metric(self) -> str:
        """The name of its metric; empty for other values."""
        return self.number.metric if self.number else ""

    @property
    def where(self) -> str:
        """The way as a text; for the value of a number, the name of the number."""
        return ".".join(self.way)

    @property
    def what(self) -> str:
        """The difference, in words."""
        old = "nothing" if self.stored is _ABSENT else f"{self.stored!r:.80}"
        new = "nothing" if self.again is _ABSENT else f"{self.again!r:.80}"
        return f"{old} is stored, the records give {new}"


def compare(stored: Json, again: Json, start: Way = ()) -> Iterator[ComparedValue]:
    """Yield every value that is on either side."""
    before = dict(_leaves(stored, start))
    after = dict(_leaves(again, start))
    for way in dict.fromkeys((*before, *after)):
        yield ComparedValue(way, before.get(way, _ABSENT), after.get(way, _ABSENT))


def compare_numbers(
    stored: Sequence[Number], again: Sequence[Number]
) -> Iterator[ComparedValue]:
    """Yield every column of every number that is on either side, by place."""
    before = {number.place: _columns(number) for number in stored}
    after = {number.place: _columns(number) for number in again}
    for place in dict.fromkeys((*before, *after)):
        columns = compare(before.get(place, {}), after.get(place, {}))
        for value in columns:
            way = (place.name, *value.way)
            if value.way == ("value",):
                way = (place.name,)
            yield value._replace(way=way, number=place)


def _columns(number: Number) -> Json:
    """Return the columns of a number without those of its place."""
    return number.model_dump(exclude={*Place._fields}, exclude_none=True)


def compare_rest(stored: Score, again: Score) -> Iterator[ComparedValue]:
    """Yield every value of two scores except their numbers and versions; a flag is one value."""
    before = stored.to_dict()
    after = again.to_dict()
    for content in (before, after):
        del content["numbers"]
    flags = zip_longest(before.pop("flags"), after.pop("flags"), fillvalue=_ABSENT)
    for value in compare(before, after):
        if value.way not in _UNCOMPARED:
            yield value
    for at, (one, two) in enumerate(flags):
        yield ComparedValue(("flags", str(at)), one, two)


def compare_rows(stored: Row, again: Row) -> Iterator[ComparedValue]:
    """Yield every value of two rows of one unit."""
    for value in compare(stored.to_dict(), again.to_dict()):
        below = value.way
        if below[0] == "repeats":
            below = below[2:]
        if len(below) > 1 and below[0] == "values":
            value = value._replace(number=Place(below[1]))
        yield value


@dataclass
class Judge:
    """Judges for each value of a score whether it is reproduced."""

    spec: Benchmark
    wrote: str
    """The version of driftledger that wrote the score; empty for one before versions were noted."""
    relative: float = 0.0
    absolute: float = 0.0
    """How far a number with a fraction may be off."""

    def status(self, value: ComparedValue) -> tuple[Status, str]:
        """Return whether a value is reproduced, and the difference or reason if not."""
        if value.is_equal or self._is_near(value):
            return "reproduced", ""
        name = value.metric
        if name and self.spec.metrics.get(name) is None:
            what = f"this version of {self.spec.name} has no metric {name!r:.60}"
            return "not checkable", what
        wrote = version_key(self.wrote)
        if wrote == version_key(__version__):
            return "differs", value.what
        since = CORRECTIONS.get((self.spec.name, name), "")
        if version_key(since) > wrote:
            what = f"corrected since {since}"
            if self.wrote:
                what += f"; 'uvx driftledger=={self.wrote} check FILE' computes it as it was"
            return "not checkable", what
        are_numbers = {type(value.stored), type(value.again)} <= {int, float}
        if are_numbers or (name and value.again is _ABSENT):
            return "differs", value.what
        by = f"driftledger {self.wrote}" if self.wrote else "an earlier driftledger"
        what = f"{by} wrote it, and {__version__} is installed: {value.what}"
        return "not checkable", what

    def _is_near(self, value: ComparedValue) -> bool:
        if not isinstance(value.stored, float) or not isinstance(value.again, float):
            return False
        return math.isclose(
            value.stored, value.again, rel_tol=self.relative, abs_tol=self.absolute
        )


def version_key(version: str) -> tuple[int, ...]:
    """Return a key that versions sort by; an unnamed version is the lowest.

    >>> version_key("1.10.0rc1") > version_key("1.9.2") > version_key("")
    True
    """
    numbers = re.findall(r"(?:^|\.)([0-9]*)", version)
    return tuple(int(number or -1) for number in numbers)


def _leaves(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Yield every value in JSON by the way to it."""
    if isinstance(value, list):
        value = {str(at): item for at, item in enumerate(value)}
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*way, str(name)))
    else:
        yield way, value


def record_lines(played: Played, path: str) -> Iterator[Line]:
    """Compare the records of a folder with those that their protocol gives.

    Args:
        path: the name of the file in lines.
    """
    followed = 0
    stored = stream_records(played.replay.folder)
    for pair in _paired(stored, played.records, lambda record: record.place):
        if isinstance(pair, str):
            yield Line(path, "differs", pair)
            break
        one, other = pair
        values = compare(one.to_dict(), other.to_dict(), start=(one.place,))
        differing = [value for value in values if not value.is_equal]
        if differing:
            yield _first_of(path, [(value.where, value.what) for value in differing])
        else:
            followed += 1
    yield Line(path, "reproduced", values=followed)


def score_lines(judge: Judge, stored: Score, again: Score, path: str) -> Iterator[Line]:
    """Compare a score with the one that its records give.

    Args:
        path: the name of its folder in lines.
    """
    # as its file would give it
    computed = Score.model_validate_json(canonical_json(again.to_dict()))
    numbers = compare_numbers(stored.numbers, computed.numbers)
    for value in chain(numbers, compare_rest(stored, computed)):
        status, what = judge.status(value)
        where = f"{path}/{SCORE}: {value.where}"
        is_of_whole = value.number is not None and value.number.group_kind is None
        is_headline = is_of_whole and value.way[1:] != ("why",)
        yield Line(where, status, what, metric=value.metric if is_headline else "")


def row_lines(
    judge: Judge, folder: Path, again: Iterable[Row], path: str
) -> Iterator[Line]:
    """Compare the rows of a score's folder with those that its records give.

    A row that differs has a line with its first difference. Values that are reproduced, or are not
    checked for one reason, have a line together.

    Args:
        path: the name of the folder in lines.
    """
    file = f"{path}/{ROWS}"
    alike: dict[tuple[Status, str], Line] = {}
    stored = stream_jsonl(folder / ROWS, Row)
    for pair in _paired(stored, again, lambda row: row.unit):
        if isinstance(pair, str):
            yield Line(file, "differs", pair)
            break
        one, other = pair
        differing = []
        for value in compare_rows(one, other):
            status, what = judge.status(value)
            where = f"{one.unit}.{value.where}"
            if status == "differs":
                differing.append((where, what))
                continue
            where = f"{file}: {where}"
            first = alike.get((status, what), Line(where, status, what, values=0))
            alike[status, what] = first._replace(values=first.values + 1)
        if differing:
            yield _first_of(file, differing)
    yield from alike.values()


def _first_of(path: str, differing: Sequence[tuple[str, str]]) -> Line:
    """Return one line about the differing values of a record or row."""
    where, what = differing[0]
    if len(differing) > 1:
        what += f"; and {len(differing) - 1} more of this line"
    return Line(f"{path}: {where}", "differs", what, values=len(differing))


def _paired(
    stored: Iterable[R], again: Iterable[R], name: Callable[[R], str]
) -> Iterator[tuple[R, R] | str]:
    """Yield pairs of lines about the same thing, or a sentence where they differ."""
    for one, other in zip_longest(stored, again):
        before = one and name(one)
        after = other and name(other)
        if one is None or other is None or before != after:
            what = "lines are missing, there twice or in another order"
            yield f"{what}: {before!r:.80} is stored where the records give {after!r:.80}"
            return
        yield one, other


def usage_lines(folder: Path, records: Path, path: str) -> Iterator[Line]:
    """Compare the totals of calls behind a score with the calls that are noted.

    Args:
        path: the name of the score's folder in lines.
    """
    if not (folder / USAGE).is_file():
        return
    stored = load_json(read_regular(folder / USAGE))
    again = usage_behind(records)
    for value in compare(stored, again.to_dict() if again else {}):
        where = f"{path}/{USAGE}: {value.where}"
        if value.is_equal:
            yield Line(where, "reproduced")
        else:
            yield Line(where, "differs", value.what)
