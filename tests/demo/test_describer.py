"""What the describer says of hand-drawn pictures, and what the painter makes of it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from driftledger.components.base import Model
from driftledger.core.types import Conversation, ImageFile, Outcome, Turn
from driftledger_demo.generators.painter import MOST_SHAPES, Painter, read
from driftledger_demo.models.regions import Regions
from tests.support.growth import grows_linearly

Say = Callable[[Model, Image.Image], str]


@pytest.fixture
def say(tmp_path: Path) -> Say:
    def describe(model: Model, image: Image.Image) -> str:
        image.save(tmp_path / "shown.png")
        [reply] = model.respond([Conversation.ask("Describe the image.", ImageFile(tmp_path / "shown.png", ""))])
        assert reply.outcome is Outcome.OK
        return reply.text

    return describe


def red_circle_on_blue() -> Image.Image:
    image = Image.new("RGB", (200, 200), (0, 0, 255))
    ImageDraw.Draw(image).ellipse((10, 10, 80, 80), fill=(255, 0, 0))
    return image


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


def paint(text: str, seed: int = 1, size: int = 256) -> np.ndarray:
    [drawn] = Painter(longest_side=size).generate([f"Generate an image: {text}"], [seed])
    assert drawn.image is not None
    return np.asarray(drawn.image).astype(int)


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


@pytest.mark.parametrize("place", ["upper left", "middle right"])
def test_a_round_trip_keeps_words(say: Say, place: str) -> None:
    text = f"A square picture on a white background. A large dark green circle at the {place}."
    assert say(Regions(detail="medium"), Image.fromarray(paint(text).astype(np.uint8))) == text
