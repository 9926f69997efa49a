"""Where the variance of stored scores comes from: which scores are meant, and what is told of them."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Group, RenderableType

from driftledger.benchmarks.base import DATASET, Benchmark, Table
from driftledger.benchmarks.crossed import ScoreRows
from driftledger.benchmarks.registry import benchmark as specification
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import read_json
from driftledger.core.paths import Combination
from driftledger.core.terminal import HEAD, QUIET, line, table
from driftledger.data.records import SAMPLES, read_samples
from driftledger.metrics.power import POWER, Plan
from driftledger.project.project import Project
from driftledger.reports.selected import rows_of
from driftledger.reports.variance import (
    VarianceFound,
    as_json,
    by_data,
    variance_found,
    variance_table,
    without_controls,
)

_PART = re.compile(r"[a-z0-9_*?]+")
"""Of a run: a name, in which * and ? stand for anything."""


def variance(
    project: Project, runs: Sequence[str], *, benchmark: str | None, metric: str | None, in_json: bool
) -> RenderableType:
    """A table per benchmark and data.

    Args:
        runs: as :func:`stored_scores`.
        benchmark: only of this one.
        metric: by its key; None: the first at a glance of each benchmark.

    Raises:
        ConfigError: no run is called so.
        LedgerError: no scores of one benchmark on the same data can be decomposed; says why.
    """
    found, controls, refused = [], [], []
    for some in by_data(stored_scores(project, runs, benchmark)):
        some, left_out = (some, []) if runs else without_controls(some)
        try:
            found.append(variance_found(some, metric))
            controls.append(left_out)
        except LedgerError as error:
            refused.append(str(error))
    if not found:
        raise LedgerError("; ".join(refused) or "no score is stored; run 'dvc repro' or 'dvc pull'")
    if in_json:
        return json.dumps([as_json(each) for each in found], indent=2)
    tables = (variance_table(*each) for each in zip(found, controls, strict=True))
    return Group(*(part for each in tables for part in _in_terminal(each)), *(line(each, QUIET) for each in refused))


def stored_scores(project: Project, runs: Sequence[str], benchmark: str | None = None) -> list[ScoreRows]:
    """The scores of runs, with their rows, as they stand in ``reports/scores``.

    Args:
        runs: ``MODEL/GENERATOR/ENCODER`` each, with * for any; none stands for all that ``params.yaml`` selects.
        benchmark: only of this one.

    Raises:
        ConfigError: there is no such benchmark, or a run that matches nothing stored.
    """
    wanted = None if benchmark is None else specification(benchmark).name
    found: dict[Path, None] = {}
    if runs:
        for run in runs:
            matching = [folder for spec in benchmarks() for folder in _matching(project.root, spec, _parsed(run))]
            if not matching:
                raise ConfigError(f"no stored score is of a run {for_line(run)!r:.200}: name MODEL/GENERATOR/ENCODER")
            found |= dict.fromkeys(sorted(matching))
    else:
        found = dict.fromkeys(project.root / spec.scores.at(keys) for spec, keys in project.selected.scores)
    return [
        (score, rows_of(project, score))
        for folder in found
        if (folder / SCORE).is_file()
        for score in [read_json(folder / SCORE, Score)]
        if wanted in (None, score.benchmark)
    ]


def _parsed(run: str) -> Combination:
    parts = run.split("/")
    if len(parts) != len(Combination._fields) or not all(map(_PART.fullmatch, parts)):
        raise ConfigError(f"{for_line(run)!r:.200} names no run: a run is MODEL/GENERATOR/ENCODER, with * for any")
    return Combination(*parts)


def _matching(root: Path, spec: Benchmark, run: Combination) -> Iterator[Path]:
    keys: Mapping[str, str] = {key: run._asdict().get(key, "*") for key in spec.scores.keys}
    return (file.parent for file in root.glob(f"{spec.scores.at(keys)}/{SCORE}"))


def _in_terminal(of: Table) -> Iterator[RenderableType]:
    yield line(of.title, HEAD)
    made = table(*of.head, numbers=of.head[1:])
    for row in of.rows:
        made.add_row(*(line(str(each)) for each in row))
    yield made
    yield from (line(note, QUIET) for note in of.notes)
    yield ""


def least_detectable(project: Project) -> Iterator[str]:
    """Of each benchmark and data that are selected, the smallest difference between two models that a run of that size
    can show, as far as stored scores tell how values vary."""
    for some in by_data(stored_scores(project, ())):
        try:
            found = variance_found(without_controls(some)[0])
        except LedgerError:
            continue
        crossed, plan = found.crossed, _planned(project, found)
        if (smallest := found.detectable(plan=plan)) is not None:
            count = len(crossed.categories) if plan is None else plan.samples
            yield (
                f"{crossed.title}: {count} {crossed.things} show a difference of {smallest:.{crossed.metric.digits}f} "
                f"between two models, with a power of {POWER:.0%}"
            )


def _planned(project: Project, found: VarianceFound) -> Plan | None:
    """What the built dataset holds now, and how often each sample is to be repeated; None for as many as are scored."""
    crossed = found.crossed
    folder = project.paths.dataset(crossed.on)
    if crossed.spec.data is not DATASET or not (folder / SAMPLES).is_file():
        return None
    tested = [sample for sample in read_samples(folder) if sample.split != "support"]
    kinds = Counter((sample.category or "") if len(set(crossed.categories)) > 1 else "" for sample in tested)
    repeats = getattr(project.settings.section(crossed.spec.name), "repeats", found.found.layout.repeats)
    return Plan.of_categories(list(kinds.values()), repeats) if kinds else None
