"""Where things are: a project's folders, and the main checkout that keeps what all checkouts of a repository share."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

_STATE = ".driftledger"
MADE_FOR = "DVC_ROOT"
"""Where DVC says to the commands in a copy which checkout it was made for."""
_COPIES = (".dvc", "tmp", "exps")


class Combination(NamedTuple):
    """What one MLflow run shows."""

    model: str
    generator: str
    encoder: str

    def __str__(self) -> str:
        return f"{self.model} · {self.generator} · {self.encoder}"

    def shows(self, keys: Mapping[str, str]) -> bool:
        """Whether its run shows a score: a model, generator or encoder among the score's keys is the combination's."""
        return all(keys.get(role, name) == name for role, name in self._asdict().items())


class Paths(NamedTuple):
    """The project's folders below ``root``; a benchmark's table has those of its stages."""

    root: Path

    @property
    def state(self) -> Path:
        """Locks on what this checkout holds: disposable, outside Git and DVC, as is :attr:`shared`."""
        return self.root / _STATE

    @property
    def shared(self) -> Path:
        """The call store, the feature store and the lock on MLflow, shared by all checkouts of a repository, unless
        :attr:`~driftledger.project.project.Project.state` names another folder for the first two."""
        return main_checkout(self.root) / _STATE

    @property
    def resolved(self) -> Path:
        """The current version of each selected name."""
        return self.root / "data" / "resolved.json"

    def dataset(self, dataset: str) -> Path:
        return self.root / "data" / "datasets" / dataset

    def question_set(self, question_set: str) -> Path:
        return self.root / "data" / "questions" / question_set

    @property
    def reports(self) -> Path:
        return self.root / "reports"

    @property
    def site(self) -> Path:
        """The report as pages."""
        return self.reports / "site"


def leads_out(path: Path, folder: Path) -> bool:
    """Whether links lead from ``path``, somewhere below ``folder``, to a place outside of it."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def main_checkout(root: Path) -> Path:
    """Return the folder of the main checkout that ``root`` belongs to; of a bare repository, that repository.

    ``git worktree add`` makes further checkouts, and ``dvc exp run --temp`` runs in copies below ``.dvc/tmp``; each
    would begin with an empty store and pay for every call again. Files alone are read, without starting Git.
    """
    here = root.resolve()
    for elsewhere in (_copied_from, _worktree_of):
        top = _top(here)
        main = elsewhere(top) if top else None
        here = main / here.relative_to(top) if top and main else here
    return root if here == root.resolve() else here


def _top(folder: Path) -> Path | None:
    """Return the top folder of a checkout."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), None)


def _copied_from(top: Path) -> Path | None:
    """Return the checkout that DVC made this copy of: the copy lies inside it, or where a link there leads."""
    named = [Path(os.environ[MADE_FOR])] if os.environ.get(MADE_FOR) else []
    around = [place.parents[2] for place in top.parents if place.parts[-3:] == _COPIES]
    made_for = (each for each in (*named, *around) if each.joinpath(*_COPIES).resolve() in top.parents)
    return next(filter(None, map(_top, map(Path.resolve, made_for))), None)


def _worktree_of(top: Path) -> Path | None:
    """Return the main checkout of a further one, where ``.git`` is a file that names its place in the repository."""
    if not (top / ".git").is_file():
        return None
    entry = top / os.fsdecode((top / ".git").read_bytes()).removeprefix("gitdir: ").strip("\r\n")
    if entry.parent.name != "worktrees" or not entry.is_dir():
        return None
    repository = entry.parent.parent.resolve()
    return repository.parent if repository.name == ".git" else repository
