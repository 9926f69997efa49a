"""Cases as data: a JSON object per line."""

import json
from pathlib import Path
from typing import Any


def cases(file: str, name: str) -> list[dict[str, Any]]:
    """The cases in ``cases/<name>.jsonl`` beside a test's file; none at all is a mistake."""
    text = (Path(file).parent / "cases" / f"{name}.jsonl").read_text(encoding="utf-8")
    found = [json.loads(line) for line in text.splitlines() if line.strip()]
    assert found
    return found
