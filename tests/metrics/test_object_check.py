import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.object_check import (
    Box,
    Thing,
    Wanted,
    has_all,
    multi_generation_check,
    relative_position,
)

corners = st.floats(0, 100).filter(lambda x: x == 0 or x > 1e-6)
boxes = st.builds(lambda x, y, w, h: Box(x, y, x + w + 1, y + h + 1), corners, corners, corners, corners)


def as_in_geneval(a, b):
    """``relative_position`` of its evaluate_images.py, with arrays."""
    both = np.array([a, b]).reshape(2, 2, 2)
    center_a, center_b = both.mean(axis=-2)
    dim_a, dim_b = np.abs(np.diff(both, axis=-2))[..., 0, :]
    offset = center_a - center_b
    revised = np.maximum(np.abs(offset) - 0.1 * (dim_a + dim_b), 0) * np.sign(offset)
    if np.all(np.abs(revised) < 1e-3):
        return set()
    dx, dy = revised / np.linalg.norm(offset)
    sides = {"left of": dx < -0.5, "right of": dx > 0.5, "above": dy < -0.5, "below": dy > 0.5}
    return {name for name, holds in sides.items() if holds}


@given(boxes, boxes)
def test_positions_are_those_of_geneval(a, b):
    found, expected = relative_position(a, b), as_in_geneval(a, b)
    if found != expected:  # half of the distance to the last bit
        offsets = np.array([(a.left + a.right - b.left - b.right) / 2, (a.top + a.bottom - b.top - b.bottom) / 2])
        sizes = np.array([a.right - a.left + b.right - b.left, a.bottom - a.top + b.bottom - b.top])
        shares = np.maximum(np.abs(offsets) - 0.1 * sizes, 0) / np.linalg.norm(offsets)
        assert np.isclose(shares, 0.5, atol=1e-9).any()


@given(boxes, boxes)
def test_what_is_left_of_something_has_that_on_its_right(a, b):
    turned = {"left of": "right of", "right of": "left of", "above": "below", "below": "above"}
    assert {turned[each] for each in relative_position(a, b)} == relative_position(b, a)


def square(left, top=0.0, color=None, kind="square"):
    return Thing(kind, Box(left, top, left + 10, top + 10), color)


@pytest.mark.parametrize(
    ("things", "include", "exclude", "expected"),
    [
        ([square(0)], [Wanted("square")], [], True),
        ([], [Wanted("square")], [], False),
        ([], [], [], True),
        ([square(0), square(20)], [Wanted("square", 2)], [], True),
        ([square(0), square(20)], [Wanted("square", 2)], [Wanted("square", 3)], True),
        ([square(0), square(20), square(40)], [Wanted("square", 2)], [Wanted("square", 3)], False),
        ([square(0, color="red")], [Wanted("square", color="red")], [], True),
        # only the surest ones are looked at
        ([square(0, color="blue"), square(20, color="red")], [Wanted("square", color="red")], [], False),
        ([square(0), square(30, kind="ring")], [Wanted("square"), Wanted("ring", position=("right of", 0))], [], True),
        ([square(0), square(30, kind="ring")], [Wanted("square"), Wanted("ring", position=("above", 0))], [], False),
        # nothing is right of what is not there
        ([square(30, kind="ring")], [Wanted("square"), Wanted("ring", position=("right of", 0))], [], False),
    ],
)
def test_hand_worked(things, include, exclude, expected):
    assert has_all(things, include, exclude) is expected


def test_more_generations_that_fail_lower_it():
    one = multi_generation_check([[True, False], [True, True]], ["a", "b"])
    other = multi_generation_check([[True, False, False], [True, True, False]], ["a", "b"])
    assert other.overall < one.overall
    assert other.by_generation == (1.0, 0.5, 0.0)
    assert multi_generation_check([[True] * 5] * 3, ["a", "b", "a"]).overall == 1


@pytest.mark.parametrize(
    ("include", "message"),
    [
        ([Wanted("square", 0)], "clause 0 asks for 0 of square"),
        ([Wanted("square", position=("above", 0))], "no earlier one"),
        ([Wanted("square"), Wanted("ring", position=("near", 0))], "'near' of clause 0"),
    ],
)
def test_clauses_that_mean_nothing_are_refused(include, message):
    with pytest.raises(ValueError, match=message):
        has_all([square(0), square(20, kind="ring")], include)


@pytest.mark.parametrize("correct", [[], [[]], [[True], [True, False]]])
def test_rows_of_different_lengths_are_refused(correct):
    with pytest.raises(ValueError, match="image of every generation"):
        multi_generation_check(correct, ["a"] * len(correct))
