"""The scores that a report is of."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score
from driftledger.benchmarks.standing import RowsOf
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.project.project import Project


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


def rows_of(project: Project, score: Score) -> list[Row]:
    """The rows behind one of them."""
    return read_jsonl(_rows_file(project, score), Row)


def _rows_file(project: Project, score: Score) -> Path:
    return project.root / benchmark(score.benchmark).scores.at(score.keys) / ROWS


def rows_beside(project: Project) -> RowsOf:
    """The rows behind each of them, each read once; none where somebody took them away."""

    @cache
    def read(file: Path) -> list[Row]:
        return read_jsonl(file, Row) if file.is_file() else []

    def rows(score: Score) -> list[Row]:
        return read(_rows_file(project, score))

    return rows
