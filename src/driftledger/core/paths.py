"""Where things are: a project's folders, and the main checkout that keeps what all checkouts of a repository share."""

import os
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
        """What the selected names stand for now."""
        return self.root / "data" / "resolved.json"

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
        return self.reports / "leaderboard"

    @property
    def figures(self) -> Path:
        """A file per figure of each benchmark."""
        return self.reports / "figures"

    @property
    def plots(self) -> Path:
        """Rows that ``dvc plots`` draws, in a folder per benchmark."""
        return self.reports / "plots"

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
    would begin with an empty store and pay for every call again. Files alone are read, without starting Git. Whoever
    made a checkout could have written anything into it, so a pointer is followed only if its target points back.
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
    """Return the main checkout of a further one, whose repository lists it under ``worktrees``."""
    pointer = top / ".git"
    entry = None if pointer.is_symlink() else _pointed(pointer, "gitdir: ")
    if entry is None or entry.parent.name != "worktrees" or _pointed(entry / "gitdir") != pointer:
        return None
    repository = entry.parent.parent
    return repository.parent if repository.name == ".git" else repository


def _pointed(file: Path, word: str = "") -> Path | None:
    """Return where a file of Git's points to, after a word."""
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        text = os.fsdecode(opened.read(4096))
    path = text.removeprefix(word).strip("\r\n")
    if not text.startswith(word) or not path or "\0" in path:
        return None
    target = file.parent / path
    return target.parent.resolve() / target.name
