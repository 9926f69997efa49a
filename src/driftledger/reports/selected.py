"""The scores that a report is of."""

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import SCORE, Score
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json
from driftledger.project.project import Project


def selected_scores(project: Project) -> list[Score]:
    """Every selected score, in the order of ``run:``.

    Raises:
        StoreError: a score is missing, or was computed with other settings than ``params.yaml`` has now.
    """
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
