import io
from pathlib import Path

import numpy as np
from driftledger.benchmarks._chains.contact_sheet import LINE, MARGIN, TILE, draw_rows
from PIL import Image

from driftledger.benchmarks.genception.artifacts import PICTURED, chain_row
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.benchmarks.score import Row
from driftledger.core.files import write_jsonl
from driftledger.data.records import SampleEntry
from tests.support.ledgers import (
    genception_row,
    genception_score,
    write_image,
    write_ledger,
)

ORIGINAL = (250, 0, 0)
REDRAWN = (0, 0, 250)


def write_case(folder: Path, samples: int, category: str = "c") -> list[Row]:
    """Red originals and two blue images after each."""
    entries, rows = [], []
    for number in range(samples):
        name = f"s{number:03}"
        write_image(folder / "d" / "images" / f"{name}.png", ORIGINAL)
        for t in (1, 2):
            write_image(folder / "c" / "images" / name / f"{t}.png", REDRAWN)
        fixed = {"file": f"images/{name}.png", "category": category, "sha256": "a", "width": 40, "height": 30}
        entries.append(SampleEntry.model_validate({"id": name} | fixed))
        rows.append(genception_row(name, [0.5, -0.25], [0.5, 0.0], category))
    write_jsonl(folder / "d" / "samples.jsonl", entries)
    return rows


def tiles(png: bytes, columns: int = 3) -> list[list[tuple[int, ...]]]:
    """The pixel in the middle of every tile, row by row."""
    with Image.open(io.BytesIO(png)) as image:
        pixels = np.asarray(image)
    rows = (pixels.shape[0] - 2 * LINE - MARGIN) // (TILE + LINE + MARGIN)
    across = [MARGIN + column * (TILE + MARGIN) + TILE // 2 for column in range(columns)]
    down = [2 * LINE + row * (TILE + LINE + MARGIN) + TILE // 2 for row in range(rows)]
    return [[tuple(int(part) for part in pixels[y, x]) for x in across] for y in down]


def test_chains_of_different_lengths_share_a_picture(tmp_path: Path) -> None:
    [row, other] = write_case(tmp_path, 2)
    short = other.model_copy(update={"values": {"similarity": [0.5]}})
    original = tmp_path / "d" / "images" / "s000.png"
    rows = [chain_row("\x1b[31mseer\n", original, tmp_path / "c", each) for each in (row, short)]
    assert tiles(draw_rows("two\x1b models", rows)) == [
        [ORIGINAL, REDRAWN, REDRAWN],
        [ORIGINAL, REDRAWN, (255, 255, 255)],
    ]


def test_the_reports_picture_is_of_the_first_sample_a_row_per_model(tmp_path: Path) -> None:
    names = [f"m{number}" for number in range(PICTURED + 2)]
    scores = [genception_score(model=name) for name in names]
    for score in scores:
        write_ledger(tmp_path, score)
        for t in (1, 2):
            chain = tmp_path / "data/chains/shapes" / score.model / "brush"
            write_image(chain / "images" / "disc" / f"{t}.png", (0, int(score.model[1:]) * 10, 100 * t))
    spec = GenCeption()
    elsewhere = genception_score(encoder="other")
    png = spec.picture("chains.png", [scores[0], elsewhere, *scores[1:]], tmp_path)
    expected = [[(200, 0, 0), (0, 10 * number, 100), (0, 10 * number, 200)] for number in range(PICTURED)]
    assert tiles(png) == expected


def test_a_picture_of_no_chains_says_so() -> None:
    with Image.open(io.BytesIO(GenCeption().picture("chains.png", [], Path()))) as image:
        assert image.format == "PNG"
        assert np.asarray(image.convert("L")).min() < 128
