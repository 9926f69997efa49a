import json
from pathlib import Path

import numpy as np
import pytest
import skimage.data
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image
from scipy.signal import convolve2d

from driftledger.benchmarks.fidelity.spec import SSIM_NOTE
from driftledger.metrics.structural import comparable, structural_similarity

CASES = json.loads((Path(__file__).parents[1] / "cases/structural.json").read_bytes())

images = hnp.arrays(np.uint8, st.tuples(st.integers(11, 20), st.integers(11, 20)))


def as_in_the_paper(a, b):
    """Equation 13 at every window within the image, with an 11×11 Gaussian window of σ = 1.5."""
    at = np.arange(-5, 6)
    window = np.exp(-(at[:, None] ** 2 + at**2) / (2 * 1.5**2))
    window /= window.sum()

    def mean(values):
        return convolve2d(values, window, mode="valid")

    x, y = a.astype(float), b.astype(float)
    mx, my = mean(x), mean(y)
    vx, vy, cov = mean(x * x) - mx**2, mean(y * y) - my**2, mean(x * y) - mx * my
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    return (((2 * mx * my + c1) * (2 * cov + c2)) / ((mx**2 + my**2 + c1) * (vx + vy + c2))).mean()


def noise(seed, shape=(32, 24)):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    a, b = (np.full((16, 16), case[name], dtype=np.uint8) for name in "ab")
    assert structural_similarity(a, b) == case["expected"]


@given(st.data())
def test_it_is_the_formula_of_the_paper(data):
    a = data.draw(images)
    b = data.draw(hnp.arrays(np.uint8, a.shape))
    assert structural_similarity(a, b) == pytest.approx(as_in_the_paper(a, b), abs=1e-6)


def test_it_is_the_formula_on_noise_and_on_what_is_alike():
    a = noise(1)
    for b in (noise(2), a // 2, 255 - a, np.roll(a, 1, axis=0)):
        assert structural_similarity(a, b) == pytest.approx(as_in_the_paper(a, b), abs=1e-6)


@given(images)
def test_an_image_is_exactly_like_itself(image):
    assert structural_similarity(image, image) == 1.0


def test_it_does_not_matter_which_is_first_and_more_noise_is_less_alike():
    a, b = noise(1), noise(2)
    assert structural_similarity(a, b) == structural_similarity(b, a)
    mixed = [((a.astype(int) * (4 - part) + b.astype(int) * part) // 4).astype(np.uint8) for part in range(5)]
    falling = [structural_similarity(a, one) for one in mixed]
    assert falling == sorted(falling, reverse=True)
    assert falling[0] == 1.0
    assert structural_similarity(a, 255 - a) < 0


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "P", "CMYK"])
def test_images_of_any_size_and_mode_become_comparable(mode):
    luma = comparable(Image.new("RGB", (300, 20), "white").convert(mode), 32)
    assert luma.shape == (32, 32)
    assert luma.dtype == np.uint8
    assert (luma == 255).all()


def test_one_pair_has_another_value_at_another_size():
    """The numbers that the note in fidelity's table gives."""
    pair = [Image.fromarray(photo) for photo in (skimage.data.moon(), skimage.data.brick())]
    at = {side: structural_similarity(*(comparable(each, side) for each in pair)) for side in (64, 512)}
    assert [f"{100 * at[side]:.1f} at {side}" in SSIM_NOTE.replace(" pixels", "") for side in at] == [True, True], at


def test_shrinking_averages_over_all_pixels():
    board = np.indices((256, 256)).sum(axis=0) % 2 * 255
    luma = comparable(Image.fromarray(board.astype(np.uint8)), 32)
    assert np.abs(luma.astype(int) - 127.5).max() <= 1.5


def test_enlarging_interpolates():
    luma = comparable(Image.fromarray(np.array([[0, 255]], dtype=np.uint8)), 16)
    assert (np.diff(luma[0].astype(int)) >= 0).all()
    assert len(np.unique(luma)) > 4


def test_green_is_brighter_than_blue():
    assert comparable(Image.new("RGB", (20, 20), (0, 255, 0)), 11)[0, 0] == 150  # 0.587 · 255
    assert comparable(Image.new("RGB", (20, 20), (0, 0, 255)), 11)[0, 0] == 29  # 0.114 · 255


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (
            noise(1, (16, 16, 3)),
            noise(1, (16, 16)),
            r"a must be height × width of uint8, but is uint8 of shape \(16, 16, 3",
        ),
        (noise(1, (16, 16)), noise(1, (16, 16)) / 255, "b must be height × width of uint8, but is float64"),
        (noise(1, (16, 10)), noise(1, (16, 10)), "a is .* takes 11×11"),
        (np.empty((0, 0), np.uint8), np.empty((0, 0), np.uint8), "a is .* takes 11×11"),
        (noise(1, (16, 16)), noise(1, (16, 17)), "a and b must be of one size"),
    ],
)
def test_it_says_what_is_wrong(a, b, message):
    with pytest.raises(ValueError, match=message):
        structural_similarity(a, b)


def test_a_side_holds_a_window():
    with pytest.raises(ValueError, match=r"side must be at least 11, .* but is 10"):
        comparable(Image.new("RGB", (20, 20)), 10)
