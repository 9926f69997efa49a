"""The stage ``report``: everything in ``reports/`` that is put together from several scores."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.benchmarks.base import SCORES as SCORES_FOLDER
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.benchmarks.score import SPREAD, Score, base_key
from driftledger.core.canonical import pretty_json
from driftledger.core.files import new_folder, write_bytes, write_text
from driftledger.project.project import Project
from driftledger.reports.charts import Drawing, drawn, figures_of, series_of
from driftledger.reports.cross_check import cross_check_sections, cross_checks
from driftledger.reports.leaderboard import write_leaderboard
from driftledger.reports.selected import rows_beside, selected_scores
from driftledger.reports.site.build import write_site
from driftledger.reports.standing import Part, by_benchmark

Row = dict[str, str | int | float | None]


def write_report(project: Project) -> str | None:
    """Write everything that the scores give; return a sentence about what they alone do not give.

    Errors as in :func:`~driftledger.reports.selected.selected_scores`.
    """
    scores = selected_scores(project)
    parts, paths = by_benchmark(scores, rows_beside(project)), project.paths
    missing = missing_folders(project, scores)
    chains = [score for score in scores if score.benchmark == "genception"]
    checks = [] if missing_folders(project, chains) else cross_checks(project, chains)
    write_text(paths.reports / "cross_check.json", pretty_json(checks))
    write_leaderboard(paths.leaderboard, parts, list(cross_check_sections(checks)))
    write_metrics(paths.reports / "metrics", scores)
    write_plots(paths.plots, scores)
    figures = {f"{name}.svg": (drawing, drawn(drawing)) for name, drawing in drawings(parts)}
    with new_folder(paths.figures) as folder:
        for name, (_, data) in figures.items():
            write_bytes(folder / name, data)
    for spec in benchmarks():
        own = [score for score in scores if score.benchmark == spec.name]
        for name in spec.pictures:
            write_bytes(
                paths.reports / name, spec.picture(name, [] if missing_folders(project, own) else own, project.root)
            )
    write_site(paths.site, project, parts, figures)
    if not missing:
        return None
    more = f" and {len(missing) - 1} more folders" if len(missing) > 1 else ""
    return (
        f"{missing[0]}{more} are not in this checkout, so the report lacks what it reads there: units with their "
        "pictures, and the cross-check; 'dvc pull' fetches them"
    )


def write_pages(folder: Path, project: Project, *, images: bool) -> None:
    """Write the site alone, into a folder; errors as in :func:`~driftledger.reports.site.build.write_site`."""
    parts = by_benchmark(selected_scores(project), rows_beside(project))
    figures = {f"{name}.svg": (drawing, drawn(drawing)) for name, drawing in drawings(parts)}
    write_site(folder, project, parts, figures, images=images)


def missing_folders(project: Project, scores: Sequence[Score]) -> list[str]:
    """The folders of data and records behind the scores that are not in this checkout."""
    stages = [(stage, score) for score in scores for stage in benchmark(score.benchmark).stages[:-1]]
    folders = dict.fromkeys(stage.at(score.keys) for stage, score in stages)
    return [folder for folder in folders if not (project.root / folder).is_dir()]


def drawings(parts: Sequence[Part]) -> list[tuple[str, Drawing]]:
    """``<benchmark>-<on>-<name>`` → figure, for each block of each benchmark."""
    series = series_of([score for part in parts for score in part.scores])
    blocks = [block for part in parts for block in part.blocks]
    return [(f"{block.name}-{drawing.name}", drawing) for block in blocks for drawing in figures_of(block, series)]


def write_plots(folder: Path, scores: Sequence[Score]) -> None:
    """Write ``<benchmark>/<curve>.json``, a row per score and step, and ``<benchmark>/scores.json``, a row per score,
    which ``dvc plots`` draws by the templates that ``dvc.yaml`` names.

    All rows of a file have the same keys, since DVC draws none of them otherwise; a model without a value has null.
    """
    with new_folder(folder) as made:
        for name in dict.fromkeys(score.benchmark for score in scores):
            own = [score for score in scores if score.benchmark == name]
            keys = [key for key in benchmark(name).scores.keys if key != "model"]
            named: list[Row] = [{"of": " · ".join(s.keys[key] for key in keys), "model": s.model} for s in own]
            for curve in dict.fromkeys(base_key(curve) for score in own for curve in score.curves):
                ends = [end for end in SPREAD if any(curve + end in score.curves for score in own)]
                rows: list[Row] = []
                for score, row in zip(own, named, strict=True):
                    values = {end: {p.step: p.value for p in score.curves.get(curve + end, ())} for end in ends}
                    for point in score.curves.get(curve, ()):
                        spread: Row = {end.removeprefix("_"): values[end].get(point.step) for end in ends}
                        rows.append({**row, "step": point.step, "value": point.value, **spread})
                write_text(made / name / f"{curve.replace('/', '_')}.json", pretty_json(rows))
            metrics = dict.fromkeys(key for score in own for key in score.metrics if base_key(key) == key)
            table = [{**row, **{k: s.metrics.get(k) for k in metrics}} for s, row in zip(own, named, strict=True)]
            write_text(made / name / "scores.json", pretty_json(table))


def write_metrics(folder: Path, scores: Sequence[Score]) -> None:
    """Write what ``dvc metrics`` shows, a file per score, as ``<model>/<benchmark>/<data>….json``."""
    with new_folder(folder) as made:
        for score in scores:
            spec = benchmark(score.benchmark)
            path = spec.scores.at(score.keys).removeprefix(f"{SCORES_FOLDER}/")
            write_text(made / f"{path}.json", pretty_json(spec.shown_by_dvc(score) | {"coverage": score.coverage}))
