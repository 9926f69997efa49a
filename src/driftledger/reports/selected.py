"""The scores that a report is of."""

from collections.abc import Mapping
from functools import cache

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.project.project import Project
from driftledger.reports.standing import RowsOf


def selected_scores(project: Project) -> list[Score]:
    """Every selected score, in the order of ``run:``.

    Raises:
        StoreError: a score is missing, or was computed with other settings than ``params.yaml`` has now.
    """
    return [selected_score(project, spec, keys) for spec, keys in project.selected.scores]


def selected_score(project: Project, spec: Benchmark, keys: Mapping[str, str]) -> Score:
    """One of them; errors as in :func:`selected_scores`."""
    score = read_json(project.root / spec.scores.at(keys) / SCORE, Score)
    if spec.scoring.model_validate(score.inputs.settings) != spec.scoring_of(
        project.settings.section(spec.name), project.settings.run.seed
    ):
        raise StoreError(
            f"the score of {spec.name} on {score.on} for {score.model} was computed with other settings than "
            "params.yaml has now; run 'dvc repro'"
        )
    return score


def rows_beside(project: Project) -> RowsOf:
    """The rows behind each of them, read once; none where the file is missing."""

    @cache
    def read(path: str) -> list[Row]:
        file = project.root / path / ROWS
        return read_jsonl(file, Row) if file.is_file() else []

    return lambda score: read(benchmark(score.benchmark).scores.at(score.keys))
