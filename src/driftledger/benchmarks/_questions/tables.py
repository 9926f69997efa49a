"""Tables as the papers of question benchmarks print them: a row per model, with deviations and a rank."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from driftledger.benchmarks.base import Block, Table
from driftledger.benchmarks.score import STD, Score
from driftledger.metrics.ranks import competition_ranks

NOTHING = "–"


def best_first(block: Block, headline: str) -> list[Score]:
    """The scores of a block from the highest to the lowest; equal ones by the model's name."""
    return sorted(block.scores, key=lambda score: (-score.metrics[headline], score.model))


def ranked_table(title: str, scores: Sequence[Score], headline: str, columns: Mapping[str, str]) -> Table:
    """A row per model and its rank.

    Args:
        columns: head → the number's name as in :meth:`~driftledger.benchmarks.score.Score.numbers`.
    """
    ranks = competition_ranks([score.metrics[headline] for score in scores], higher_is_better=True)
    rows = [
        [score.model, *_cells(score, columns.values()), str(rank)] for score, rank in zip(scores, ranks, strict=True)
    ]
    return Table(title, ["", *columns, "rank"], rows)


def _cells(score: Score, names: Iterable[str]) -> Iterator[str]:
    numbers = dict(score.numbers())
    for name in names:
        deviation = numbers.get(name + STD)
        spread = "" if deviation is None else f" ± {deviation:.2f}"
        yield f"{numbers[name]:.2f}{spread}" if name in numbers else NOTHING
