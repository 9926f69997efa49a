"""Where things are that no benchmark has a part in; a stage's own folders stand in its benchmark's table."""

from pathlib import Path
from typing import NamedTuple

from driftledger.core.checkouts import main_checkout

_STATE = ".driftledger"


class Combination(NamedTuple):
    """What one MLflow run shows."""

    model: str
    generator: str
    encoder: str

    def __str__(self) -> str:
        return f"{self.model} · {self.generator} · {self.encoder}"


class Paths(NamedTuple):
    """The project's folders below ``root``; all arguments are catalogue names, never free text."""

    root: Path

    @property
    def state(self) -> Path:
        """Locks on what this checkout holds: disposable, outside Git and DVC, as is :attr:`shared`."""
        return self.root / _STATE

    @property
    def shared(self) -> Path:
        """The call store, the feature store and the lock on MLflow, which all checkouts of a repository share; the
        first two unless :attr:`~driftledger.project.project.Project.state` names another folder."""
        return main_checkout(self.root) / _STATE

    @property
    def resolved(self) -> Path:
        """What the selected names mean now."""
        return self.root / "data" / "resolved.json"

    @property
    def observations(self) -> Path:
        """What was seen of components that were asked twice, in Git."""
        return self.root / "data" / "observations.json"

    @property
    def ledger(self) -> Path:
        """A file per published run, in Git."""
        return self.root / "ledger"

    def dataset(self, dataset: str) -> Path:
        return self.root / "data" / "datasets" / dataset

    def question_set(self, question_set: str) -> Path:
        return self.root / "data" / "questions" / question_set

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def leaderboard(self) -> Path:
        """Without suffix: written as ``.csv`` and ``.md``."""
        return self.root / "reports" / "leaderboard"

    @property
    def figures(self) -> Path:
        """An SVG file per figure of each benchmark."""
        return self.root / "reports" / "figures"

    @property
    def plots(self) -> Path:
        """Rows that ``dvc plots`` draws, in a folder per benchmark."""
        return self.root / "reports" / "plots"

    @property
    def site(self) -> Path:
        """The report as pages."""
        return self.root / "reports" / "site"
