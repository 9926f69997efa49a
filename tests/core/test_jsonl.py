"""Lines that are read at once are what each line is, and errors are the same."""

import json
from typing import Any

import pytest

from driftledger.benchmarks.score import Row
from driftledger.core.errors import StoreError
from driftledger.core.files import parse_json, parse_jsonl
from driftledger.core.limits import DEEPEST

PLAIN: dict[str, Any] = {
    "schema": 2,
    "unit": "a",
    "group": "all",
    "cluster": "a",
    "outcome": "ok",
    "values": {"gc": [0.1, None, 1]},
    "extra": {"label": "größe"},
}


def line(**changes: Any) -> bytes:
    return json.dumps(PLAIN | changes).encode() + b"\n"


def nested(levels: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(levels):
        found = [found]
    return found


FILES = {
    "plain": line() + line(unit="b"),
    "without a last line break": line().removesuffix(b"\n"),
    "empty": b"",
    "one empty line": b"\n",
    "an empty line between": line() + b"\n" + line(),
    "a line separator in a text": line(extra={"label": "a\u2028b"}),
    "raw unicode": json.dumps(PLAIN, ensure_ascii=False).encode(),
    "a whole number for a float": line(values={"gc": [1, 10**15]}),
    "a large float": line(extra={"x": 1e300}),
    "a digest that looks like a number": line(extra={"x": "1e999"}),
    "twice the same key": line().replace(b'"unit": "a"', b'"unit": "a", "unit": "c"'),
    "not a number": line(extra={"x": float("nan")}),
    "infinite": line(extra={"x": float("inf")}),
    "infinite by its exponent": line().replace(b'"label"', b'"x": 1e999, "label"'),
    "very long": line().replace(b'"label"', b'"x": ' + b"9" * 5000 + b', "label"'),
    "deep": line(extra={"x": nested(DEEPEST - 2)}),
    "too deep": line(extra={"x": nested(DEEPEST)}),
    "a lone surrogate": line(extra={"x": "\ud800"}),
    "a byte order mark": b"\xef\xbb\xbf" + line(),
    "not UTF-8": line().replace(b"all", b"\xff"),
    "of version 1": line(schema=1),
    "an unknown key": line(other=1),
    "a missing key": line().replace(b'"group": "all", ', b""),
    "no JSON": line() + b"{\n",
}


def outcome(read: Any, *arguments: Any) -> Any:
    try:
        return [row.model_dump() for row in read(*arguments)]
    except StoreError as error:
        return str(error)


def one_by_one(data: bytes) -> list[Row]:
    lines = data.removesuffix(b"\n").split(b"\n")
    return [parse_json(line, Row, f"rows.jsonl, line {n}") for n, line in enumerate(lines, 1) if lines != [b""]]


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_what_comes_of_a_file_is_the_same(data: bytes) -> None:
    assert outcome(parse_jsonl, data, Row, "rows.jsonl") == outcome(one_by_one, data)
