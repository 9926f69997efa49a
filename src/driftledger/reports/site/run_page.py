"""One run in a single file: its scores, and units of each step by step, with pictures and style inside.

MLflow shows such a file in a frame that runs no script of its own place, follows no relative link and keeps nothing.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from driftledger.benchmarks.coverage import how_many
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.tables import grouped
from driftledger.benchmarks.traces import worth_showing
from driftledger.core.files import read_jsonl
from driftledger.core.text import for_line
from driftledger.ledger.lineage import Lineage
from driftledger.reports.site.build import environment
from driftledger.reports.site.thumbnails import inline
from driftledger.reports.site.unit_view import Group, grouped_by_records, number_of, shots, traces_of, unit_view

MOST_BYTES = 2_000_000
"""Of the page."""

_SIDE = 128
"""Pixels of the longer side of a picture."""

_UNIT, _RUN = "templates/run_unit.html.j2", "templates/run.html.j2"
_STYLES = ("assets/site.css", "assets/units.css")


class _Part(NamedTuple):
    """The scores of a run over the same records."""

    title: str
    scores: Sequence[tuple[str, str]]
    """A headline, and its value with its interval; then what a reader must know."""
    flags: Sequence[str]
    prompt: str
    of: int
    units: Sequence[str]
    """As HTML."""


def run_page(root: Path, name: str, lineages: Sequence[Lineage], at_most: int | None) -> bytes:
    """The page of a run, of at most :data:`MOST_BYTES`: the same bytes from the same records.

    Args:
        at_most: how many units of each score, as :func:`worth_showing` chooses them; None is all that have room.
    """
    parts = [_part(root, group, at_most) for group in _groups(lineages)]
    page = _page(name, parts)
    while len(page) > MOST_BYTES and (most := max(len(part.units) for part in parts)):
        room = most * MOST_BYTES // (len(page) + 1)
        parts = [_part(root, group, min(room, most - 1)) for group in _groups(lineages)]
        page = _page(name, parts)
    return page


def _groups(lineages: Sequence[Lineage]) -> Iterator[Group]:
    for some in grouped(lineages, lambda each: (each.score.benchmark, each.on)).values():
        yield from grouped_by_records(some)


def _page(name: str, parts: Sequence[_Part]) -> bytes:
    style = "".join((Path(__file__).parent / each).read_text(encoding="utf-8") for each in _STYLES)
    html = _environment().get_template(_RUN).render(name=for_line(name), parts=parts, style=Markup(style))
    return html.encode()


def _part(root: Path, group: Group, at_most: int | None) -> _Part:
    first = group.lineages[0]
    rows = read_jsonl(root / first.rows_path, Row)
    shown = [row.unit for row in worth_showing(first.spec, first.score, rows, at_most)] if at_most != 0 else []
    traces = [traces_of(root, lineage, shown) for lineage in group.lineages]
    views = [
        unit_view([(group, some)], {file: inline(file, _SIDE) for trace in some for file in shots(trace)}, linked=False)
        for unit in shown
        if (some := [each[unit] for each in traces if unit in each])  # a benchmark may have none
    ]
    template = _environment().get_template(_UNIT)
    return _Part(
        title=f"{first.spec.title} on {first.on}" + (f" · {group.through}" if group.through else ""),
        scores=[each for lineage in group.lineages for each in _headlines(lineage, group.by(lineage))],
        flags=list(dict.fromkeys(for_line(flag) for lineage in group.lineages for flag in lineage.score.flags)),
        prompt=views[0].prompt if views else "",
        of=len(rows),
        units=[
            Markup(template.render(unit=view._replace(prompt=""), is_open=place == 0))
            for place, view in enumerate(views)
        ],
    )


def _headlines(lineage: Lineage, by: str) -> Iterator[tuple[str, str]]:
    spec, score = lineage.spec, lineage.score
    for key, value in spec.headlines(score).items():
        if metric := spec.metric(key):
            ends = score.interval(key)
            between = f" ({ends.low:.{metric.digits}f} to {ends.high:.{metric.digits}f})" if ends else ""
            number = number_of(metric, metric.named(key), value)
            yield f"{number.title}, {by}" if by else number.title, number.text + between
    yield "scored", how_many(score)


_environment = cache(environment)
