import io
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from lab.validity.assembled import Validity
from lab.validity.panels import panels
from lab.validity.plot import WIDTH, draw_validity
from lab.validity.sheet import COLOURS, Point
from tests.lab.validity.hand_made import LEVELS, assembled, write_scores

EARLY, MIDDLE, FINAL, BLIND, CEILING = 0, 1, 2, 6, 7


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Validity:
    return assembled(write_scores(tmp_path_factory.mktemp("stored")))


def pixels(png: bytes) -> NDArray[np.uint8]:
    with Image.open(io.BytesIO(png)) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")
        return np.asarray(image)


def below_legend(sheet: NDArray[np.uint8], colour: int, left: float = 0, right: float = 1 / 3) -> NDArray[np.intp]:
    """Row and column of each pixel of the colour in a part of the panels, which has two lines of legend."""
    part = sheet[66:, round(left * WIDTH) : round(right * WIDTH)]
    return np.argwhere((part == COLOURS[colour]).all(axis=2))


def test_three_panels_stand_in_a_row_as_wide_as_a_page(found: Validity) -> None:
    assert [panel.title for panel in panels(found)] == ["GC@t · brush_2 · eye", "GC@3 · brush_2", "other benchmarks, %"]
    height, width, _ = pixels(draw_validity(found)).shape
    assert width == WIDTH
    assert height < WIDTH / 2


def test_the_first_panel_has_every_stage_the_control_and_the_ceiling_from_the_best_down(found: Validity) -> None:
    first, *_ = panels(found)
    assert [line.name for line in first.lines] == ["without fault", "900 steps", "300 steps", "100 steps", "blind"]
    assert [[round(point.y, 6) for point in line.points] for line in first.lines[:2]] == [[95, 85, 75], [85, 80, 75]]
    sheet = pixels(draw_validity(found))
    rows = [below_legend(sheet, colour)[:, 0].mean() for colour in (CEILING, FINAL, MIDDLE, EARLY, BLIND)]
    assert rows == sorted(rows)


def test_the_other_panels_rise_from_the_control_that_stands_beside(found: Validity) -> None:
    _, encoders, others = panels(found)
    assert [line.name for line in encoders.lines] == ["eye", "layout"]
    assert [line.name for line in others.lines] == ["MM-SAP self-awareness score", "TRAC top-1", "SSIM", "CLIP-S"]
    assert list(others.ticks.values()) == ["blind", "100", "300", "900"]
    for line in (*encoders.lines, *others.lines):
        assert line.control is not None
        values = [line.control.y, *(point.y for point in line.points)]
        assert values == sorted(values), line.name
    ssim = others.lines[2]
    assert ssim.points[0] == Point(1, 25.0, 20.0, 30.0)
    found_pixels = below_legend(pixels(draw_validity(found)), others.lines[0].colour, 2 / 3, 1)
    left, right = (found_pixels[found_pixels[:, 1] < 60], found_pixels[found_pixels[:, 1] > 260])
    assert left[:, 0].mean() > right[:, 0].mean() + 60
    between = found_pixels[(found_pixels[:, 1] > 70) & (found_pixels[:, 1] < 110)]
    assert not len(between), "no line joins the control to the stages"


def test_values_below_zero_stay_inside_the_picture(tmp_path: Path) -> None:
    sheet = pixels(draw_validity(assembled(write_scores(tmp_path, LEVELS | {"blind": -0.4, "early": -0.2}))))
    assert len(below_legend(sheet, BLIND)) > 100
    assert (sheet[-6:] == 255).all()


def test_without_a_ceiling_there_is_no_line_for_it(tmp_path: Path, found: Validity) -> None:
    without = found.model_copy(update={"drift": []})
    assert len(panels(without)[0].lines) == len(panels(found)[0].lines) - 1
    assert not len(below_legend(pixels(draw_validity(without)), CEILING))


def test_where_nothing_is_selected_the_picture_says_so(found: Validity) -> None:
    sheet = pixels(draw_validity(found.model_copy(update={"by_model": []})))
    assert (sheet.max(axis=2) == sheet.min(axis=2)).all(), "black on white, without any line"


def test_a_hostile_or_endless_name_is_cut_and_stays_in_its_legend(found: Validity) -> None:
    def of_control(name: str) -> NDArray[np.uint8]:
        return pixels(draw_validity(found.model_copy(update={"control": name})))

    hostile = "x\x1b[31m\n\u202e$\\frac{1}{0}$" + "w" * 30
    plain, cut, endless = of_control("blind"), of_control(hostile), of_control(hostile + "w" * 500)
    assert (cut == endless).all()
    lower = cut.shape[0] - plain.shape[0]
    assert 0 <= lower <= 40, "a line of the legend or two"
    assert (plain[66:-40] == cut[66 + lower : -40]).all(), "what is drawn is the same"
