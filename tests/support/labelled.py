"""Labelled datasets of single colours, built as any dataset is: what a description should say is in
the first pixel."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.types import Split
from driftledger.data.records import DatasetCard, SampleEntry


class Item(NamedTuple):
    """A sample, and its colour."""

    id: str
    label: str
    split: Split
    colour: tuple[int, int, int]


def write_labelled(
    folder: Path, items: Sequence[Item], **changes: object
) -> DatasetCard:
    """A dataset folder; ``changes`` are fields of its card."""
    (folder / "images").mkdir(parents=True)
    entries = []
    labels: dict[str, dict[str, int]] = {}
    for item in items:
        png = png_bytes(Image.new("RGB", (4, 4), item.colour))
        (folder / "images" / f"{item.id}.png").write_bytes(png)
        entry = {
            "id": item.id,
            "file": f"images/{item.id}.png",
            "label": item.label,
            "split": item.split,
        }
        entries.append(
            SampleEntry.model_validate(
                entry | {"sha256": sha256_bytes(png), "width": 4, "height": 4}
            )
        )
        counts = labels.setdefault(item.label, {})
        counts[item.split] = counts.get(item.split, 0) + 1
    plain = {
        "name": folder.name,
        "provider": "x",
        "settings": {},
        "source": {},
        "samples": len(items),
    }
    plain |= {
        "categories": {},
        "groups": {},
        "digest": "dd",
        "general_category": "bird",
        "labels": labels,
    }
    card = DatasetCard.model_validate(json.loads(json.dumps(plain)) | changes)
    write_jsonl(folder / "samples.jsonl", entries)
    write_json(folder / "dataset.json", card)
    return card
