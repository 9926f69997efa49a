"""Every benchmark's models side by side: tables as in the papers for people, one row per value for programs.

Which tables there are, what a metric is called and which direction is better stands in each benchmark's specification.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from driftledger.benchmarks.base import Benchmark, SideBySide
from driftledger.benchmarks.score import Score, base_key
from driftledger.benchmarks.tables import NOWHERE, Place, places
from driftledger.collect.observations import Observations
from driftledger.core.files import new_folder, write_bytes, write_text
from driftledger.core.text import csv_text, for_csv, for_markdown
from driftledger.reports.sections import (
    ReportPart,
    Told,
    by_benchmark,
    marks,
    observed,
    overview,
    sections,
)
from driftledger.reports.tables import csv, latex, markdown

_COLUMNS = (
    *("dataset", "generator", "encoder", "description"),
    *("metric", "kind", "name", "model", "value", "rank", "letters", "apart"),
)
"""Models that share one of ``letters`` cannot be told apart, and their ``rank`` is 1 + how many are shown to be better;
without letters, which nobody tested, it goes by values. Controls have none. ``apart`` says why a rank is not among
those of the rows without it."""

OVERALL, STEP = "overall", "step"
"""Kinds of numbers beside those in groups."""


def write_leaderboard(
    target: Path,
    scores: Sequence[Score],
    seen: Observations | None = None,
    told: Told | None = None,
    further: Sequence[ReportPart] = (),
) -> None:
    """Write ``target`` as ``.csv``, one row per value, and as ``.md``, an overview and the tables that most readers
    want; beside it ``tables.md``, those of details, and ``tables/``, a CSV and a LaTeX file of each.

    Args:
        scores: in the order of the selection; of each benchmark the first ones are the overview's.
        seen: of components that were asked the same twice.
        told: the scores with what tests of their differences show; without it nothing is tested.
        further: what stands behind the sections of the benchmarks.
    """
    told = by_benchmark(scores) if told is None else told
    parts = [*sections(told), *further]
    details = [each for each in parts if any(table.detail for table in each.tables)]
    lines = ["# Leaderboard", "", *overview_lines(told)]
    lines += [line for each in observed(told, seen or {}, for_markdown) for line in (f"- {each}", "")]
    if parts:
        lines += ["Details stand in [tables.md](tables.md), and every table as CSV and LaTeX in [tables](tables).", ""]
    lines += [line for section in parts for line in _lines(section, detail=False)]
    write_text(target.with_suffix(".csv"), _values_csv(told))
    write_text(target.with_suffix(".md"), "\n".join(lines))
    lines = ["# Tables of details", "", *([] if details else ["There are none.", ""])]
    lines += [line for section in details for line in _lines(section, detail=True)]
    write_text(target.with_name("tables.md"), "\n".join(lines))
    files = [("overview", table) for table in overview(told)]
    files += [(f"{section.name}-{table.name}", table) for section in parts for table in section.tables]
    with new_folder(target.with_name("tables")) as folder:
        for name, table in files:
            write_bytes(folder / f"{name}.csv", csv(table))
            write_text(folder / f"{name}.tex", latex(table))


def _lines(section: ReportPart, *, detail: bool) -> Iterator[str]:
    """Markdown of a section, on the page of details or the other one."""
    tables = [table for table in section.tables if table.detail == detail]
    if tables or not detail:
        yield from (f"## {section.title}", "", *([section.apart, ""] if section.apart else []))
        yield from (line for table in tables for line in markdown(table))
    if not detail and section.block:
        absent = [f"- {line}" for line in section.absent(for_markdown)]
        yield from (*absent, *([""] if absent else []), section.scored, "")
        flags = [f"- {line}" for line in section.flags(for_markdown)]
        yield from ("To know about these numbers:", "", *flags, "") if flags else ()


def overview_lines(told: Told) -> Iterator[str]:
    """Every model at a glance, and which are marked."""
    for table in overview(told):
        yield from ("## At a glance", *list(markdown(table))[1:])
    for line in marks(told, for_markdown):
        yield from (f"- {line}", "")


def _values_csv(told: Told) -> str:
    """Every number of a score, of its groups and of its curves, with its rank among the models of its block."""
    return csv_text(_COLUMNS, (row for spec, _, blocks in told for block in blocks for row in _rows(spec, block)))


def _rows(spec: Benchmark, block: SideBySide) -> Iterator[tuple[str, ...]]:
    numbers = [list(_numbers(score)) for score in block.scores]
    at = _places(spec, block, numbers)
    for score, some in zip(block.scores, numbers, strict=True):
        generator, encoder, description = (score.keys.get(key, "") for key in ("generator", "encoder", "description"))
        fixed = (score.on, generator, encoder or score.keys.get("text_encoder", ""), description)
        for key, kind, name, value in some:
            place = at.get((key, kind, name), {}).get(score.model, NOWHERE)
            rank = "" if place.rank is None else str(place.rank)
            yield (
                *(*fixed, f"{spec.name}/{key}", kind, for_csv(name), score.model),
                *(repr(float(value)), rank, place.letters, block.apart),
            )


_Number = tuple[str, str, str, float]


def _places(
    spec: Benchmark, block: SideBySide, numbers: Sequence[Sequence[_Number]]
) -> Mapping[tuple[str, str, str], Mapping[str, Place]]:
    """Of each number by which models are ranked, key, kind and name → model → where it stands."""
    values: dict[tuple[str, str, str], dict[str, float]] = {}
    for score, some in zip(block.scores, numbers, strict=True):
        for key, kind, name, value in some:
            ranked = spec.ranked(score, key) if kind == OVERALL else value
            if kind != STEP and base_key(key) == key and spec.metric(key) in spec.metrics and ranked is not None:
                values.setdefault((key, kind, name), {})[score.model] = ranked
    found = {}
    for (key, kind, name), of in values.items():
        metric = spec.metric(key)
        assert metric is not None  # it is in the table
        standing = block.standing(key if kind == OVERALL else f"{kind}/{name}/{key}")
        there = places(block.scores, [of.get(score.model) for score in block.scores], metric, standing)
        found[key, kind, name] = {score.model: place for score, place in zip(block.scores, there, strict=True)}
    return found


def _numbers(score: Score) -> Iterator[_Number]:
    """Key, kind (:data:`OVERALL`, :data:`STEP` or a kind of groups), name and value."""
    for key, value in sorted(score.metrics.items()):
        yield key, OVERALL, OVERALL, value
    yield "coverage", OVERALL, OVERALL, score.coverage
    for kind, groups in sorted(score.groups.items()):
        for name, values in sorted(groups.items()):
            yield from ((key, kind, name, value) for key, value in sorted(values.items()))
    for curve, points in sorted(score.curves.items()):
        yield from ((curve, STEP, str(point.step), point.value) for point in points)
