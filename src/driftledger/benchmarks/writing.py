"""How a stage's outputs are written, whichever benchmark they are of."""

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from driftledger.benchmarks.records import CARD
from driftledger.benchmarks.score import ROWS, SCORE
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
    """Write a score as the folder ``target``, whole or not at all: the record, with the version of the scoring, and its
    rows."""
    inputs = scored.score.inputs.model_copy(update={"version": spec.scores.version})
    with new_folder(target) as folder:
        write_json(folder / SCORE, scored.score.model_copy(update={"inputs": inputs}))
        write_jsonl(folder / ROWS, scored.rows)
