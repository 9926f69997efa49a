"""The painter: reads the describer's English, survives everything else, and obeys its seed."""

import numpy as np
import pytest
from PIL import Image

from driftledger.components.base import Model
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile, Outcome
from driftledger_demo.generators.painter import Painter
from driftledger_demo.generators.reading import MOST_SHAPES, read
from driftledger_demo.models.regions import Regions
from driftledger_demo.vocabulary import COLOURS, COMMON_COLOURS, PLACES, SHAPES, SIZES, STRETCHES
from tests.support.growth import grows_linearly

PROMPT = "Generate an image that fully and precisely reflects this description: "


def paint(text: str, seed: int = 1, size: int = 256) -> np.ndarray:
    [drawn] = Painter(longest_side=size).generate([PROMPT + text], [seed])
    assert drawn.outcome is Outcome.OK
    assert drawn.image is not None
    assert drawn.image.mode == "RGB"
    return np.asarray(drawn.image).astype(int)


def near(pixel: np.ndarray, colour: str) -> bool:
    return bool(np.abs(pixel - COLOURS[colour]).max() <= 2)


def describe(model: Model, image: np.ndarray, folder) -> str:
    path = folder / "shown.png"
    Image.fromarray(image.astype(np.uint8)).save(path)
    return model.respond([Conversation.ask("Describe.", ImageFile(path, ""))])[0].text


def test_the_registry_knows_it():
    assert provider_class("generators", "painter") is Painter


@pytest.mark.parametrize("size", [15, 1025])
def test_a_size_out_of_range_is_refused(size):
    with pytest.raises(ValueError, match="longest_side"):
        Painter(longest_side=size)


def test_words_are_painted():
    image = paint("A landscape picture on a dark blue background. A large red circle at the top left.")
    assert image.shape == (185, 256, 3)
    assert near(image[33, 46], "red")
    assert near(image[-5, -5], "dark blue")


def test_measures_are_painted():
    image = paint("A picture 200% as wide as tall on a white background. A black stripe, 50% by 5%, 50% across and "
                  "50% down, tilted 45 degrees.")  # fmt: skip
    assert image.shape == (128, 256, 3)
    assert near(image[64, 128], "black")
    assert near(image[64 + 35, 128 + 35], "black")
    assert near(image[64 - 35, 128 + 35], "white")


def test_a_shape_covers_what_its_measures_say():
    image = paint("A picture 100% as wide as tall on a white background. A black circle, 50% by 50%, 50% across and "
                  "50% down. A black square, 20% by 20%, 10% across and 90% down.")  # fmt: skip
    black = (image.max(axis=2) < 100).mean()
    assert black == pytest.approx(0.25 * np.pi / 4 + 0.04, abs=0.006)


def test_small_things_lie_on_large_ones_in_any_order():
    image = paint("A tiny white square in the centre. A huge black circle in the centre.")
    assert near(image[128, 128], "white")


def test_other_peoples_english_is_read_where_it_can_be():
    image = paint("The photo shows a street.\nThere is a BIG red ball, a disc, in the top left corner! It is Gray?")
    assert near(image[46, 46], "red")


@pytest.mark.parametrize("text", ["", "This is a photograph.", "Une image très belle.", "\x00\x01\u202e", "red", "%%%"])
def test_nothing_recognised_is_an_empty_grey_canvas(text):
    image = paint(text)
    assert image.shape == (256, 256, 3)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) == 1
    assert np.abs(image - 127).max() <= 2


@pytest.mark.parametrize(
    "text",
    [
        "a" * 1_000_000,
        ". " * 500_000,
        "red " * 250_000,
        "a red circle. " * 70_000,
        "A 99999999% by 99999999%, 9999999999999% across and 50% down, tilted 99999999 degrees red circle. " * 9000,
        "very " * 200_000,
        "medium-" * 140_000,
        "9" * 1_000_000,
        "\x00\u202e٣٣% by ٣% red circle " * 40_000,
        "İ" * 500_000,
        "A picture 0% as wide as tall on a red background. A huge blue circle.",
        "A picture 999999999% as wide as tall. A red square, 0% by 0%, 0% across and 0% down.",
    ],
    ids=range(12),
)  # fmt: skip
def test_hostile_text_is_painted_within_bounds(text):
    image = paint(text, size=1024)
    assert max(image.shape[:2]) == 1024
    assert len(read(text).shapes) <= MOST_SHAPES
    assert grows_linearly(read, text)


def test_equal_seeds_give_equal_images_and_others_slightly_different_ones():
    text = (
        "A square picture on a white background. A large red circle at the top left. A small black square at the right."
    )
    first, again, other = paint(text, 5), paint(text, 5), paint(text, 6)
    assert (first == again).all()
    assert (first != other).any()
    assert (np.abs(first - other).max(axis=2) > 8).mean() < 0.02
    assert (paint("", 5) != paint("", 7)).any()


def test_prompts_without_seeds_are_refused():
    with pytest.raises(ValueError, match="zip"):
        Painter().generate(["a", "b"], [1])


@pytest.mark.parametrize("colour", COLOURS)
def test_every_colour_name_is_read_whole(colour):
    assert read(f"A picture on a {colour} background.").background == COLOURS[colour]
    [shape] = read(f"A tiny tall {colour} square at the very top far left.").shapes
    assert shape.colour == COLOURS[colour]


def test_every_word_of_the_grammar_is_read_whole():
    for place, wanted in PLACES.items():
        [shape] = read(f"A small very dark grey circle at the {place}.").shapes
        assert shape.place == wanted
    sides = [read(f"A {size} red square at the top.").shapes[0].length for size in SIZES]
    assert sides == [10 * side for side in SIZES.values()]
    tilts = [read(f"A tiny {stretch} dark red {noun}.").shapes[0].tilt for stretch in STRETCHES for noun in SHAPES]
    assert tilts == [stretch.tilt for stretch in STRETCHES.values() for _ in SHAPES]


@pytest.mark.parametrize("colour", ["red", "dark green", "light blue", "brown"])
@pytest.mark.parametrize("place", ["upper left", "middle right", "lower centre"])
def test_round_trip_keeps_words(tmp_path, colour, place):
    assert colour in COMMON_COLOURS
    text = f"A square picture on a white background. A large {colour} circle at the {place}."
    assert describe(Regions(detail="medium"), paint(text), tmp_path) == text


def test_round_trip_keeps_measures(tmp_path):
    text = ("A picture 150% as wide as tall on a white background. A vivid red ellipse, 40% by 20%, 30% across and 40% "
            "down, tilted 30 degrees. A dark blue square, 20% by 20%, 80% across and 70% down.")  # fmt: skip
    before = read(text).shapes
    after = read(describe(Regions(detail="fine"), paint(text), tmp_path)).shapes
    assert [(shape.colour, shape.round, shape.tilt) for shape in after] == [
        (shape.colour, shape.round, shape.tilt) for shape in before
    ]
    for one, other in zip(before, after, strict=True):
        assert np.abs(np.subtract(one.place, other.place)).max() <= 3
        assert abs(one.length - other.length) <= 30
        assert abs(one.breadth - other.breadth) <= 30


def test_lines_are_written_where_and_as_large_as_they_are_said_to_be():
    plain = paint("A square picture on a white background.")
    text = 'A square picture on a white background. A text reading "EXIT", 40% by 20%, 30% across and 70% down.'
    rows, columns = np.nonzero((plain != paint(text)).any(axis=2))
    low, high = (np.array(ends) * 100 / 256 for ends in ((columns.min(), rows.min()), (columns.max(), rows.max())))
    np.testing.assert_allclose((low + high) / 2, (30, 70), atol=2)
    np.testing.assert_allclose(high - low, (40, 20), atol=3)


def test_letters_stand_out_from_their_ground():
    line = 'A text reading "EXIT", 80% by 40%, 50% across and 50% down.'
    for ground, ink in (("white", 0), ("black", 255)):
        image = paint(f"A square picture on a {ground} background. {line}")
        assert (image == ink).all(axis=2).sum() > 500


def test_what_stands_in_quotes_is_not_paint():
    quoted = 'A text reading "a huge red square in the centre.", 10% by 5%, 50% across and 50% down.'
    assert read(quoted).shapes == []
    assert [line.text for line in read(quoted).lines] == ["a huge red square in the centre."]


@pytest.mark.parametrize("text", [" ", "\ud800", "\x00\x1b", "写真 🐦", "a" * 200])
def test_any_line_can_be_written(text):
    assert paint(f'A text reading "{text}", 999999999% by 0%, 0% across and 100% down.').shape == (256, 256, 3)
    many = f'A text reading "{text}", 50% by 50%, 50% across and 50% down. ' * 200
    assert len(read(many).lines) <= 64
