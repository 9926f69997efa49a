"""Datasets: what is decoded, which folders and tables are read, and what is built of them."""

import os
from collections import Counter
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms
from pydantic import Field

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.errors import DataError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.media import png_bytes
from driftledger.data.build import build
from driftledger.data.datasets.base import DatasetProvider, SourceItem, first_of, inside
from driftledger.data.datasets.decode import decode, losses
from driftledger.data.datasets.image_folder import ImageFolder, safe_id
from driftledger.data.records import DatasetCard, SampleEntry, read_samples
from tests.data.files import lay_out, named
from tests.data.question_sets.sources import png
from tests.sentence import refused, tree
from tests.support.cases import cases, each_case


def as_tuple(value):
    return tuple(value) if isinstance(value, list) else value


def encoded(case):
    """Return the image file that a case describes."""
    if "bytes" in case:
        return str(case["bytes"]).encode()
    colour = as_tuple(case.get("colour", [1, 2, 3]))
    options = {}
    for key, value in case.get("options", {}).items():
        options[key] = as_tuple(value)
    image = Image.new(case["mode"], (8, 4), colour)
    if "corner" in case:  # one pixel of another colour
        image.putpixel((7, 3), as_tuple(case["corner"]))
    if "frames" in case:
        options["save_all"] = True
        options["append_images"] = []
        for number in range(2, case["frames"] + 1):
            frame = Image.new("RGB", (8, 4), (50 * number, 0, 0))
            options["append_images"].append(frame)
    if "orientation" in case:
        options["exif"] = Image.Exif()
        options["exif"][0x0112] = case["orientation"]
    if "profile" in case:
        options["icc_profile"] = PROFILES[case["profile"]]
    buffer = BytesIO()
    image.save(buffer, case["format"], **options)
    return buffer.getvalue()


SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
PROFILES = {
    "sRGB": SRGB,
    "swapped": SRGB.replace(b"rXYZ", b"....")
    .replace(b"gXYZ", b"rXYZ")
    .replace(b"....", b"gXYZ"),
}
PROFILES["broken"] = SRGB[:200]


@each_case(cases(__file__, "images"))
def test_an_image_file(case):
    most = case.get("max_pixels", 1_000_000)
    if "says" in case:
        ways = [encoded(case)]
        if "bytes" not in case:
            ways.append(Image.open(BytesIO(ways[0])))
        for way in ways:
            with refused(case):
                decode(way, "x", most)
        return
    data = encoded(case)
    image, notes = decode(data, "x", most)
    assert (image.mode, notes) == ("RGB", case["notes"])
    for loads in (False, True):
        opened = Image.open(BytesIO(data))
        if loads:
            opened.load()
        assert decode(opened, "x", most)[0] == image
    assert image.size == tuple(case.get("size", (8, 4)))
    near = case.get("pixel", [1, 2, 3])
    most_apart = case.get("near", 2 if case["format"] == "JPEG" else 0)
    assert np.abs(np.asarray(image, dtype=int) - near).max() == pytest.approx(
        most_apart, abs=2 * (most_apart == 2)
    )


def test_a_lab_image_is_the_same_at_any_time():
    """Pillow converts it with a profile that holds the time, which a PNG would keep."""
    image, _ = decode(Image.new("LAB", (8, 8), (120, 130, 140)), "lab", 64)
    plain = Image.frombytes("RGB", image.size, image.tobytes())
    assert png_bytes(image) == png_bytes(plain)


def test_every_alpha_over_white_is_rounded_to_nearest():
    colour, alpha = np.meshgrid(np.arange(256), np.arange(256))
    rgba = np.stack([colour, colour, 255 - colour, alpha], axis=-1).astype(np.uint8)
    wide = rgba.astype(np.int64)
    alpha = wide[..., 3:]
    expected = (wide[..., :3] * alpha + 255 * (255 - alpha) + 127) // 255
    image, _ = decode(Image.fromarray(rgba), "x", 100_000)
    assert np.array_equal(np.asarray(image), expected)


def item(sample, red=0, data=None, **fields):
    """Return a sample: an image of a red, or a text where an image belongs."""
    name = f"{sample.strip():.200}.bmp"

    content = data.encode() if data else png(red)
    return SourceItem(sample, name, lambda: content, source={"file": "f"}, **fields)


class Given(DatasetProvider):
    """Items as the test gives them."""

    provider = "given"
    given: tuple[SourceItem, ...] = Field(default=(), exclude=True)
    path: str = "/somewhere"

    def items(self):
        yield from self.given

    def source_digest(self):
        return "0"

    def source(self):
        return {"kind": "given"}


def entries_of(folder):
    return read_jsonl(folder / "samples.jsonl", SampleEntry)


def assert_stored(case, card, folder):
    """Check the fields of the card and of the samples that a case names."""
    entries = entries_of(folder)
    assert named([card], [case["card"]]) == [case["card"]]
    expected = case.get("entries", [{}] * len(entries))
    assert named(entries, expected) == expected
    return entries


def given(case):
    items = tuple(item(**fields) for fields in case["items"])
    return Given(given=items, **case.get("settings", {}))


@each_case(cases(__file__, "datasets"))
def test_a_dataset_is_stored(case, tmp_path):
    folder = tmp_path / "mine"
    card = build("mine", given(case), folder)
    entries = assert_stored(case, card, folder)
    assert card == read_json(folder / "dataset.json", DatasetCard)
    digested = []
    for entry in entries:
        row = [entry.id, entry.category, entry.label, entry.split]
        digested.append([*row, entry.sha256])
    assert card.digest == sha256_of(digested)
    reds = {}
    for fields in case["items"]:
        reds[fields["sample"]] = fields.get("red", 0)
    for sample in read_samples(folder):
        picture = png_bytes(Image.new("RGB", (8, 6), (reds[sample.id], 0, 0)))
        assert sample.medium.path.read_bytes() == picture
        assert sample.medium.sha256 == sha256_bytes(picture)
    items = case["items"][::-1]
    turned = given(case | {"items": items})
    build("mine", turned, tmp_path / "turned")
    assert tree(tmp_path / "turned") == tree(folder)


@each_case(cases(__file__, "refused"))
def test_a_dataset_that_is_refused_leaves_the_one_that_was_there(case, tmp_path):
    build("mine", Given(given=(item("old"),)), tmp_path / "mine")
    before = tree(tmp_path)
    with refused(case):
        build("mine", given(case), tmp_path / "mine")
    assert tree(tmp_path) == before


def test_a_larger_number_of_each_category_only_adds(tmp_path):
    items = []
    for number in range(18):
        items.append(item(f"{number}", number, category="ab"[number % 2]))
    ids = []
    for number in (5, 6):
        source = Given(given=tuple(items), per_category=number)
        digest = build("mine", source, tmp_path / str(number)).digest
        ids.append({entry.id for entry in entries_of(tmp_path / str(number))})
    assert ids[0] < ids[1]
    other = source.model_copy(update={"sample_seed": 1})
    assert build("mine", other, tmp_path / "other").digest != digest


@each_case(cases(__file__, "first"))
def test_the_first_of_a_seeded_order(case):
    """The orders of SHA-256 were computed by hand: a d c e f b of [0,null,id], f c e a d b of
    [1,null,id]."""
    categories = dict.fromkeys("abcdef") | case["categories"]
    order = ""
    before = set()
    for number in range(1, 7):
        ids = first_of(categories, number, case.get("seed", 0))
        [added] = ids - before
        order += added
        before = ids
    assert order == case["order"]


def test_a_larger_first_only_adds_in_proportion(tmp_path):
    files = {f"many/{number}.png": "" for number in range(30)}
    files |= {f"few/{number}.png": "" for number in range(10)}
    lay_out(files, tmp_path)
    before = set()
    for first, few, many in ((4, 1, 3), (8, 2, 6), (20, 5, 15), (99, 10, 30)):
        ids = [item.id for item in ImageFolder(path=tmp_path, first=first).kept_items()]
        assert Counter(id_.partition("_")[0] for id_ in ids) == {
            "few": few,
            "many": many,
        }
        assert before < {*ids}
        before = {*ids}
    assert ids == [item.id for item in ImageFolder(path=tmp_path).kept_items()]


def folder_of(case):
    """Lay out the files of a case here, and return its folder of images."""
    lay_out(case["files"], Path())
    settings = {"path": "in"} | case.get("settings", {})
    return ImageFolder(**settings)


@each_case(cases(__file__, "folders"))
def test_a_folder_of_images(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = folder_of(case)
    build("mine", folder, tmp_path / "out")
    placed = {}
    for entry in entries_of(tmp_path / "out"):
        file = entry.source["file"]
        placed[file] = [entry.category, entry.label, entry.split]
    assert placed == case["placed"]
    for name, path in case.get("names", {}).items():
        assert inside(folder.path, name, "row 1") == tmp_path / path
    assert folder.source().get("left_out") == case.get("left_out")
    digest = folder.source_digest()
    for name, content in case.get("changes", {}).items():
        lay_out({name: content}, tmp_path)
        assert folder.source_digest() != digest


@each_case(cases(__file__, "refused_folders"))
def test_a_folder_of_images_that_is_refused(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = folder_of(case)
    reads = getattr(folder, case.get("calls", "items"))
    with refused(case):
        list(reads())


def test_a_table_names_no_file_in_a_cache_that_is_another_than_it_says(tmp_path):
    stored = f"cache/files/md5/{'0' * 2}/{'0' * 30}"
    lay_out({stored: "another", "in/a.png": {"link": f"../{stored}"}}, tmp_path)
    with pytest.raises(DataError, match="lies outside of its folder"):
        inside(tmp_path / "in", "a.png", "row 1")


def test_ids_of_strange_names():
    assert safe_id("cats/a b.tar.png") == "cats_a_b.tar"
    assert safe_id("猫.png") != safe_id("狗.png")
    assert len(safe_id("x" * 300 + ".png")) == len(safe_id("é" * 300 + ".png")) == 100


def test_where_a_folder_lies_and_when_it_was_written_change_nothing(
    tmp_path, monkeypatch
):
    for place in ("here", "there"):
        lay_out({"cats/a.png": 0, "b.png": 1}, tmp_path / place / "in")
    changed = tmp_path / "there" / "in" / "b.png"
    os.utime(changed, (1, 1))
    monkeypatch.setenv("HOME", str(tmp_path))
    one = ImageFolder(path=tmp_path / "here" / "in")
    other = ImageFolder(path="~/there/in")
    assert one.source_digest() == other.source_digest()
    source = {"kind": "image_folder", "folder": "in"}
    assert build("mine", one, tmp_path / "one").source == source
    assert build("mine", other, tmp_path / "other").source == source
    assert tree(tmp_path / "one") == tree(tmp_path / "other")
    data = bytearray(changed.read_bytes())
    data[-20] ^= 1
    changed.write_bytes(data)
    os.utime(changed, (1, 1))
    assert one.source_digest() != other.source_digest()


def test_files_in_which_a_conversion_leaves_nothing_are_named(tmp_path):
    levels = np.full((4, 8), 4095, np.uint16)
    levels[0] = 0
    folder = tmp_path / "in"
    folder.mkdir()
    Image.fromarray(levels).save(folder / "twelve_bits.png")
    Image.fromarray(levels * 16).save(folder / "sixteen_bits.png")
    Image.new("RGB", (8, 4)).save(folder / "black.png")
    frames = [Image.new("RGB", (8, 4), colour) for colour in ("black", "red")]
    frames[0].save(folder / "begins_black.gif", save_all=True, append_images=frames[1:])
    (folder / "broken.gif").write_bytes(b"GIF89a")
    images = ImageFolder(path=folder)
    assert images.blank() == ["begins_black.gif", "twelve_bits.png"]
    assert losses(images.noted()).frames == ["begins_black.gif"]
    (folder / "broken.gif").unlink()
    card = build("mine", images, tmp_path / "out")
    assert card.blank == ["begins_black", "twelve_bits"]
    assert card.frames == ["begins_black"]
    assert read_json(tmp_path / "out" / "dataset.json", DatasetCard).blank == card.blank
