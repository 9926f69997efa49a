import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from lab.validity.sheet import COLOURS, Sheet, draw_sentence, even_steps


def pixels(png: bytes) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(png)) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.asarray(image)


@pytest.mark.parametrize("words", [1, 60])
def test_a_sentence_stays_inside_in_black_on_white(words: int) -> None:
    sheet = pixels(draw_sentence("Validity", "There is nothing to show. " + "Select a benchmark. " * words))
    assert (sheet.max(axis=2) == sheet.min(axis=2)).all(), "without any line"
    written = np.argwhere(sheet.min(axis=2) < 128)
    assert len(written) > 500
    assert written[:, 1].max() < sheet.shape[1] - 8
    assert written[:, 0].max() < sheet.shape[0] - 8


def test_each_line_has_a_colour_and_a_shape_that_tell_it_apart() -> None:
    shapes = []
    for index, colour in enumerate(COLOURS):
        sheet = Sheet(40, 40)
        sheet.marker((20, 20), index)
        marked = (pixels(sheet.png()) == colour).all(axis=2)
        assert marked.sum() >= 30
        shapes.append(marked)
    assert len({shape.tobytes() for shape in shapes[:4]}) == 4


def test_a_whisker_ends_where_the_interval_does() -> None:
    sheet = Sheet(40, 40)
    sheet.whisker(20, 30, 10, COLOURS[0])
    rows, columns = np.nonzero((pixels(sheet.png()) != 255).any(axis=2))
    assert (rows.min(), rows.max()) == (9, 30), "the line, one pixel wide, covers a part of the one above"
    assert len(set(columns[rows == 10])) > len(set(columns[rows == 20])) > 0, "its ends are wider than the line"


def test_a_hostile_text_stays_one_line() -> None:
    def heights(text: str) -> NDArray[np.intp]:
        sheet = Sheet(400, 60)
        sheet.text((10, 30), text, 11, "lm")
        return np.unique(np.argwhere((pixels(sheet.png()) != 255).any(axis=2))[:, 0])

    assert len(heights("x\x1b[31m\n\u202ew\ny")) < 20


@given(st.floats(1.0, 1e6), st.integers(2, 10))
def test_steps_are_the_smallest_that_are_few_enough(end: float, most: int) -> None:
    step = even_steps(end, most)
    assert str(step).rstrip("0") in ("1", "2", "5")
    assert end <= step * most
    assert step == 1 or end > step / 2.5 * most
