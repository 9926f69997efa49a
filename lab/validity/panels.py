"""What the picture shows: drift over rounds, and what the metrics say of a model that was trained longer."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from driftledger.reports.charts import COLOURS, GREY, Curve, Series, nth
from lab.validity.assembled import Ranked, Validity
from lab.validity.measured import Interval
from lab.validity.ranked import Point as Value
from lab.validity.stages import climb
from lab.validity.table import metric_name

_ROUNDS = 3
"""Of the second panel's GC@t, unless there are fewer."""
_FIDELITY = ("ssim", "clip_s", "clip_s_i", "image_similarity")
_CONTROL = Series(GREY, hollow=True)
_CEILING = Series(COLOURS[-1], dash="--")
_OF_ENCODERS, _OF_OTHERS = 3, 5
"""Their first places in the palette."""


class Panel(NamedTuple):
    """One pair of axes."""

    title: str
    across: str
    ticks: Mapping[float, str]
    """Position → label; the first and the last are where the axis starts and ends."""
    lines: Sequence[Curve]


def panels(found: Validity) -> list[Panel]:
    """Of the final generator: drift by round, GC@3 by encoder, and the other benchmarks; those that have a line."""
    generator = climb("generators", found.generators)[-1]
    seen = [each for each in found.by_model if each.generator in (generator, None)]
    t = min(_ROUNDS, found.iterations)
    chains = [each for each in seen if each.benchmark == "genception" and each.on == _first(seen, "genception")]
    through = [each for each in chains if each.encoder == found.encoder]
    by_encoder = {each.encoder or "": each for each in chains if each.metric == f"gc_at_{t}"}
    rounds = {float(t): str(t) for t in range(1, found.iterations + 1)}
    steps, ticks = "training steps of the model", _stage_ticks(found)
    drift = list(_by_round(found, through, generator))
    every = [
        Panel(f"GC@t · {generator} · {found.encoder}", "t, in rounds", rounds, drift),
        Panel(f"GC@{t} · {generator}", steps, ticks, list(_by_steps(found, by_encoder, _OF_ENCODERS))),
        Panel("other benchmarks, %", steps, ticks, list(_by_steps(found, _others(found, seen), _OF_OTHERS))),
    ]
    return [panel for panel in every if panel.lines]


def _by_round(found: Validity, through: Sequence[Ranked], generator: str) -> Iterator[Curve]:
    by_t = {int(each.metric.removeprefix("gc_at_")): each.ranking for each in through}
    ceiling = {
        each.t: each.ceiling
        for each in found.drift
        if (each.generator, each.encoder) == (generator, found.encoder) and through and each.on == through[0].on
    }
    if ceiling:
        yield _curve("without fault", _CEILING, ceiling)
    for place, name in enumerate(reversed(climb("models", found.models))):
        points = {t: by_t[t].values[name] for t in sorted(by_t) if name in by_t[t].values}
        if points:
            yield _curve(f"{found.models[name]:,} steps", nth(len(found.models) - 1 - place), points)
    control = found.controls[0]
    shown = {t: ranking.controls[control].point for t, ranking in by_t.items() if control in ranking.controls}
    if shown:
        yield _curve(control, _CONTROL, shown)


def _by_steps(found: Validity, some: Mapping[str, Ranked], first: int) -> Iterator[Curve]:
    names = climb("models", found.models)
    for place, (name, each) in enumerate(some.items()):
        values, control = each.ranking.values, each.ranking.controls.get(found.controls[0])
        yield _curve(
            name, nth(first + place), {x: values[stage] for x, stage in enumerate(names, 1) if stage in values}
        )
        if control:
            yield _curve(name, nth(first + place), {0: control.point}, joined=False)


def _others(found: Validity, seen: Sequence[Ranked]) -> dict[str, Ranked]:
    """Curve by name: of each benchmark's first dataset."""
    there = {
        (each.benchmark, each.metric): each
        for each in seen
        if each.on == _first(seen, each.benchmark)
        and (each.benchmark != "fidelity" or each.encoder in (found.encoder, None))
    }
    wanted = [("mm_sap", "score"), ("trac", "top1"), *(("fidelity", metric) for metric in _FIDELITY)]
    return {metric_name(there[key]): there[key] for key in wanted if key in there}


def _stage_ticks(found: Validity) -> dict[float, str]:
    steps = [f"{found.models[name]:,}" for name in climb("models", found.models)]
    return {float(x): label for x, label in enumerate([found.controls[0], *steps])}


def _first(some: Sequence[Ranked], benchmark: str) -> str | None:
    return next((each.on for each in some if each.benchmark == benchmark), None)


def _curve(name: str, series: Series, points: Mapping[int, Value | Interval], *, joined: bool = True) -> Curve:
    """The curve of some points, by x."""
    of = [points[x] for x in sorted(points)]
    ends = [each.low for each in of], [each.high for each in of]
    return Curve(name, series, sorted(points), [each.value for each in of], *ends, joined)
