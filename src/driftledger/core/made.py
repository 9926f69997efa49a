"""Folders that a stage makes once, and what they were made from."""

from collections.abc import Callable, Mapping
from operator import not_
from pathlib import Path

from pydantic import Field

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import StoreError
from driftledger.core.files import Record, read_json, write_json

INPUTS = "inputs.json"


class Made(Record):
    """``inputs.json`` of a folder, by which a stage makes only changed folders again."""

    inputs: str
    """SHA-256 of everything that shaped the folder."""
    files: str
    """SHA-256 of the names and hashes of its other files."""
    failed: int = Field(default=0, ge=0, exclude_if=not_)
    """How many of its units ended with a failed call, which the next run tries again."""


def files_digest(folder: Path, known: Mapping[str, str] | None = None) -> str:
    """Hash names and contents of all files below a folder, except ``inputs.json``.

    Args:
        known: name of a file → its SHA-256, for files that need not be read.
    """
    digests = {}
    for path in folder.rglob("*"):
        if path.is_file() and path != folder / INPUTS:
            name = path.relative_to(folder).as_posix()
            digest = known.get(name) if known else None
            digests[name] = digest or sha256_file(path)
    return sha256_of(digests)


def made_from(folder: Path) -> Made | None:
    """Read a folder's ``inputs.json``; None if it is missing or damaged."""
    try:
        return read_json(folder / INPUTS, Made)
    except StoreError:
        return None


def make(
    folder: Path,
    inputs: str,
    write: Callable[[], int | None],
    *,
    is_unchanged: bool = False,
    known: Mapping[str, str] | None = None,
) -> None:
    """Make a folder by ``write``, unless its inputs and its files are unchanged.

    Args:
        write: returns how many units ended with a failed call; such a folder is made again.
        is_unchanged: whether its files are known to be as they were made; else they are read.
        known: see :func:`files_digest`; ``write`` adds the files that it has hashed.
    """
    before = made_from(folder)
    if (
        before is None
        or before.failed
        or before.inputs != inputs
        or not (is_unchanged or before.files == files_digest(folder))
    ):
        failed = write() or 0
        before = Made(inputs=inputs, files=files_digest(folder, known), failed=failed)
        write_json(folder / INPUTS, before)
