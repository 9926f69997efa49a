"""What the describer says of hand-drawn pictures, and what the painter makes of it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from PIL import Image, ImageDraw, ImageFilter
from skimage.color import rgb2lab

from driftledger.components.base import Model
from driftledger.core.types import Conversation, ImageFile, Outcome, Turn
from driftledger_demo.cielab import SCALE, lab, name_colours
from driftledger_demo.encoders.layout import LayoutEncoder
from driftledger_demo.filters import median
from driftledger_demo.generators.painter import MOST_SHAPES, Painter, read
from driftledger_demo.models.controls import Blind
from driftledger_demo.models.regions import Regions
from driftledger_demo.vocabulary import COLOURS, PLACES, SHAPES, SIZES, STRETCHES
from tests.support.growth import grows_linearly

DETAILS = ("coarse", "medium", "fine")

Say = Callable[[Model, Image.Image], str]


@pytest.fixture
def say(tmp_path: Path) -> Say:
    def describe(model: Model, image: Image.Image) -> str:
        image.save(tmp_path / "shown.png")
        [reply] = model.respond([Conversation.ask("Describe the image.", ImageFile(tmp_path / "shown.png", ""))])
        assert reply.outcome is Outcome.OK
        return reply.text

    return describe


def noise(width: int, height: int) -> Image.Image:
    values = np.random.default_rng(width * height).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(values)


def red_circle_on_blue() -> Image.Image:
    image = Image.new("RGB", (200, 200), (0, 0, 255))
    ImageDraw.Draw(image).ellipse((10, 10, 80, 80), fill=(255, 0, 0))
    return image


@pytest.mark.parametrize(
    ("detail", "words"),
    [
        ("coarse", ["square picture on a blue background", "red circle at the top left"]),
        ("medium", ["square picture", "blue background", "red circle at the upper left"]),
        ("fine", ["100% as wide as tall", "blue background", "red circle", "23% across and 23% down"]),
    ],
)
def test_a_red_circle_on_blue(say: Say, detail: str, words: list[str]) -> None:
    text = say(Regions.model_validate({"detail": detail}), red_circle_on_blue())
    assert [phrase for phrase in words if phrase not in text] == []


@pytest.mark.parametrize("detail", DETAILS)
@pytest.mark.parametrize("size", [(1, 1), (1, 2000), (2000, 1), (4, 4), (97, 3), (300, 200)])
def test_any_size_is_described_in_less_than_500_words(say: Say, detail: str, size: tuple[int, int]) -> None:
    text = say(Regions.model_validate({"detail": detail}), noise(*size))
    assert text.startswith("A ")
    assert "background" in text
    assert len(text.split()) < 500


def test_the_image_shown_last_is_described_as_it_is_now(tmp_path: Path) -> None:
    shown = {name: ImageFile(tmp_path / f"{name}.png", "the same") for name in ("one", "two")}
    red_circle_on_blue().save(shown["one"].path)
    Image.new("RGB", (90, 60), "green").save(shown["two"].path)
    example = Turn("user", (shown["one"], "Describe it.")), Turn("assistant", ("A red boat.",))
    asked = Conversation.ask("Describe it.", shown["two"])
    alone, taught = Regions(detail="fine").respond([asked, Conversation((*example, *asked.turns))])
    assert alone == taught
    assert "green" in alone.text
    red_circle_on_blue().save(shown["two"].path)
    assert "red circle" in Regions(detail="fine").respond([asked])[0].text


def test_the_limit_counts_words(tmp_path: Path) -> None:
    red_circle_on_blue().save(tmp_path / "shown.png")
    ask = partial(Conversation.ask, "Describe it.", ImageFile(tmp_path / "shown.png", ""))
    whole, *cut = Regions(detail="fine").respond([ask(max_tokens=most) for most in (None, 1, 5, 10_000)])
    assert [reply.outcome for reply in cut] == [Outcome.TRUNCATED, Outcome.TRUNCATED, Outcome.OK]
    assert [reply.text.split() for reply in cut] == [whole.text.split()[:most] for most in (1, 5, 10_000)]


def test_more_detail_keeps_more_of_real_photographs(say: Say) -> None:
    def similarity(model: Model, image: Image.Image) -> float:
        [drawn] = Painter().generate([say(model, image)], [1])
        assert drawn.image is not None
        one, other = LayoutEncoder().encode_images([image, drawn.image]).astype(np.float64)
        return float(one @ other / np.sqrt((one @ one) * (other @ other)))

    images = [Image.fromarray(getattr(skimage.data, name)()).convert("RGB") for name in ("astronaut", "cat", "coffee")]
    models = [Blind(), *(Regions.model_validate({"detail": detail}) for detail in DETAILS)]
    means = [np.mean([similarity(model, image) for image in images]) for model in models]
    assert (np.diff(means) > 0.05).all(), means


def test_colours_are_those_of_a_library_and_named_by_the_nearest() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (5000, 3), dtype=np.uint8)
    difference = np.abs(lab(rgb) / SCALE - rgb2lab(rgb))
    assert (difference.max() < 3, difference.mean() < 0.3) == (True, True)
    assert name_colours([*COLOURS.values()], COLOURS) == [*COLOURS]


@pytest.mark.parametrize("reach", [1, 2])
def test_a_median_is_pillows(reach: int) -> None:
    image = noise(37, 23)
    expected = np.asarray(image.filter(ImageFilter.MedianFilter(2 * reach + 1)))
    assert np.array_equal(median(np.asarray(image), reach), expected)


def paint(text: str, seed: int = 1, size: int = 256) -> np.ndarray:
    [drawn] = Painter(longest_side=size).generate([f"Generate an image: {text}"], [seed])
    assert drawn.image is not None
    return np.asarray(drawn.image).astype(int)


def near(pixel: np.ndarray, colour: str) -> bool:
    return bool(np.abs(pixel - COLOURS[colour]).max() <= 2)


def test_words_and_measures_are_painted() -> None:
    image = paint("A landscape picture on a dark blue background. A large red circle at the top left.")
    assert image.shape == (185, 256, 3)
    assert (near(image[33, 46], "red"), near(image[-5, -5], "dark blue")) == (True, True)
    image = paint(
        "A picture 200% as wide as tall on a white background. A black stripe, 50% by 5%, 50% across and 50% down, "
        "tilted 45 degrees."
    )
    assert image.shape == (128, 256, 3)
    points = {(64, 128): "black", (64 + 35, 128 + 35): "black", (64 - 35, 128 + 35): "white"}
    assert [at for at, colour in points.items() if not near(image[at], colour)] == []


@pytest.mark.parametrize("text", ["", "This is a photograph.", "\x00\x01\u202e", "red", "%%%"])
def test_nothing_understood_is_an_empty_grey_canvas(text: str) -> None:
    image = paint(text)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) == 1
    assert np.abs(image - 127).max() <= 2


@pytest.mark.parametrize(
    "text",
    [
        ". " * 500_000,
        "a red circle. " * 70_000,
        "A 99999999% by 99999999%, 9999999999999% across and 50% down, tilted 99999999 degrees red circle. " * 9000,
        "9" * 1_000_000,
        "A picture 999999999% as wide as tall. A red square, 0% by 0%, 0% across and 0% down.",
    ],
    ids=range(5),
)
def test_hostile_text_is_painted_within_bounds(text: str) -> None:
    assert max(paint(text, size=1024).shape[:2]) == 1024
    assert len(read(text).shapes) <= MOST_SHAPES
    assert grows_linearly(read, text)


def test_seeds() -> None:
    text = "A square picture on a white background. A large red circle at the top left."
    first, again, other = paint(text, 5), paint(text, 5), paint(text, 6)
    assert (first == again).all()
    assert (first != other).any()
    assert (np.abs(first - other).max(axis=2) > 8).mean() < 0.02


def test_every_word_of_the_grammar_is_read_whole() -> None:
    for colour, rgb in COLOURS.items():
        assert read(f"A picture on a {colour} background.").background == rgb
    for place, wanted in PLACES.items():
        assert read(f"A small very dark grey circle at the {place}.").shapes[0].place == wanted
    sides = [read(f"A {size} red square at the top.").shapes[0].length for size in SIZES]
    assert sides == [10 * side for side in SIZES.values()]
    tilts = [read(f"A tiny {stretch} dark red {noun}.").shapes[0].tilt for stretch in STRETCHES for noun in SHAPES]
    assert tilts == [stretch.tilt for stretch in STRETCHES.values() for _ in SHAPES]


@pytest.mark.parametrize("place", ["upper left", "middle right"])
def test_a_round_trip_keeps_words(say: Say, place: str) -> None:
    text = f"A square picture on a white background. A large dark green circle at the {place}."
    assert say(Regions(detail="medium"), Image.fromarray(paint(text).astype(np.uint8))) == text
