"""The lines of ``ledger.jsonl``, and what can be told from them alone: no Git, no evidence, no files."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from driftledger.core.canonical import canonical_json, sha256_bytes, sha256_of
from driftledger.core.files import Record
from driftledger.ledger.findings import Finding

BEGINNING = "0" * 64
"""What the first line holds in place of a SHA-256 of the line before it."""

PLAN_LINE = b'"kind":"plan"'
"""Stands in a ledger that has a plan, and in others only as part of a name."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
_OWN = "line_sha256"
_HEAD = b'{"code":'
_CONFLICT = b"<<<<<<< "


class PublishedCode(BaseModel):
    """The commit that was checked out when the run was published, and whether the tree differed from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str | None
    dirty: bool


class _Said(Record):
    """What a line says, wherever in the chain it stands. The format of lines is the first one."""

    SCHEMA: ClassVar[int] = 1
    schema_: int = Field(default=1, alias="schema", ge=1, le=1)

    name: str
    code: PublishedCode


class Published(_Said):
    """What a line says of a run."""

    fingerprint: Sha256
    evidence_sha256: Sha256

    @property
    def key(self) -> str:
        """What there is one line of."""
        return f"fingerprint {self.fingerprint}"

    @property
    def entry(self) -> "Published":
        """Less its place in the chain."""
        return Published(**_of(self, Published))


class Noted(_Said):
    """What a line of another kind says: that there was a plan, an attempt under it, or a reproduction."""

    kind: Literal["plan", "attempt", "reproduction"]
    subject_sha256: Sha256
    """Of the payload of the plan or reproduction that stands in ``attestations/``; of what an attempt selects."""

    @property
    def key(self) -> str:
        """What there is one line of."""
        return f"{self.kind} {self.subject_sha256} of {self.name}"

    @property
    def entry(self) -> "Noted":
        """Less its place in the chain."""
        return Noted(**_of(self, Noted))


class _Placed(BaseModel):
    n: int = Field(ge=1)
    previous: Sha256
    """SHA-256 of the bytes of the line before, less its line end."""
    line_sha256: Sha256
    """SHA-256 of the canonical JSON of the rest of this line: it tells which of two neighbours was edited."""


class LogLine(Published, _Placed):
    """A line of ``ledger.jsonl`` about a run."""


class NoteLine(Noted, _Placed):
    """A line of another kind, which has its ``kind`` among its members."""


def _of(line: Record, kind: type[Record]) -> dict[str, Any]:
    return {name: getattr(line, name) for name in kind.model_fields}


def encoded(said: Published | Noted, n: int, previous: str) -> bytes:
    """The bytes of line ``n``, without a line end."""
    rest = said.to_dict() | {"n": n, "previous": previous}
    return canonical_json(rest | {_OWN: sha256_of(rest)}).encode()


def rows_of(data: bytes) -> list[bytes]:
    """The lines of a file, without their line ends."""
    return data.removesuffix(b"\n").split(b"\n") if data else []


class Chain(NamedTuple):
    """What a ledger file holds."""

    all: dict[int, LogLine | NoteLine]
    """By number, in ascending order: those that are as they were written, wherever they stand now."""
    findings: list[Finding]
    unreadable: bool
    """Whether lines are missing, or are not what they were: what they said of which run cannot be told."""

    @property
    def lines(self) -> dict[int, LogLine]:
        """Those about runs."""
        return {n: line for n, line in self.all.items() if isinstance(line, LogLine)}

    @property
    def notes(self) -> dict[int, NoteLine]:
        """Those of other kinds."""
        return {n: line for n, line in self.all.items() if isinstance(line, NoteLine)}


def read_chain(data: bytes, name: str = "ledger.jsonl") -> Chain:
    """Read the lines of a file of these bytes, and find what was edited, removed, reordered or put in.

    What was removed from the end, and a chain that was written again from some line on, leave no trace in the file.

    Args:
        name: what findings call the file.
    """
    if data.startswith(_CONFLICT) or b"\n" + _CONFLICT in data:
        mend = "keep one side with 'git checkout --ours', and run 'driftledger track'"
        return Chain({}, [Finding("bytes", name, f"holds an unresolved merge; {mend}")], unreadable=True)
    rows, found = rows_of(data), _Findings(name)
    windows = [place for place, row in enumerate(rows, 1) if row.endswith(b"\r") and _read(row[:-1]).line]
    if windows:
        more = f", as do {len(windows) - 1} more lines" if windows[1:] else ""
        found.add(windows[0], f"ends in CRLF{more}; the ledger has Unix line ends")
    read = [_read(row[:-1] if row.endswith(b"\r") else row) for row in rows]
    if read and read[-1].line and not data.endswith(b"\n"):
        found.add(read[-1].line.n, "has no line end")
    _find_unreadable(list(_without_pieces(read)), found)
    known = _find_displaced([row for row in read if row.line], found)
    _find_broken_links(known, found)
    _find_twins(known, found)
    unreadable = not all(row.line for row in read) or sorted(known) != list(range(1, len(known) + 1))
    return Chain({n: line for n, row in sorted(known.items()) if (line := row.line)}, found.all(), unreadable)


class _Row(NamedTuple):
    data: bytes
    line: LogLine | NoteLine | None
    wrong: str = ""


def _read(data: bytes) -> _Row:
    try:
        value = json.loads(data.decode())
        kind = NoteLine if isinstance(value, dict) and "kind" in value else LogLine
        line = kind.model_validate(value)
        if canonical_json(line.to_dict()).encode() != data:
            return _Row(data, None, "was edited: these are not the bytes in which driftledger writes what it says")
    except (ValidationError, ValueError, RecursionError):
        return _Row(data, None, "was edited, or is not a line of the ledger: it cannot be read as one")
    if encoded(line.entry, line.n, line.previous) != data:
        return _Row(data, None, "was edited: its SHA-256 is not the one that it holds of itself")
    return _Row(data, line)


class _Findings:
    """At most a screenful: of a file that is not a ledger at all, the rest is counted."""

    _MOST = 100

    def __init__(self, name: str) -> None:
        self._name = name
        self._found: list[tuple[int, Finding]] = []

    def add(self, n: int, what: str, *, missing: bool = False) -> None:
        self._found.append((n, Finding("missing" if missing else "bytes", f"{self._name} line {n}", what)))

    def all(self) -> list[Finding]:
        findings = [finding for _, finding in sorted(self._found, key=lambda each: each[0])]
        more = len(findings) - self._MOST
        rest = [Finding("bytes", self._name, f"{more} more things do not hold")] if more > 0 else []
        return [*findings[: self._MOST], *rest]


def _without_pieces(rows: Sequence[_Row]) -> Iterator[_Row]:
    """The rows, less those that are pieces of the unreadable one before: a line that was broken is one thing wrong."""
    for before, row in pairwise([_Row(b"", None), *rows]):
        piece = before.wrong and row.wrong and not row.data.startswith(_HEAD)
        if not piece:
            yield row


def _find_unreadable(rows: Sequence[_Row], found: _Findings) -> None:
    """Number the rows that are no lines by the lines around them, and find the numbers that no row is left for."""
    numbers = sorted({row.line.n for row in rows if row.line})
    gaps = {after: before + 1 for before, after in pairwise([0, *numbers]) if after > before + 1}
    expected, wrong = 1, list[_Row]()
    for row in rows:
        if not row.line:
            wrong.append(row)
            continue
        n = row.line.n
        _number(wrong, expected, gaps.pop(n, n), n, found)
        expected, wrong = max(expected, n + 1), []
    for n, row in enumerate(wrong, expected):
        found.add(n, row.wrong)


def _number(wrong: Sequence[_Row], expected: int, first: int, after: int, found: _Findings) -> None:
    """The rows before line ``after`` that are no lines are ``first`` to ``after - 1``, as far as they go."""
    for n, row in enumerate(wrong, first):
        last = n == first + len(wrong) - 1
        gone = f"; {_span(n + 1, after - 1)} not there either" if last and n < after - 1 else ""
        found.add(min(n, after - 1) if first < after else expected, row.wrong + gone)
    if not wrong and first < after:
        found.add(first, f"was removed: {_span(first, after - 1)} not there", missing=True)


def _span(first: int, last: int) -> str:
    return f"line {first} is" if first == last else f"lines {first} to {last} are"


def _find_displaced(rows: Sequence[_Row], found: _Findings) -> Mapping[int, _Row]:
    """Number → row, of which the first counts where there are several; say which are not in their places."""
    known: dict[int, _Row] = {}
    for n, row in _numbered(rows):
        if n in known:
            same = row.data == known[n].data
            found.add(n, "is there twice" if same else "has the number of another line: lines of two ledgers are mixed")
        known.setdefault(n, row)
    for n, place in zip(known, sorted(known), strict=True):
        if n != place:
            found.add(n, f"was moved: it stands in the place of line {place}")
    return known


def _numbered(rows: Sequence[_Row]) -> Iterator[tuple[int, _Row]]:
    return ((row.line.n, row) for row in rows if row.line)


def _find_broken_links(known: Mapping[int, _Row], found: _Findings) -> None:
    def follows(n: int) -> bool:
        """Whether lines ``n`` and ``n - 1`` are both there, and one was appended to the other."""
        row, before = known.get(n), known.get(n - 1)
        return bool(row and before and row.line and row.line.previous == sha256_bytes(before.data))

    for n, row in known.items():
        if n == 1 and row.line and row.line.previous != BEGINNING:
            found.add(1, "does not begin a ledger: it was written again, or lines before it were removed")
        elif n - 1 in known and not follows(n):
            which = "it was" if follows(n + 1) else "one of both was"
            found.add(n - 1, f"is not the line that line {n} was appended to: {which} written again")


def _find_twins(known: Mapping[int, _Row], found: _Findings) -> None:
    first: dict[str, int] = {}
    for n, row in sorted(known.items()):
        if row.line and (before := first.setdefault(row.line.key, n)) != n:
            what = "run" if isinstance(row.line, LogLine) else "thing"
            found.add(n, f"names the {what} that line {before} names, {row.line.key}")
