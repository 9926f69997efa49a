"""Texts by their names in a file beside DVC's other temporary ones. It is disposable: a broken one is an empty one."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def read_texts(file: Path) -> dict[str, str]:
    try:
        texts = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return texts if isinstance(texts, dict) and all(isinstance(each, str) for each in texts.values()) else {}


def write_texts(file: Path, texts: Mapping[str, str]) -> None:
    with suppress(OSError):
        file.write_text(json.dumps(texts), encoding="utf-8")
