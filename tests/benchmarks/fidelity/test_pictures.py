import io
from pathlib import Path

import pytest
from driftledger.benchmarks.fidelity.artifacts import redraws_sheet
from PIL import Image

from driftledger.benchmarks._chains.contact_sheet import LINE, MARGIN, TILE
from driftledger.benchmarks.score import Row
from driftledger.core.files import write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.records import SampleEntry
from tests.support.ledgers import write_image

ORIGINAL, REDRAWN, BLANK = (250, 0, 0), (0, 0, 250), (255, 255, 255)


def write_case(folder: Path, names: list[str]) -> None:
    """Red originals, and a blue redrawing of each."""
    entries = []
    for name in names:
        write_image(folder / "d" / "images" / f"{name}.png", ORIGINAL)
        write_image(folder / "r" / "images" / name / "1.png", REDRAWN)
        entries.append(SampleEntry(id=name, file=f"images/{name}.png", sha256="a", width=40, height=30))
    write_jsonl(folder / "d" / "samples.jsonl", entries)


def rows_of(names: list[str], **values: float) -> list[Row]:
    held: dict[str, list[float | None]] = {key: [value] for key, value in values.items()}
    return [Row(unit=name, group="all", cluster=name, outcome=Outcome.OK, values=held) for name in names]


def middles(png: bytes) -> list[list[object]]:
    """The pixel in the middle of both tiles, row by row."""
    with Image.open(io.BytesIO(png)) as image:
        rows = (image.height - 2 * LINE - MARGIN) // (TILE + LINE + MARGIN)
        across = [MARGIN + column * (TILE + MARGIN) + TILE // 2 for column in (0, 1)]
        down = [2 * LINE + row * (TILE + LINE + MARGIN) + TILE // 2 for row in range(rows)]
        return [[image.getpixel((x, y)) for x in across] for y in down]


def sheet(folder: Path, rows: list[Row]) -> bytes:
    write_jsonl(folder / "rows.jsonl", rows)
    return redraws_sheet("seer \x1b", folder / "d", folder / "r", folder / "rows.jsonl")


def test_an_original_stands_beside_its_redrawing(tmp_path: Path) -> None:
    write_case(tmp_path, ["a", "b", "c"])
    (tmp_path / "r" / "images" / "b" / "1.png").unlink()
    assert middles(sheet(tmp_path, rows_of(["a", "b"], ssim=3.0))) == [[ORIGINAL, REDRAWN], [ORIGINAL, BLANK]]


@pytest.mark.parametrize(("samples", "rows"), [(1, 1), (30, 30), (31, 16), (60, 30)])
def test_at_most_thirty_of_those_with_a_score_are_shown(tmp_path: Path, samples: int, rows: int) -> None:
    names = [f"s{number}" for number in range(samples)]
    write_case(tmp_path, names)
    assert len(middles(sheet(tmp_path, rows_of(names)))) == rows


def test_the_similarity_below_a_redrawing_is_of_the_encoder_where_it_has_one(tmp_path: Path) -> None:
    write_case(tmp_path, ["a"])
    seen = {name: sheet(tmp_path, rows_of(["a"], ssim=3.0, **{name: 5.0})) for name in ("clip_s_i", "human")}
    assert seen["clip_s_i"] != seen["human"] == sheet(tmp_path, rows_of(["a"], ssim=3.0))
    nothing = sheet(tmp_path, rows_of(["a"]))
    assert sheet(tmp_path, rows_of(["a"], ssim=0.0)) != nothing, "0 is a value"
