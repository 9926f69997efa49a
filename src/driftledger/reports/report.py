"""The report of what is selected: the leaderboard, the pictures of each benchmark, and rows for other programs.

Rows are what ``dvc plots`` draws: ``dvc.yaml`` names those that are worth a picture.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from driftledger.benchmarks.base import SCORES as SCORES_FOLDER
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.benchmarks.score import SPREAD, Score, base_key
from driftledger.collect.observations import read_observations
from driftledger.core.canonical import pretty_json
from driftledger.core.files import new_folder, write_bytes, write_text
from driftledger.project.project import Project
from driftledger.reports.cross_check import cross_check_tables, cross_checks
from driftledger.reports.figures import write_figures
from driftledger.reports.leaderboard import write_leaderboard
from driftledger.reports.sections import by_benchmark
from driftledger.reports.selected import rows_beside, selected_scores
from driftledger.reports.site.build import write_site

SCORES = "scores"
"""Beside the curves of a benchmark: its metrics, a row per score."""

Row = dict[str, str | int | float | None]


def write_report(project: Project) -> None:
    """Write everything in ``reports/`` that is put together from several scores.

    Errors as in :func:`~driftledger.reports.selected.selected_scores`.
    """
    scores = selected_scores(project)
    rows_of = rows_beside(project)
    seen, told = read_observations(project.paths.observations), by_benchmark(scores, rows_of)
    checks = cross_checks(project, scores)
    write_text(project.paths.reports / "cross_check.json", pretty_json(checks))
    write_leaderboard(project.paths.leaderboard, scores, seen, told, list(cross_check_tables(checks)))
    write_metrics(project.paths.reports / "metrics", scores)
    write_plots(project.paths.plots, scores)
    write_figures(project.paths.figures, told)
    for spec in benchmarks():
        own = [score for score in scores if score.benchmark == spec.name]
        for name in spec.pictures:
            write_bytes(project.paths.reports / name, spec.picture(name, own, project.root))
    write_site(project.paths.site, project, scores, told=told)


def write_plots(folder: Path, scores: Sequence[Score]) -> None:
    """Write ``<benchmark>/<curve>.json``, a row per score and step, and ``<benchmark>/scores.json``, a row per score.

    Each row has its ``model``, and in ``of`` what else names the score. All rows of a file have the same keys, since
    DVC draws none of them otherwise; a model without a value has null.
    """
    with new_folder(folder) as made:
        for name in dict.fromkeys(score.benchmark for score in scores):
            own = [score for score in scores if score.benchmark == name]
            for curve in dict.fromkeys(base_key(curve) for score in own for curve in score.curves):
                _write(made / name / f"{curve.replace('/', '_')}.json", list(_points(own, curve)))
            _write(made / name / f"{SCORES}.json", _metrics(own))


def _points(scores: Sequence[Score], curve: str) -> Iterator[Row]:
    ends = [end for end in SPREAD if any(curve + end in score.curves for score in scores)]
    for score in scores:
        values = {end: {p.step: p.value for p in score.curves.get(curve + end, ())} for end in ("", *ends)}
        for point in score.curves.get(curve, ()):
            spread = {end.removeprefix("_"): values[end].get(point.step) for end in ends}
            yield {**_named(score), "step": point.step, "value": point.value, **spread}


def _metrics(scores: Sequence[Score]) -> list[Row]:
    keys = dict.fromkeys(key for score in scores for key in score.metrics if base_key(key) == key)
    return [{**_named(score), **{key: score.metrics.get(key) for key in keys}} for score in scores]


def _named(score: Score) -> dict[str, str]:
    keys = benchmark(score.benchmark).scores.keys
    return {"of": " · ".join(score.keys[key] for key in keys if key != "model"), "model": score.model}


def write_metrics(folder: Path, scores: Sequence[Score]) -> None:
    """Write what ``dvc metrics`` shows, a file per score, as ``<model>/<benchmark>/<data>….json``."""
    with new_folder(folder) as made:
        for score in scores:
            spec = benchmark(score.benchmark)
            path = spec.scores.at(score.keys).removeprefix(f"{SCORES_FOLDER}/")
            write_text(made / f"{path}.json", pretty_json(spec.shown_by_dvc(score) | {"coverage": score.coverage}))


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    write_text(path, pretty_json(list(rows)))
