"""Which pixels a shape covers: against scikit-image, and by what must hold of any polygon."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from skimage.draw import disk, polygon2mask

from driftledger_demo import raster_shapes as figures
from driftledger_demo.raster_shapes import SUB, Mask, Point, disc, figure, polygon

SHAPE = (40, 60)
EXTENTS = (12, 18, 28, 44, 66)
"""Sides of shapes in the datasets and the question sets, in pixels."""
MIRRORED = ("circle", "ring", "square", "triangle", "inverted triangle", "diamond", "octagon", "cross", "up", "saltire")
FILLING = (*MIRRORED[:-2], "star", "heart")
"""Those that reach all four sides of their square."""

points = st.tuples(st.integers(-200, 60 * SUB + 200), st.integers(-200, 40 * SUB + 200))
polygons = st.lists(points, min_size=3, max_size=8)


@pytest.mark.parametrize("shape", ["square", "diamond", "triangle", "octagon", "star", "cross", "up", "right", "left"])
@pytest.mark.parametrize("extent", [*EXTENTS, 140])
def test_polygons_agree_with_scikit_image(shape: str, extent: int) -> None:
    mask = figure(shape, (160, 160), (80, 80), extent)
    half = extent / 2
    corners = [(80 + half * y / 1000 - 0.5, 80 + half * x / 1000 - 0.5) for x, y in figures._OUTLINES[shape]]
    independent = polygon2mask((160, 160), corners)
    assert np.count_nonzero(mask != independent) <= 2 * extent  # pixels on an edge may go either way


@pytest.mark.parametrize("extent", [*EXTENTS, 140])
def test_circles_agree_with_scikit_image(extent: int) -> None:
    mask = figure("circle", (160, 160), (80, 80), extent)
    independent = np.zeros((160, 160), dtype=bool)
    independent[disk((79.5, 79.5), extent / 2, shape=(160, 160))] = True
    assert np.array_equal(mask, independent)


@pytest.mark.parametrize("shape", FILLING)
def test_a_shape_fills_its_extent(shape: str) -> None:
    for extent in EXTENTS[2:]:
        rows, columns = np.nonzero(figure(shape, (160, 160), (80, 80), extent))
        for line in (rows, columns):
            assert extent - 3 <= line.max() - line.min() + 1 <= extent


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("shape", [*MIRRORED, "star", "heart", "right", "left", "bar", "dead end"])
def test_a_shape_stays_within_its_square(shape: str, extent: int) -> None:
    mask = figure(shape, (80, 80), (40, 40), extent)
    low, high = 40 - extent // 2, 40 + extent // 2
    assert mask[low:high, low:high].sum() == mask.sum() > 0


@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("shape", MIRRORED)
def test_left_is_as_right_but_for_pixels_on_an_edge(shape: str, extent: int) -> None:
    mask = figure(shape, (80, 80), (40, 40), extent)
    assert np.count_nonzero(mask != mask[:, ::-1]) <= 2 * extent
    if shape in ("circle", "ring", "square"):
        assert np.array_equal(mask, mask[:, ::-1])


def test_a_ring_is_a_circle_with_a_hole() -> None:
    circle, ring = (figure(shape, (80, 80), (40, 40), 28) for shape in ("circle", "ring"))
    hole = circle & ~ring
    assert np.array_equal(circle, ring | hole)
    assert hole[40, 40]
    assert 0.3 < hole.sum() / circle.sum() < 0.4  # 0.6² of the area


def test_no_such_shape() -> None:
    with pytest.raises(KeyError, match="blob"):
        figure("blob", (8, 8), (4, 4), 4)


def test_a_pixel_belongs_to_a_polygon_by_its_centre() -> None:
    square = [(SUB, SUB), (3 * SUB, SUB), (3 * SUB, 3 * SUB), (SUB, 3 * SUB)]
    assert covered(polygon((4, 4), square)) == [(1, 1), (1, 2), (2, 1), (2, 2)]
    assert covered(polygon((4, 4), [(x + SUB // 2 + 1, y) for x, y in square])) == [(1, 2), (1, 3), (2, 2), (2, 3)]
    assert covered(disc((4, 4), (SUB, SUB), SUB)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert covered(disc((4, 4), (SUB, SUB), 0)) == []


@given(polygons, st.integers(0, 7), st.booleans())
def test_neither_the_first_corner_nor_the_direction_matters(corners: list[Point], turn: int, back: bool) -> None:
    turn %= len(corners)
    other = [*corners[turn:], *corners[:turn]][:: -1 if back else 1]
    assert np.array_equal(polygon(SHAPE, corners), polygon(SHAPE, other))


@given(polygons)
def test_parts_that_share_an_edge_share_no_pixel_and_leave_none_out(corners: list[Point]) -> None:
    """A polygon is its fan of triangles, by the even-odd rule to the pixel: on an edge, each pixel is on one side."""
    fan = np.zeros(SHAPE, dtype=np.bool_)
    for one, other in pairwise(corners[1:]):
        fan ^= polygon(SHAPE, [corners[0], one, other])
    assert np.array_equal(polygon(SHAPE, corners), fan)


@given(
    st.sampled_from(["circle", "ring", "triangle", "cross", "star", "heart"]), st.integers(-9, 9), st.integers(-9, 9)
)
def test_a_shape_that_is_moved_is_the_same(shape: str, across: int, down: int) -> None:
    here, there = (figure(shape, SHAPE, (30 + x, 20 + y), 18) for x, y in ((0, 0), (across, down)))
    assert np.array_equal(np.roll(here, (down, across), axis=(0, 1)), there)


def covered(mask: Mask) -> list[tuple[int, int]]:
    """Down, across."""
    return [(int(row), int(column)) for row, column in np.argwhere(mask)]
