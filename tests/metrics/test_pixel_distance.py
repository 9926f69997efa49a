import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from scipy.spatial.distance import minkowski

from driftledger.metrics.pixel_distance import pixel_distance, pixels

images = hnp.arrays(np.uint8, st.tuples(st.integers(1, 6), st.integers(1, 6), st.just(3)))


@pytest.mark.parametrize(
    ("a", "b", "p", "expected"),
    [
        ([[0, 0, 0]], [[255, 255, 255]], 1, 1.0),
        ([[0, 0, 0]], [[255, 0, 0]], 1, 1 / 3),
        ([[10, 20, 30], [40, 50, 60]], [[10, 20, 30], [40, 50, 60]], 2, 0.0),
        ([[0, 0]], [[51, 102]], 1, 0.3),
        ([[0, 0]], [[153, 204]], 2, (((0.6**2 + 0.8**2) / 2) ** 0.5)),
    ],
)
def test_hand_worked(a, b, p, expected):
    assert pixel_distance(np.array(a, np.uint8), np.array(b, np.uint8), p) == pytest.approx(expected, abs=1e-15)


@given(st.data(), st.sampled_from([1, 2]))
def test_it_is_the_lp_norm_of_the_difference(data, p):
    a = data.draw(images)
    b = data.draw(hnp.arrays(np.uint8, a.shape))
    norm = minkowski(a.ravel().astype(float), b.ravel().astype(float), p)
    assert pixel_distance(a, b, p) == pytest.approx(norm / a.size ** (1 / p) / 255, abs=1e-9)
    assert pixel_distance(a, b, p) == pixel_distance(b, a, p)


@given(images)
def test_equal_images_have_none_and_negatives_have_the_most_there_is(image):
    assert pixel_distance(image, image) == 0
    assert pixel_distance(image, 255 - image) <= 1


def test_images_are_brought_to_one_size():
    one, other = Image.new("RGB", (640, 480), "red"), Image.new("RGB", (13, 200), "red")
    assert pixel_distance(pixels(one), pixels(other)) == 0
    with pytest.raises(ValueError, match="side must be at least 1"):
        pixels(one, 0)


@pytest.mark.parametrize(
    ("a", "b", "p", "message"),
    [
        (np.zeros((2, 2), np.uint8), np.zeros((2, 3), np.uint8), 1, "of one size"),
        (np.zeros((2, 2)), np.zeros((2, 2), np.uint8), 1, "a must hold pixels"),
        (np.zeros((0, 2), np.uint8), np.zeros((0, 2), np.uint8), 1, "a must hold pixels"),
        (np.zeros((2, 2), np.uint8), np.zeros((2, 2), np.uint8), 3, "p must be 1 or 2"),
    ],
)
def test_it_says_what_is_wrong(a, b, p, message):
    with pytest.raises(ValueError, match=message):
        pixel_distance(a, b, p)
