"""Tables and provenance as templates read them."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from driftledger.benchmarks.base import COVERAGE, NEEDED_FOR, ROLES, Cell, Origin, Table, base_role
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, STD, Score, base_key, interval_of
from driftledger.benchmarks.selection import is_of
from driftledger.core.canonical import pretty_json, sha256_bytes
from driftledger.core.paths import Combination
from driftledger.ledger.lineage import place_of
from driftledger.ledger.lock import LockEntry
from driftledger.reports.charts import Series
from driftledger.reports.tables import direction

View = dict[str, Any]

CONTROLS = "Controls, which do not look at the image"
SHADES = 4
"""As many ranks have a shade of their own."""


def path_of(score: Score) -> str:
    """The page of a score's model, relative to the top of the site."""
    return f"runs/{score.model}.html"


def section_of(score: Score) -> str:
    """The id of a score's section on that page."""
    keys = benchmark(score.benchmark).scores.keys
    return "-".join([score.benchmark, *(score.keys[key] for key in keys if key != "model")])


def anchor(score: Score, number: str) -> str:
    """The id of a number on that page; names of groups may be any text."""
    place = number if re.fullmatch("[a-z][a-z0-9_]*", number) else f"n-{sha256_bytes(number.encode())[:16]}"
    return f"{section_of(score)}-{place}"


def href(origin: Origin) -> str:
    """Where a number comes from, relative to the top of the site."""
    place = anchor(*origin) if origin.number else section_of(origin.score)
    return f"{path_of(origin.score)}#{place}"


def table_view(table: Table, name: str, series: Mapping[str, Series]) -> View:
    """A table with links behind its numbers, bars for intervals, and controls below the others.

    Args:
        name: of the section that it is in.
        series: model → its colour.
    """
    rows = [[each if isinstance(each, Cell) else Cell(each) for each in row] for row in table.rows]
    bars = [[None] * len(rows) if table.across else list(_bars(column)) for column in zip(*rows, strict=True)]
    views = []
    for place, row in enumerate(rows):
        controls = {each.of.score.is_control for each in row if each.of is not None}
        cells = [_cell_view(each, bars[column][place]) for column, each in enumerate(row)]
        look = None if table.across else series.get(row[0].text)
        views.append({"cells": cells, "control": not table.across and controls == {True}, "look": look})
    kinds = (("", [row for row in views if not row["control"]]), (CONTROLS, [row for row in views if row["control"]]))
    return {
        "id": f"{name}-{table.name}",
        "title": table.title,
        "head": table.head,
        "bodies": [(title, some) for title, some in kinds if some],
        "notes": table.notes,
        "sortable": not table.across and len(rows) > 1,
    }


def _cell_view(each: Cell, bar: tuple[float, float, float] | None) -> View:
    has_value = each.of is not None and each.value is not None
    return {
        **each._asdict(),
        "shade": each.shade if each.shade <= SHADES else 0,
        "value": "" if each.value is None else repr(float(each.value)),
        "href": href(each.of) if has_value and each.of is not None else "",
        "bar": bar,
    }


def _bars(column: Iterable[Cell]) -> Iterator[tuple[float, float, float] | None]:
    """Start, width and value of each interval in percent of the column's scale, from 0 to the greatest end."""
    known = []
    for each in column:
        ends = None if each.of is None or each.value is None else each.of.score.interval(each.of.number)
        is_value = ends is not None and each.of is not None and each.value == each.of.score.metrics[each.of.number]
        known.append((each.value or 0.0, *ends) if ends is not None and is_value else None)
    low = min([0.0, *(each[1] for each in known if each)])
    high = max([0.0, *(end for each in known if each for end in each)])
    scale = 100 / (high - low) if high > low else 0.0
    for each in known:
        made = None if each is None or not scale else (each[1] - low, each[2] - each[1], each[0] - low)
        yield None if made is None else (made[0] * scale, made[1] * scale, made[2] * scale)


def score_view(
    score: Score, locks: Mapping[str, LockEntry], combinations: Sequence[Combination], others: Sequence[Score]
) -> View:
    """A score's numbers, and what is behind them.

    Args:
        others: all scores of the model.
    """
    spec, section = benchmark(score.benchmark), section_of(score)
    folder = spec.scores.at(score.keys)
    run = next(("/".join(each) for each in combinations if is_of(score.keys, each)), None)
    place, order = place_of(spec, score.keys), {metric.key: number for number, metric in enumerate(spec.metrics)}
    roles = sorted(score.components, key=lambda role: list(ROLES).index(base_role(role)))

    def number(name: str) -> View:
        kind, _, rest = name.partition("/")
        group, in_group, key = rest.rpartition("/")
        key = key if in_group else name
        values = {**score.metrics, COVERAGE.key: score.coverage} if not in_group else score.groups[kind][group]
        metric, ends = spec.metric(key), interval_of(dict(values), key)
        digits = metric.digits if metric else 3
        needs = None if metric is None else metric.needs
        alone = not in_group and sum(key in {**each.metrics, "coverage": 1} for each in others) == 1
        target = f"{run}:{name if alone else f'{place}/{name}'}" if run else f"{folder}/{SCORE}:{name}"
        return {
            "anchor": anchor(score, name),
            "title": metric.named(key) if metric else key,
            "unit": metric.unit if metric else "",
            "better": direction(metric).strip(" ()") if metric else "",
            "headline": key in spec.headlines(score),
            "metric": metric,
            "text": f"{values[key]:.{digits}f}",
            "value": repr(float(values[key])),
            "interval": "" if ends is None else " to ".join(f"{end:.{digits}f}" for end in ends),
            "deviation": "" if key + STD not in values else f"{values[key + STD]:.{digits}f}",
            "roles": [role for role in roles if needs is None or NEEDED_FOR[base_role(role)] & needs],
            "command": f"driftledger audit {shlex.quote(target)}",
        }

    keys = [key for key in score.metrics if base_key(key) == key]
    keys.sort(key=lambda key: order.get(metric.key, len(order)) if (metric := spec.metric(key)) else len(order))
    groups = []
    for kind, some in score.groups.items():
        columns = list(dict.fromkeys(key for values in some.values() for key in values if base_key(key) == key))
        rows = [
            (name, [number(f"{kind}/{name}/{key}") if key in values else None for key in columns])
            for name, values in some.items()
        ]
        heads = [metric.named(key) if (metric := spec.metric(key)) else key for key in columns]
        groups.append({"kind": kind, "head": heads, "rows": rows})
    behind = []
    for stage in spec.stages:
        entry = locks.get(stage.lock(score.keys))
        out = None if entry is None else entry.out(stage.out(score.keys))
        sha256 = score.inputs.data_digest if stage is spec.data else score.inputs.records.get(stage.name, "")
        behind.append((stage.lock(score.keys), stage.at(score.keys), sha256, "" if out is None else out.md5))
    verify = [("Does every byte and number still hold?", f"driftledger verify {shlex.quote(run)}")] if run else []
    return {
        "section": section,
        "score": score,
        "spec": spec,
        "on": " · ".join(score.keys[key] for key in spec.scores.keys if key != "model"),
        "numbers": [number(key) for key in [*keys, COVERAGE.key]],
        "groups": groups,
        "components": [(role, role.replace("_", " ").replace(".", " · "), score.components[role]) for role in roles],
        "behind": behind,
        "details": [
            ("How it was asked", pretty_json(score.inputs.protocol)),
            ("How it was scored", pretty_json(score.inputs.settings)),
        ],
        "absent": [(m.named(key) if (m := spec.metric(key)) else key, why) for key, why in score.absent.items()],
        "commands": [
            ("Back to images, versions and commit", f"driftledger audit {shlex.quote(f'{folder}/{SCORE}')}"),
            *verify,
            ("Make it again", f"dvc repro {spec.scores.lock(score.keys)}"),
        ],
    }
