"""What one score adds to a run in MLflow, by its benchmark's tables."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import Artifacts, Metric
from driftledger.benchmarks.coverage import how_many
from driftledger.benchmarks.score import REPEAT, SPREAD, USAGE, Row, base_key, in_section, tracked_key
from driftledger.benchmarks.traces import Shot, Shown, Trace, worth_showing
from driftledger.collect.call import Cost
from driftledger.collect.store import CallStore
from driftledger.core.canonical import canonical_json
from driftledger.core.escaping import csv_text, for_csv, for_markdown
from driftledger.core.files import read_jsonl
from driftledger.ledger.lineage import Lineage
from driftledger.metrics.exact import exact_mean
from driftledger.tracking.component_versions import measured_in
from driftledger.tracking.content import LoggedMetric, LoggedTrace, as_text, clip

_MAX_CELL = 2000
"""Characters in a cell of an evaluation table."""


class ScorePart(NamedTuple):
    """A score's share of a run."""

    lineage: Lineage
    prefix: str
    """Where its metrics are of, and its artifacts below: ``<benchmark>/<on>``; of a second score on the same data with
    its further names."""
    root: Path
    costed: bool = True
    """Whether what its calls took is told here, and not with another score of the same records."""

    @property
    def on(self) -> str:
        """The data, and whatever else tells this score from others of its benchmark in the run."""
        return self.prefix.partition("/")[2]

    def metrics(self) -> Iterator[LoggedMetric]:
        """Headlines first, then the other metrics, curves with their steps, headlines of each repeat alone with its
        number as the step, and groups that the benchmark tracks.

        Headlines alone are linked to the versions that they are of, whose pages would be full of steps otherwise.
        """
        of, headlines = measured_in(self.lineage.score), self.lineage.spec.headlines(self.lineage.score)
        for key, value, step in (*self._values(), *self._curves(), *self._repeats(), *self._groups()):
            name = tracked_key(self.prefix, key, headline=key in headlines)
            yield LoggedMetric(name, value, step, self.lineage.on, of if key in headlines else ())

    def _values(self) -> Iterator[tuple[str, float, int]]:
        score, spec = self.lineage.score, self.lineage.spec
        last = [key for metric in spec.metrics for key in _last(metric, spec.members(metric, score))]
        told = {key for metric in spec.metrics for key in spec.members(metric, score)}
        others = [key for key in score.metrics if base_key(key) == key and key not in told]
        headlines = [key for key in last if (metric := spec.metric(key)) is not None and metric.headline]
        for key in dict.fromkeys([*headlines, *last, *others]):
            yield key, score.metrics[key], 0
        yield "coverage", score.coverage, 0
        for key in dict.fromkeys([*last, *others]):
            for end in SPREAD:
                if key + end in score.metrics:
                    yield key + end, score.metrics[key + end], 0

    def _curves(self) -> Iterator[tuple[str, float, int]]:
        for name, points in self.lineage.score.curves.items():
            yield from ((name, point.value, point.step) for point in points)

    def _repeats(self) -> Iterator[tuple[str, float, int]]:
        headlines = self.lineage.spec.headlines(self.lineage.score)
        for repeat, values in self.lineage.score.groups.get(REPEAT, {}).items():
            yield from ((f"{REPEAT}/{key}", values[key], int(repeat)) for key in headlines if key in values)

    def _groups(self) -> Iterator[tuple[str, float, int]]:
        score, spec = self.lineage.score, self.lineage.spec
        shown = {key for metric in spec.metrics if metric.headline for key in spec.members(metric, score)[-1:]}
        for kind in spec.tracked_groups:
            for name, values in score.groups.get(kind, {}).items():
                for key, value in values.items():
                    if key in shown or (base_key(key) == key and key not in score.metrics):
                        yield f"{kind}/{name}/{key}", value, 0

    @property
    def params(self) -> dict[str, str]:
        """How it was asked, below its place."""
        protocol = self.lineage.score.inputs.protocol
        place = self.lineage.place.replace("/", ".")
        return {f"{place}.{key}": as_text(value) for key, value in protocol.items() if value not in (None, [], {})}

    def traces(self) -> list[Trace]:
        """All of its units step by step, in the order of its rows."""
        return list(self.lineage.spec.traces(self.lineage, self.root, self._rows()))

    def worth_showing(self, traces: Sequence[Trace], at_most: int | None) -> Iterator[LoggedTrace]:
        """Those of ``traces`` to look at."""
        of_unit = {trace.unit: trace for trace in traces}
        for row in worth_showing(self.lineage.spec, self.lineage.score, self._rows(), at_most):
            if row.unit in of_unit:
                yield LoggedTrace(self.prefix, of_unit.pop(row.unit))

    def _rows(self) -> list[Row]:
        return read_jsonl(self.root / self.lineage.rows_file.path, Row)

    @property
    def artifacts(self) -> Artifacts:
        """Its rows, and what its benchmark adds."""
        made: Artifacts = {"rows.csv": partial(rows_csv, self.root / self.lineage.rows_file.path)}
        made |= self.lineage.spec.artifacts(self.lineage, self.root)
        return {f"{self.prefix}/{path}": make for path, make in made.items()}

    @property
    def table(self) -> str:
        """The path of its evaluation table among the artifacts."""
        return f"{self.prefix}/table.json"

    def costs(self, store: CallStore) -> dict[str, list[Cost]]:
        """Role of a call → what each such call took, as far as the store knows."""
        return {
            role: list(store.costs(keys).values())
            for role, keys in self.lineage.spec.costs(self.lineage, self.root).items()
        }

    def cost_metrics(self, costs: Mapping[str, Sequence[Cost]]) -> Iterator[LoggedMetric]:
        """Per call of each role the mean seconds and tokens, and what all of them cost together, as far as known."""
        for role, some in costs.items():
            for key, value in _summary(role, some).items():
                yield LoggedMetric(in_section(USAGE, self.prefix, key), value, dataset=self.lineage.on)

    @property
    def note(self) -> list[str]:
        """Lines of the run's description, in Markdown: the headlines, how much was scored, what a reader must know."""
        score, spec = self.lineage.score, self.lineage.spec
        said = ", ".join(self._told(key, value) for key, value in spec.headlines(score).items())
        line = f"- **{self.on}**: {spec.title} {said}, {how_many(score)} scored"
        return [line, *(f"  - {for_markdown(flag)}" for flag in score.flags)]

    def _told(self, key: str, value: float) -> str:
        metric, interval = self.lineage.spec.metric(key), self.lineage.score.interval(key)
        if metric is None:
            return f"{key} = {value}"
        ends = f" ({interval.low:.{metric.digits}f} to {interval.high:.{metric.digits}f})" if interval else ""
        return f"{metric.named(key)} = {value:.{metric.digits}f}{ends}"


def _last(metric: Metric, members: Sequence[str]) -> Sequence[str]:
    """Of a family over t the member at T, whose way there the curves show; all members of any other."""
    return members[-1:] if "{t}" in metric.key and len({_without_t(metric, key) for key in members}) == 1 else members


def _without_t(metric: Metric, key: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, said) for name, said in (metric.match(key) or {}).items() if name != "t")


def rows_csv(file: Path) -> bytes:
    """Rows as a table: what each is about, its values, and what a reader is told beside them, by names of its own."""
    rows = read_jsonl(file, Row)
    widths = dict[str, int]()
    for row in rows:
        for key, some in row.values.items():
            widths[key] = max(len(some), widths.get(key, 0))
    extra = list(dict.fromkeys(key for row in rows for key in row.extra))
    columns = [(key, place) for key, width in sorted(widths.items()) for place in range(width)]
    head = ["unit", "group", "outcome"]
    head += [key if widths[key] == 1 else f"{key} {place + 1}" for key, place in columns]
    table = []
    for row in rows:
        cells = [row.values.get(key, [])[place : place + 1] for key, place in columns]
        values = [f"{cell[0]:.6f}" if cell and cell[0] is not None else "" for cell in cells]
        told = [row.extra.get(key) for key in extra]
        said = ["" if each is None else each if isinstance(each, str) else json.dumps(each) for each in told]
        table.append([*map(for_csv, (row.unit, row.group, row.outcome)), *values, *map(for_csv, said)])
    head += [f"{key} (told)" if key in head else key for key in extra]  # the class that a hit of top1 was taken for
    return csv_text(head, table).encode()


def evaluation_table(traces: Sequence[Trace]) -> bytes:
    """Units as MLflow's side-by-side view of runs reads them: what is text or a number of each, pictures left out."""
    rows = [_cells(trace) for trace in traces]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    return canonical_json({"columns": columns, "data": [[row.get(key) for key in columns] for row in rows]}).encode()


def _cells(trace: Trace) -> dict[str, str | float]:
    """MLflow groups by the first column, and compares by the second until someone chooses others."""
    numbers = {key: value for step in trace.steps for key, value in step.gave.items() if isinstance(value, float)}
    gave, asked = (
        {key: _as_cell(value) for key, value in shown.items() if not isinstance(value, Shot) and value != trace.unit}
        for shown in (trace.gave, trace.asked)
    )
    return {"unit": trace.unit} | gave | numbers | dict(trace.values) | {"outcome": trace.outcome.value} | asked


def _as_cell(value: Shown) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "; ".join(map(_as_cell, value))
    return "" if value is None else clip(as_text(value), _MAX_CELL)


def taken(calls: Path, parts: Iterable[ScorePart]) -> list[tuple[ScorePart, dict[str, list[Cost]]]]:
    """The parts that tell what their calls took, with it; none where the call store, which alone holds this and no
    hashed file, is gone."""
    if not (calls / "calls.db").is_file():
        return []
    with CallStore(calls, writes=False) as store:
        return [(part, part.costs(store)) for part in parts if part.costed]


def _summary(role: str, costs: Sequence[Cost]) -> dict[str, float]:
    means: dict[str, float] = {}
    for column in ("seconds", "input_tokens", "output_tokens"):
        known = [float(value) for cost in costs if (value := getattr(cost, column)) is not None]
        if known:
            means[f"{column}_per_{role}"] = exact_mean(known)
    paid = [cost.cost for cost in costs if cost.cost is not None]
    return means | ({f"cost_of_{role}": exact_mean(paid) * len(paid)} if paid else {})
