from pathlib import Path

import pytest

from driftledger.reports.charts import GREY
from lab.validity.assembled import Validity
from lab.validity.panels import panels
from lab.validity.plot import draw_validity
from tests.lab.validity.hand_made import LEVELS, assembled, write_scores


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Validity:
    return assembled(write_scores(tmp_path_factory.mktemp("stored")))


def test_the_first_panel_has_every_stage_the_control_and_the_ceiling(found: Validity) -> None:
    first, encoders, others = panels(found)
    assert [first.title, encoders.title, others.title] == [
        "GC@t · brush_2 · eye",
        "GC@3 · brush_2",
        "other benchmarks, %",
    ]
    names = ["without fault", "900 steps", "300 steps", "100 steps", "blind"]
    assert [line.name for line in first.lines] == names
    values = [[round(y, 6) for y in line.y] for line in first.lines[:2]]
    assert values == [[0.95, 0.85, 0.75], [0.85, 0.80, 0.75]]
    assert first.lines[-1].series.colour == GREY
    assert len({line.series for line in first.lines}) == len(names)


def test_the_other_panels_rise_from_the_control_that_stands_beside(found: Validity) -> None:
    _, encoders, others = panels(found)
    assert list(dict.fromkeys(line.name for line in encoders.lines)) == ["eye", "layout"]
    names = ["MM-SAP self-awareness score", "TRAC top-1", "SSIM", "CLIP-S"]
    assert list(dict.fromkeys(line.name for line in others.lines)) == names
    assert list(others.ticks.values()) == ["blind", "100", "300", "900"]
    for panel in (encoders, others):
        for line, control in zip(panel.lines[::2], panel.lines[1::2], strict=True):
            assert (line.name, line.joined, control.joined) == (control.name, True, False)
            assert [*control.y, *line.y] == sorted([*control.y, *line.y]), line.name
    ssim = others.lines[4]
    assert (ssim.x[0], ssim.y[0], ssim.low[0], ssim.high[0]) == (1, 25.0, 20.0, 30.0)


def test_the_picture_shows_what_there_is(found: Validity, tmp_path: Path) -> None:
    drawn = draw_validity(found).decode()
    assert all(f">{name}<" in drawn for name in ("without fault", "blind", "100", "300", "900", "SSIM", "CLIP-S"))
    without = found.model_copy(update={"drift": []})
    assert len(panels(without)[0].lines) == len(panels(found)[0].lines) - 1
    assert b"without fault" not in draw_validity(without)
    assert b"There is nothing to show" in draw_validity(found.model_copy(update={"by_model": []}))
    below = assembled(write_scores(tmp_path, LEVELS | {"blind": -0.4, "early": -0.2}))
    assert b"blind" in draw_validity(below)
