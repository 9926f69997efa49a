"""The rows behind stored scores, as commands read them while somebody waits."""

from functools import cache
from pathlib import Path

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.benchmarks.standing import RowsOf
from driftledger.core.many_records import read_many
from driftledger.project.project import Project


def rows_of(project: Project, score: Score) -> list[Row]:
    """As :func:`driftledger.reports.selected.rows_of`."""
    return read_many(_rows_file(project, score), Row)


def rows_beside(project: Project) -> RowsOf:
    """As :func:`driftledger.reports.selected.rows_beside`."""

    @cache
    def read(file: Path) -> list[Row]:
        return read_many(file, Row) if file.is_file() else []

    return lambda score: read(_rows_file(project, score))


def _rows_file(project: Project, score: Score) -> Path:
    return project.root / benchmark(score.benchmark).scores.at(score.keys) / ROWS
