"""Files read strictly and bounded, and written whole or not at all.

They are read strictly, and written whole or not at all.

Files of others are read within bounds, since a few kilobytes must not take gigabytes.
"""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from math import isfinite
from pathlib import Path
from threading import get_ident
from typing import Any, BinaryIO, ClassVar, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    Event,
    ScalarEvent,
)

from driftledger.core.canonical import (
    Json,
    canonical_json,
    open_regular,
    pretty_json,
)
from driftledger.core.errors import (
    DriftledgerError,
    EarlierFormatError,
    StoreError,
)
from driftledger.core.paths import leads_out
from driftledger.core.strict import explain
from driftledger.core.text import shortened

LARGEST_FILE = 2**30
"""Bytes of a file that is read whole; files of records are read line by line."""
LARGEST_TEXT = 2**28
"""Bytes of a table that a user gives, or of DVC's list of a folder's files."""
LARGEST_JSON = 2**24
"""Bytes of one JSON value: a line of records, a score. The longest are answers, of some 100 kB."""
LARGEST_YAML = 2**22
"""Bytes of settings or of a lock. DVC itself takes half a minute a stage over a lock of this size.
"""
DEEPEST = 64
"""Levels of YAML or JSON. Ours has eight; parsers give up, or crash, at some thousand."""
MOST_VALUES = 2**20
"""Values in one YAML file or JSON value. In YAML, a text counts once more for every 64 characters,
and an alias counts as everything before it."""
MANY_VALUES = 2**24
"""Values in a file of :data:`LARGEST_TEXT`, such as DVC's list of four million files."""
LONGEST_NUMBER = 100
"""Characters of a number: Python computes with any number of digits, and fails to write more than
4,300."""


class Record(BaseModel):
    """One line or one file of the ledger. ``schema`` is its format's number, checked when it is
    read."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, ser_json_inf_nan="constants"
    )

    SCHEMA: ClassVar[int] = 2
    EARLIER: ClassVar[str] = ""
    """What to do about a file of an earlier schema; empty if there was none."""
    schema_: int = Field(default=2, alias="schema", ge=2, le=2)

    def to_dict(self) -> Json:
        """Return the record as JSON, with the names of fields in the file."""
        return self.model_dump(mode="json", by_alias=True)


class SparseRecord(Record):
    """A record that leaves out fields with their default values."""

    def to_dict(self) -> Json:
        """Return it JSON-ready, with file names for field names."""
        values = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return {"schema": self.schema_, **values}


R = TypeVar("R", bound=Record)
Files: TypeAlias = Mapping[str, bytes | None]
"""Path below a folder → its bytes; None keeps the file that is there."""


def write_json(path: Path, value: Record | Json) -> None:
    """Write a JSON file in one step."""
    content = value.to_dict() if isinstance(value, Record) else value
    write_text(path, pretty_json(content))


def write_jsonl(path: Path, rows: Iterable[Record]) -> None:
    """Write one canonical JSON object per line, in one step and with one in memory."""
    with _written(path) as file:
        for row in rows:
            file.write(f"{canonical_json(row.to_dict())}\n".encode())


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file in one step."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write a file in one step: a reader sees the old bytes or the new ones.

    Args:
        durable: others may write the same bytes at the same time, and a power cut leaves all of
            them, with their name, or no file.
    """
    with _written(path, durable=durable) as file:
        file.write(data)


@contextmanager
def _written(path: Path, *, durable: bool = False) -> Iterator[BinaryIO]:
    """Open a file to be written in one step, as :func:`write_bytes` does."""
    try:
        # which follows no link
        with _replacing(path, shared=durable) as partial, partial.open("xb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
    except OSError as error:
        # where there is no room, Python does not say for which file
        error.filename = error.filename or str(path)
        raise
    if durable:
        for folder in path.parents[:2]:  # either may be new
            _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where its file system can."""
    with suppress(OSError):  # SQLite, too, goes on where a folder cannot be synced
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def write_folder(folder: Path, files: Files, within: Iterable[str] = ("",)) -> None:
    """Write the files with other bytes, and remove all that are not named.

    Args:
        within: where others are removed, and links to folders.
    """
    for name in within:
        unlink_folders(folder / name)
    for name, data in files.items():
        path = folder / name
        if data is not None and not (path.is_file() and read_regular(path) == data):
            write_bytes(path, data)
    paths = {folder / name for name in files}
    for name in within:
        keep_only(folder / name, paths)


def unlink_folders(top: Path) -> None:
    """Remove links to folders at and below ``top``, since they lead to what is not ours."""
    if top.is_symlink():
        top.unlink()
    for above, names, _ in os.walk(top):
        for name in names:
            folder = Path(above, name)
            if folder.is_symlink():
                folder.unlink()


def link_file(source: Path, target: Path) -> None:
    """Give a file a second name: a read-only hard link, or else a copy."""
    with _replacing(target, shared=True) as partial:
        try:
            if source.is_symlink():  # to what is not ours
                raise OSError
            source.chmod(0o444)
            os.link(source, partial)
        except OSError:
            shutil.copyfile(source, partial)


def free_space(folder: Path) -> int:
    """Return the free bytes of the disk that a folder is on, or would be."""
    while not folder.is_dir():
        folder = folder.parent
    return shutil.disk_usage(folder).free


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Make a folder that appears at ``target`` only if the block ends well."""
    with _replacing(target) as partial:
        partial.mkdir()
        yield partial
        _remove(target)


@contextmanager
def _replacing(target: Path, *, shared: bool = False) -> Iterator[Path]:
    """Yield a temporary path, which becomes ``target`` if the block ends well.

    It is ``shared`` if others may make the same file at the same time.
    """
    suffix = f".{os.getpid()}.{get_ident()}" if shared else ""
    partial = target.with_name(f"{target.name}{suffix}.partial")
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove(partial)
    try:
        yield partial
        partial.replace(target)
    finally:
        _remove(partial)  # which also stays where both names are of the same file


def _remove(path: Path) -> None:
    """Remove a file or folder, if there is one; of a link, only the link."""
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
    """Read a file that :func:`write_jsonl` wrote.

    Errors are those of :func:`read_json`; they use ``name`` for the file if there is one.
    """
    return [*stream_jsonl(path, kind, name)]


def stream_jsonl(
    path: Path, kind: type[R], name: str | None = None, start: int = 0
) -> Iterator[R]:
    """Yield the rows of a file of any size, one at a time; errors as in :func:`read_jsonl`.

    Args:
        start: the first byte of the first line to read.
    """
    with reading(path), open_regular(path) as file:
        file.seek(start)
        number = 0
        # a longer line is refused by its first part
        while line := file.readline(2 * LARGEST_JSON):
            number += 1
            where = f"{name or path}, line {number}"
            yield parse_json(line.removesuffix(b"\n"), kind, where)


def read_bytes(path: Path) -> bytes:
    """Read a file of the ledger.

    Raises:
        StoreError: it is missing, too large, or something else, such as a link to a device.
    """
    with reading(path):
        return read_regular(path)


def conflict_in(text: str) -> int | None:
    """Return the number of the line that begins the conflict of a merge, if one does."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("<<<<<<< "):
            return number
    return None


@contextmanager
def reading(
    path: Path,
    kind: type[DriftledgerError] = StoreError,
    missing: str = "run 'dvc pull' to fetch it, or 'dvc repro' to make it",
    unread: str = " ({}); run 'dvc repro' to make it again",
) -> Iterator[None]:
    """Turn errors of reading a file into a sentence that says what to do.

    Errors are those of :func:`read_bytes`.

    Args:
        kind: of the error.
        missing: what to do if there is no such file.
        unread: the end of the sentence about another error, with a place for the reason.
    """
    try:
        yield
    except FileNotFoundError:
        raise kind(f"{path} is missing; {missing}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise kind(f"{path} cannot be read{unread.format(reason)}") from None


def read_regular(
    path: Path, most: int = LARGEST_FILE, *, within: Path | None = None
) -> bytes:
    """Read an untrusted file in bounded time and memory.

    Args:
        most: the most bytes.
        within: the folder that no link may lead out of.

    Raises:
        OSError: it is missing, cannot be read, or is a folder, a pipe or a device.
        ValueError: it is larger, or a link out of the folder.
    """
    if within is not None and leads_out(path, within):
        raise ValueError(f"a link out of {within}")
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise ValueError(f"more than {most >> 20:,} MiB")
        return file.read(size)  # of so many bytes, room is made at once


_leaves_out_unknown = ContextVar("leaves_out_unknown", default=False)


@contextmanager
def known_fields_alone() -> Iterator[None]:
    """Leave out fields of records that only a later version knows."""
    before = _leaves_out_unknown.set(True)
    try:
        yield
    finally:
        _leaves_out_unknown.reset(before)


def parse_json(data: bytes, kind: type[R], where: str) -> R:
    """Read a record from bytes, which errors call ``where``; errors as in :func:`read_json`."""
    unfit = f"{where} is not a {kind.__name__} of schema {kind.SCHEMA}"
    extra: Literal["ignore"] | None = "ignore" if _leaves_out_unknown.get() else None
    try:
        content = load_json(data)
        schema = content.get("schema") if isinstance(content, dict) else None
        if kind.EARLIER and isinstance(schema, int) and schema < kind.SCHEMA:
            written = f"was written by an earlier driftledger as schema {schema}"
            raise EarlierFormatError(f"{where} {written}; {kind.EARLIER}")
        return kind.model_validate(content, extra=extra)
    except ValidationError as error:
        raise StoreError(explain(error, unfit)) from None
    except ValueError as error:
        raise StoreError(f"{unfit}: {error}") from None


def load_json(
    data: bytes,
    most: int = LARGEST_JSON,
    *,
    values: int = MOST_VALUES,
    finite: bool = True,
    strict: bool = True,
) -> Any:
    """Read untrusted JSON.

    Args:
        most: the most bytes.
        values: the most commas and brackets, also within texts; an object in memory takes up to 30
            times its bytes.
        finite: refuse NaN and infinities, which pandas writes.
        strict: refuse these and other slips. Otherwise the last of equal keys counts, half of a
            surrogate pair becomes U+FFFD, and texts may hold control characters.

    Raises:
        ValueError: it is larger than that or nested deeper than :data:`DEEPEST`, it is not JSON in
            UTF-8, or it holds a key twice, half of a surrogate pair or a number that is not finite
            or has too many digits.
    """
    if len(data) > most:
        raise ValueError(f"it has {len(data):,} bytes, and up to {most:,} are read")
    # in 2.7 MB of base64, which holds none, 0.1 ms each; count() takes 1.5
    plain = data.replace(b"[", b"").replace(b"{", b"")
    if len(data) - len(plain.replace(b",", b"")) > values:
        raise ValueError(f"it holds more than {values:,} values")
    decoder = _LENIENT
    if strict:
        decoder = _FINITE if finite else _ANY_NUMBER
    text = data.decode("utf-8" if strict else "utf-8-sig")
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if len(data) - len(plain) > DEEPEST and _levels(text) > DEEPEST:
        raise ValueError("it is nested too deep")
    if b"\\ud" in data or b"\\uD" in data:
        written = json.dumps(value, ensure_ascii=False)
        if _HALF_A_PAIR.search(written):
            if strict:
                raise ValueError(
                    "it holds half of a surrogate pair, which is not a character"
                )
            value = json.loads(_HALF_A_PAIR.sub("\ufffd", written))
    return value


def _levels(text: str) -> int:
    """Count how deep the brackets of a JSON text are nested, outside of strings."""
    deepest = 0
    level = 0
    for token in _BRACKET.finditer(text):
        if token[0] in "[{":
            level += 1
            deepest = max(deepest, level)
        elif token[0] in "]}":
            level -= 1
    return deepest


def _each_once(pairs: list[tuple[str, Any]]) -> Json:
    """Make an object of pairs, and refuse a key that comes twice."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = Counter(name for name, _ in pairs)
        [(name, _)] = names.most_common(1)
        raise ValueError(f"it has the key {name!r:.80} twice")
    return value


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(
            f"{text:.20}… has {len(text):,} digits, and up to {LONGEST_NUMBER} are read"
        )
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text:.40} is not a finite number")
    return value


_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
"""A string, which may hold brackets, or a bracket."""
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_LENIENT = json.JSONDecoder(strict=False, parse_int=_whole)
_ANY_NUMBER = json.JSONDecoder(object_pairs_hook=_each_once, parse_int=_whole)
_FINITE = json.JSONDecoder(
    object_pairs_hook=_each_once,
    parse_int=_whole,
    parse_float=_finite,
    parse_constant=_finite,
)

_NUMBER = re.compile(r"[-+.]?\d[\w.:+-]*")
_REMEDIES = {
    "found unexpected ':'": (
        "put a value with a colon, such as an address, into a line of its own, or into quotes, "
        "which 'dvc exp run -S' drops"
    ),
    "cannot start any token": (
        "indent with blanks, not tabs, and put a value that begins with @, % or ` into quotes"
    ),
    "mapping values are not allowed": (
        "put a text with a colon into quotes, and a key into a line of its own"
    ),
    "did not find expected": "close every bracket and quote, and indent each section evenly",
}
"""Part of a parser's message → what to do about it."""


def load_yaml(text: str | bytes) -> Any:
    """Read YAML safely, by the parser that DVC uses.

    That is YAML 1.2, in which ``yes`` is a text and ``010`` is 10.

    Raises:
        ValueError: it is not YAML, has a key twice, or more bytes, levels or values
            than the bounds above; the sentence begins with line and column where there are some.
    """
    if len(text) > LARGEST_YAML:
        raise ValueError(
            f"it has {len(text):,} characters, and up to {LARGEST_YAML:,} are read"
        )
    if isinstance(text, bytes):
        text = text.decode()
    if line := conflict_in(text):
        raise ValueError(
            f"line {line} begins a conflict of a merge; keep one of its sides"
        )
    parser = YAML(typ="safe")
    try:
        _check_events(parser.parse(text))  # before anything is built
        return parser.load(text)
    except (AttributeError, IndexError, KeyError, TypeError):  # of constructors
        raise ValueError("a value does not fit its tag, such as !!int") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error)
    sentence = shortened(
        problem.partition(" with value ")[0]
    )  # of a key that stands twice
    if mark:
        sentence = f"line {mark.line + 1}, column {mark.column + 1}: {sentence}"
    for part, remedy in _REMEDIES.items():
        if part in problem:
            raise ValueError(f"{sentence}; {remedy}")
    raise ValueError(sentence)


def _check_events(events: Iterable[Event]) -> None:
    """Refuse more levels, values or digits than are read.

    An alias is a few bytes and may repeat everything before it, so it counts as that much. An alias
    inside its own anchor would repeat itself, and is refused.

    Raises:
        MarkedYAMLError: it names the place.
    """
    anchors = list[str | None]()
    values = 0
    repeated = 0
    for event in events:
        problem = ""
        if isinstance(event, AliasEvent):
            repeated += values
            if any(anchors):
                problem = "an alias is inside its own anchor; write out what it repeats"
        elif isinstance(event, CollectionEndEvent):
            anchors.pop()
        elif isinstance(event, CollectionStartEvent):
            anchors.append(event.anchor)
            values += 1
        elif isinstance(event, ScalarEvent):
            values += 1 + len(event.value) // 64
            if len(event.value) > LONGEST_NUMBER and _is_number(event):
                problem = (
                    f"{event.value:.20}… has {len(event.value):,} digits, and up to "
                )
                problem += f"{LONGEST_NUMBER} are read"
        if len(anchors) > DEEPEST:
            problem = f"it is nested deeper than {DEEPEST} levels"
        elif values + repeated > MOST_VALUES:
            problem = (
                f"it holds more than {MOST_VALUES:,} values, those that aliases repeat "
                "among them"
            )
        if problem:
            raise MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


def _is_number(scalar: ScalarEvent) -> bool:
    """Return whether a scalar is read as a number, by its form or by its tag."""
    if (scalar.tag or "").endswith((":int", ":float")):
        return True
    return not scalar.style and _NUMBER.fullmatch(scalar.value) is not None


def keep_only(top: Path, folders: Collection[Path]) -> None:
    """Remove everything below ``top`` that is not in one of these folders."""
    wanted = {*folders}
    above = {above for folder in folders for above in folder.parents}
    waiting = [top]
    while waiting:
        place = waiting.pop()
        if not place.is_dir():
            continue
        for path in list(place.iterdir()):
            if path in wanted:
                continue
            if path in above:
                waiting.append(path)
            else:
                _remove(path)
