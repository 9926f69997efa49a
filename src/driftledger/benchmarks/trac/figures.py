"""How the vote depends on k, top-1 on how it was asked, and which classes are told apart."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from driftledger.benchmarks.figures import about, default_figures, lines_of
from driftledger.benchmarks.score import Score
from driftledger.charts.figure import Figure
from driftledger.charts.matrix import matrix

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark, SideBySide

_MOST = 24
"""Classes in a figure."""

_BY_LENGTH = "by_length/top1"
_CURVES = {
    "vote": ("vote of the k nearest, %", "k"),
    _BY_LENGTH: ("top-1 by length, %", "longest description, in tokens"),
    "by_shots/top1": ("top-1 by examples, %", "in-context examples"),
}


def figures(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    """Top-1, the paper's Figures 4, 7 and 8, and who is taken for whom."""
    yield from default_figures(spec, block)
    for curve, (what, across) in _CURVES.items():
        if any(curve in score.curves for score in block.scores):
            steps = sorted({point.step for score in block.scores for point in score.curves.get(curve, ())})
            lengths = {float(step): str(step) for step in steps if step}
            lengths |= {} if all(steps) else {0.0: "no limit"}
            yield lines_of(spec, block, curve, what, across, lengths if curve == _BY_LENGTH else None)
    yield from _classes(spec, block)
    yield from _confusion(spec, block)


def _classes(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    """Of each class the share that is told, the hardest last for the best model."""
    best = _best(block)
    labels = sorted(best.groups["class"], key=lambda label: (-best.groups["class"][label].get("top1", 0.0), label))
    drawing = matrix(
        f"{spec.title}: top-1 by class, %",
        [score.model for score in block.scores],
        labels[:_MOST],
        [[score.groups["class"].get(label, {}).get("top1") for label in labels[:_MOST]] for score in block.scores],
        note=about(block, f"in the order of {best.model}{_cut(labels)}", marks=False),
    )
    yield Figure.of("classes", drawing)


def _confusion(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    """Of the best model, since every model has one of its own."""
    best = _best(block)
    counts = {}
    for pair in best.details["confused"]:
        counts[pair["first"], pair["second"]] = pair["first_as_second"]
        counts[pair["second"], pair["first"]] = pair["second_as_first"]
    tested = {label: values.get("test", 0.0) for label, values in best.groups["class"].items()}
    involved = sorted(tested, key=lambda label: -sum(many for pair, many in counts.items() if label in pair))
    labels = sorted(involved[:_MOST])
    if not counts:
        return
    taken = {(own, own): best.groups["class"][own].get("top1") for own in labels}
    taken |= {pair: 100 * many / tested[pair[0]] for pair, many in counts.items() if many and tested.get(pair[0])}
    rows = [[taken.get((own, other)) for other in labels] for own in labels]
    what = "in % of the test samples of a class, its row; the model with the best top-1"
    drawing = matrix(
        f"{spec.title}: what {best.model} takes classes for",
        labels,
        labels,
        rows,
        note=about(block, f"{what}{_cut(involved)}", marks=False),
        across="taken for",
    )
    yield Figure.of("confusion", drawing)


def _best(block: "SideBySide") -> Score:
    return max(block.scores, key=lambda score: score.metrics.get("top1", -1.0))


def _cut(labels: list[str]) -> str:
    return f"; {_MOST} of {len(labels)} classes" if len(labels) > _MOST else ""
