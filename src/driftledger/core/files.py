"""Records on disk: read strictly, and written whole or not at all."""

import errno
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import get_ident
from typing import IO, Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from driftledger.core.canonical import canonical_json, pretty_json
from driftledger.core.errors import StoreError
from driftledger.core.limits import DEEPEST, LARGEST_FILE, LARGEST_JSON, load_json
from driftledger.core.strict import explain


class Record(BaseModel):
    """One line or one file of the ledger. ``schema`` is its format's number, checked when it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="constants")

    SCHEMA: ClassVar[int] = 2
    schema_: int = Field(default=2, alias="schema", ge=2, le=2)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with file names for field names."""
        return self.model_dump(mode="json", by_alias=True)


OF_VERSION_1 = (
    "was written by driftledger 0.1, whose files this version does not read: run 'dvc repro' to make it anew, or "
    "'git checkout v0.1.0' (52463fe) for the version that reads it"
)
"""The sentence for every file of schema 1."""

R = TypeVar("R", bound=Record)

_FICLONE = 0x40049409
"""Linux's ioctl that clones a file."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a write for which there is no room; they name no file."""


def write_json(path: Path, value: Record | dict[str, Any]) -> None:
    """Write a JSON file in one step."""
    write_text(path, pretty_json(value.to_dict() if isinstance(value, Record) else value))


def write_jsonl(path: Path, rows: Iterable[Record]) -> None:
    """Write one canonical JSON object per line, in one step, each row as it comes."""
    with new_file(path) as file:
        file.writelines(f"{canonical_json(row.to_dict())}\n".encode() for row in rows)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file in one step."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes, *, shared: bool = False, synced: bool = False) -> None:
    """Write a file in one step: whoever looks sees the old bytes or the new ones.

    Args:
        shared: whether another thread or process may write the same bytes at the same time.
        synced: whether the bytes must be on the disk first, or a power cut could leave an empty file under the name.
    """
    own = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}.partial") if shared else None
    with new_file(path, own) as file:
        file.write(data)
        if synced:
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def new_file(target: Path, partial: Path | None = None) -> Iterator[IO[bytes]]:
    """A file that appears at ``target`` whole, when the block ends well, and not at all otherwise.

    Args:
        partial: where it is until then, on the same disk; else beside ``target``. What lies there is removed and never
            written through: whoever made the checkout may have put a link there.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = partial or target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    opened = partial.open("xb")  # which follows no link
    try:
        with opened as file:
            yield file
        partial.replace(target)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno in FULL and error.filename is None:
            error.filename = str(target)
        raise


def copy_file(source: Path, target: Path) -> None:
    """Write the bytes of a file as another one, which is its own: where the file system can share blocks (Btrfs, XFS,
    bcachefs), it takes no room until one of the two is written to."""
    try:
        with source.open("rb") as read, target.open("wb") as written:
            _clone(read.fileno(), written.fileno())
    except OSError:
        shutil.copyfile(source, target)


def _clone(source: int, target: int) -> None:
    """Have an empty file share the blocks of another; OSError where the system or the disk cannot."""
    if sys.platform != "linux":
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
    import fcntl

    fcntl.ioctl(target, _FICLONE, source)


def read_json(path: Path, kind: type[R]) -> R:
    """Read a file that :func:`write_json` wrote.

    Raises:
        StoreError: it is missing, or is not a ``kind`` of a schema known here.
    """
    return parse_json(read_bytes(path), kind, str(path))


def read_jsonl(path: Path, kind: type[R]) -> list[R]:
    """Read a file that :func:`write_jsonl` wrote; errors as in :func:`read_json`."""
    return parse_jsonl(read_bytes(path), kind, str(path))


def parse_jsonl(data: bytes, kind: type[R], where: str) -> list[R]:
    """What :func:`read_jsonl` finds in a file of these bytes, which errors call ``where``."""
    lines = data.removesuffix(b"\n").split(b"\n")  # not splitlines: a text may hold other line breaks
    if lines == [b""]:
        return []
    if not _may_be_infinite(data) and all(map(_is_plain, lines)):
        try:
            return [kind.model_validate_json(line) for line in lines]  # three times as fast, where all is well
        except ValidationError:
            pass
    return [parse_json(line, kind, f"{where}, line {number}") for number, line in enumerate(lines, 1)]


_TOO_LARGE = re.compile(rb"[0-9](?:[eE]\+?[0-9]{3,}\s*[,}\]]|[0-9]{299})")
"""A number that may be; all ways begin alike, which is a third of the time."""


def _may_be_infinite(data: bytes) -> bool:
    return b"NaN" in data or b"Infinity" in data or _TOO_LARGE.search(data) is not None


def _is_plain(line: bytes) -> bool:
    """Whether it is neither too long nor too deep."""
    return len(line) <= LARGEST_JSON and line.count(b"[") + line.count(b"{") <= DEEPEST


def read_bytes(path: Path) -> bytes:
    """A file of the ledger.

    Raises:
        StoreError: it is missing, too large, or something else, such as a link to a device.
    """
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise StoreError(f"{path} is missing; run 'dvc pull' to fetch it, or 'dvc repro' to make it") from None
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST_FILE:
        raise StoreError(
            f"{path} is no file, or has more than {LARGEST_FILE >> 20} MiB; run 'dvc repro' to make it anew"
        )
    return path.read_bytes()


@dataclass(frozen=True)
class ByBytes:
    """A file that equals every other of the same bytes, so that ``lru_cache`` keeps what is made of them once."""

    sha256: str
    path: Path = field(compare=False)


def by_bytes(path: Path) -> ByBytes:
    """A file by what it holds now; errors as in :func:`read_bytes`."""
    return ByBytes(sha256(read_bytes(path)).hexdigest(), path)


def parse_json(data: bytes, kind: type[R], where: str) -> R:
    """What :func:`read_json` finds in a file of these bytes, which errors call ``where``."""
    unfit = f"{where} is not a {kind.__name__} of schema {kind.SCHEMA}"
    try:
        value = load_json(data)
        if isinstance(value, dict) and value.get("schema") == 1 and kind.SCHEMA > 1:
            raise StoreError(f"{where} {OF_VERSION_1}")
        canonical_json(value)  # which refuses a number that is not finite, wherever it stands
        return kind.model_validate(value)
    except ValidationError as error:
        raise StoreError(explain(error, unfit)) from None
    except ValueError as error:
        raise StoreError(f"{unfit}: {error}") from None


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A folder that appears at ``target`` whole, when the block ends well, and not at all otherwise."""
    partial = target.with_name(target.name + ".partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove(partial)
    partial.mkdir()
    try:
        yield partial
        _remove(target)
        partial.replace(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _remove(path: Path) -> None:
    """Remove what lies there, if anything does: of a link only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
