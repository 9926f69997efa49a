"""The image of a question is decoded once, and is each caller's own."""

from pathlib import Path

from PIL import Image

from driftledger.core.images import png_bytes
from driftledger.core.types import ImageFile
from driftledger.data.question_sets.images import QuestionImage


def written(path: Path, colour: str) -> Path:
    path.write_bytes(png_bytes(Image.new("RGB", (4, 3), colour)))
    return path


def test_it_is_decoded_once(tmp_path: Path) -> None:
    path = written(tmp_path / "0.png", "red")
    plain = ImageFile(path, "0" * 64).open()
    first = QuestionImage(path, "0" * 64).open()
    path.unlink()
    assert QuestionImage(path, "0" * 64).open().tobytes() == first.tobytes() == plain.tobytes()


def test_who_paints_on_it_changes_nobody_elses(tmp_path: Path) -> None:
    image = QuestionImage(written(tmp_path / "0.png", "red"), "1" * 64)
    image.open().paste("blue", (0, 0, 4, 3))
    assert image.open().getpixel((0, 0)) == (255, 0, 0)


def test_other_bytes_at_the_same_place_are_another_image(tmp_path: Path) -> None:
    path = tmp_path / "0.png"
    seen = [QuestionImage(written(path, colour), digit * 64).open() for colour, digit in (("red", "2"), ("blue", "3"))]
    assert [image.getpixel((0, 0)) for image in seen] == [(255, 0, 0), (0, 0, 255)]
