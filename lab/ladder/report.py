"""``reports/ladder.json``: what every metric says of every kind of damage, on both grounds."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from driftledger.benchmarks.registry import benchmark
from driftledger.core.files import Record
from lab.ladder.bench import Ground, Readings, Rung
from lab.ladder.damage import KINDS
from lab.ladder.response import CONFIDENCE, Estimate, Response, respond
from lab.validity.collected import Place
from lab.validity.measured import Rounded

REPORT = "reports/ladder"
"""Below the top folder, without suffix."""
MARGIN = 0.05
"""Of the span between floor and top: a metric that moves less keeps still."""

Verdict: TypeAlias = Literal["falls at every dose", "falls", "rises", "keeps still", "moves", "open"]

_FROZEN = ConfigDict(extra="forbid")
_EVEN = 1e-6
"""Of a span: what is less comes of the last bits."""


@dataclass(frozen=True, config=_FROZEN)
class Value:
    """A number with the ends of its interval, where it has them."""

    value: Rounded
    low: Rounded | None = None
    high: Rounded | None = None


@dataclass(frozen=True, config=_FROZEN)
class Answer:
    """What a metric says of a kind of damage, in shares of its span; more is better."""

    kind: str
    doses: list[Rounded]
    values: list[Value]
    """At each dose: 1 is the undamaged description, 0 the floor."""
    slope: Value
    """Per whole dose."""
    change: Value
    """From no dose to the whole."""
    verdict: Verdict


@dataclass(frozen=True, config=_FROZEN)
class Held:
    """A metric, held against every kind of damage."""

    benchmark: str
    metric: str
    encoder: str
    """Empty where there is none; likewise the generator."""
    generator: str
    top: Rounded
    """Of the undamaged description, as the metric is read."""
    floor: Rounded
    """Of the describer that never looks."""
    span: Rounded
    """From the floor to the top, positive where the metric tells them apart."""
    units: int
    """Images behind an interval; 0 where the metric is over all of them together."""
    answers: list[Answer]
    """None where the span is not above 0: there is nothing that could be lost."""


@dataclass(frozen=True, config=_FROZEN)
class OnGround:
    title: str
    dataset: str
    labelled: str
    metrics: list[Held]


class LadderReport(Record):
    """The report, whole."""

    confidence: float
    margin: float
    iterations: int
    grounds: dict[str, OnGround]


def on_ground(ground: Ground, climbed: Mapping[Rung, Readings]) -> OnGround:
    """What a climb found."""
    first, *_, last = climbed.values()
    places = [place for place in first if all(place in readings for readings in climbed.values())]
    return OnGround(
        title=ground.title,
        dataset=ground.dataset[0],
        labelled=ground.labelled[0],
        metrics=[_held(place, climbed, (first, last)) for place in places],
    )


def _held(place: Place, climbed: Mapping[Rung, Readings], ends: tuple[Readings, Readings]) -> Held:
    metric = benchmark(place.benchmark).metric(place.metric)
    sign = -1.0 if metric is not None and metric.higher_is_better is False else 1.0
    top, floor = (each[place] for each in ends)
    span = sign * (top.value - floor.value)
    answers = list(_answers(place, climbed, ends[0], sign, span)) if round(span, 6) > 0 else []
    return Held(
        benchmark=place.benchmark,
        metric=place.metric,
        encoder=place.encoder,
        generator=place.generator,
        top=top.value,
        floor=floor.value,
        span=span,
        units=len(top.units or ()),
        answers=answers,
    )


def _answers(
    place: Place, climbed: Mapping[Rung, Readings], undamaged: Readings, sign: float, span: float
) -> Iterator[Answer]:
    floor = sign * undamaged[place].value - span
    for kind, damage in KINDS.items():
        rungs = [rung for rung in climbed if rung.kind == kind and rung.dose > 0]
        readings = [undamaged[place], *(climbed[rung][place] for rung in rungs)]
        found = respond([0.0, *(rung.dose for rung in rungs)], [(each.value, each.units) for each in readings], sign)
        yield Answer(
            kind=kind,
            doses=list(found.doses),
            values=[_shared(each, span, floor) for each in found.values],
            slope=_shared(found.slope, span),
            change=_shared(found.change, span),
            verdict=verdict(found, span, loses=damage.loses),
        )


def _shared(estimate: Estimate, span: float, floor: float = 0.0) -> Value:
    shifted = Estimate(*(each - floor if each is not None else None for each in estimate))  # type: ignore[arg-type]
    return Value(*shifted.over(span))


def verdict(found: Response, span: float, *, loses: bool) -> Verdict:
    """What can be said of a response. One without an interval has to move by more than :data:`MARGIN` of the span.

    Loss: *falls* where the slope's interval is below 0, *at every dose* where each scores less than the one before.
    No loss: *keeps still* where the change's interval lies within ± :data:`MARGIN` of the span, and *moves* where it
    lies beside 0 and the change is larger than that.
    """
    if not loses:
        change = found.change.over(span)
        if change.low is None or change.high is None:
            return "keeps still" if abs(change.value) <= MARGIN else "moves"
        if change.low >= -MARGIN and change.high <= MARGIN:
            return "keeps still"
        return "moves" if abs(change.value) > MARGIN and (change.low > 0 or change.high < 0) else "open"
    slope = found.slope.over(span)
    margin = MARGIN if slope.low is None else _EVEN
    low, high = (slope.value if end is None else end for end in (slope.low, slope.high))
    if high < -margin:
        return "falls at every dose" if found.falls else "falls"
    return "rises" if low > margin else "open"


def count(held: Sequence[Held], kind: str) -> dict[Verdict, int]:
    """Verdict → how many metrics have it."""
    found = [answer.verdict for each in held for answer in each.answers if answer.kind == kind]
    return {each: found.count(each) for each in dict.fromkeys(found)}


def assembled(grounds: Mapping[str, Ground], climbed: Mapping[str, Mapping[Rung, Readings]], t: int) -> LadderReport:
    """Of the grounds that were climbed."""
    return LadderReport(
        confidence=CONFIDENCE,
        margin=MARGIN,
        iterations=t,
        grounds={name: on_ground(grounds[name], some) for name, some in climbed.items()},
    )
