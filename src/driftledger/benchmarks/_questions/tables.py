"""Tables as the papers of question benchmarks print them: a row per model, with deviations and a rank."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from driftledger.benchmarks.base import SideBySide, Table
from driftledger.benchmarks.score import STD, Score
from driftledger.benchmarks.tables import NOTHING, best_first, cell, ranks_of


def ordered(block: SideBySide, headline: str) -> list[Score]:
    """The scores of a block, the best first."""
    by_model = {score.model: score for score in block.scores}
    return [
        by_model[name] for name in best_first({name: each.metrics.get(headline) for name, each in by_model.items()})
    ]


def ranked_table(title: str, scores: Sequence[Score], headline: str, columns: Mapping[str, str]) -> Table:
    """A row per model, and its rank by the headline.

    Args:
        columns: head → the number's name as in :meth:`~driftledger.benchmarks.score.Score.numbers`.
    """
    ranks = ranks_of([score.metrics.get(headline) for score in scores])
    rows = [
        [score.model, *_cells(score, columns.values()), cell(rank, digits=0)]
        for score, rank in zip(scores, ranks, strict=True)
    ]
    return Table(title, ["", *columns, "rank"], rows)


def _cells(score: Score, names: Iterable[str]) -> Iterator[str]:
    numbers = dict(score.numbers())
    for name in names:
        deviation = numbers.get(name + STD)
        spread = "" if deviation is None else f" ± {deviation:.2f}"
        yield f"{numbers[name]:.2f}{spread}" if name in numbers else NOTHING
