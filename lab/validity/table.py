"""``reports/validity.md``: what the report finds, in tables that can be read."""

from collections.abc import Iterator, Sequence
from math import factorial

from driftledger.benchmarks.base import NOTHING, cell
from driftledger.core.grouping import grouped
from driftledger.core.text import for_markdown
from driftledger.reports.tables import markdown_table
from lab.validity.assembled import Drift, Ranked, Validity
from lab.validity.iterating import Iterated
from lab.validity.measured import Interval, Share
from lab.validity.ranked import Point, Ranking
from lab.validity.scores import title_of
from lab.validity.stages import climb

_FAULTLESS = "without fault"
_LEAST_SHARE = 0.001
"""Below it, one decimal of a percentage says nothing."""
_ASKED = "questions and TRAC"
_LEGEND = (
    "In brackets: training steps, and the intervals of values. *In order*: each is better than the one "
    "before; *apart*: and the intervals of neighbours do not overlap. ρ is Spearman's rank correlation, with training "
    "steps and with the share of exact descriptions above; *resampled*: its mean over bootstrap resamples of the "
    "samples that all stages share, and in how many of these the stages are in order. A coverage stands beside its "
    "value where it is below 1; what `compare` does not rank is not ranked here."
)


_BY_FAMILY = (
    "*Sets of records*: chains of another protocol or generator are drawn anew, of the same images. *Effective "
    "number*: how many independent metrics say as much about single images. *Chance*: of all orders of the stages, the "
    "share with at least this mean ρ; with {stages} stages it is never below {least:.3g}, however many metrics. "
    "*Noise*: the share of permutations in which images change places among the stages, in all metrics at once, that "
    "show as large a trend: it tells differences from noise, not what they are due to. *Apart*: the intervals do not "
    "overlap."
)


def metric_name(ranked: Ranked) -> str:
    """A metric as its benchmark's table titles it, with the benchmark before it where several share a table."""
    return title_of(ranked.benchmark, ranked.metric, whole=_table(ranked) == _ASKED)


def validity_tables(found: Validity) -> str:
    """The whole file."""
    lines = ["# Do the metrics rank a better model higher?", "", *summary(found), *by_family(found), *_known(found)]
    lines += [*by_stage(found), *by_round("## Does iterating tell the stages apart better?", found.iterating)]
    lines += ["## Versions of the generator", "", *_versions(found), *_drift(found)]
    return "\n".join(lines)


def summary(found: Validity) -> Iterator[str]:
    """What holds, and what it is worth."""
    rankings = [each.ranking for each in found.by_model]
    barred = sum(each.apart is not None for each in rankings)
    all_of = found.together
    yield (
        f"The {len(rankings)} metrics below are of {_families(all_of.families)}, those that rest on the same; "
        f"of {_families(all_of.in_order)} every metric puts the {len(found.models)} stages in the order of their "
        "training. "
        + (_do_as_well(all_of.chance, len(found.models)) if all_of.chance is not None else "")
        + (f" {barred} are not ranked, or not all of it, as their coverages lie too far apart." if barred else "")
    )
    if found.otherwise:
        yield ""
        yield (
            f"{', '.join(map(_name, found.otherwise))} was trained on another mix of questions and descriptions than "
            "the stages before: more than the number of steps sets it apart."
        )
    yield ""


def _families(number: int) -> str:
    return "1 family" if number == 1 else f"{number} families"


def _do_as_well(chance: float, stages: int) -> str:
    """Of a share too small for a percentage, how many orders it is."""
    if chance >= _LEAST_SHARE:
        return f"Of all orders of these stages {_percent(chance)} do as well."
    orders = factorial(stages)
    number = round(chance * orders)
    return f"Of the {orders:,} orders of these stages {number} {'does' if number == 1 else 'do'} as well."


def by_family(found: Validity) -> Iterator[str]:
    """What each family of metrics says of the stages."""
    controls = [_name(control) for control in found.controls]
    head = ["", "metrics", "sets of records", "effective number", "in order", "ρ, steps", "chance", "noise"]
    head += [f"all stages above {control}" for control in controls]
    head += [f"last stage apart from {control}" for control in controls]
    rows = [
        [
            for_markdown(each.name),
            *(str(count) for count in (each.metrics, each.sets)),
            str(cell(each.effective, digits=1)),
            f"{each.in_order} of {each.metrics}",
            *(str(cell(value)) for value in (each.spearman, each.chance)),
            str(cell(each.noise, digits=4)),
            *(f"{each.above.get(control, 0)} of {each.metrics}" for control in found.controls),
            *(f"{each.apart.get(control, 0)} of {each.metrics}" for control in found.controls),
        ]
        for each in found.families
    ]
    yield from ("## By family", "")
    yield from markdown_table("metrics that rest on the same", head, rows)
    yield from (_BY_FAMILY.format(stages=len(found.models), least=1 / factorial(len(found.models))), "")


def by_round(heading: str, found: Sequence[Iterated]) -> Iterator[str]:
    """How far rounds set stages apart."""
    if not found:
        return
    yield from (heading, "")
    by_t = grouped(found, lambda each: int(each.metric.rpartition("_at_")[2]))
    rounds = sorted(by_t)
    head = ["", *(f"ends, t = {t}" for t in rounds), *(f"closest, t = {t}" for t in rounds)]
    rows = []
    for key in dict.fromkeys((each.on, each.generator, each.encoder) for each in found):
        there = {t: next(e for e in by_t[t] if (e.on, e.generator, e.encoder) == key) for t in rounds}
        ends, closest = ([str(cell(getattr(there[t], end))) for t in rounds] for end in ("ends", "closest"))
        rows.append([_of(*key), *ends, *closest])
    yield from markdown_table("GC@t: differences between stages, in their deviations over images", head, rows)
    yield (
        "*Ends* is from the first stage to the last, *closest* the least of neighbouring ones: a paired test needs the "
        "fewer images the larger it is. Where it does not grow with t, more rounds tell no more."
    )
    yield ""


def _known(found: Validity) -> Iterator[str]:
    """What was measured of the checkpoints themselves."""
    yield from ("## What is known", "")
    for title, shares, steps in (
        ("held-out images described word for word, %", found.describers, found.models),
        ("things of true captions redrawn with the right shape, colour and cell, %", found.painters, found.generators),
    ):
        rows = [[_name(name), f"{steps[name]:,}", share_in_words(shares[name])] for name in climb("rungs", steps)]
        rows += [[_name(name), NOTHING, share_in_words(shares[name])] for name in sorted(shares.keys() - steps.keys())]
        yield from markdown_table(title, ["", "training steps", "share"], rows)
    both = found.retrieval
    yield (
        f"The encoder of images and texts finds the caption of {share_in_words(both.image_to_text)} % of the images, "
        f"and the image of {share_in_words(both.text_to_image)} % of the captions."
    )
    yield ""


def by_stage(found: Validity) -> Iterator[str]:
    """Every metric, over the stages of the model."""
    yield from ("## Stages of the model", "", _LEGEND, "")
    tables = grouped(found.by_model, _table)
    for title in sorted(tables, key=lambda title: (not title.startswith("genception"), title == _ASKED, title)):
        yield from _stages(title, tables[title], found)


def _table(ranked: Ranked) -> str:
    """The title of the table that it stands in."""
    return f"{ranked.benchmark} on {ranked.on}" if ranked.benchmark in ("genception", "fidelity") else _ASKED


def _stages(title: str, some: Sequence[Ranked], found: Validity) -> Iterator[str]:
    names = climb("models", found.models)
    head = ["", *(f"{_name(name)} ({found.models[name]:,})" for name in names), *map(_name, found.controls), "in order"]
    head += [f"{_name(control)} last" for control in found.controls]
    head += ["ρ, steps", "ρ, exact", "resampled ρ", "resampled in order"]
    rows: list[list[str]] = []
    notes: list[str] = []
    for each in some:
        ranking, digits = each.ranking, _digits(each)
        drawn = ranking.resampled
        controls = [ranking.controls.get(control) for control in found.controls]
        name = _of(metric_name(each), each.generator, each.encoder, each.on if title == _ASKED else None)
        notes += _not_ranked(name, ranking)
        rows.append(
            [
                name,
                *(point_in_words(ranking.values.get(name), digits) for name in names),
                *(point_in_words(control.point if control else None, digits) for control in controls),
                _verdict(ranking.rises, ranking.disjoint),
                *(_verdict(control.last, control.disjoint) if control else NOTHING for control in controls),
                str(cell(ranking.spearman)),
                str(cell(ranking.spearman_measured)),
                str(cell(drawn.spearman if drawn else None)),
                _percent(drawn.rising if drawn else None),
            ]
        )
    yield from markdown_table(for_markdown(title), head, rows)
    yield from (*notes, *([""] if notes else []))


def _versions(found: Validity) -> Iterator[str]:
    """GC@T of each version, under each model; the other metrics are in the JSON file."""
    names = climb("generators", found.generators)
    head = ["", *(f"{_name(name)} ({found.generators[name]:,} steps)" for name in names), "in order", "resampled"]
    shown = [each for each in found.by_generator if each.metric == f"gc_at_{found.iterations}"]
    order = [*climb("models", found.models), *found.controls, None]
    for on, some in grouped(shown, lambda each: each.on).items():
        some = sorted(some, key=lambda each: (each.encoder or "", order.index(each.model)))
        rows = [
            [
                _of(each.model or _FAULTLESS, each.encoder),
                *(point_in_words(each.ranking.values.get(name), _digits(each)) for name in names),
                _verdict(each.ranking.rises, each.ranking.disjoint),
                _percent(each.ranking.resampled.rising if each.ranking.resampled else None),
            ]
            for each in some
        ]
        yield from markdown_table(f"GC@{found.iterations} on {for_markdown(on)}", head, rows)
        notes = [note for each, row in zip(some, rows, strict=True) for note in _not_ranked(row[0], each.ranking)]
        yield from (*notes, *([""] if notes else []))


def _not_ranked(name: str, ranking: Ranking) -> Iterator[str]:
    if ranking.apart is not None:
        yield f"- {name} is not ranked, or not all of it: {for_markdown(ranking.apart)}."


def _drift(found: Validity) -> Iterator[str]:
    if not found.drift:
        return
    yield from ("## Whose drift is it?", "")
    yield (
        "The ceiling is GC@t of chains in which every image is described without fault: what is missing to 1 the "
        "generator has lost, and what is missing to the ceiling the final model."
    )
    yield ""
    head = ["", "ceiling", "final model", "drift", "by the generator", "by the model"]
    for on, some in grouped(found.drift, lambda each: each.on).items():
        rows = [_drift_row(each) for each in some]
        yield from markdown_table(f"1 − GC@t on {for_markdown(on)}", head, rows)


def _drift_row(drift: Drift) -> list[str]:
    values = (str(cell(value, digits=3)) for value in (drift.drift, drift.by_generator, drift.by_model))
    name = _of(f"t = {drift.t}", drift.generator, drift.encoder)
    return [name, point_in_words(drift.ceiling, 3), point_in_words(drift.final, 3), *values]


def _name(name: str) -> str:
    return for_markdown(name)


def _of(*parts: str | None) -> str:
    return for_markdown(" · ".join(part for part in parts if part))


def _digits(ranked: Ranked) -> int:
    return 3 if ranked.benchmark == "genception" else 1


def point_in_words(point: Point | Interval | None, digits: int) -> str:
    """A value with its interval, and with its coverage where that is below 1."""
    if point is None:
        return NOTHING
    ends = "–".join(f"{end:.{digits}f}" for end in (point.low, point.high) if end is not None)
    coverage = point.coverage if isinstance(point, Point) else 1.0
    told = [ends, f"coverage {coverage:.3f}" if coverage < 1 else ""]
    return str(cell(point.value, digits=digits, more="; ".join(each for each in told if each)))


def share_in_words(share: Share) -> str:
    """In percent, with its interval."""
    return f"{100 * share.share:.1f} ({100 * share.low:.1f}–{100 * share.high:.1f})"


def _verdict(holds: bool | None, apart: bool | None) -> str:
    """What holds, and whether intervals bear it out."""
    if holds is None:
        return NOTHING
    return "no" if not holds else "yes, apart" if apart else "yes"


def _percent(share: float | None) -> str:
    return NOTHING if share is None else f"{100 * share:.1f} %"
