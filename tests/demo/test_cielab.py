"""Whole-number CIELAB agrees with a floating-point library, and its tables are exact."""

from fractions import Fraction

import numpy as np
import pytest
from skimage.color import rgb2lab

from driftledger_demo import cielab as module
from driftledger_demo.cielab import SCALE, integer_root, lab, name_colours
from driftledger_demo.vocabulary import BASIC_COLOURS, COLOURS, COMMON_COLOURS


@pytest.mark.parametrize("degree", [3, 5])
def test_integer_root_is_exact(degree):
    for value in (0, 1, 7, 8, 9, 2**degree - 1, 2**degree, 10**40, 10**40 - 1, 12345**degree, 12345**degree - 1):
        root = integer_root(value, degree)
        assert root**degree <= value < (root + 1) ** degree


def test_no_table_entry_hangs_on_rounding():
    """Each entry e of either table fulfils e ≤ exact < e + 1 in rational arithmetic: there is no boundary to miss."""
    linear, cube = (table.tolist() for table in module._tables())
    for code, entry in enumerate(linear[11:], 11):
        light = Fraction(1000 * code + 14_025, 269_025) ** 12 * module._ONE**5
        assert entry**5 <= light < (entry + 1) ** 5
    for level, entry in enumerate(cube):
        if level * 24389 > 216 * module._ONE:
            assert entry**3 <= Fraction(module._CUBE**3 * level, module._ONE) < (entry + 1) ** 3
    assert linear == sorted(linear)
    assert cube == sorted(cube)
    assert (linear[0], linear[255], cube[-1]) == (0, module._ONE, module._CUBE)


def test_agrees_with_a_floating_point_library():
    rgb = np.random.default_rng(1).integers(0, 256, (5000, 3), dtype=np.uint8)
    difference = np.abs(lab(rgb) / SCALE - rgb2lab(rgb))
    assert difference.max() < 3
    assert difference.mean() < 0.3


def test_greys_have_no_hue():
    grey = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 3, axis=1)
    assert np.abs(lab(grey)[:, 1:]).max() <= SCALE


@pytest.mark.parametrize("names", [BASIC_COLOURS, COMMON_COLOURS, tuple(COLOURS)], ids=["basic", "common", "all"])
def test_every_name_is_the_nearest_to_its_own_colour(names):
    assert name_colours([COLOURS[name] for name in names], names) == list(names)
