"""Links that lead out of a folder; the main checkout's shared state."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from driftledger.core.canonical import md5_file, open_regular
from driftledger.core.errors import DriftledgerError

STATE = ".driftledger"
"""Below a checkout: locks and finished calls, disposable, outside Git and DVC."""
_LONGEST_PATH = 2**14
"""Bytes of a file that holds one path."""
_COPIES = (".dvc", "tmp", "exps")

Keys: TypeAlias = Mapping[str, str]
"""Names that make up a folder of a stage, by kind: ``dataset``, ``model`` and the like."""


def leads_out(path: Path, folder: Path) -> bool:
    """Return True if links lead from ``path`` to a place outside of ``folder``.

    An object in a cache of DVC (``cache.type symlink``), which is named by its MD5, counts as
    inside.
    """
    try:
        real = Path(os.path.realpath(path))
    except ValueError:  # with a NUL, it is no path at all
        return True
    if real.is_relative_to(os.path.realpath(folder)):
        return False
    parts = real.parts[-4:]
    return (
        parts[:2] != ("files", "md5")
        or not real.is_file()
        or md5_file(real) != "".join(parts[2:])
    )


def walk(
    top: Path,
    error: type[DriftledgerError],
    *,
    onerror: Callable[[OSError], object] | None = None,
    twice: bool = False,
) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Yield each folder at and below ``top``, with its folders and files, unhidden.

    The caller may take names out of the list of folders. Links are followed.

    Args:
        error: the type of error to raise.
        onerror: is called with the error of a folder that cannot be read and is left out.
        twice: allow links that lead to a folder in several ways; none may lead to a folder above
            itself.

    Raises:
        DriftledgerError: a link leads to a folder that is read already.
    """
    reals = dict[Path, Path]()
    seen = set[Path | None]()
    for name, folders, files in os.walk(top, onerror=onerror, followlinks=True):
        folder = Path(name)
        real = folder.resolve()
        before = {reals.get(above) for above in folder.parents} if twice else seen
        if real in before:
            raise error(
                f"{folder} is a link to a folder that is read already; remove it"
            )
        seen.add(real)
        reals[folder] = real
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield folder, folders, [name for name in files if not name.startswith(".")]


def main_checkout(root: Path) -> Path:
    """Return the folder that ``root`` is in the main checkout of its repository.

    Of a bare repository, it is that repository.

    ``git worktree add`` makes further checkouts, and ``dvc exp run --temp`` runs in copies below
    ``.dvc/tmp``; each would begin with an empty store and pay for every call again. Files alone are
    read, without starting Git.
    """
    here = root.resolve()
    copies = next(
        (folder for folder in here.parents if folder.parts[-3:] == _COPIES), None
    )
    if copies and (top := top_of(here)) and (main := top_of(copies.parents[2])):
        here = main / here.relative_to(top)
    # a further checkout's names its place in the repository
    if (top := top_of(here)) and (top / ".git").is_file():
        with open_regular(top / ".git") as file:
            named = os.fsdecode(file.read(_LONGEST_PATH))
        entry = top / named.removeprefix("gitdir: ").strip("\r\n")
        if entry.parent.name == "worktrees" and entry.is_dir():
            repository = entry.parent.parent.resolve()
            main = repository.parent if repository.name == ".git" else repository
            here = main / here.relative_to(top)
    return root if here == root.resolve() else here


def checkouts(root: Path) -> list[Path]:
    """Return ``root`` in each checkout of its repository, the main one first."""
    main = main_checkout(root).resolve()
    top = top_of(main)
    if top is None:
        return [main]
    folders = [main]
    for entry in top.glob(".git/worktrees/*/gitdir"):
        with suppress(OSError), open_regular(entry) as file:
            named = Path(os.fsdecode(file.read(_LONGEST_PATH)).strip())
            folders.append(named.parent / main.relative_to(top))
    return folders


def project_above(folder: Path) -> Path:
    """Return the nearest folder above with ``params.yaml``; else the folder itself.

    The search ends at the top of the repository.

    Like Git, pass by what belongs to somebody else: settings name code that is run.
    """
    for place in (folder, *folder.parents):
        if (
            place / "params.yaml"
        ).is_file() and place.stat().st_uid == folder.stat().st_uid:
            return place
        if (place / ".git").exists():
            break
    return folder


def top_of(folder: Path) -> Path | None:
    """Return the top folder of a checkout."""
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place
    return None
