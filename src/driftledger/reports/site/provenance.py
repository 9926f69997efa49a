"""Where a number comes from: a section per score on its model's page, and a place in it per number."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from driftledger.benchmarks.base import COVERAGE, NEEDED_FOR, ROLES, Cell, Cells, Origin, Table, base_role
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, STD, Score, base_key
from driftledger.benchmarks.selection import is_of
from driftledger.core.canonical import sha256_bytes
from driftledger.core.paths import Combination
from driftledger.ledger.lineage import place_of
from driftledger.ledger.lock import LockEntry
from driftledger.reports.tables import direction, interval

Bars = Sequence[tuple[float, float, float] | None]
"""Per cell of a row: start, width and value of its interval, in percent of the column's scale."""


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


def bodies(table: Table, apart: Iterable[str] = ()) -> list[tuple[str, list[tuple[Cells, Bars]]]]:
    """The rows of a table by kind, controls last, each with bars for its intervals.

    Args:
        apart: models that are not ranked with the others.
    """
    kinds: dict[str, list[tuple[Cells, Bars]]] = {
        name: [] for name in ("Models", "Not ranked with the others", "Controls, which do not look at the image")
    }
    columns = [[None] * len(table.rows) if table.across else list(_bars(c)) for c in zip(*table.rows, strict=True)]
    for row, bars in zip(table.rows, zip(*columns, strict=True), strict=True):
        controls = {each.of.score.is_control for each in row if isinstance(each, Cell) and each.of is not None}
        name = row[0].text if isinstance(row[0], Cell) else row[0]
        place = 2 if controls == {True} and not table.across else 1 if name in apart else 0
        kinds[list(kinds)[place]].append((row, bars))
    return [(title, rows) for title, rows in kinds.items() if rows]


def _bars(column: Iterable[Cell | str]) -> Iterator[tuple[float, float, float] | None]:
    """On a scale from 0, or the least end below it, to the greatest."""
    known: list[tuple[float, float, float] | None] = []
    for each in column:
        of = None if isinstance(each, str) or each.value is None else each.of
        is_value = of is not None and not isinstance(each, str) and of.score.metrics.get(of.number) == each.value
        both = of.score.interval(of.number) if of is not None and is_value else None
        known.append(None if of is None or both is None else (of.score.metrics[of.number], *both))
    every = [0.0, *(end for ends in known if ends for end in ends)]
    low, scale = min(every), 100 / ((max(every) - min(every)) or 1.0)
    for ends in known:
        yield ends and ((ends[1] - low) * scale, (ends[2] - ends[1]) * scale, (ends[0] - low) * scale)


def number_view(
    score: Score, name: str, combinations: Sequence[Combination], others: Sequence[Score]
) -> Mapping[str, Any] | None:
    """What a page says about a number of a score; None where the score lacks it.

    Args:
        others: all scores of the model.
    """
    spec = benchmark(score.benchmark)
    kind, _, rest = name.partition("/")
    group, in_group, key = rest.rpartition("/")
    key = key if in_group else name
    values = score.groups[kind][group] if in_group else {**score.metrics, COVERAGE.key: score.coverage}
    if key not in values:
        return None
    metric, run = spec.metric(key), next(("/".join(c) for c in combinations if is_of(score.keys, c)), None)
    digits = metric.digits if metric else 3
    alone = not in_group and sum(key in each.metrics for each in others) == 1
    place = name if alone or not run else f"{place_of(spec, score.keys)}/{name}"
    file = f"{spec.scores.at(score.keys)}/{SCORE}"
    roles = sorted(score.components, key=lambda role: list(ROLES).index(base_role(role)))
    return {
        "anchor": anchor(score, name),
        "title": metric.named(key) if metric else key,
        "metric": metric,
        "better": direction(metric).strip(" ()") if metric else "",
        "headline": not in_group and key in spec.headlines(score),
        "text": f"{values[key]:.{digits}f}",
        "value": repr(float(values[key])),
        "interval": interval(values, key, digits),
        "deviation": f"{values[key + STD]:.{digits}f}" if key + STD in values else "",
        "roles": [role for role in roles if metric is None or NEEDED_FOR[base_role(role)] & metric.needs],
        "command": f"driftledger audit {shlex.quote(f'{run or file}:{place}')}",
    }


def score_view(
    score: Score, locks: Mapping[str, LockEntry], combinations: Sequence[Combination], others: Sequence[Score]
) -> Mapping[str, Any]:
    """A score's numbers and groups, and what is behind them.

    Args:
        others: all scores of the model.
    """
    spec = benchmark(score.benchmark)
    order = {metric.key: place for place, metric in enumerate(spec.metrics)}
    keys = [key for key in score.metrics if base_key(key) == key]
    keys.sort(key=lambda key: order.get(metric.key, len(order)) if (metric := spec.metric(key)) else len(order))
    groups = []
    for kind, some in score.groups.items():
        columns = list(dict.fromkeys(key for values in some.values() for key in values if base_key(key) == key))
        rows = [
            (name, [number_view(score, f"{kind}/{name}/{key}", combinations, others) for key in columns])
            for name in some
        ]
        groups.append((kind, [metric.named(key) if (metric := spec.metric(key)) else key for key in columns], rows))
    behind = []
    for stage in spec.stages:
        entry = locks.get(stage.lock(score.keys))
        out = None if entry is None else entry.out(stage.out(score.keys))
        sha256 = score.inputs.data_digest if stage is spec.data else score.inputs.records.get(stage.name, "")
        behind.append((stage.lock(score.keys), stage.at(score.keys), sha256, "" if out is None else out.md5))
    run = next(("/".join(each) for each in combinations if is_of(score.keys, each)), None)
    commands = [("Does every byte and number still hold?", f"driftledger verify {shlex.quote(run)}")] if run else []
    roles = sorted(score.components, key=lambda role: list(ROLES).index(base_role(role)))
    return {
        "section": section_of(score),
        "components": [(role, score.components[role]) for role in roles],
        "score": score,
        "spec": spec,
        "on": " · ".join(score.keys[key] for key in spec.scores.keys if key != "model"),
        "numbers": [number_view(score, key, combinations, others) for key in [*keys, COVERAGE.key]],
        "groups": groups,
        "behind": behind,
        "absent": [(m.named(key) if (m := spec.metric(key)) else key, why) for key, why in score.absent.items()],
        "commands": [*commands, ("Make it again", f"dvc repro {spec.scores.lock(score.keys)}")],
    }
