"""Where things are. Every path and every stage name of the project is made here."""

from pathlib import Path
from typing import NamedTuple

PIPELINES = ("genception", "trac", "fidelity", "questions")
"""The benchmarks, each with a ``dvc.yaml`` of its own: DVC reads and writes all of a lock for each stage in it."""

LOCK = "dvc.lock"
LOCKS = (LOCK, *(f"pipelines/{name}/{LOCK}" for name in PIPELINES))
"""Every lock of the project, relative to the top folder. A stage's name is in one of them only."""


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
        """The call store, the feature store and locks: disposable, outside Git and DVC."""
        return self.root / ".driftledger"

    @property
    def resolved(self) -> Path:
        """What the selected names stand for now."""
        return self.root / "data" / "resolved.json"

    @property
    def ledger(self) -> Path:
        """One line per published run, in Git."""
        return self.root / "ledger.jsonl"

    def dataset(self, dataset: str) -> Path:
        return self.root / "data" / "datasets" / dataset

    def chain(self, dataset: str, model: str, generator: str) -> Path:
        return self.root / "data" / "chains" / dataset / model / generator

    def question_set(self, question_set: str) -> Path:
        return self.root / "data" / "questions" / question_set

    def answers(self, question_set: str, model: str) -> Path:
        return self.root / "data" / "answers" / question_set / model

    def grades(self, question_set: str, model: str) -> Path:
        return self.root / "data" / "grades" / question_set / model

    def descriptions(self, dataset: str, model: str, description: str) -> Path:
        return self.root / "data" / "descriptions" / dataset / model / description

    def redraws(self, dataset: str, model: str, generator: str) -> Path:
        return self.root / "data" / "redraws" / dataset / model / generator

    def trac_scores(self, dataset: str, model: str, description: str, encoder: str) -> Path:
        """The score file; what each test sample was taken for stands beside it, ending in ``.samples.jsonl``."""
        return self.root / "reports" / "scores" / "trac" / dataset / model / description / f"{encoder}.json"

    def question_scores(self, question_set: str, model: str) -> Path:
        """The score file; what became of each question stands beside it, ending in ``.questions.jsonl``."""
        return self.root / "reports" / "scores" / "questions" / question_set / f"{model}.json"

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


def questions_file(score_file: Path) -> Path:
    """What became of each question, beside a question score."""
    return score_file.with_suffix(".questions.jsonl")


def question_set_stage(question_set: str) -> str:
    return f"question_set@{question_set}"


def answer_stage(question_set: str, model: str) -> str:
    return f"answer@{question_set}-{model}"


def grade_stage(question_set: str, model: str) -> str:
    return f"grade@{question_set}-{model}"


def score_stage(question_set: str, model: str) -> str:
    return f"score@{question_set}-{model}"


def dataset_stage(dataset: str) -> str:
    return f"dataset@{dataset}"


def chain_stage(dataset: str, model: str, generator: str) -> str:
    return f"chain@{dataset}-{model}-{generator}"


def describe_stage(dataset: str, model: str, description: str) -> str:
    return f"describe@{dataset}-{model}-{description}"


def trac_stage(dataset: str, model: str, description: str, encoder: str) -> str:
    return f"trac@{dataset}-{model}-{description}-{encoder}"


def redraw_stage(dataset: str, model: str, generator: str) -> str:
    return f"redraw@{dataset}-{model}-{generator}"


def fidelity_stage(dataset: str, combination: Combination) -> str:
    return f"fidelity@{dataset}-{'-'.join(combination)}"


def drift_stage(dataset: str, combination: Combination) -> str:
    return f"drift@{dataset}-{'-'.join(combination)}"
