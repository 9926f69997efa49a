"""The image encoder: finite, comparable, and telling pictures apart."""

import numpy as np
import pytest
import skimage.data
from PIL import Image

from driftledger.core.registry import provider_class
from driftledger_demo.encoders.layout import LayoutEncoder


def photo(name: str) -> Image.Image:
    return Image.fromarray(getattr(skimage.data, name)()).convert("RGB")


def cosine(one: Image.Image, other: Image.Image) -> float:
    a, b = LayoutEncoder().encode_images([one, other]).astype(np.float64)
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def test_the_registry_knows_it():
    assert provider_class("encoders", "layout") is LayoutEncoder
    assert LayoutEncoder.frechet_name == "frechet_layout"


def test_shape_and_type():
    features = LayoutEncoder().encode_images(
        [photo("coffee"), Image.new("RGB", (1, 1)), Image.new("RGB", (3, 900), "red")]
    )
    assert features.dtype == np.float32
    assert features.shape == (3, 1 + 3 + 8 * 8 * 3 + 4 * 4 * 8)


@pytest.mark.parametrize("colour", ["black", "white", (127, 127, 127), (128, 128, 128), "red"])
def test_flat_images_are_finite_and_not_zero(colour):
    [features] = LayoutEncoder().encode_images([Image.new("RGB", (20, 10), colour)])
    assert np.isfinite(features).all()
    assert np.abs(features).sum() > 0


def test_equal_images_have_equal_features_in_any_company():
    coffee, coins = photo("coffee"), photo("coins")
    together = LayoutEncoder().encode_images([coins, coffee, coffee.copy()])
    assert (together[1] == together[2]).all()
    assert (together[1] == LayoutEncoder().encode_images([coffee])[0]).all()


def test_a_grey_image_is_taken_as_it_is():
    assert LayoutEncoder().encode_images([Image.new("L", (9, 9), 50)]).shape[0] == 1


def test_small_changes_are_near_and_other_photographs_far():
    coffee = photo("coffee")
    smaller = coffee.resize((300, 200), Image.Resampling.BOX)
    assert cosine(coffee, smaller) > 0.97
    assert cosine(coffee, coffee.transpose(Image.Transpose.FLIP_LEFT_RIGHT)) < 0.8
    for other in ("astronaut", "coins", "camera", "page"):
        assert cosine(coffee, photo(other)) < 0.6


def test_a_grey_canvas_is_far_from_photographs():
    grey = Image.new("RGB", (256, 256), (127, 127, 127))
    for name in ("coffee", "astronaut", "coins", "chelsea"):
        assert cosine(photo(name), grey) < 0.3


def test_it_has_no_text_tower():
    with pytest.raises(NotImplementedError, match="layout"):
        LayoutEncoder().encode_texts(["a"])
