"""Arrangements: a caption says all that a drawing shows, a drawing shows all that its caption says."""

import math
import re
from functools import cache
from io import BytesIO
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from pydantic import ValidationError
from scipy.ndimage import gaussian_filter
from skimage.measure import label, regionprops

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.registry import provider_class
from driftledger.core.strict import explain, is_id
from driftledger.data.datasets.base import SourceItem
from driftledger.data.datasets.build import build
from driftledger.data.records import SampleEntry
from driftledger.demo.datasets.arrangements.choosing import labels, of_label
from driftledger.demo.datasets.arrangements.drawing import CENTRES, SIDE, covered, draw, silhouette
from driftledger.demo.datasets.arrangements.grammar import GROUNDS, INKS, PLACES, SHAPES, SIZES, Arrangement, Thing
from driftledger.demo.datasets.arrangements.measuring import measure
from driftledger.demo.datasets.arrangements.provider import Arrangements

Pixels = NDArray[np.uint8]

VERSION = "1"
GOLDEN = {
    False: "5199a07b10c093042688d4cc1e7aa0af1ce9c008470b8b11a915cba4c0224c48",
    True: "4744cf8f13f3c8b98e27640685394befeb53b3831f39282f2f9a84ba74b5ad7f",
}
"""By whether it is labelled: a hash over ids, labels and pixels of the default set."""

THING = re.compile(rf"({'|'.join(PLACES)}) a ({'|'.join(SIZES)}) ({'|'.join(INKS)}) ({'|'.join(SHAPES)})")

kinds = st.tuples(st.sampled_from([*SIZES]), st.sampled_from([*INKS]), st.sampled_from(SHAPES))


@st.composite
def arrangements(some: st.DrawFn, least: int = 1, most: int = 3) -> Arrangement:
    cells = sorted(some(st.sets(st.integers(0, 8), min_size=least, max_size=most)))
    return Arrangement(some(st.sampled_from([*GROUNDS])), tuple(Thing(cell, *some(kinds)) for cell in cells))


def parsed(caption: str) -> Arrangement:
    """What a caption says, read by other means than those it was written with."""
    said, ground = re.fullmatch(r"(.+), on a (.+) background\.", caption).groups()
    found = [THING.fullmatch(part) for part in re.split(", | and ", said[0].lower() + said[1:])]
    things = tuple(Thing(PLACES.index(match[1]), match[2], match[3], match[4]) for match in found if match)
    assert len(things) == len(found) or said == "Nothing"
    return Arrangement(ground, things)


# --- captions ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ground", "things", "caption"),
    [
        ("pink", [], "Nothing, on a pink background."),
        (
            "light grey",
            [(7, "small", "black", "cross")],
            "At the bottom a small black cross, on a light grey background.",
        ),
        (
            "white",
            [(0, "large", "red", "circle"), (4, "small", "blue", "ring")],
            "At the top left a large red circle and in the centre a small blue ring, on a white background.",
        ),
        (
            "pale green",
            [(1, "large", "orange", "square"), (3, "large", "orange", "square"), (8, "small", "cyan", "diamond")],
            "At the top a large orange square, on the left a large orange square and at the bottom right a small cyan "
            "diamond, on a pale green background.",
        ),
    ],
)
def test_captions(ground: str, things: list[tuple[Any, ...]], caption: str) -> None:
    assert Arrangement(ground, tuple(Thing(*thing) for thing in things)).caption == caption


@given(arrangements(least=0, most=9))
def test_a_caption_determines_its_arrangement(one: Arrangement) -> None:
    assert parsed(one.caption) == one


def test_one_in_eight_is_held_out() -> None:
    every = [
        Arrangement(ground, (Thing(cell, size, ink, shape),))
        for ground, cell, size, ink, shape in product(GROUNDS, range(9), SIZES, INKS, SHAPES)
    ]
    share = sum(one.held_out for one in every) / len(every)
    assert share == pytest.approx(1 / 8, abs=0.01)


# --- drawings ---------------------------------------------------------------------------------------------------------


def test_every_ink_stands_out_from_every_ground() -> None:
    assert min(math.dist(ink, ground) for ink, ground in product(INKS.values(), GROUNDS.values())) >= 95


def test_inks_can_be_told_apart_and_so_can_grounds() -> None:
    for table in (INKS, GROUNDS):
        assert min(math.dist(one, other) for one, other in combinations(table.values(), 2)) > 40


@given(arrangements(most=9))
def test_every_pixel_has_a_named_colour_and_things_do_not_touch(one: Arrangement) -> None:
    pixels = draw(one)
    assert (pixels.shape, pixels.dtype) == ((SIDE, SIDE, 3), np.uint8)
    ink = {thing.cell: INKS[thing.colour] for thing in one.things}
    assert {tuple(colour) for colour in np.unique(pixels.reshape(-1, 3), axis=0).tolist()} == {
        GROUNDS[one.ground],
        *ink.values(),
    }
    regions = regionprops(label((pixels != GROUNDS[one.ground]).any(axis=-1), connectivity=2))
    seen = {}
    for region in regions:
        row, column = (min(range(3), key=lambda place: abs(CENTRES[place] - at)) for at in region.centroid)
        [seen[3 * row + column]] = {tuple(colour) for colour in pixels[tuple(region.coords.T)].tolist()}
    assert (seen, len(regions)) == (ink, len(one.things))


def test_no_two_silhouettes_in_a_cell_are_alike() -> None:
    masks = [silhouette(shape, size, 4) for shape in SHAPES for size in SIZES]
    overlaps = [np.count_nonzero(one & other) / np.count_nonzero(one | other) for one, other in combinations(masks, 2)]
    assert max(overlaps) < 0.85


def test_a_silhouette_is_not_to_be_written_to() -> None:
    with pytest.raises(ValueError, match="read-only"):
        covered(Thing(4, "large", "red", "ring"))[0, 0] = True


# --- measuring --------------------------------------------------------------------------------------------------------


@given(arrangements(least=0, most=6))
@settings(max_examples=400)
def test_what_is_drawn_is_measured(one: Arrangement) -> None:
    assert measure(draw(one)) == one


@pytest.mark.parametrize("ground", GROUNDS)
def test_what_is_blurred_and_noisy_is_measured(ground: str) -> None:
    """Every thing there is, small in one corner and large in another: a small ring is nearly all edge."""
    random = np.random.default_rng(0)
    for ink, shape in product(INKS, SHAPES):
        one = Arrangement(ground, (Thing(0, "small", ink, shape), Thing(5, "large", ink, shape)))
        values = gaussian_filter(draw(one).astype(float), sigma=(0.8, 0.8, 0)) + random.normal(0, 12, (SIDE, SIDE, 3))
        assert measure(values.round().clip(0, 255).astype(np.uint8)) == one


@given(arrangements(), st.data())
def test_one_thing_painted_over_recoloured_or_moved_is_measured_as_such(one: Arrangement, some: st.DataObject) -> None:
    place = some.draw(st.sampled_from(range(len(one.things))))
    thing, others = one.things[place], one.things[:place] + one.things[place + 1 :]
    pixels, free = draw(one), [cell for cell in range(9) if cell not in {other.cell for other in one.things}]

    gone = pixels.copy()
    gone[box(thing.cell)] = GROUNDS[one.ground]
    assert measure(gone) == Arrangement(one.ground, others)

    ink = some.draw(st.sampled_from([*INKS]))
    recoloured = pixels.copy()
    recoloured[covered(thing)] = INKS[ink]
    assert measure(recoloured) == Arrangement(one.ground, tuple(sorted((*others, thing._replace(colour=ink)))))

    cell = some.draw(st.sampled_from(free))
    moved = gone.copy()
    moved[box(cell)] = pixels[box(thing.cell)]
    assert measure(moved) == Arrangement(one.ground, tuple(sorted((*others, thing._replace(cell=cell)))))


@given(arrangements(least=2))
def test_two_things_that_change_places_are_measured_as_such(one: Arrangement) -> None:
    first, second, *others = one.things
    pixels = draw(one)
    swapped = pixels.copy()
    swapped[box(first.cell)], swapped[box(second.cell)] = pixels[box(second.cell)], pixels[box(first.cell)]
    places = first._replace(cell=second.cell), second._replace(cell=first.cell)
    assert measure(swapped) == Arrangement(one.ground, tuple(sorted((*places, *others))))


def box(cell: int) -> tuple[slice, slice]:
    """The pixels around the middle of a cell, more than any thing covers."""
    row, column = (slice(CENTRES[place] - 10, CENTRES[place] + 10) for place in divmod(cell, 3))
    return row, column


@pytest.mark.parametrize("shape", [(32, 32, 3), (64, 64), (64, 64, 4), (0, 64, 3)])
def test_another_size_is_not_measured(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=re.escape(f"an image of {shape}; 64×64×3 is measured")):
        measure(np.zeros(shape, dtype=np.uint8))


# --- datasets ---------------------------------------------------------------------------------------------------------


@cache
def shown(**asked: Any) -> dict[str, bytes]:
    """Id → pixels."""
    return {item.id: pixels_of(item).tobytes() for item in Arrangements(**asked).items()}


def pixels_of(item: SourceItem) -> Pixels:
    return np.asarray(Image.open(BytesIO(item.read())))


def test_the_default_set(tmp_path: Path) -> None:
    card = build("arrangements", Arrangements(), tmp_path / "set")
    assert card.categories == {"one": 10, "two": 10, "three": 10}
    assert (card.labels, card.general_category) == ({}, "shapes")
    entries = read_jsonl(tmp_path / "set" / "samples.jsonl", SampleEntry)
    assert {(entry.width, entry.height) for entry in entries} == {(64, 64)}
    assert not any(entry.notes for entry in entries)
    assert read_json(tmp_path / "set" / "dataset.json", type(card)) == card


def test_the_default_labelled_set(tmp_path: Path) -> None:
    card = build("arrangements", Arrangements(labelled=True), tmp_path / "set")
    assert card.labels == {name: {"support": 2, "test": 2} for name in labels()}
    assert (card.samples, len(card.labels), card.categories, card.leaks) == (192, 48, {}, {})
    entries = read_jsonl(tmp_path / "set" / "samples.jsonl", SampleEntry)
    assert not any(entry.notes for entry in entries)


@pytest.mark.parametrize("labelled", [False, True])
def test_images_show_what_their_captions_say_and_none_was_trained_on(labelled: bool) -> None:
    for item in Arrangements(labelled=labelled).items():
        one = measure(pixels_of(item))
        assert one.held_out
        assert one.caption == item.source["caption"]
        assert is_id(item.id)
        if labelled:
            assert [f"{thing.colour} {thing.shape}" for thing in one.things if thing.size == "large"] == [item.label]
            assert len(one.things) in (2, 3)
        else:
            assert {1: "one", 2: "two", 3: "three"}[len(one.things)] == item.category


@pytest.mark.parametrize(
    "asked", [{"per_category": 200}, {"labelled": True, "support_per_label": 12, "test_per_label": 12, "seed": 3}]
)
def test_no_image_is_there_twice(asked: dict[str, Any]) -> None:
    found = shown(**asked)
    assert len(set(found.values())) == len(found)


def test_a_set_cannot_be_larger_than_its_pool() -> None:
    """Of one thing 545 arrangements are held out."""
    captions = [item.source["caption"] for item in Arrangements(per_category=500).items() if item.category == "one"]
    assert len(set(captions)) == 500


def test_a_larger_count_leaves_the_earlier_ones_as_they_are() -> None:
    assert shown(per_category=3).items() <= shown(per_category=200).items()
    most = shown(labelled=True, support_per_label=12, test_per_label=12, seed=3)
    for support, test in ((1, 1), (12, 2), (2, 12)):
        few = shown(labelled=True, support_per_label=support, test_per_label=test, seed=3)
        assert few.items() <= most.items()
        assert len(few) == 48 * (support + test)


def test_another_seed_is_another_set() -> None:
    assert not set(shown(per_category=10, seed=1).values()) & set(shown(per_category=10, seed=2).values())


@pytest.mark.parametrize("labelled", [False, True])
def test_pixels_change_only_with_the_version(labelled: bool) -> None:
    rows = [
        [item.id, item.category, item.label, item.split, sha256_bytes(pixels_of(item).tobytes())]
        for item in Arrangements(labelled=labelled).items()
    ]
    assert (Arrangements.version, sha256_of(rows)) == (VERSION, GOLDEN[labelled]), (
        "arrangements changed: raise the version of Arrangements if this is meant, and write both down here"
    )


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"per_category": 0}, "a: per_category: Input should be greater than or equal to 1 (got 0)"),
        ({"per_category": 501}, "a: per_category: Input should be less than or equal to 500 (got 501)"),
        ({"test_per_label": 101}, "a: test_per_label: Input should be less than or equal to 100 (got 101)"),
        ({"seed": -1}, "a: seed: Input should be greater than or equal to 0 (got -1)"),
        ({"labeled": True}, "a: setting 'labeled' is unknown; did you mean 'labelled'?"),
    ],
)
def test_wrong_settings_are_one_sentence(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Arrangements.model_validate(wrong)
    assert explain(caught.value, "a").startswith(said)


def test_no_such_label() -> None:
    with pytest.raises(ValueError, match="no such label: 'red blob'"):
        of_label("red blob", "test", 1)


def test_the_source_digest_sees_the_settings_that_matter() -> None:
    every = [Arrangements(), Arrangements(per_category=9), Arrangements(seed=2), Arrangements(labelled=True)]
    every += [Arrangements(labelled=True, **{f"{split}_per_label": 3}) for split in ("support", "test")]
    assert len({one.source_digest() for one in every}) == len(every)
    assert Arrangements(test_per_label=3).source_digest() == Arrangements().source_digest()
    assert Arrangements().source() == {"kind": "arrangements", "version": VERSION}


def test_the_registry_finds_the_arrangements() -> None:
    assert provider_class("datasets", "arrangements") is Arrangements
