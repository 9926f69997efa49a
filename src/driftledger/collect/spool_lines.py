"""What a spool's ``calls.jsonl`` holds, line by line, and how it is read.

A spool comes from another machine, and may come from a stranger: each line is checked as it is read. A call's key is
worked out from what it is made of, so that no line passes for another call than it tells of.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

from driftledger.collect.call_key import CallKey
from driftledger.collect.call_result import Context, Cost, Result
from driftledger.collect.objects import object_path
from driftledger.core.canonical import canonical_json, sha256_bytes, sha256_of
from driftledger.core.errors import StoreError
from driftledger.core.escaping import for_line
from driftledger.core.files import Record, parse_json
from driftledger.core.limits import LARGEST_IMAGE, LARGEST_JSON, MOST_PIXELS
from driftledger.core.types import ImageFile, Outcome

LINES = "calls.jsonl"
_BEGINS_CALL, _BEGINS_ATTEMPTS = b'{"call":"', b'{"attempts":'
_IS_CALL = re.compile(_BEGINS_CALL + rb'([0-9a-f]{64})"')
_PNG = b"\x89PNG\r\n\x1a\n"
_MOST = 2**53

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Count = Annotated[int, Field(ge=0, le=_MOST, strict=True)]
Paid = Annotated[FiniteFloat, Field(ge=0)]
_Name = Annotated[str, StringConstraints(max_length=300)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SpoolHead(Record):
    """The first line: which shard wrote the spool."""

    spool: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]
    """A random name, by which a merge knows it again wherever it is moved to."""
    shard: Count
    of: Annotated[int, Field(ge=1, le=_MOST, strict=True)]


class _Parts(_Part):
    """As :meth:`CallKey.parts`."""

    component: dict[str, Any]
    role: _Name
    input: Any
    images: list[Sha256]
    seed: int | None


class _Reading(_Part):
    tokens: Count
    read: Count


class _Row(_Part):
    """As :meth:`Result.to_row`."""

    outcome: Outcome
    image: Sha256 | None
    reading: _Reading | None
    text: str | None = None
    served_model: str | None = None
    revised_prompt: str | None = None
    error: str | None = None
    system_fingerprint: str | None = None
    note: str | None = None


class _Cost(_Part):
    """As :class:`Cost`."""

    seconds: Paid
    input_tokens: Count | None
    output_tokens: Count | None
    cost: Paid | None
    attempts: Count


class SpooledCall(Record):
    """A finished call. Its key comes first in the line, so that an index need not read the rest."""

    call: Sha256
    cost: _Cost
    dataset: _Name
    fingerprint: Sha256
    parts: _Parts
    result: _Row
    sample: _Name
    t: Count

    @property
    def key(self) -> CallKey:
        parts = self.parts
        return CallKey(
            self.fingerprint, parts.role, parts.input, tuple(parts.images), parts.seed, component=parts.component
        )

    @property
    def context(self) -> Context:
        return Context(self.dataset, self.sample, self.t)

    @property
    def took(self) -> Cost:
        return Cost(**self.cost.model_dump())

    def gave(self, image: ImageFile | None) -> Result:
        """The result, given the image that has the row's hash."""
        return Result.from_row(self.result.model_dump(), image)


class SpooledAttempts(Record):
    """What became of attempts at a service: noted before each one is made, and once more when it is known what it cost.

    The sum over all lines is what the shard has spent, at the most."""

    attempts: Annotated[int, Field(ge=-1, le=1, strict=True)]
    """1 before it is made, 0 after it, -1 where it was not made after all."""
    component: Sha256
    cost: FiniteFloat
    """What it may cost at the most; afterwards, how much more or less it was."""


SpoolLine: TypeAlias = SpoolHead | SpooledCall | SpooledAttempts


class Placed(NamedTuple):
    """A line, and where the next one begins."""

    line: bytes
    end: int


def line_of(record: SpoolLine) -> bytes:
    """A record as it stands in the file, with its line end."""
    return canonical_json(record.to_dict()).encode() + b"\n"


def whole_lines(file: BinaryIO, start: int, where: str) -> Iterator[Placed]:
    """The lines from ``start`` on. One without an end is still being written, or was never finished: it is no line.

    Raises:
        StoreError: a line is longer than any that is written.
    """
    file.seek(start)
    most = 2 * LARGEST_JSON
    while (line := file.readline(most)).endswith(b"\n"):
        start += len(line)
        yield Placed(line[:-1], start)
    if len(line) == most:
        raise StoreError(f"{where} is no spool: its line at byte {start} has more than {most:,} bytes")


def key_in(line: bytes) -> bytes | None:
    """The key of a finished call as its line begins with it, unchecked; None for any other line."""
    found = _IS_CALL.match(line)
    return bytes.fromhex(found[1].decode()) if found else None


def parse_line(line: bytes, where: str) -> SpoolLine:
    """What a line says.

    Raises:
        StoreError: it is not as a shard writes it.
    """
    kind: type[SpoolLine] = (
        SpooledCall if key_in(line) else SpooledAttempts if line.startswith(b'{"attempts":') else SpoolHead
    )
    found = parse_json(line, kind, where)
    if isinstance(found, SpooledCall):
        _check(found, where)
    return found


def _check(call: SpooledCall, where: str) -> None:
    wrong = None
    if call.key.digest != call.call:
        wrong = "its key is not the digest of its parts"
    elif sha256_of(call.parts.component) != call.fingerprint:
        wrong = "its fingerprint is not that of its component"
    elif call.result.outcome is Outcome.FAILED:
        wrong = "it failed, and failures are not kept"
    else:
        try:
            canonical_json(call.to_dict()).encode()
        except UnicodeEncodeError:
            wrong = "it holds half a character"
    if wrong is not None:
        raise StoreError(f"{where} is no finished call: {wrong}")


def read_head(folder: Path) -> SpoolHead | None:
    """Whose spool a folder is; None where the shard was ended before it said so, and thus before it made anything.

    Raises:
        StoreError: it is none.
    """
    path = folder / LINES
    try:
        if not path.is_file():
            raise StoreError(f"{for_line(str(folder))} is no spool: it has no file {LINES}")
        with path.open("rb") as file:
            first = next(whole_lines(file, 0, str(path)), None)
    except OSError as error:
        raise StoreError(f"the spool {for_line(str(folder))} cannot be read ({error.strerror})") from None
    return None if first is None else parse_json(first.line, SpoolHead, f"{path}, line 1")


def read_image(folder: Path, digest: str) -> bytes:
    """The bytes of an image.

    Raises:
        StoreError: it is missing, or is not what its name says, or too large to be looked at.
    """
    path = object_path(folder, digest)
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_IMAGE:
            raise StoreError(f"the image {for_line(str(path))} is missing, no file or too large")
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"the image {for_line(str(path))} cannot be read ({error.strerror})") from None
    if sha256_bytes(data) != digest or not _is_png(data):
        raise StoreError(f"the image {for_line(str(path))} is damaged: its bytes are not what its name says")
    return data


def _is_png(data: bytes) -> bool:
    """Whether it begins as a PNG of no more pixels than are read."""
    wide, high = (int.from_bytes(data[start : start + 4], "big") for start in (16, 20))
    return data.startswith(_PNG) and 0 < wide * high <= MOST_PIXELS
