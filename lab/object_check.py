"""The multi-generation object check (MGG) of stored chains over arrangements: is all still there after t redrawings?

Run as ``python -m lab.object_check [ROOT]`` in the top folder, after ``make run-neural``; ROOT is the project whose
``data/`` holds the chains. What stands in an image is measured pixel by pixel, which is what arrangements are made for,
in the place of a detector: so this needs no weights, and says nothing of photographs. A prompt is what the original
shows: of each colour and shape so many, and where the others stand from the first.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import typer

from driftledger.benchmarks._chains.records import ChainRecord, drawn_images
from driftledger.benchmarks.records import RECORDS
from driftledger.core.files import read_jsonl
from driftledger.core.types import ImageFile
from driftledger.data.records import ONE_CATEGORY, read_samples
from driftledger.demo.datasets.arrangements.drawing import SIDE
from driftledger.demo.datasets.arrangements.grammar import SIZES, Arrangement
from driftledger.demo.datasets.arrangements.measuring import measure
from driftledger.metrics.object_check import (
    Box,
    Check,
    Thing,
    Wanted,
    has_all,
    multi_generation_check,
    relative_position,
)
from lab.entry import new_app, run

app = new_app(__doc__ or "")


class Checked(NamedTuple):
    """The chains of one model and generator."""

    name: str
    found: Check


def things_of(arrangement: Arrangement) -> list[Thing]:
    """What stands in an image, by colour and shape."""
    found = []
    for thing in arrangement.things:
        row, column = divmod(thing.cell, 3)
        x, y, half = (column + 0.5) * SIDE / 3, (row + 0.5) * SIDE / 3, SIZES[thing.size] / 2
        found.append(Thing(f"{thing.colour} {thing.shape}", Box(x - half, y - half, x + half, y + half)))
    return found


def wanted(things: Sequence[Thing]) -> list[Wanted]:
    """What an image shows as clauses: so many of each kind, and where a kind of one stands from the first."""
    counts = Counter(thing.kind for thing in things)
    first = things[0]
    clauses: list[Wanted] = []
    for kind, number in counts.items():
        one = next(thing for thing in things if thing.kind == kind)
        sides = sorted(relative_position(one.box, first.box)) if clauses and number == counts[first.kind] == 1 else []
        clauses.append(Wanted(kind, number, position=(sides[0], 0) if sides else None))
    return clauses


def check(dataset: Path, chains: Path) -> Check:
    """Of the chains in a folder; an image that was not drawn has nothing."""
    samples = [sample for sample in read_samples(dataset) if seen(sample.image)]
    drawn = drawn_images(chains, records := read_jsonl(chains / RECORDS, ChainRecord))
    generations = range(1, max(record.t for record in records) + 1)
    correct = []
    for sample in samples:
        asked = wanted(seen(sample.image))
        images = [drawn.get((sample.id, t)) for t in generations]
        correct.append([image is not None and has_all(seen(image), asked) for image in images])
    return multi_generation_check(correct, [sample.category or ONE_CATEGORY for sample in samples])


def seen(image: ImageFile) -> list[Thing]:
    """The things in an image, brought to the size at which they are measured."""
    return things_of(measure(np.asarray(image.open().resize((SIDE, SIDE)))))


def table(checked: Sequence[Checked]) -> list[str]:
    """Markdown: a row each, per cent."""
    generations = range(1, len(checked[0].found.by_generation) + 1)
    tags = list(checked[0].found.by_tag)
    head = ["", *(f"t = {t}" for t in generations), "MGG", *tags]
    rows = [
        [one.name, *(100 * each for each in (*one.found.by_generation, one.found.overall, *one.found.by_tag.values()))]
        for one in checked
    ]
    lines = [" | ".join(head).lstrip(), "|".join(["---", *["---:"] * (len(head) - 1)])]
    lines += [" | ".join([str(name), *(f"{value:.1f}" for value in values)]) for name, *values in rows]
    return [f"| {lines[0]} |", f"|{lines[1]}|", *(f"| {line} |" for line in lines[2:])]


@app.command()
def main(root: Path = typer.Argument(Path(), help="The project whose chains are checked.")) -> None:
    """Write the table to the terminal."""
    dataset, chains = root / "data/datasets/arrangements", root / "data/chains/arrangements"
    folders = sorted(path.parent for path in chains.glob(f"*/*/{RECORDS}"))
    if not folders:
        raise typer.BadParameter(f"{chains} holds no chains; run make run-neural")
    checked = [Checked(" · ".join(folder.relative_to(chains).parts), check(dataset, folder)) for folder in folders]
    print("\n".join(table(checked)))


if __name__ == "__main__":
    run(app)
