"""Digests of what embedded components wrote and drew, by what components.json says about it and
never by a path."""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from tests.acceptance.numbers import read, title
from tests.acceptance.places import GOLDEN, images_of, record_files, texts_of

FILE = GOLDEN / "records.txt"
"""One file of records a line: benchmark, stage, keys; then how many and the digests of its records,
texts and images.

A new layout of records changes the first digest alone; what components said and drew stays.
"""


def _digest(parts: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(hashlib.sha256(part).digest())
    return total.hexdigest()


def _canonical(value: object) -> bytes:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def digests(top: Path) -> dict[str, str]:
    """``benchmark stage key=value …`` → ``records=N:sha256 texts=N:sha256 images=N:sha256``."""
    digest_of: dict[str, str] = {}
    for path in record_files(top):
        card = read(path.parent / "components.json")
        records = [
            json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()
        ]
        for result in (each for record in records for each in record["results"]):
            # a digest of the component's fingerprint too, which may change where nothing else does
            del result["key"]
        parts = {
            "records": [_canonical(record) for record in records],
            "texts": sorted(
                _canonical(text) for record in records for text in texts_of(record)
            ),
            "images": sorted(image.read_bytes() for image in images_of(path)),
        }
        name = title(
            {"benchmark": f"{card['benchmark']} {card['stage']}", "keys": card["keys"]}
        )
        assert name not in digest_of, f"two files of records say that they are {name}"
        digest_of[name] = " ".join(
            f"{part}={len(content)}:{_digest(content)}"
            for part, content in parts.items()
        )
    return digest_of


def read_golden() -> dict[str, str]:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return {name: rest for name, _, rest in (line.partition(" : ") for line in lines)}


def write_golden(digest_of: dict[str, str]) -> None:
    FILE.write_text(
        "".join(f"{name} : {digest_of[name]}\n" for name in sorted(digest_of)),
        encoding="utf-8",
    )
