"""The report of what is selected: the leaderboard, the pictures of each benchmark, and rows for other programs."""

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, write_bytes
from driftledger.project.project import Project
from driftledger.reports.leaderboard import write_leaderboard
from driftledger.reports.rows import write_combinations, write_plots


def write_report(project: Project) -> None:
    """Write everything in ``reports/`` that is put together from several scores.

    Raises:
        StoreError: a score is missing, or was computed with other settings than ``params.yaml`` has now.
    """
    scores = selected_scores(project)
    write_leaderboard(project.paths.leaderboard, scores)
    write_combinations(project.paths.metrics, project.combinations, scores)
    write_plots(project.paths.plots, scores)
    for spec in benchmarks():
        own = [score for score in scores if score.benchmark == spec.name]
        for name in spec.pictures:
            write_bytes(project.paths.reports / name, spec.picture(name, own, project.root))


def selected_scores(project: Project) -> list[Score]:
    """Every selected score, in the order of the selection; errors as in :func:`write_report`."""
    scores = []
    for spec, keys in project.selected.scores:
        score = read_json(project.root / spec.scores.at(keys) / SCORE, Score)
        _check_current(project, spec, score)
        scores.append(score)
    return scores


def _check_current(project: Project, spec: Benchmark, score: Score) -> None:
    if spec.scoring.model_validate(score.inputs.settings) != spec.scoring_of(project.settings):
        raise StoreError(
            f"the score of {spec.name} on {score.on} for {score.model} was computed with other settings than "
            "params.yaml has now; run 'dvc repro'"
        )
