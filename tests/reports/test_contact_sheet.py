import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from driftledger.benchmarks.genception.records import SampleScore
from driftledger.core.types import Outcome
from driftledger.data.records import SampleEntry
from driftledger.reports.contact_sheet import LINE, MARGIN, MOST_ROWS, TILE, chain_row, contact_sheet, draw_rows
from tests.support.ledgers import write_image

ORIGINAL = (250, 0, 0)
REDRAWN = (0, 0, 250)


def write_case(folder: Path, samples: int, category: str = "c") -> tuple[list[SampleEntry], list[SampleScore]]:
    """Red originals and two blue images after each."""
    entries, scores = [], []
    for number in range(samples):
        name = f"s{number:03}"
        write_image(folder / "d" / "images" / f"{name}.png", ORIGINAL)
        for t in (1, 2):
            write_image(folder / "c" / "images" / name / f"{t}.png", REDRAWN)
        fixed = {"file": f"images/{name}.png", "category": category, "sha256": "a", "width": 40, "height": 30}
        entries.append(SampleEntry.model_validate({"id": name} | fixed))
        values = {"similarity": [0.5, -0.25], "gc": [0.5, 0.0], "outcome": Outcome.OK}
        scores.append(SampleScore.model_validate({"sample": name, "category": category} | values))
    return entries, scores


def sheet(folder: Path, entries: list[SampleEntry], scores: list[SampleScore]) -> bytes:
    return contact_sheet("seer · brush · eye   on shapes", folder / "d", folder / "c", entries, scores)


def tiles(png: bytes, columns: int = 3) -> list[list[tuple[int, ...]]]:
    """The pixel in the middle of every tile, row by row."""
    with Image.open(io.BytesIO(png)) as image:
        pixels = np.asarray(image)
    rows = (pixels.shape[0] - 2 * LINE - MARGIN) // (TILE + LINE + MARGIN)
    across = [MARGIN + column * (TILE + MARGIN) + TILE // 2 for column in range(columns)]
    down = [2 * LINE + row * (TILE + LINE + MARGIN) + TILE // 2 for row in range(rows)]
    return [[tuple(int(part) for part in pixels[y, x]) for x in across] for y in down]


def test_a_row_per_sample_with_the_original_on_the_left(tmp_path: Path) -> None:
    png = sheet(tmp_path, *write_case(tmp_path, 4))
    with Image.open(io.BytesIO(png)) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        assert image.width == 3 * (TILE + MARGIN) + MARGIN
    assert tiles(png) == [[ORIGINAL, REDRAWN, REDRAWN]] * 4


def test_an_image_that_is_not_there_leaves_a_blank(tmp_path: Path) -> None:
    entries, scores = write_case(tmp_path, 2)
    (tmp_path / "c" / "images" / "s000" / "2.png").unlink()
    (tmp_path / "d" / "images" / "s001.png").unlink()
    scores[0] = scores[0].model_copy(update={"similarity": [0.5, None], "outcome": Outcome.REFUSED})
    blank = (255, 255, 255)
    assert tiles(sheet(tmp_path, entries, scores)) == [[ORIGINAL, REDRAWN, blank], [blank, REDRAWN, REDRAWN]]


def test_equal_chains_are_equal_bytes(tmp_path: Path) -> None:
    entries, scores = write_case(tmp_path, 3)
    assert sheet(tmp_path, entries, scores) == sheet(tmp_path, entries, scores[::-1])


@pytest.mark.parametrize(
    ("samples", "rows"), [(1, 1), (29, 29), (MOST_ROWS, MOST_ROWS), (MOST_ROWS + 1, 16), (60, 30), (95, 24)]
)
def test_at_most_thirty_samples_are_shown(tmp_path: Path, samples: int, rows: int) -> None:
    shown = tiles(sheet(tmp_path, *write_case(tmp_path, samples)))
    assert len(shown) == rows <= MOST_ROWS


def test_a_hostile_category_is_not_drawn(tmp_path: Path) -> None:
    plain = sheet(tmp_path, *write_case(tmp_path, 2))
    assert sheet(tmp_path, *write_case(tmp_path, 2, "=x\x1b[31m\n\u202e" + "写" * 500)) == plain


@pytest.mark.parametrize("size", [(1, 1), (2000, 3), (3, 2000)])
def test_images_of_any_shape_stay_in_their_tile(tmp_path: Path, size: tuple[int, int]) -> None:
    entries, scores = write_case(tmp_path, 2)
    before = tiles(sheet(tmp_path, entries, scores))
    Image.new("RGB", size, REDRAWN).save(tmp_path / "c" / "images" / "s000" / "1.png")
    after = tiles(sheet(tmp_path, entries, scores))
    assert after[1] == before[1]
    assert (after[0][0], after[0][2]) == (before[0][0], before[0][2])


def test_chains_of_different_lengths_share_a_picture(tmp_path: Path) -> None:
    [entry, _], [score, other] = write_case(tmp_path, 2)
    short = other.model_copy(update={"similarity": [0.5]})
    original = tmp_path / "d" / entry.file
    rows = [chain_row("\x1b[31mseer\n", original, tmp_path / "c", each) for each in (score, short)]
    assert tiles(draw_rows("two\x1b models", rows)) == [
        [ORIGINAL, REDRAWN, REDRAWN],
        [ORIGINAL, REDRAWN, (255, 255, 255)],
    ]
