import json
import struct
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from PIL import Image

from driftledger.core.canonical import canonical_json, pretty_json, sha256_bytes, sha256_of
from driftledger.core.errors import DataError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.images import png_bytes
from driftledger.data.datasets.base import DatasetProvider, SourceItem, read_file
from driftledger.data.datasets.build import build
from driftledger.data.records import DatasetCard, SampleEntry, read_samples


def coloured(red: int, size: int = 4) -> bytes:
    buffer = BytesIO()
    Image.new("RGB", (size, size), (red, 0, 0)).save(buffer, "BMP")
    return buffer.getvalue()


def item(sample: str, red: int = 0, name: str | None = None, category: str | None = None) -> SourceItem:
    return SourceItem(sample, name or f"{sample}.bmp", partial(coloured, red), category, source={"file": "f"})


class Given(DatasetProvider):
    """Items as the test gives them."""

    provider: ClassVar[str] = "given"
    given: tuple[SourceItem, ...] = ()
    path: str = "/somewhere"

    def items(self) -> Iterator[SourceItem]:
        yield from self.given

    def source_digest(self) -> str:
        return "0"

    def source(self) -> dict[str, str]:
        return {"kind": "given"}

    def model_dump(self, **options: object) -> dict[str, object]:
        options["exclude"] = {*options.get("exclude", ()), "given"}  # type: ignore[misc]
        return super().model_dump(**options)  # type: ignore[arg-type]


def refused(tmp_path: Path, *items: SourceItem, **settings: object) -> str:
    """The sentence with which the build fails, having left nothing behind."""
    with pytest.raises(DataError) as caught:
        build("mine", Given(given=items, **settings), tmp_path / "data" / "mine")
    assert list((tmp_path / "data").iterdir()) == []
    return str(caught.value)


def test_a_dataset_folder(tmp_path: Path) -> None:
    items = (item("b", 2, category="odd"), item("a", 1, category="even"), item("c", 3))
    card = build("mine", Given(given=items, groups={"visual": ["odd"]}), tmp_path / "mine")
    entries = read_jsonl(tmp_path / "mine" / "samples.jsonl", SampleEntry)
    assert [entry.id for entry in entries] == ["a", "b", "c"]
    expected = png_bytes(Image.new("RGB", (4, 4), (1, 0, 0)))
    assert entries[0] == SampleEntry(
        id="a",
        file="images/a.png",
        category="even",
        sha256=sha256_bytes(expected),
        width=4,
        height=4,
        source={"file": "f"},
    )
    assert (tmp_path / "mine" / "images" / "a.png").read_bytes() == expected
    assert card == read_json(tmp_path / "mine" / "dataset.json", DatasetCard)
    assert card.samples == 3
    assert card.categories == {"even": 1, "odd": 1}
    assert card.groups == {"visual": ["odd"]}
    assert card.digest == sha256_of(
        [[entry.id, entry.category, entry.label, entry.split, entry.sha256] for entry in entries]
    )
    assert card.settings == {
        "general_category": None,
        "groups": {"visual": ["odd"]},
        "label_names": {},
        "max_pixels": 50_000_000,
    }
    assert (card.labels, card.leaks) == ({}, {})
    assert [sample.image.open().getpixel((0, 0)) for sample in read_samples(tmp_path / "mine")] == [
        (1, 0, 0),
        (2, 0, 0),
        (3, 0, 0),
    ]


def test_the_order_of_the_items_changes_no_byte(tmp_path: Path) -> None:
    items = (item("b", 2), item("a", 1), item("c", 1), item("d", 1))
    build("mine", Given(given=items), tmp_path / "one")
    build("mine", Given(given=items[::-1]), tmp_path / "two")
    files = [path.relative_to(tmp_path / "one") for path in sorted((tmp_path / "one").rglob("*")) if path.is_file()]
    assert len(files) == 6
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_images_are_read_once_and_one_at_a_time(tmp_path: Path) -> None:
    reads: list[str] = []

    def read(name: str) -> bytes:
        reads.append(name)
        assert len(reads) == 1 or (tmp_path / "mine.partial" / "images" / f"{reads[-2]}.png").is_file()
        return coloured(len(reads))

    build("mine", Given(given=tuple(SourceItem(x, x, partial(read, x)) for x in "abc")), tmp_path / "mine")
    assert reads == ["a", "b", "c"]


@pytest.mark.parametrize(
    "hostile",
    [
        *("../x", "/etc/passwd", "a/b", "a/../../x", "a\\b", "", ".", "..", ".hidden", "~", "$HOME", "C:x", "a b"),
        *("a\0b", "a\n", "\na", "é", "a\u202eb", "a" * 101),
    ],
)
def test_an_id_that_is_no_safe_file_name(tmp_path: Path, hostile: str) -> None:
    said = refused(tmp_path, item("fine"), item(hostile, name="row 1"))
    assert said.startswith(f"mine: row 1 has the id {hostile!r}, which is no safe file name; use ")
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize("fine", ["a", "A-1_b.c", "0", "-", "a" * 100, "a..b"])
def test_an_id_that_is_a_safe_file_name(tmp_path: Path, fine: str) -> None:
    build("mine", Given(given=(item(fine),)), tmp_path / "mine")
    assert (tmp_path / "mine" / "images" / f"{fine}.png").is_file()


@pytest.mark.parametrize(("first", "second"), [("a", "a"), ("Cat", "cAT")])
def test_two_samples_with_one_id(tmp_path: Path, first: str, second: str) -> None:
    said = refused(tmp_path, item(first, name="x/1.png"), item("b"), item(second, name="y/2.png"))
    assert said == f"mine: x/1.png and y/2.png both get the id {second!r}, capitals aside; rename one of them"


def test_no_samples(tmp_path: Path) -> None:
    assert refused(tmp_path) == "dataset 'mine' has no samples; check where its settings point"


def test_a_broken_image_leaves_the_dataset_that_was_there(tmp_path: Path) -> None:
    build("mine", Given(given=(item("a"),)), tmp_path / "mine")
    before = (tmp_path / "mine" / "samples.jsonl").read_bytes()
    broken = SourceItem("b", "b.png", lambda: b"no image")
    with pytest.raises(DataError, match=r"^mine: b\.png is not an image"):
        build("mine", Given(given=(item("a"), broken)), tmp_path / "mine")
    assert (tmp_path / "mine" / "samples.jsonl").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_max_pixels(tmp_path: Path) -> None:
    assert "mine: a.bmp is 4×4 pixels, more than max_pixels (15)" in refused(tmp_path, item("a"), max_pixels=15)


def test_a_group_with_an_unknown_category(tmp_path: Path) -> None:
    said = refused(tmp_path, item("a", category="living"), groups={"visual": ["livin"]})
    assert said == ("dataset 'mine': group 'visual': category 'livin' is unknown; did you mean 'living'? valid: living")


@pytest.mark.parametrize("groups", [{"visual": ["living"], "textual": ["living"]}, {"visual": ["living", "living"]}])
def test_a_category_that_is_listed_twice(tmp_path: Path, groups: dict[str, list[str]]) -> None:
    said = refused(tmp_path, item("a", category="living"), groups=groups)
    assert "category 'living' is listed in the groups 'visual' and " in said


def test_equal_images_are_kept_and_noted(tmp_path: Path) -> None:
    build("mine", Given(given=(item("c", 1), item("b", 2), item("a", 1), item("d", 1))), tmp_path / "mine")
    notes = {entry.id: entry.notes for entry in read_jsonl(tmp_path / "mine" / "samples.jsonl", SampleEntry)}
    assert notes == {"a": [], "b": [], "c": ["same image as a"], "d": ["same image as a"]}


def test_what_is_written_holds_no_path_of_this_machine(tmp_path: Path) -> None:
    build("mine", Given(given=(item("a"),), path=str(tmp_path)), tmp_path / "mine")
    card = json.loads((tmp_path / "mine" / "dataset.json").read_text())
    assert "path" not in card["settings"]
    assert str(tmp_path) not in json.dumps(card)


def test_a_very_long_id_is_not_repeated_whole(tmp_path: Path) -> None:
    assert len(refused(tmp_path, item("a" * 100_000, name="row 1"))) < 400


@pytest.mark.parametrize("data", [b"", b"text", b"<svg/>", coloured(1)[:-1], coloured(1, size=500)])
def test_a_bad_image_is_one_sentence_that_names_the_file(tmp_path: Path, data: bytes) -> None:
    said = refused(tmp_path, item("a"), SourceItem("b", "cats/b.bmp", lambda: data), max_pixels=1000)
    assert said.startswith("mine: cats/b.bmp ")
    assert "\n" not in said


def test_a_missing_image_is_one_sentence(tmp_path: Path) -> None:
    missing = SourceItem("a", "a.png", partial(read_file, tmp_path / "a.png", "a.png"))
    assert refused(tmp_path, missing).startswith("a.png cannot be read (No such file or directory)")


def test_a_group_where_nothing_has_a_category(tmp_path: Path) -> None:
    assert "category 'living' is unknown; valid: (none)" in refused(tmp_path, item("a"), groups={"visual": ["living"]})


def test_a_rebuild_leaves_nothing_of_the_old_dataset(tmp_path: Path) -> None:
    build("mine", Given(given=(item("old"),)), tmp_path / "mine")
    build("mine", Given(given=(item("new"),)), tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine" / "images").iterdir()] == ["new.png"]


def test_the_digest_hangs_on_every_id_category_label_and_image_and_on_nothing_else(tmp_path: Path) -> None:
    first = SourceItem("a", "a.bmp", partial(coloured, 1), "cat", "tabby")
    others = [
        replace(first, id="b"),
        replace(first, category="dog"),
        replace(first, label=None),
        replace(first, read=partial(coloured, 2)),
    ]
    same = replace(first, name="elsewhere.bmp", source={"file": "elsewhere.bmp"})
    digests = [build("mine", Given(given=(one,)), tmp_path / "mine").digest for one in (first, same, *others)]
    assert digests[0] == digests[1]
    assert len(set(digests)) == 5


def test_what_was_repaired_is_noted_and_metadata_is_left_behind(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 3, "secret camera"
    buffer = BytesIO()
    Image.new("L", (4, 4), 9).save(buffer, "PNG", exif=exif)
    build("mine", Given(given=(SourceItem("a", "a.png", buffer.getvalue),)), tmp_path / "mine")
    (entry,) = read_jsonl(tmp_path / "mine" / "samples.jsonl", SampleEntry)
    assert entry.notes == ["rotated upright as its EXIF tag says", "converted from grey"]
    assert b"secret" not in (tmp_path / "mine" / entry.file).read_bytes()


def test_the_files_are_canonical_json(tmp_path: Path) -> None:
    build("mine", Given(given=(item("a", name="ü", category="größe"),)), tmp_path / "mine")
    card, lines = ((tmp_path / "mine" / name).read_text("utf-8") for name in ("dataset.json", "samples.jsonl"))
    assert card == pretty_json(json.loads(card))
    assert lines == canonical_json(json.loads(lines)) + "\n"


def test_what_a_killed_build_left_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / "mine.partial" / "images").mkdir(parents=True)
    (tmp_path / "mine.partial" / "images" / "old.png").write_bytes(b"x")
    build("mine", Given(given=(item("new"),)), tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine" / "images").iterdir()] == ["new.png"]
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_every_kind_of_repair_ends_up_in_the_manifest(tmp_path: Path) -> None:
    turned = Image.Exif()
    turned[0x0112] = 6
    red, blue = (Image.new("RGB", (8, 4), colour) for colour in ("red", "blue"))
    Image.new("CMYK", (8, 4), (255, 0, 0, 0)).save(tmp_path / "cmyk.jpg")
    Image.fromarray(np.full((4, 8), 0x80FF, dtype=np.uint16)).save(tmp_path / "deep.png")
    red.save(tmp_path / "turned.jpg", exif=turned)
    red.save(tmp_path / "moving.gif", save_all=True, append_images=[blue])
    Image.new("RGBA", (8, 4), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    files = [tmp_path / name for name in ("cmyk.jpg", "deep.png", "turned.jpg", "moving.gif", "clear.png")]
    given = tuple(SourceItem(file.stem, file.name, partial(read_file, file, file.name)) for file in files)
    build("mine", Given(given=given), tmp_path / "mine")
    entries = {entry.id: entry for entry in read_jsonl(tmp_path / "mine" / "samples.jsonl", SampleEntry)}
    assert entries["cmyk"].notes == ["converted from CMYK"]
    assert entries["deep"].notes == ["16 bits per channel reduced to 8", "converted from grey"]
    assert entries["turned"].notes == ["rotated upright as its EXIF tag says"]
    assert (entries["turned"].width, entries["turned"].height) == (4, 8)
    assert entries["moving"].notes[0] == "first of 2 frames"
    assert entries["clear"].notes == ["transparency laid over white"]
    colours = {sample.id: sample.image.open().getpixel((0, 0)) for sample in read_samples(tmp_path / "mine")}
    assert (colours["deep"], colours["clear"]) == ((128, 128, 128), (255, 255, 255))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


@pytest.mark.parametrize(
    ("width", "height", "what"),
    [
        (0, 5, ""),
        (9, 9, "is truncated or broken"),
        (10_000, 10_000, "is 10000×10000 pixels, more than max_pixels (50000000)"),
        (60_000, 60_000, "has more pixels than Pillow decodes"),
    ],
)
def test_a_header_without_its_pixels_is_one_sentence(tmp_path: Path, width: int, height: int, what: str) -> None:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    png = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    said = refused(tmp_path, item("a"), SourceItem("b", "cats/bad.png", lambda: png))
    assert said.startswith(f"mine: cats/bad.png {what}")
    assert "\n" not in said


def test_a_few_of_each_category(tmp_path: Path) -> None:
    items = [item(f"{category}{number}", number, category=category) for category in "ab" for number in range(9)]
    build("mine", Given(given=tuple(items), per_category=5), tmp_path / "five")
    found = read_samples(tmp_path / "five")
    assert Counter(sample.category for sample in found) == {"a": 5, "b": 5}
    build("mine", Given(given=tuple(items[::-1]), per_category=5), tmp_path / "turned")
    assert [sample.id for sample in read_samples(tmp_path / "turned")] == [sample.id for sample in found]
    card = build("mine", Given(given=tuple(items), per_category=5, sample_seed=1), tmp_path / "others")
    assert {sample.id for sample in read_samples(tmp_path / "others")} != {sample.id for sample in found}
    assert card.settings["sample_seed"] == 1


def test_a_whole_dataset_says_nothing_of_a_choice(tmp_path: Path) -> None:
    assert {"per_category", "sample_seed"}.isdisjoint(build("mine", Given(given=(item("a"),)), tmp_path / "d").settings)
