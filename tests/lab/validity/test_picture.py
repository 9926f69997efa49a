from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftledger.charts.axes import PlotPoint
from driftledger.charts.palette import GREY
from lab.validity.assembled import Ranked, Validity
from lab.validity.panels import panels
from lab.validity.plot import WIDTH, draw_validity
from tests.lab.validity.hand_made import LEVELS, assembled, write_scores
from tests.support.svg import pale, seen, texts


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Validity:
    return assembled(write_scores(tmp_path_factory.mktemp("stored")))


def test_three_panels_stand_in_a_row_as_wide_as_a_page(found: Validity) -> None:
    titles = ["GC@t · brush_2 · eye", "GC@3 · brush_2", "other benchmarks, %"]
    assert [panel.title for panel in panels(found)] == titles
    drawn = [each for each in seen(draw_validity(found)) if each.text in titles]
    assert [each.text for each in drawn] == titles
    assert len({each.y for each in drawn}) == 1
    assert [each.x - drawn[0].x for each in drawn] == pytest.approx([0, WIDTH / 3, 2 * WIDTH / 3])
    assert pale(draw_validity(found)) == []


def test_the_first_panel_has_every_stage_the_control_and_the_ceiling_from_the_best_down(found: Validity) -> None:
    first, *_ = panels(found)
    names = ["without fault", "900 steps", "300 steps", "100 steps", "blind"]
    assert [line.name for line in first.lines] == names
    values = [[round(point.y, 6) for point in line.points] for line in first.lines[:2]]
    assert values == [[0.95, 0.85, 0.75], [0.85, 0.80, 0.75]]
    drawn = seen(draw_validity(found))
    heights = [next(each.y for each in drawn if each.told.startswith(f"{name}, 1:") and "cx" in each.at) for name in
               ("without fault", "blind")]  # fmt: skip
    assert heights == sorted(heights)
    assert first.lines[-1].series.colour == GREY
    assert len({line.series for line in first.lines}) == len(names)


def test_the_other_panels_rise_from_the_control_that_stands_beside(found: Validity) -> None:
    _, encoders, others = panels(found)
    assert [line.name for line in encoders.lines] == ["eye", "layout"]
    assert [line.name for line in others.lines] == ["MM-SAP self-awareness score", "TRAC top-1", "SSIM", "CLIP-S"]
    assert list(others.ticks.values()) == ["blind", "100", "300", "900"]
    for line in (*encoders.lines, *others.lines):
        [control] = line.beside
        values = [control.y, *(point.y for point in line.points)]
        assert values == sorted(values), line.name
    assert others.lines[2].points[0] == PlotPoint(1, 25.0, 20.0, 30.0)
    assert {"blind", "100", "300", "900", "SSIM", "CLIP-S"} <= set(texts(draw_validity(found)))


def test_values_below_zero_stay_inside_the_picture(tmp_path: Path) -> None:
    drawn = seen(draw_validity(assembled(write_scores(tmp_path, LEVELS | {"blind": -0.4, "early": -0.2}))))
    height = next(each for each in drawn if each.kind == "rect").number("height")
    marks = [each for each in drawn if each.told.startswith("blind")]
    assert marks
    assert all(0 < each.y < height for each in marks)


def test_without_a_ceiling_there_is_no_line_for_it(found: Validity) -> None:
    without = found.model_copy(update={"drift": []})
    assert len(panels(without)[0].lines) == len(panels(found)[0].lines) - 1
    assert "without fault" in texts(draw_validity(found))
    assert "without fault" not in texts(draw_validity(without))


def test_where_nothing_is_selected_the_picture_says_so(found: Validity) -> None:
    drawn = draw_validity(found.model_copy(update={"by_model": []}))
    assert "There is nothing to show: no benchmark is selected" in " ".join(texts(drawn))
    assert not [each for each in seen(drawn) if each.kind == "line"]


def renamed_control(found: Validity) -> dict[str, Any]:
    """With another name of the first control, everywhere."""
    name = "<script>\x1b[31m\n" + "w" * 500

    def renamed(each: Ranked) -> Ranked:
        controls = {name if control == "blind" else control: c for control, c in each.ranking.controls.items()}
        return replace(each, ranking=replace(each.ranking, controls=controls))

    return {"controls": [name, *found.controls[1:]], "by_model": [renamed(each) for each in found.by_model]}


def test_a_hostile_or_endless_name_is_text_and_cut(found: Validity) -> None:
    drawn = draw_validity(found.model_copy(update=renamed_control(found)))
    assert "<script" not in drawn
    shown = [each for each in texts(drawn) if each.startswith("<script>")]
    assert len(shown) > 3
    assert all(len(each) < 100 for each in shown)
