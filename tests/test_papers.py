"""``docs/method/papers.md`` is a table that can be counted, and names files that exist."""

from collections import Counter
from typing import NamedTuple

from tests.conftest import REPOSITORY

PAGE = (REPOSITORY / "docs" / "method" / "papers.md").read_text(encoding="utf-8")
STATES = ("exact", "differs", "not")


class Item(NamedTuple):
    number: int
    what: str
    where: str
    state: str
    why: str


def items() -> list[Item]:
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines()]
    return [Item(int(row[0]), *row[1:]) for row in rows if len(row) == len(Item._fields) and row[0].isdigit()]


def test_its_items_are_numbered_and_counted() -> None:
    assert [item.number for item in items()] == list(range(1, len(items()) + 1))
    assert f": {len(items())} of them" in PAGE
    counts = Counter(item.state for item in items())
    assert set(counts) == set(STATES)
    assert f"| {' | '.join(str(counts[state]) for state in STATES)} |" in PAGE


def test_what_is_not_exact_says_why_and_what_is_there_says_where() -> None:
    assert [item.what for item in items() if item.state != "exact" and not item.why] == []
    assert [item.what for item in items() if item.state in ("exact", "differs") and item.where == "–"] == []


def test_every_file_exists() -> None:
    files = {item.where.strip("`") for item in items()} - {"–"}
    assert len(files) > 30
    assert [file for file in files if not (REPOSITORY / "src" / "driftledger" / file).exists()] == []
