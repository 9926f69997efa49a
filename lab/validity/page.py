"""``reports/validity.md`` and ``.svg``: what the report finds, to read and at a glance."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import factorial
from pathlib import Path
from typing import Any

from driftledger.benchmarks.registry import benchmark
from driftledger.scoring.number import NumberName

_CAUTION = (
    "{stages} stages come in one order of {orders}, so chance alone puts one metric in {orders} "
    "in the right one. Metrics of the same chains say much the same, and are not as many "
    "independent witnesses."
)
_LEGEND = (
    "In brackets: training steps, and the intervals of values. *In order*: each is better than "
    "the one before; *apart*: the intervals of neighbours do not overlap either. A coverage below "
    "1 follows its value; what `compare` does not rank is not ranked here."
)
_DRIFT = (
    "The ceiling is GC@t of chains in which every image is described without fault: what is "
    "missing to 1 the generator has lost, and what is missing to the ceiling the final model."
)
_NOTHING = "–"

Row = Mapping[str, Any]


def tables(report: Row) -> str:
    """Return the Markdown page."""
    models, generators = (_by_steps(report[what]) for what in ("models", "generators"))
    total = Counter(each["benchmark"] for each in report["by_model"])
    in_order = Counter(
        each["benchmark"] for each in report["by_model"] if each["rises"]
    )
    counts = ", ".join(
        f"{benchmark(name).title} {in_order[name]} of {total[name]}" for name in total
    )
    lines = [
        *("# Do the metrics rank a better model higher?", ""),
        f"Metrics that put the stages in the order of their training: {counts}.",
        *(_CAUTION.format(stages=len(models), orders=factorial(len(models))), ""),
    ]
    if report["otherwise"]:
        lines += [
            f"{', '.join(report['otherwise'])} was trained on another mix of questions and "
            "descriptions than the stages before: more than the number of steps sets it apart.",
            "",
        ]
    lines += [
        *("## What is known", ""),
        *_known(
            "held-out images described word for word, %",
            report["describers"],
            report["models"],
        ),
        *_known(
            "things of true captions redrawn as told, %",
            report["painters"],
            report["generators"],
        ),
        "The encoder of images and texts finds the caption of "
        f"{_share(report['retrieval']['image_to_text'])} % of the images, and the image of "
        f"{_share(report['retrieval']['text_to_image'])} % of the captions.",
        *("", "## Stages of the model", "", _LEGEND, ""),
        *_stages(report, models),
        *("## Versions of the generator", ""),
        *_versions(report, models, generators),
        *("## Whose drift is it?", "", _DRIFT, ""),
        *_table(
            ["", "ceiling", "final model", "drift", "by the generator", "by the model"],
            (
                [
                    _of(f"t = {each['t']}", each["generator"], each["encoder"]),
                    *(_point(each[name], 3) for name in ("ceiling", "final")),
                    *(
                        f"{each[name]:.3f}"
                        for name in ("drift", "by_generator", "by_model")
                    ),
                ]
                for each in report["drift"]
            ),
        ),
    ]
    return "\n".join(lines)


def _known(title: str, shares: Row, steps: Mapping[str, int]) -> Iterator[str]:
    rows = (
        [name, f"{steps[name]:,}", _share(shares[name])] for name in _by_steps(steps)
    )
    yield from _table([title, "training steps", "share"], rows)


def _stages(report: Row, models: Sequence[str]) -> Iterator[str]:
    """A table for GenCeption, one for fidelity, and one for questions and TRAC."""
    by_table: dict[str, list[Row]] = {"genception": [], "fidelity": []}
    for each in report["by_model"]:
        chains = each["benchmark"] in by_table
        by_table.setdefault(
            each["benchmark"] if chains else "questions and TRAC", []
        ).append(each)
    controls = report["controls"]
    for title, metrics in by_table.items():
        head = [
            f"**{title}**",
            *(f"{name} ({report['models'][name]:,})" for name in models),
            *controls,
            "in order",
        ]
        rows = []
        for each in metrics:
            below, digits = (
                [each["controls"].get(control, {}) for control in controls],
                _digits(each),
            )
            rows.append(
                [
                    _of(_title(each), each["generator"], each["encoder"], each["on"]),
                    *(_point(each["values"].get(model), digits) for model in models),
                    *(_point(control.get("point"), digits) for control in below),
                    _verdict(each["rises"], each["disjoint"]),
                    *(
                        _verdict(control.get("last"), control.get("disjoint"))
                        for control in below
                    ),
                ]
            )
        yield from _table([*head, *(f"{control} last" for control in controls)], rows)
        yield from _not_ranked(metrics)


def _versions(
    report: Row, models: Sequence[str], generators: Sequence[str]
) -> Iterator[str]:
    order = [*models, *report["controls"], None]
    metrics = [
        each
        for each in report["by_generator"]
        if each["metric"] == f"gc_at_{report['iterations']}"
    ]
    metrics.sort(
        key=lambda each: (each["on"], each["encoder"], order.index(each["model"]))
    )
    head = [
        f"GC@{report['iterations']}",
        *(f"{name} ({report['generators'][name]:,} steps)" for name in generators),
    ]
    rows = (
        [
            _of(each["model"] or "without fault", each["encoder"], each["on"]),
            *(_point(each["values"].get(generator), 3) for generator in generators),
            _verdict(each["rises"], each["disjoint"]),
        ]
        for each in metrics
    )
    yield from _table([*head, "in order"], rows)
    yield from _not_ranked(metrics)


def _not_ranked(metrics: Iterable[Row]) -> Iterator[str]:
    for each in metrics:
        if each["apart"]:
            metric = _of(_title(each), each["on"])
            yield f"- {metric} is not ranked, or not all of it: {each['apart']}."
            yield ""


def _title(each: Row) -> str:
    """A metric's title in its benchmark's table, after the benchmark's where that has only one
    metric here."""
    spec = benchmark(each["benchmark"])
    name = NumberName.read(each["metric"])
    metric = spec.metrics.get(name.metric)
    title = each["metric"] if metric is None else metric.titled(name.t)
    return (
        title
        if each["benchmark"] in ("genception", "fidelity")
        else f"{spec.title} {title}"
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows):
        yield f"| {' | '.join(cells)} |"
    yield ""


def _by_steps(steps: Mapping[str, int]) -> list[str]:
    return sorted(steps, key=steps.__getitem__)


def _of(*parts: str | None) -> str:
    return " · ".join(part for part in parts if part)


def _digits(each: Row) -> int:
    return 3 if each["benchmark"] == "genception" or "kid" in each["metric"] else 1


def _point(each: Row | None, digits: int) -> str:
    """A value with its interval, and with its coverage where that is below 1."""
    if each is None:
        return _NOTHING
    ends = (
        ""
        if each["low"] is None
        else f"{each['low']:.{digits}f}–{each['high']:.{digits}f}"
    )
    more = "; ".join(
        filter(
            None,
            [ends, f"coverage {each['coverage']:.3f}" if each["coverage"] < 1 else ""],
        )
    )
    return f"{each['value']:.{digits}f}" + (f" ({more})" if more else "")


def _share(each: Row) -> str:
    return (
        f"{100 * each['share']:.1f} ({100 * each['low']:.1f}–{100 * each['high']:.1f})"
    )


def _verdict(holds: bool | None, apart: bool | None) -> str:
    if holds is None:
        return _NOTHING
    return "no" if not holds else "yes, apart" if apart else "yes"


def draw(report: Row, file: Path) -> None:
    """Draw GC@t of the last generator by round: each stage, the first control, and descriptions
    without fault."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    generator, encoder, control = (
        _by_steps(report["generators"])[-1],
        report["encoder"],
        report["controls"][0],
    )
    lines = {
        "without fault": [
            each["ceiling"] for each in report["drift"] if _is(each, generator, encoder)
        ]
    }
    chains = [each for each in report["by_model"] if each["benchmark"] == "genception"]
    gc = [each for each in chains if _is(each, generator, encoder)]
    for name in reversed(_by_steps(report["models"])):
        lines[f"{report['models'][name]:,} steps"] = [
            each["values"][name] for each in gc
        ]
    lines[control] = [each["controls"][control]["point"] for each in gc]
    with mpl.rc_context({"svg.hashsalt": "driftledger", "font.size": 8}):
        figure = Figure(figsize=(6, 3.5), layout="constrained")
        axes = figure.subplots()
        for number, (name, points) in enumerate(lines.items()):
            rounds = range(1, len(points) + 1)
            axes.plot(
                rounds,
                [each["value"] for each in points],
                "o-",
                color=f"C{number}",
                label=name,
            )
            lows, highs = ([each[end] for each in points] for end in ("low", "high"))
            axes.vlines(rounds, lows, highs, colors=f"C{number}", alpha=0.4)
        axes.set_title(f"GC@t · {generator} · {encoder}; whiskers are intervals")
        axes.set_xlabel("t")
        axes.set_xticks(range(1, report["iterations"] + 1))
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        figure.savefig(file, metadata={"Date": None})


def _is(each: Row, generator: str, encoder: str) -> bool:
    return bool(each["generator"] == generator and each["encoder"] == encoder)
