"""Contact sheets: the same picture stands in many, and is made small once."""

from pathlib import Path

import pytest
from driftledger.benchmarks._chains.contact_sheet import Tile, draw_rows
from PIL import Image

from driftledger.benchmarks._chains import contact_sheet


def test_equal_images_are_opened_once_and_again_when_one_was_written_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, same, opened = tmp_path / "original.png", tmp_path / "same.png", []
    for path in (file, same):
        Image.new("RGB", (300, 200), "red").save(path)
    contact_sheet._thumbnail.cache_clear()
    read = Image.open

    def counted(path: Path) -> Image.Image:
        opened.append(path)
        return read(path)

    monkeypatch.setattr(contact_sheet.Image, "open", counted)
    rows = [[Tile(file, "a"), Tile(file, "b"), Tile(same, "c")]]
    first = draw_rows("title", rows)
    assert draw_rows("title", rows) == first
    assert opened == [file]
    Image.new("RGB", (300, 201), "blue").save(file)
    assert draw_rows("title", rows) != first
    assert opened == [file, file]
