"""Where things are. Every path and every stage name of the project is made here."""

from pathlib import Path
from typing import NamedTuple


class Combination(NamedTuple):
    """What one MLflow run shows."""

    model: str
    generator: str
    encoder: str

    def __str__(self) -> str:
        return f"{self.model} · {self.generator} · {self.encoder}"


class Layout(NamedTuple):
    """The project's folders below ``root``; all arguments are catalogue names, never free text."""

    root: Path

    @property
    def state(self) -> Path:
        """The call store and locks: disposable, outside Git and DVC."""
        return self.root / ".driftledger"

    @property
    def resolved(self) -> Path:
        """What the selected names stand for now."""
        return self.root / "data" / "resolved.json"

    def dataset(self, dataset: str) -> Path:
        return self.root / "data" / "datasets" / dataset

    def chain(self, dataset: str, model: str, generator: str) -> Path:
        return self.root / "data" / "chains" / dataset / model / generator

    def scores(self, benchmark: str, dataset: str, combination: Combination) -> Path:
        """The score file; its per-sample values stand beside it, ending in ``.samples.jsonl``."""
        model, generator, encoder = combination
        return self.root / "reports" / "scores" / benchmark / dataset / model / generator / f"{encoder}.json"

    @property
    def leaderboard(self) -> Path:
        """Without suffix: written as ``.csv`` and ``.md``."""
        return self.root / "reports" / "leaderboard"

    @property
    def chains_picture(self) -> Path:
        """One sample's chains, a row per model."""
        return self.root / "reports" / "chains.png"


def samples_file(score_file: Path) -> Path:
    """The per-sample values that belong to a score file."""
    return score_file.with_suffix(".samples.jsonl")


def dataset_stage(dataset: str) -> str:
    return f"dataset@{dataset}"


def chain_stage(dataset: str, model: str, generator: str) -> str:
    return f"chain@{dataset}-{model}-{generator}"


def drift_stage(dataset: str, combination: Combination) -> str:
    return f"drift@{dataset}-{'-'.join(combination)}"
