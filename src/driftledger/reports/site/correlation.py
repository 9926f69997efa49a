"""Do our metrics order models as other benchmarks do? The headlines of what the stage ``correlation`` found."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from driftledger.benchmarks.base import Cells, Table, series_of
from driftledger.benchmarks.tables import cell
from driftledger.charts.axes import round_scale
from driftledger.charts.marks import Spot, line, marks
from driftledger.charts.palette import Series
from driftledger.charts.svg import MUTED, SMALL, Drawing, head, joined, page, text
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.reports.correlation import PAIRS
from driftledger.reports.correlation.columns import our_columns
from driftledger.reports.correlation.pairs import Pair
from driftledger.reports.correlation.picture import draw_matrix
from driftledger.reports.correlation.tables import read_pairs
from driftledger.reports.sections import at_a_glance
from driftledger.reports.site.page import Chapter, Link, Page, Site
from driftledger.reports.site.views import TableView, mark_of, table_view

_WIDTH, _SIDE = 300, 230


def links(site: Site) -> Iterator[Link]:
    """The page, where the correlations are there."""
    if (site.project.paths.reports / PAIRS).is_file():
        yield Link("Correlation", "correlation.html")


def pages(site: Site) -> Iterator[Page]:
    """The page, where the correlations are there."""
    file = site.project.paths.reports / PAIRS
    if not file.is_file():
        return
    ours = list(our_columns(site.scores))
    found = [pair for pair in read_pairs(file.read_bytes(), ours) if pair.a.headline and pair.b.headline]
    columns = list({id(column): column for pair in found for column in (pair.a, pair.b)}.values())
    series = series_of(site.scores)
    first = [
        (head, {model: value for model, value in column.values.items() if value is not None})
        for head, column in at_a_glance(site.told)
    ]
    context = {
        "matrix": draw_matrix(columns, found),
        "across": _table("Our headlines and other leaderboards", "across", found, {False, True}),
        "within": _table("Our headlines among each other", "within", found, {False}),
        "outside": _table("Other leaderboards' benchmarks among each other", "outside", found, {True}),
        "legend": [(model, mark_of(each)) for model, each in series.items()],
        "scatters": [
            page(_scatter(a, b, series)) for a, b in combinations(first, 2) if len(a[1].keys() & b[1].keys()) > 1
        ],
    }
    yield Page("correlation.html", "templates/correlation.html.j2", context, "Correlation")


def _table(title: str, name: str, pairs: list[Pair], outside: set[bool]) -> TableView | None:
    rows: list[Cells] = [
        [
            f"{pair.a.title}, {pair.a.of}",
            f"{pair.b.title}, {pair.b.of}",
            cell(pair.found.n, digits=0),
            cell(pair.found.pearson, more=_ends(pair.pearson)),
            cell(pair.found.spearman, more=_ends(pair.spearman)),
            cell(pair.found.kendall, more=_ends(pair.kendall)),
        ]
        for pair in pairs
        if {pair.a.outside, pair.b.outside} == outside
    ]
    heads = ["a", "b", "models", "Pearson's r", "Spearman's ρ", "Kendall's τ"]
    return table_view(Table(title, heads, rows, name=name, detail=True), "correlation") if rows else None


def _ends(ends: ConfidenceInterval | None) -> str:
    return "" if ends is None else f"{ends.low:.2f} to {ends.high:.2f}"


def _scatter(
    a: tuple[str, Mapping[str, float]], b: tuple[str, Mapping[str, float]], series: Mapping[str, Series]
) -> Drawing:
    """The models by two metrics, each a title and the values by model, on axes of their own."""
    (across, xs), (up, ys) = a, b
    models = [model for model in xs if model in ys]
    above = head(f"↑ {up}", "", _WIDTH)
    left, top = 44.0, above.height + 4
    bottom, right = top + _SIDE, _WIDTH - 16.0
    x = round_scale((xs[model] for model in models), left + 10, right - 10, most=4)
    y = round_scale((ys[model] for model in models), bottom - 10, top + 10, most=4)
    lines = [
        *(line(left, y(t), right, y(t)) for t in y.ticks),
        *(line(x(t), top, x(t), bottom) for t in x.ticks),
    ]
    words = [
        *(text(left - 6, y(t) + 4, y.told(t), size=SMALL, anchor="end", fill=MUTED) for t in y.ticks),
        *(text(x(t), bottom + 14, x.told(t), size=SMALL, anchor="middle", fill=MUTED) for t in x.ticks),
        text(right, bottom + 34, f"→ {across}", anchor="end", bold=True),
    ]
    spots = [Spot(x(xs[m]), y(ys[m]), series[m], f"{m}: {xs[m]:.3f}, {ys[m]:.3f}") for m in models]
    body = joined(above.body, *lines, *words, marks(spots, 40))
    return Drawing(f"{up} by {across}", "", _WIDTH, bottom + 42, body, "; ".join(spot.told for spot in spots))


CHAPTER = Chapter(links, pages)
