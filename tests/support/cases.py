"""Cases as data: a JSON object per line, in ``tests/cases/<room>``."""

import json
from pathlib import Path
from typing import Any

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
