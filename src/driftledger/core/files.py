"""Files: records as JSON and JSON lines, read strictly and written whole or not at all; YAML; folders made once.

What others made is bounded here, since a file of a few kilobytes must not take gigabytes.
"""

import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from threading import get_ident
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from driftledger.core.canonical import canonical_json, pretty_json, sha256_file, sha256_of
from driftledger.core.errors import StoreError
from driftledger.core.strict import explain

LARGEST_FILE = 2**30
"""Bytes of a file of records, which is read whole: a record has about 1 kB."""
LARGEST_TEXT = 2**28
"""Bytes of a table that a user gives, or of DVC's list of a folder's files."""
LARGEST_JSON = 2**24
"""Bytes of one JSON value: a line of records, a score. The longest are answers, of some 100 kB."""
LARGEST_YAML = 2**22
"""Bytes of settings or of a lock. DVC itself takes half a minute a stage over a lock of this size."""
DEEPEST = 64
"""Levels of YAML. Ours has eight; parsers give up, or crash, at some thousand."""
MOST_VALUES = 2**20
"""Values in a YAML file, each counted as often as aliases repeat it."""

INPUTS = "inputs.json"
"""In a folder that a stage makes: from what, and which files it then had."""


class Record(BaseModel):
    """One line or one file of the ledger. ``schema`` is its format's number, checked when it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="constants")

    SCHEMA: ClassVar[int] = 2
    schema_: int = Field(default=2, alias="schema", ge=2, le=2)

    def to_dict(self) -> dict[str, Any]:
        """Return it JSON-ready, with file names for field names."""
        return self.model_dump(mode="json", by_alias=True)


R = TypeVar("R", bound=Record)


def write_json(path: Path, value: Record | dict[str, Any]) -> None:
    """Write a JSON file in one step."""
    write_text(path, pretty_json(value.to_dict() if isinstance(value, Record) else value))


def write_jsonl(path: Path, rows: Iterable[Record]) -> None:
    """Write one canonical JSON object per line, in one step."""
    write_text(path, "".join(f"{canonical_json(row.to_dict())}\n" for row in rows))


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file in one step."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file in one step: a reader sees the old bytes or the new ones.

    Args:
        durable: others may write the same bytes at the same time, and a power cut leaves all of them or no file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}{f'.{os.getpid()}.{get_ident()}' if durable else ''}.partial")
    partial.unlink(missing_ok=True)
    try:
        with partial.open("xb") as file:  # which follows no link that a stranger may have put there
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        partial.replace(path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:  # no room: say for which file
            error.filename = str(path)
        raise


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Make a folder that appears at ``target`` when the block ends well, and not at all otherwise."""
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
    """Remove a file or folder if there is one: of a link only the link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def read_json(path: Path, kind: type[R]) -> R:
    """Read a file that :func:`write_json` wrote.

    Raises:
        StoreError: it is missing, or is not a ``kind`` of a schema known here.
    """
    return parse_json(read_bytes(path), kind, str(path))


def read_jsonl(path: Path, kind: type[R], name: str | None = None) -> list[R]:
    """Read a file that :func:`write_jsonl` wrote; errors as in :func:`read_json`, and by its ``name`` if it has one."""
    lines = read_bytes(path).removesuffix(b"\n").split(b"\n")  # not splitlines: a text may hold other line breaks
    if lines == [b""]:
        return []
    return [parse_json(line, kind, f"{name or path}, line {number}") for number, line in enumerate(lines, 1)]


def read_bytes(path: Path) -> bytes:
    """Read a file of the ledger.

    Raises:
        StoreError: it is missing, too large, or something else, such as a link to a device.
    """
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise StoreError(f"{path} is missing; run 'dvc pull' to fetch it, or 'dvc repro' to make it") from None
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST_FILE:
        raise StoreError(
            f"{path} is not a file, or has more than {LARGEST_FILE >> 20} MiB; run 'dvc repro' to make it again"
        )
    return path.read_bytes()


def parse_json(data: bytes, kind: type[R], where: str) -> R:
    """Read a record from bytes, which errors call ``where``; errors as in :func:`read_json`."""
    unfit = f"{where} is not a {kind.__name__} of schema {kind.SCHEMA}"
    try:
        return kind.model_validate(load_json(data))
    except ValidationError as error:
        raise StoreError(explain(error, unfit)) from None
    except ValueError as error:
        raise StoreError(f"{unfit}: {error}") from None


def load_json(data: bytes, most: int = LARGEST_JSON) -> Any:
    """Read JSON of at most ``most`` bytes.

    Raises:
        ValueError: it is larger, too deep for the parser, not UTF-8, not JSON, or holds an infinity or NaN.
    """
    if len(data) > most:
        raise ValueError(f"it has {len(data):,} bytes, and up to {most:,} are read")
    try:
        return json.loads(data.decode(), parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text:.40} is not a finite number")
    return value


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # in C where it can be
    """Reads YAML in which no mapping has a key twice."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        lines = dict[str, int]()
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if isinstance(key, yaml.ScalarNode) and key.value != "<<" and lines.setdefault(key.value, line) != line:
                raise _refused(f"{key.value!r:.80} stands twice, in lines {lines[key.value]} and {line}")
        return super().construct_mapping(node, deep)


def load_yaml(text: str | bytes, *, for_dvc: bool = False) -> Any:
    """Read YAML safely.

    Args:
        for_dvc: whether DVC reads it too: its parser takes no colon in an unquoted text inside braces.

    Raises:
        yaml.YAMLError: it is not YAML, has a key twice, or more bytes, levels or values than the bounds above.
        ValueError: it holds a value that cannot be one, such as the 30th of February.
    """
    if len(text) > LARGEST_YAML:
        raise _refused(f"it has {len(text):,} characters, and up to {LARGEST_YAML:,} are read")
    # Before anything is built: an alias is a few bytes and repeats all that its anchor holds, other aliases included.
    sizes, opened, values = dict[str, int](), list[tuple[yaml.CollectionStartEvent, int]](), 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.CollectionEndEvent):
            start, before = opened.pop()
            sizes[str(start.anchor)] = values - before
        elif isinstance(event, yaml.AliasEvent):
            values += sizes.get(str(event.anchor), MOST_VALUES)  # one inside of what it repeats has no end
        elif isinstance(event, yaml.ScalarEvent):
            sizes[str(event.anchor)] = 1
            values += 1
            if for_dvc and opened and opened[-1][0].flow_style and not event.style and ":" in event.value:
                raise _refused(f"{event.value!r:.80} has a colon inside braces; put it into quotes", event)
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event, values))
            values += 1
        if len(opened) > DEEPEST:
            raise _refused(f"it is nested deeper than {DEEPEST} levels", event)
        if values > MOST_VALUES:
            raise _refused(f"it holds more than {MOST_VALUES:,} values, those that aliases repeat among them", event)
    return yaml.load(text, _Loader)


def _refused(what: str, event: Any = None) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=event and event.start_mark)


class Made(Record):
    """``inputs.json`` of a folder: one stage writes many, and makes again only those with changed inputs."""

    inputs: str
    """SHA-256 of everything that shaped the folder."""
    files: str
    """SHA-256 of the names and hashes of its other files."""
    failed: int = Field(default=0, ge=0)
    """How much in it was ended by a failed call, which the next run tries again."""

    def to_dict(self) -> dict[str, Any]:
        return {"schema": self.schema_, **self.model_dump(mode="json", exclude_defaults=True)}


def files_digest(folder: Path) -> str:
    """Hex SHA-256 of the names and contents of all files below ``folder``, without its ``inputs.json``."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / INPUTS)
    return sha256_of({path.relative_to(folder).as_posix(): sha256_file(path) for path in paths})


def made_from(folder: Path) -> Made | None:
    """Read a folder's ``inputs.json``; None if it is missing or damaged."""
    try:
        return read_json(folder / INPUTS, Made)
    except StoreError:
        return None


def make(folder: Path, inputs: str, write: Callable[[], int | None]) -> None:
    """Call ``write`` to make ``folder``, unless it was made from these inputs and its files are unchanged.

    Args:
        write: returns how much was ended by a failed call; such a folder is made again each time.
    """
    mark = made_from(folder)
    if mark is None or mark.failed or mark.inputs != inputs or mark.files != files_digest(folder):
        failed = write() or 0
        write_json(folder / INPUTS, Made(inputs=inputs, files=files_digest(folder), failed=failed))


def keep_only(top: Path, folders: Collection[Path]) -> None:
    """Remove everything below ``top`` that is not in one of these folders."""
    wanted = {above for folder in folders for above in folder.parents}
    for path in list(top.iterdir()) if top.is_dir() else []:
        if path in wanted and path not in folders:
            keep_only(path, folders)
        elif path not in folders:
            _remove(path)
