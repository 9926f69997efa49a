import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from driftledger.metrics.likeness import SIDE, likeness, thumbnail


def test_texts_share_words() -> None:
    assert likeness("A red boat.", "a RED boat") == 1.0
    assert likeness("B", "A") == 0.0
    assert likeness("a red boat", "a red cat") == pytest.approx(2 / 3)
    assert likeness("red red red", "red") == 0.5


def test_images_share_light_and_colour() -> None:
    red, blue = (thumbnail(Image.new("RGB", (40, 30), colour)) for colour in ("red", "blue"))
    assert red.shape == (SIDE, SIDE, 3)
    assert likeness(red, red) == 1.0
    assert likeness(red, blue) == pytest.approx(1 / 3)
    assert likeness(red, "red") == likeness("red", red) == 0.0


@given(st.text(), st.text())
def test_it_is_the_same_from_both_sides_and_a_share(one: str, other: str) -> None:
    assert likeness(one, one) == 1
    assert likeness(one, other) == likeness(other, one)
    assert 0 <= likeness(one, other) <= 1


def test_a_thumbnail_is_within_0_and_1() -> None:
    white = thumbnail(Image.new("L", (5, 7), 255))
    assert np.array_equal(white, np.ones((SIDE, SIDE, 3)))
