"""``reports/validity.md`` and ``.svg``: what the report finds, to read and at a glance."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import factorial
from pathlib import Path
from typing import Any

from driftledger.benchmarks.registry import benchmark

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
_ROUNDS = (
    "Differences between stages, in their deviations over images: *ends* is from the first stage to the last, "
    "*closest* the least of neighbouring ones. A paired test needs the fewer images the larger it is. Where it does "
    "not grow with t, more rounds tell no more."
)
_DRIFT = (
    "The ceiling is GC@t of chains in which every image is described without fault: what is missing to 1 the "
    "generator has lost, and what is missing to the ceiling the final model."
)
_NOTHING = "–"
_FIDELITY = ("ssim", "clip_s", "clip_s_i", "image_similarity")

Row = Mapping[str, Any]


def tables(found: Row) -> str:
    """Return the Markdown page."""
    models, together = sorted(found["models"], key=found["models"].__getitem__), found["together"]
    lines = ["# Do the metrics rank a better model higher?", ""]
    chance = together["chance"]
    lines += [
        f"The {len(found['by_model'])} metrics below are of {together['families']} families, those that rest on the "
        f"same; of {together['in_order']} families every metric puts the {len(models)} stages in the order of their "
        "training."
        + (f" Of all orders of these stages {100 * chance:.1f} % do as well." if chance is not None else ""),
        "",
    ]
    if found["otherwise"]:
        lines += [
            f"{', '.join(found['otherwise'])} was trained on another mix of questions and descriptions than the "
            "stages before: more than the number of steps sets it apart.",
            "",
        ]
    lines += [
        *("## By family", ""),
        *_families(found),
        _BY_FAMILY.format(stages=len(models), least=1 / factorial(len(models))),
        *("", "## What is known", ""),
        *_known(found),
        *("## Stages of the model", "", _LEGEND, ""),
        *_stages(found, models),
        *("## Does iterating tell the stages apart better?", ""),
        *_iterating(found["iterating"]),
        *(_ROUNDS, "", "## Versions of the generator", ""),
        *_versions(found, models),
        *("## Whose drift is it?", "", _DRIFT, ""),
        *_table(
            ["", "ceiling", "final model", "drift", "by the generator", "by the model"],
            (
                [
                    f"t = {each['t']} · {each['generator']} · {each['encoder']}",
                    *(_point(each[name], 3) for name in ("ceiling", "final")),
                    *(_number(each[name], 3) for name in ("drift", "by_generator", "by_model")),
                ]
                for each in found["drift"]
            ),
        ),
    ]
    return "\n".join(lines)


def _families(found: Row) -> Iterator[str]:
    controls = found["controls"]
    head = ["", "metrics", "sets of records", "effective number", "in order", "ρ, steps", "chance", "noise"]
    head += [f"all stages above {control}" for control in controls]
    head += [f"last stage apart from {control}" for control in controls]
    yield from _table(
        head,
        (
            [
                each["name"],
                *(str(each[name]) for name in ("metrics", "sets")),
                _number(each["effective"], 1),
                f"{each['in_order']} of {each['metrics']}",
                *(_number(each[name], 2) for name in ("spearman", "chance")),
                _number(each["noise"], 4),
                *(f"{each[what].get(c, 0)} of {each['metrics']}" for what in ("above", "apart") for c in controls),
            ]
            for each in found["families"]
        ),
    )


def _known(found: Row) -> Iterator[str]:
    for title, shares, steps in (
        ("held-out images described word for word, %", found["describers"], found["models"]),
        ("things of true captions redrawn with the right shape, colour and cell, %", *_painters(found)),
    ):
        names = sorted(steps, key=steps.__getitem__)
        yield from _table([title, "training steps", "share"], ([n, f"{steps[n]:,}", _share(shares[n])] for n in names))
    both = found["retrieval"]
    yield (
        f"The encoder of images and texts finds the caption of {_share(both['image_to_text'])} % of the images, "
        f"and the image of {_share(both['text_to_image'])} % of the captions."
    )
    yield ""


def _painters(found: Row) -> tuple[Row, Mapping[str, int]]:
    return found["painters"], found["generators"]


def _stages(found: Row, models: Sequence[str]) -> Iterator[str]:
    by_table: dict[str, list[Row]] = {}
    for each in found["by_model"]:
        chains = each["benchmark"] in ("genception", "fidelity")
        by_table.setdefault(f"{each['benchmark']} on {each['on']}" if chains else "questions and TRAC", []).append(each)
    for title in sorted(by_table, key=lambda title: (not title.startswith("genception"), title[0] == "q", title)):
        head = [f"**{title}**", *(f"{name} ({found['models'][name]:,})" for name in models), *found["controls"]]
        head += ["in order", *(f"{control} last" for control in found["controls"])]
        rows, notes = [], []
        for each in by_table[title]:
            ranking = each["ranking"]
            controls = [ranking["controls"].get(control, {}) for control in found["controls"]]
            drawn, digits = ranking["resampled"] or {}, _digits(each)
            on = each["on"] if title[0] == "q" else None
            name = _of(title_of(each, whole=title[0] == "q"), each["generator"], each["encoder"], on)
            rows.append(
                [
                    name,
                    *(_point(ranking["values"].get(model), digits) for model in models),
                    *(_point(control.get("point"), digits) for control in controls),
                    _verdict(ranking["rises"], ranking["disjoint"]),
                    *(_verdict(control.get("last"), control.get("disjoint")) for control in controls),
                    *(_number(value, 2) for value in (ranking["spearman"], ranking["spearman_measured"])),
                    _number(drawn.get("spearman"), 2),
                    _percent(drawn.get("rising")),
                ]
            )
            notes += _not_ranked(name, ranking)
        yield from _table([*head, "ρ, steps", "ρ, exact", "resampled ρ", "resampled in order"], rows)
        yield from notes


def _iterating(some: Sequence[Row]) -> Iterator[str]:
    rounds = sorted({int(each["metric"].rpartition("_at_")[2]) for each in some})
    by_key: dict[str, dict[int, Row]] = {}
    for each in some:
        key = _of(each["on"], each["generator"], each["encoder"])
        by_key.setdefault(key, {})[int(each["metric"].rpartition("_at_")[2])] = each
    yield from _table(
        ["GC@t", *(f"ends, t = {t}" for t in rounds), *(f"closest, t = {t}" for t in rounds)],
        (
            [key, *(_number(by_t[t][end], 2) for end in ("ends", "closest") for t in rounds)]
            for key, by_t in by_key.items()
        ),
    )


def _versions(found: Row, models: Sequence[str]) -> Iterator[str]:
    names = sorted(found["generators"], key=found["generators"].__getitem__)
    order = [*models, *found["controls"], None]
    some = [each for each in found["by_generator"] if each["metric"] == f"gc_at_{found['iterations']}"]
    some.sort(key=lambda each: (each["on"], each["encoder"], order.index(each["model"])))
    head = [f"GC@{found['iterations']}", *(f"{name} ({found['generators'][name]:,} steps)" for name in names)]
    notes = []
    rows = []
    for each in some:
        ranking, name = each["ranking"], _of(each["model"] or "without fault", each["encoder"], each["on"])
        notes += _not_ranked(name, ranking)
        points = [_point(ranking["values"].get(generator), _digits(each)) for generator in names]
        rising = (ranking["resampled"] or {}).get("rising")
        rows.append([name, *points, _verdict(ranking["rises"], ranking["disjoint"]), _percent(rising)])
    yield from _table([*head, "in order", "resampled"], rows)
    yield from notes


def _not_ranked(name: str, ranking: Row) -> list[str]:
    return [f"- {name} is not ranked, or not all of it: {ranking['apart']}.", ""] if ranking["apart"] else []


def title_of(each: Row, *, whole: bool = False) -> str:
    """Return a metric's title in its benchmark's table, with the benchmark before it where it is to stand ``whole``.

    >>> title_of({"benchmark": "trac", "metric": "top1"}, whole=True)
    'TRAC top-1'
    """
    spec = benchmark(each["benchmark"])
    metric = spec.metric(each["metric"])
    title = each["metric"] if metric is None else metric.named(each["metric"])
    return f"{spec.title} {title}" if whole else title


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows):
        yield f"| {' | '.join(cells)} |"
    yield ""


def _of(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def _digits(each: Row) -> int:
    return 3 if each["benchmark"] == "genception" else 1


def _number(value: float | None, digits: int) -> str:
    return _NOTHING if value is None else f"{value:.{digits}f}"


def _point(each: Row | None, digits: int) -> str:
    """A value with its interval, and with its coverage where that is below 1."""
    if each is None:
        return _NOTHING
    ends = "" if each["low"] is None else f"{each['low']:.{digits}f}–{each['high']:.{digits}f}"
    more = "; ".join(filter(None, [ends, f"coverage {each['coverage']:.3f}" if each["coverage"] < 1 else ""]))
    return f"{each['value']:.{digits}f}" + (f" ({more})" if more else "")


def _share(each: Row) -> str:
    return f"{100 * each['share']:.1f} ({100 * each['low']:.1f}–{100 * each['high']:.1f})"


def _verdict(holds: bool | None, apart: bool | None) -> str:
    if holds is None:
        return _NOTHING
    return "no" if not holds else "yes, apart" if apart else "yes"


def _percent(share: float | None) -> str:
    return _NOTHING if share is None else f"{100 * share:.1f} %"


def draw(found: Row, file: Path) -> None:
    """Write three panels of the final generator: GC@t by round, GC@3 by encoder, and the other benchmarks."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    models = sorted(found["models"], key=found["models"].__getitem__)
    generator, control = max(found["generators"], key=found["generators"].__getitem__), found["controls"][0]
    rounds = list(range(1, found["iterations"] + 1))
    t = min(3, found["iterations"])
    seen = [each for each in found["by_model"] if each["generator"] in (generator, None)]
    chains = [each for each in seen if each["benchmark"] == "genception"]
    through = {
        int(e["metric"].removeprefix("gc_at_")): e["ranking"] for e in chains if e["encoder"] == found["encoder"]
    }
    drift = {each["t"]: each for each in found["drift"] if _same(each, generator, found["encoder"])}
    by_round = {"without fault": [drift[n]["ceiling"] for n in rounds if n in drift]}
    for name in reversed(models):
        by_round[f"{found['models'][name]:,} steps"] = [through[n]["values"].get(name) for n in rounds]
    by_round[control] = [through[n]["controls"].get(control, {}).get("point") for n in rounds]
    gc = {each["encoder"]: each for each in chains if each["metric"] == f"gc_at_{t}"}
    others = {}
    for each in seen:
        wanted = (each["benchmark"], each["metric"]) in (("mm_sap", "score"), ("trac", "top1"))
        if wanted or (each["metric"] in _FIDELITY and each["encoder"] in (found["encoder"], None)):
            others[title_of(each, whole=wanted)] = each
    by_steps = [
        {
            name: [e["ranking"]["controls"].get(control, {}).get("point"), *map(e["ranking"]["values"].get, models)]
            for name, e in some.items()
        }
        for some in (gc, others)
    ]
    ticks = [control, *(f"{found['models'][name]:,}" for name in models)]
    across = "training steps of the model"
    with mpl.rc_context({"svg.hashsalt": "driftledger", "font.size": 8}):
        figure = Figure(figsize=(10, 4), layout="constrained")
        for axes, (title, label, places, names, lines) in zip(
            figure.subplots(1, 3),
            (
                (f"GC@t · {generator} · {found['encoder']}", "t, in rounds", rounds, list(map(str, rounds)), by_round),
                (f"GC@{t} · {generator}", across, list(range(len(ticks))), ticks, by_steps[0]),
                ("other benchmarks, %", across, list(range(len(ticks))), ticks, by_steps[1]),
            ),
            strict=True,
        ):
            for name, points in lines.items():
                known = [(x, each) for x, each in zip(places, points, strict=False) if each]
                (drawn,) = axes.plot([x for x, _ in known], [each["value"] for _, each in known], "o-", label=name)
                for x, each in known:
                    if each["low"] is not None:
                        axes.plot([x, x], [each["low"], each["high"]], color=drawn.get_color(), alpha=0.4)
            axes.set_title(title)
            axes.set_xlabel(label)
            axes.set_xticks(places, names)
            axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
        figure.suptitle(f"Do the metrics rank a better model higher? {control} is the control; whiskers are intervals.")
        figure.savefig(file, metadata={"Date": None})


def _same(each: Row, generator: str, encoder: str) -> bool:
    return bool(each["generator"] == generator and each["encoder"] == encoder)
