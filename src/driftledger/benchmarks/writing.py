"""How a stage's outputs are written, whichever benchmark they are of.

It is part of the code behind every stage, so that it imports no more than what shapes the files.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from driftledger.benchmarks.records import CARD
from driftledger.benchmarks.score import METRICS, ROWS, SCORE, Score
from driftledger.core.files import new_folder, write_json, write_jsonl

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark
    from driftledger.benchmarks.runner import Collecting
    from driftledger.benchmarks.scoring import Scored

T = TypeVar("T")


def write_collected(target: Path, collecting: "Collecting[T]", collected: T) -> None:
    """Write what came of a collect stage as the folder ``target``, whole or not at all."""
    with new_folder(target) as folder:
        card = collecting.write(folder, collected)
        write_json(folder / CARD, card)


def write_score(target: Path, spec: "Benchmark", scored: "Scored") -> None:
    """Write a score as the folder ``target``, whole or not at all: numbers for DVC, the record, its rows."""
    inputs = scored.score.inputs.model_copy(update={"version": spec.scores.version})
    score = scored.score.model_copy(update={"inputs": inputs})
    with new_folder(target) as folder:
        write_json(folder / METRICS, dvc_metrics(spec, score))
        write_json(folder / SCORE, score)
        write_jsonl(folder / ROWS, scored.rows)


def dvc_metrics(spec: "Benchmark", score: Score) -> dict[str, Any]:
    """What ``dvc metrics`` shows of a score: a few of its numbers, and how much is behind them."""
    return {**spec.shown_by_dvc(score), "coverage": score.coverage}
