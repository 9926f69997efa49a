"""Cases as data: a JSON object per line, in ``tests/cases/<room>``."""

import json
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
CASES = TESTS / "cases"


def cases(file: str, name: str) -> list[dict[str, Any]]:
    """Read the cases called ``name`` of the room that a test's file is in."""
    return lines(Path(file).parent.relative_to(TESTS) / f"{name}.jsonl")


def lines(place: Path | str) -> list[dict[str, Any]]:
    """Read the cases in a file below ``tests/cases``; none at all is a mistake."""
    text = (CASES / place).read_text(encoding="utf-8")
    found = [json.loads(line) for line in text.splitlines() if line.strip()]
    assert found
    return found


def each_case(known: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """Run a test with each case, under the name of the case or the beginning of its content."""
    names = [str(case.get("what", case.get("name", case)))[:90] for case in known]
    return pytest.mark.parametrize("case", known, ids=names)
