"""Folders that are made again only when what they are made from has changed.

A stage of DVC writes many of them. Each keeps, beside its files, a digest of its inputs and one of its files, so that a
stage that runs again makes only what is new.
"""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import StoreError
from driftledger.core.files import Record, read_json, write_json

INPUTS = "inputs.json"


class Made(Record):
    """``inputs.json`` of a folder."""

    inputs: str
    """SHA-256 of everything that shaped the folder."""
    files: str
    """SHA-256 of the names and hashes of its other files."""


def files_digest(folder: Path) -> str:
    """Hex SHA-256 of the names and contents of all files below ``folder``, without its ``inputs.json``."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / INPUTS)
    return sha256_of({path.relative_to(folder).as_posix(): sha256_file(path) for path in paths})


def made_from(folder: Path) -> Made | None:
    """What a folder says that it was made from; None where it does not say."""
    try:
        return read_json(folder / INPUTS, Made)
    except StoreError:
        return None


def is_made(folder: Path, inputs: str, *, look_into_files: bool = True) -> bool:
    """Whether ``folder`` was made from these inputs and, if they are looked into, has its files unchanged."""
    made = made_from(folder)
    if made is None or made.inputs != inputs:
        return False
    return not look_into_files or made.files == files_digest(folder)


def make(folder: Path, inputs: str, write: Callable[[], object]) -> bool:
    """Have ``write`` make ``folder``, unless it is made already; whether it was called."""
    if is_made(folder, inputs):
        return False
    write()
    write_json(folder / INPUTS, Made(inputs=inputs, files=files_digest(folder)))
    return True


def keep_only(top: Path, folders: Collection[Path]) -> None:
    """Remove everything below ``top`` that is not in one of these folders."""
    wanted = {above for folder in folders for above in folder.parents}
    for path in list(top.iterdir()) if top.is_dir() else []:
        if path in folders:
            continue
        if path in wanted:
            keep_only(path, folders)
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
