"""The selected scores of a project, and their rows."""

from collections.abc import Callable, Sequence
from functools import cache

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.usage import read_score
from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import StoreError
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Keys
from driftledger.project.project import Project
from driftledger.scoring.score import ROWS, SCORE, Row, Score

RowsOf = Callable[[Score], Sequence[Row]]
"""Returns the rows behind a score; empty if they are missing."""


def no_rows(score: Score) -> Sequence[Row]:
    """Return no rows: ranks go by value."""
    return ()


def is_stored(project: Project, spec: Benchmark, keys: Keys) -> bool:
    """Return True if a score is there."""
    return (project.root / spec.scores.at(keys) / SCORE).is_file()


def selected_scores(project: Project) -> list[Score]:
    """Read every selected score that is stored, in the order of ``run:``.

    Raises:
        StoreError: none is stored, or one was computed with other settings than ``params.yaml`` has
            now.
    """
    stored = [entry for entry in project.selected if is_stored(project, *entry)]
    return [selected_score(project, *entry) for entry in stored or project.selected]


def what_is_lacking(project: Project, scores: Sequence[Score]) -> list[str]:
    """List the models without a selected score, or without a rank.

    Args:
        scores: the stored ones.
    """
    lacking = dict[str, None]()  # several scores may be of the same data
    stored = {benchmark(each.benchmark).scores.at(each.keys): each for each in scores}
    for spec, keys in project.selected:
        score = stored.get(spec.scores.at(keys))
        where = f"in {spec.name} on {keys[spec.data.name]}"
        if score is None:
            lacking[f"{keys['model']} has no score {where}"] = None
        elif score.unranked is not None:
            lacking[f"{score.model} has no rank {where}: {score.unranked}"] = None
    return [*lacking]


def selected_score(project: Project, spec: Benchmark, keys: Keys) -> Score:
    """Read a selected score, without numbers of metrics that are unknown here.

    A later version may know them.

    Errors as in :func:`selected_scores`.
    """
    folder = project.root / spec.scores.at(keys)
    score = read_score(folder)
    settings = project.settings
    if score.inputs.settings != spec.scored_with(
        settings.section(spec.name), settings.run.seed
    ):
        raise StoreError(
            f"the score of {spec.name} on {score.on} for {score.model} was computed with other "
            "settings than params.yaml has now; run 'dvc repro'"
        )
    known = [number for number in score.numbers if spec.metrics.get(number.metric)]
    return score.model_copy(update={"numbers": known})


def rows_reader(project: Project) -> RowsOf:
    """Return a function that reads the rows behind a score, each file once."""

    @cache
    def read(path: str) -> list[Row]:
        file = project.root / path / ROWS
        return read_jsonl(file, Row) if file.is_file() else []

    return lambda score: read(benchmark(score.benchmark).scores.at(score.keys))
