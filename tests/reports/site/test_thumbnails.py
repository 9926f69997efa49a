"""Small pictures: once for equal bytes, within bounds, and of nothing that is no image."""

import base64
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DataError
from driftledger.core.images import png_bytes
from driftledger.reports.site import thumbnails
from driftledger.reports.site.thumbnails import SIDE, Thumbnail, Thumbnails, inline, thumbnail


def write(path: Path, size: tuple[int, int], colour: str = "red") -> Path:
    path.write_bytes(png_bytes(Image.new("RGB", size, colour)))
    return path


def test_a_picture_stands_at_the_digest_of_its_image_and_equal_images_are_one(tmp_path: Path) -> None:
    wide, same, other = (write(tmp_path / name, (400, 100)) for name in ("a.png", "b.png", "c.png"))
    write(other, (400, 100), "blue")
    made = Thumbnails(tmp_path / "site").of([wide, same, other, wide])
    digest = sha256_bytes(wide.read_bytes())
    assert made[wide] == made[same] == (f"images/{digest[:2]}/{digest}.webp", SIDE, 48)
    assert made[other] != made[wide]
    assert len(list((tmp_path / "site").rglob("*.webp"))) == 2
    with Image.open(tmp_path / "site" / made[wide].source) as image:
        assert (image.format, image.size) == ("WEBP", (SIDE, 48))


def test_small_images_are_not_enlarged_and_asking_again_makes_nothing(tmp_path: Path) -> None:
    small = write(tmp_path / "a.png", (30, 20))
    thumbnails = Thumbnails(tmp_path / "site")
    first = thumbnails.of([small])
    [file] = (tmp_path / "site").rglob("*.webp")
    file.unlink()
    assert thumbnails.of([small]) == first
    assert first[small][1:] == (30, 20)
    assert not file.exists()


def test_the_same_bytes_twice(tmp_path: Path) -> None:
    image = write(tmp_path / "a.png", (300, 200))
    made = [(tmp_path / name / Thumbnails(tmp_path / name).of([image])[image].source).read_bytes() for name in "xy"]
    assert made[0] == made[1]


def test_a_picture_inside_the_page(tmp_path: Path) -> None:
    source, width, height = inline(write(tmp_path / "a.png", (300, 150)), 64)
    with Image.open(BytesIO(base64.b64decode(source.removeprefix("data:image/webp;base64,")))) as image:
        assert (width, height) == image.size == (64, 32)


def test_equal_pictures_inside_pages_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def counted(file: Path, side: int) -> Thumbnail:
        made.append(file.name)
        return thumbnail(file, side)

    monkeypatch.setattr(thumbnails, "thumbnail", counted)
    thumbnails._inline.cache_clear()
    one, same = (write(tmp_path / name, (300, 150)) for name in ("a.png", "b.png"))
    first = inline(one, 64)
    assert inline(same, 64) == first
    assert inline(same, 32) != first
    assert inline(write(one, (300, 150), "blue"), 64) != first
    assert made == ["a.png", "b.png", "a.png"]


BOMB = b"P6 100000 100000 255\n"
"""A header that claims more pixels than anyone decodes."""


@pytest.mark.parametrize(
    ("data", "says"),
    [(b"<svg onload='alert(1)'/>", "is not an image"), (BOMB, "pixels"), (b"", "is an empty file")],
    ids=["markup", "bomb", "empty"],
)
def test_what_is_no_image_is_refused(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "a.png").write_bytes(data)
    with pytest.raises(DataError, match=says):
        Thumbnails(tmp_path / "site").of([tmp_path / "a.png"])
