"""What a model knows against what it knows not to know, how far it answers and is right, and by which letters."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from driftledger.benchmarks.figures import about, default_figures
from driftledger.benchmarks.mm_sap.records import SIZES
from driftledger.charts.figure import Figure
from driftledger.charts.matrix import matrix
from driftledger.charts.scatter import Dot, Iso, scatter

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark, SideBySide


def figures(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    """The paper's Figure 5, the same of answering, and position bias, before what all benchmarks have."""
    yield from _quadrants(spec, block)
    yield from _answering(spec, block)
    yield from default_figures(spec, block)
    yield from _positions(spec, block)


def _quadrants(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    sizes: Mapping[str, int] = block.scores[0].details.get(SIZES, {})
    basic, know, beyond = (sizes.get(subset, 0) for subset in ("basic", "know", "beyond"))
    knowable, unknowable, every = basic + know, know + beyond, basic + know + beyond
    isos = []
    for score in range(10, 200, 10) if knowable and unknowable else ():
        ends = [(x, (score * every - x * knowable) / unknowable) for x in (0.0, 100.0)]
        ends += [((score * every - y * unknowable) / knowable, y) for y in (0.0, 100.0)]
        inside = sorted({(round(x, 6), round(y, 6)) for x, y in ends if -1e-9 <= x <= 100 and -1e-9 <= y <= 100})
        if len(inside) > 1 and score <= 100:
            isos.append(Iso(str(score), [inside[0], inside[-1]]))
    note = "on a dotted line the self-awareness score is the same" if isos else ""
    yield from _scatter(spec, block, "quadrants", "known_knowns", "known_unknowns", isos, note)


def _answering(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    isos = [
        Iso(str(right), [(x, 100 * right / x) for x in range(right, 101)])
        for right in (10, 20, 30, 40, 50, 60, 70, 80, 90)
    ]
    note = "on a dotted line as many of all questions are answered right, in %"
    yield from _scatter(spec, block, "answering", "answer_rate", "answer_accuracy", isos, note)


def _scatter(
    spec: "Benchmark", block: "SideBySide", name: str, across: str, up: str, isos: list[Iso], note: str
) -> Iterator[Figure]:
    dots = [
        Dot(score.model, block.series[score.model], score.metrics[across], score.metrics[up])
        for score in block.scores
        if across in score.metrics and up in score.metrics
    ]
    titles = [metric.title for key in (across, up) if (metric := spec.metric(key)) is not None]
    if dots:
        drawing = scatter(
            f"{spec.title}: {titles[1]} against {titles[0]}",
            dots,
            across=f"{titles[0]}, %",
            up=f"{titles[1]}, %",
            isos=isos,
            note=about(block, note),
            limits=(0.0, 100.0),
        )
        yield Figure.of(name, drawing)


def _positions(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    read = [score for score in block.scores if "position" in score.groups]
    letters = sorted({letter for score in read for letter in score.groups["position"]})
    if not read:
        return
    rows = {score.model: [score.groups["position"].get(each, {}).get("chosen") for each in letters] for score in read}
    stood = read[0].groups["position"]
    rows["where the right option stood"] = [stood.get(letter, {}).get("correct") for letter in letters]
    drawing = matrix(
        f"{spec.title}: position bias",
        list(rows),
        letters,
        list(rows.values()),
        note=about(block, "how often each letter was chosen, in % of the answers read", marks=False),
        digits=1,
    )
    yield Figure.of("positions", drawing)
