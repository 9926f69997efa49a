"""Datasets: what is decoded, which folders and tables are read, and what is built of them."""

import os
import shutil
import unicodedata
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import pairwise, product
from pathlib import Path
from typing import ClassVar, get_args

import numpy as np
import pytest
from PIL import Image, ImageCms
from pydantic import Field

from driftledger.core.canonical import md5_bytes, sha256_bytes, sha256_of
from driftledger.core.errors import ConfigError, DataError, MissingSourceError
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.types import Split
from driftledger.data.build import build
from driftledger.data.datasets.base import DatasetProvider, SourceItem, first_of, inside
from driftledger.data.datasets.decode import decode
from driftledger.data.datasets.image_folder import ImageFolder, safe_id
from driftledger.data.datasets.sounds import SoundFolder
from driftledger.data.records import DatasetCard, SampleEntry, read_samples
from tests.conftest import draw
from tests.support.cases import cases, each_case


def encoded(case):
    if "bytes" in case:
        return str(case["bytes"]).encode()
    colour, options = case.get("colour", [1, 2, 3]), dict(case.get("options", {}))
    options = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in options.items()
    }
    image = Image.new(
        case["mode"], (8, 4), tuple(colour) if isinstance(colour, list) else colour
    )
    if "corner" in case:  # one pixel of another colour
        corner = case["corner"]
        image.putpixel((7, 3), tuple(corner) if isinstance(corner, list) else corner)
    if "frames" in case:
        more = [
            Image.new("RGB", (8, 4), (50 * number, 0, 0))
            for number in range(2, case["frames"] + 1)
        ]
        options |= {"save_all": True, "append_images": more}
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
        with pytest.raises(DataError) as caught:
            decode(encoded(case), "x", most)
        assert case["says"] in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    image, notes = decode(encoded(case), "x", most)
    assert (image.mode, notes) == ("RGB", case["notes"])
    assert image.size == tuple(case.get("size", (8, 4)))
    near = case.get("pixel", [1, 2, 3])
    most_apart = case.get("near", 2 if case["format"] == "JPEG" else 0)
    assert np.abs(np.asarray(image, dtype=int) - near).max() == pytest.approx(
        most_apart, abs=2 * (most_apart == 2)
    )


def test_every_alpha_over_white_is_rounded_to_nearest():
    colour, alpha = np.meshgrid(np.arange(256), np.arange(256))
    rgba = np.stack([colour, colour, 255 - colour, alpha], axis=-1).astype(np.uint8)
    buffer = BytesIO()
    Image.fromarray(rgba).save(buffer, "PNG")
    wide = rgba.astype(np.int64)
    expected = (
        wide[..., :3] * wide[..., 3:] + 255 * (255 - wide[..., 3:]) + 127
    ) // 255
    assert np.array_equal(
        np.asarray(decode(buffer.getvalue(), "x", 100_000)[0]), expected
    )


def coloured(red):
    buffer = BytesIO()
    Image.new("RGB", (4, 4), (red, 0, 0)).save(buffer, "BMP")
    return buffer.getvalue()


def item(sample, red=0, category=None, label=None, split=None):
    read = partial(coloured, red)
    return SourceItem(
        sample,
        f"{sample.strip():.200}.bmp",
        read,
        category,
        label,
        split,
        source={"file": "f"},
    )


class Given(DatasetProvider):
    """Items as the test gives them."""

    provider: ClassVar[str] = "given"
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


def tree(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    assert files
    return {
        path.relative_to(folder).as_posix(): sha256_bytes(path.read_bytes())
        for path in files
    }


def test_a_dataset_folder(tmp_path):
    items = (item("b", 2, "odd"), item("a", 1, "even"), item("d", 1), item("c", 3))
    card = build(
        "mine", Given(given=items, groups={"visual": ["odd"]}), tmp_path / "mine"
    )
    entries = entries_of(tmp_path / "mine")
    picture = png_bytes(Image.new("RGB", (4, 4), (1, 0, 0)))
    first = {
        "id": "a",
        "file": "images/a.png",
        "category": "even",
        "sha256": sha256_bytes(picture),
    }
    assert entries[0] == SampleEntry.model_validate(
        first | {"width": 4, "height": 4, "source": {"file": "f"}}
    )
    assert (tmp_path / "mine" / "images" / "a.png").read_bytes() == picture
    assert {entry.id: entry.notes for entry in entries} == {
        "a": [],
        "b": [],
        "c": [],
        "d": ["same image as a"],
    }
    assert card == read_json(tmp_path / "mine" / "dataset.json", DatasetCard)
    assert (card.samples, card.categories, card.groups) == (
        4,
        {"even": 1, "odd": 1},
        {"visual": ["odd"]},
    )
    assert (card.labels, card.leaks) == ({}, {})
    assert card.digest == sha256_of(
        [
            [each.id, each.category, each.label, each.split, each.sha256]
            for each in entries
        ]
    )
    assert card.settings.keys() == {"general_category", "groups", "max_pixels"}
    assert [
        sample.medium.open().getpixel((0, 0))[0]
        for sample in read_samples(tmp_path / "mine")
    ] == [1, 2, 3, 1]
    build(
        "mine",
        Given(given=items[::-1], groups={"visual": ["odd"]}),
        tmp_path / "turned",
    )
    assert tree(tmp_path / "turned") == tree(tmp_path / "mine")


def test_support_and_test_set(tmp_path):
    pets = (
        *(
            item("s1", 1, label="cat", split="support"),
            item("s2", 2, label="dog", split="support"),
        ),
        *(
            item("t1", 1, label="cat", split="test"),
            item("t2", 5, label="dog", split="test"),
        ),
    )
    card = build("pets", Given(given=pets), tmp_path / "pets")
    assert card.labels == {
        "cat": {"support": 1, "test": 1},
        "dog": {"support": 1, "test": 1},
    }
    assert card.leaks == {"t1": "s1"}
    assert entries_of(tmp_path / "pets")[2].notes == [
        "same image as s1 of the support set"
    ]


@each_case(cases(__file__, "refused"))
def test_a_dataset_that_is_refused_leaves_the_one_that_was_there(case, tmp_path):
    items = []
    for fields in case["items"]:
        broken = fields.pop("bytes", None)
        made = item(**fields)
        items.append(replace(made, read=broken.encode) if broken else made)
    build("mine", Given(given=(item("old"),)), tmp_path / "mine")
    before = tree(tmp_path)
    with pytest.raises(DataError) as caught:
        build("mine", Given(given=tuple(items), **case["settings"]), tmp_path / "mine")
    assert case["says"] in str(caught.value)
    assert "\n" not in str(caught.value)
    assert tree(tmp_path) == before


def test_a_few_of_each_category(tmp_path):
    items = tuple(
        item(f"{category}{number}", number, category)
        for category in "ab"
        for number in range(9)
    )
    card = build("mine", Given(given=items, per_category=5), tmp_path / "five")
    build("mine", Given(given=items[::-1], per_category=5), tmp_path / "turned")
    assert tree(tmp_path / "five") == tree(tmp_path / "turned")
    assert (card.categories, card.settings["sample_seed"]) == ({"a": 5, "b": 5}, 0)
    more = build("mine", Given(given=items, per_category=6), tmp_path / "six")
    assert {each.id for each in entries_of(tmp_path / "five")} < {
        each.id for each in entries_of(tmp_path / "six")
    }
    assert (
        build(
            "mine",
            Given(given=items, per_category=6, sample_seed=1),
            tmp_path / "other",
        ).digest
        != more.digest
    )
    with pytest.raises(ConfigError, match="has no such sets; give one number"):
        build(
            "mine",
            Given(given=items, per_category={"support": 1, "test": 2}),
            tmp_path / "sets",
        )


@each_case(cases(__file__, "first"))
def test_the_first_of_a_seeded_order(case):
    """The orders of SHA-256 were computed by hand: a d c e f b of [0,null,id], f c e a d b of
    [1,null,id]."""
    categories = dict.fromkeys("abcdef") | case["categories"]
    orders = [
        first_of(categories, number, case.get("seed", 0)) for number in range(1, 7)
    ]
    kept = [next(iter(more - less)) for less, more in pairwise([set(), *orders])]
    assert "".join(kept) == case["order"]


@pytest.mark.parametrize("kind", [ImageFolder, SoundFolder])
def test_a_larger_first_only_adds_in_proportion(kind, tmp_path):
    for name in (
        *(f"many/{number}" for number in range(30)),
        *(f"few/{number}" for number in range(10)),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}{'.png' if kind is ImageFolder else '.wav'}").touch()
    kept = {
        n: [item.id for item in kind(path=tmp_path, first=n).kept_items()]
        for n in (4, 8, 20, 99)
    }
    assert [
        (len(ids), sum(each.startswith("many") for each in ids))
        for ids in kept.values()
    ] == [*((4, 3), (8, 6), (20, 15), (40, 30))]
    assert {*kept[4]} < {*kept[8]} < {*kept[20]} < {*kept[99]}
    assert kept[99] == [item.id for item in kind(path=tmp_path).kept_items()]


def test_first_thins_a_test_set_alone_and_what_a_category_keeps(tmp_path):
    each = product(("cat", "dog"), get_args(Split), range(4))
    pets = tuple(
        item(f"{split}-{label}{n}", n, label=label, split=split)
        for label, split, n in each
    )
    card = build("pets", Given(given=pets, first=2), tmp_path / "pets")
    assert card.labels == {
        "cat": {"support": 4, "test": 1},
        "dog": {"support": 4, "test": 1},
    }
    assert (card.settings["first"], card.settings["sample_seed"]) == (2, 0)
    both = build(
        "pets",
        Given(given=pets, first=3, per_category={"support": 1, "test": 2}),
        tmp_path / "both",
    )
    assert both.labels == {
        "cat": {"support": 1, "test": 2},
        "dog": {"support": 1, "test": 1},
    }
    groups = {"all": ["odd", "even"]}
    few = (item("a", 1, "even"), item("b", 2, "even"), item("c", 3, "odd"))
    with pytest.raises(
        DataError,
        match=r"'all': category 'odd' is unknown.* \(first: 1 may have left it out; raise",
    ):
        build("mine", Given(given=few, groups=groups, first=1), tmp_path / "few")


def placed(path, **settings):
    items = ImageFolder(path=path, **settings).items()
    return {
        each.source["file"]: (each.category, each.label, each.split) for each in items
    }


def test_folders_are_categories_or_sets_and_classes(tmp_path):
    for number, name in enumerate(
        ("train/cat/a.png", "train/dog/b.png", "test/cat/old/c.webp", "test/dog/D.JPG")
    ):
        draw(tmp_path / name, number)
    for name in (".hidden.png", ".git/c.png", "test/.cache/d.png", "notes.txt", "png"):
        draw(tmp_path / f"{name}.png", 9).rename(tmp_path / name)
    assert {each[0] for each in placed(tmp_path).values()} == {"train", "test"}
    assert placed(tmp_path, labelled=True) == {
        "train/cat/a.png": (None, "cat", "support"),
        "train/dog/b.png": (None, "dog", "support"),
        "test/cat/old/c.webp": (None, "cat", "test"),
        "test/dog/D.JPG": (None, "dog", "test"),
    }
    draw(tmp_path / "top.png", 7)
    assert placed(tmp_path)["top.png"][0] == "uncategorised"
    with pytest.raises(
        DataError,
        match=r"^top\.png is not in the folder of a class; move it into train/<label>/",
    ):
        placed(tmp_path, labelled=True)
    assert {each[0] for each in placed(tmp_path / "train" / "cat").values()} == {None}
    digest = ImageFolder(path=tmp_path).source_digest()
    (tmp_path / "test" / "IMG_2.HEIC").write_bytes(b"ftypheic")
    folder = ImageFolder(path=tmp_path)
    assert folder.source()["left_out"] == "notes.txt; png; test/IMG_2.HEIC"
    assert folder.source_digest() != digest
    assert "left_out" not in ImageFolder(path=tmp_path / "train").source()


def test_strange_names_become_ids(tmp_path):
    names = [
        "my photo (1).png",
        "猫.png",
        "狗.png",
        "été à la mer/größe 1.png",
        "x" * 150 + ".png",
        "a\nb.png",
    ]
    for number, name in enumerate([*names, unicodedata.normalize("NFD", "ü.png")]):
        draw(tmp_path / "in" / name, number)
    draw(Path(os.fsdecode(os.fsencode(tmp_path / "in") + b"/caf\xe9.png")), 99)
    build("mine", ImageFolder(path=tmp_path / "in"), tmp_path / "built")
    entries = entries_of(tmp_path / "built")
    assert {entry.source["file"] for entry in entries} == {
        *names,
        "ü.png",
        r"caf\xe9.png",
    }
    assert safe_id("cats/a b.tar.png") == "cats_a_b.tar"
    assert safe_id("猫.png") != safe_id("狗.png")
    assert len(safe_id("x" * 300 + ".png")) == len(safe_id("é" * 300 + ".png")) == 100


def test_links_inside_of_the_folder_are_followed(tmp_path):
    draw(tmp_path / "real" / ".kept" / "0123.png", 0)
    (tmp_path / "real" / "cats").symlink_to(".kept", target_is_directory=True)
    (tmp_path / "real" / "a.png").symlink_to("cats/0123.png")
    (tmp_path / "mine").symlink_to("real", target_is_directory=True)
    assert set(placed(tmp_path / "mine")) == {"a.png", "cats/0123.png"}
    (tmp_path / "real" / "cats" / "again").symlink_to("..", target_is_directory=True)
    with pytest.raises(
        DataError, match="again is a link to a folder that is read already"
    ):
        placed(tmp_path / "mine")


def test_links_into_a_cache_of_dvc_are_followed(tmp_path):
    data = draw(tmp_path / "drawn.png", 0).read_bytes()
    stored = (
        tmp_path / "cache" / "files" / "md5" / md5_bytes(data)[:2] / md5_bytes(data)[2:]
    )
    stored.parent.mkdir(parents=True)
    stored.write_bytes(data)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "a.png").symlink_to(stored)
    assert set(placed(tmp_path / "mine")) == {"a.png"}
    assert inside(tmp_path / "mine", "a.png", "row 1") == stored
    stored.write_bytes(b"of another content than its name says")
    with pytest.raises(DataError, match=r"a\.png is a link out of"):
        placed(tmp_path / "mine")
    with pytest.raises(DataError, match="lies outside of its folder"):
        inside(tmp_path / "mine", "a.png", "row 1")


@pytest.mark.parametrize("kind", ["itself.png", "gone.png", "pipe"])
def test_an_image_that_is_no_file(kind, tmp_path):
    if kind == "pipe":
        os.mkfifo(tmp_path / "itself.png")
    else:
        (tmp_path / "itself.png").symlink_to(tmp_path / kind)
    with pytest.raises(DataError, match=r"itself\.png is a broken link or not a file"):
        ImageFolder(path=tmp_path).source_digest()


@pytest.mark.parametrize(
    ("path", "kind", "says"),
    [
        ("nowhere", MissingSourceError, "is missing"),
        ("a.png", ConfigError, "is not a folder"),
        ("~nobody-of-this-name/x", ConfigError, "cannot be reached"),
        ("x" * 5000, ConfigError, "cannot be reached"),
    ],
)
def test_a_path_that_is_no_folder(path, kind, says, tmp_path):
    draw(tmp_path / "a.png", 1)
    with pytest.raises(
        ConfigError,
        match=rf"^the image folder .* {says}.*; set path to the folder of the images$",
    ) as caught:
        ImageFolder(
            path=Path(path) if path[0] == "~" else tmp_path / path
        ).source_digest()
    assert type(caught.value) is kind


def test_where_a_folder_lies_and_when_it_was_written_change_nothing(
    tmp_path, monkeypatch
):
    for number, name in enumerate(("cats/a.png", "b.png")):
        draw(tmp_path / "here" / "in" / name, number)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    os.utime(tmp_path / "there" / "in" / "b.png", (1, 1))
    monkeypatch.setenv("HOME", str(tmp_path))
    one, other = (
        ImageFolder(path=path / "in") for path in (tmp_path / "here", Path("~/there"))
    )
    assert one.source_digest() == other.source_digest()
    for name, dataset in (("one", one), ("other", other)):
        assert build("mine", dataset, tmp_path / name).source == {
            "kind": "image_folder",
            "folder": "in",
        }
    assert tree(tmp_path / "one") == tree(tmp_path / "other")
    data = bytearray((tmp_path / "there" / "in" / "b.png").read_bytes())
    data[-20] ^= 1
    (tmp_path / "there" / "in" / "b.png").write_bytes(data)
    os.utime(tmp_path / "there" / "in" / "b.png", (1, 1))
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
    (folder / "broken.gif").unlink()
    card = build("mine", images, tmp_path / "out")
    assert card.blank == ["begins_black", "twelve_bits"]
    assert read_json(tmp_path / "out" / "dataset.json", DatasetCard).blank == card.blank
