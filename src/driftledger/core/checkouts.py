"""Which checkout keeps what all checkouts of a repository share: finished calls, and the MLflow store.

``git worktree add`` makes further checkouts, and ``dvc exp run --temp`` and its queue run in copies below ``.dvc/tmp``;
each would begin with nothing, and pay for every call again. Told from files alone, without starting Git, since each of
a run's hundred stages asks. Whoever made a checkout could have written anything into it, so a pointer out of it is
followed only where its target points back.
"""

import os
from pathlib import Path

MADE_FOR = "DVC_ROOT"
"""Where DVC says to the commands in a copy which checkout it was made for."""

_COPIES = (".dvc", "tmp", "exps")
_GIT = ".git"
_LONGEST = 4096
"""Bytes of a path."""


def main_checkout(root: Path) -> Path:
    """The folder of the main checkout that ``root`` stands for; that of a bare repository, which has no checkout."""
    here = root.resolve()
    for elsewhere in (_copied_from, _worktree_of):
        top = _top(here)
        main = elsewhere(top) if top else None
        here = main / here.relative_to(top) if top and main else here
    return root if here == root.resolve() else here


def _top(folder: Path) -> Path | None:
    """The top folder of a checkout."""
    return next((each for each in (folder, *folder.parents) if (each / _GIT).exists()), None)


def _copied_from(top: Path) -> Path | None:
    """The checkout that DVC made this copy of: it lies inside that checkout, or where a link there leads."""
    named = [Path(os.environ[MADE_FOR])] if os.environ.get(MADE_FOR) else []
    around = [place.parents[2] for place in top.parents if place.parts[-3:] == _COPIES]
    made_for = (each for each in (*named, *around) if each.joinpath(*_COPIES).resolve() in top.parents)
    return next(filter(None, map(_top, map(Path.resolve, made_for))), None)


def _worktree_of(top: Path) -> Path | None:
    """The main checkout of a further one: its repository lists it, under ``worktrees``."""
    pointer = top / _GIT
    if pointer.is_symlink() or not (entry := _pointed(pointer, "gitdir: ")):
        return None
    listed = _pointed(entry / "gitdir")
    if entry.parent.name != "worktrees" or listed is None or listed != pointer:
        return None
    repository = entry.parent.parent
    return repository.parent if repository.name == _GIT else repository


def _pointed(file: Path, word: str = "") -> Path | None:
    """Where a file of Git's points to, after a word."""
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        text = os.fsdecode(opened.read(_LONGEST))
    path = text.removeprefix(word).strip("\r\n")
    if not text.startswith(word) or not path or "\0" in path:
        return None
    target = file.parent / path
    return target.parent.resolve() / target.name
