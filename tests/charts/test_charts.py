"""What a person sees in each kind of chart, read back from the file."""

import math
from collections.abc import Callable
from itertools import pairwise

import pytest

from driftledger.charts.axes import PlotPoint, round_scale
from driftledger.charts.bars import Bar, Panel, bars
from driftledger.charts.lines import Curve, lines
from driftledger.charts.marks import apart
from driftledger.charts.matrix import matrix
from driftledger.charts.palette import colour_of
from driftledger.charts.scatter import Dot, Iso, scatter
from driftledger.charts.svg import Drawing, page
from tests.support.svg import pale, seen, texts

MODELS = ("a", "b", "c", "blind")
SERIES = colour_of(MODELS, {"blind"})


def line_chart(bit: float = 0.0) -> Drawing:
    values = {"a": [0.5, 0.4], "b": [0.25, 0.25], "c": [0.25, 0.25], "blind": [0.1, 0.1]}
    some = [
        Curve(name, SERIES[name], [PlotPoint(t, y + bit, y - 0.03 * t, y + 0.05) for t, y in enumerate(ys, 1)])
        for name, ys in values.items()
    ]
    return lines("lines", some, across="t", up="s", note="a note")


def bar_chart(bit: float = 0.0) -> Drawing:
    rows = [Bar("a", SERIES["a"], 0.75 + bit, 0.5, 1.0), Bar("b", SERIES["b"], 0.25 + bit), Bar("c", SERIES["c"], None)]
    return bars("bars", [Panel("one", rows, 2), Panel("two", [Bar("a", SERIES["a"], 1.0 + bit)], 2)])


def scatter_chart(bit: float = 0.0) -> Drawing:
    dots = [Dot("a", SERIES["a"], 50 + bit, 50), Dot("b", SERIES["b"], 50, 50 + bit), Dot("c", SERIES["c"], 0, 100)]
    return scatter("dots", dots, across="x", up="y", limits=(0, 100), isos=[Iso("50", [(0, 50), (50, 0)])])


def matrix_chart(bit: float = 0.0) -> Drawing:
    return matrix("grid", ["a", "b"], ["A", "B"], [[100 + bit, None], [-40 + bit, 55.0]], down="rows", across="columns")


CHARTS = (line_chart, bar_chart, scatter_chart, matrix_chart)


@pytest.mark.parametrize("chart", CHARTS)
def test_every_text_and_mark_stands_out_from_what_is_behind_it(chart: Callable[[], Drawing]) -> None:
    assert pale(page(chart())) == []


@pytest.mark.parametrize("chart", CHARTS)
def test_the_last_bits_of_values_change_no_byte(chart: Callable[[float], Drawing]) -> None:
    assert page(chart(1e-12)) == page(chart(0.0)) == page(chart(-1e-12))


@pytest.mark.parametrize("chart", CHARTS)
def test_nothing_leaves_the_picture(chart: Callable[[], Drawing]) -> None:
    drawing = chart()
    for each in seen(page(drawing)):
        assert 0 <= each.x <= drawing.width, each
        assert 0 <= each.y <= drawing.height, each


def test_a_line_is_named_where_it_ends_and_higher_values_stand_higher() -> None:
    drawn = page(line_chart())
    names = {each.text: each for each in seen(drawn) if each.text in MODELS}
    assert set(names) == set(MODELS)
    assert names["a"].y < min(names["b"].y, names["c"].y) < names["blind"].y
    heights = sorted(each.y for each in names.values())
    assert all(below - above >= 15 for above, below in pairwise(heights))
    assert {"lines", "a note", "t", "s", "1", "2"} <= set(texts(drawn))


def test_of_equal_lines_every_colour_and_every_mark_shows() -> None:
    drawn = seen(page(line_chart()))
    pieces = {each.at["stroke"]: each.at["d"].split("M")[1:] for each in drawn if each.kind == "path"}
    b, c = (pieces[SERIES[name].colour] for name in "bc")
    assert not set(b) & set(c)
    assert abs(len(b) - len(c)) <= 1
    ends = [[part.split()[end].split(",")[0] for part in some] for some, end in ((b, 1), (c, 0))]
    assert ends[0][: len(c)] == ends[1], "where one ends the other begins"
    assert SERIES["a"].colour not in pieces
    told = [each for each in drawn if each.told in ("b, 1: 0.25 (0.22–0.30)", "c, 1: 0.25 (0.22–0.30)")]
    assert len({each.at.get("points", each.at.get("cx")) for each in told}) == 2


def test_an_interval_is_a_band() -> None:
    bands = [each for each in seen(page(line_chart())) if "fill-opacity" in each.at]
    assert [each.at["fill"] for each in bands] == [SERIES[name].colour for name in MODELS]
    ys = [float(pair.split(",")[1]) for pair in bands[0].at["points"].split()]
    assert len(ys) == 4
    assert len(set(ys)) == 4


def test_many_points_have_few_marks_and_round_ticks() -> None:
    long = [Curve("a", SERIES["a"], [PlotPoint(k, math.sin(k)) for k in range(1, 51)])]
    drawn = page(lines("long", long, across="k"))
    assert sum(bool(each.told) for each in seen(drawn)) <= 13
    assert {"10", "50"} <= set(texts(drawn))
    assert "49" not in texts(drawn)


def test_labelled_ticks_stand_evenly_and_points_beside_the_line_are_not_joined() -> None:
    climb = Curve("a", SERIES["a"], [PlotPoint(100, 1), PlotPoint(900, 2)], [PlotPoint(0, 0, -0.5, 0.5)])
    drawn = page(lines("climb", [climb], across="steps", ticks={0: "blind", 100: "100", 900: "900"}, below=True))
    at = {each.text: each.x for each in seen(drawn) if each.text in ("blind", "100", "900")}
    assert at["900"] - at["100"] == pytest.approx(at["100"] - at["blind"], abs=0.2)
    assert sum(each.kind == "line" and each.at.get("stroke-width") == "2" for each in seen(drawn)) == 1


def test_points_beside_several_lines_stand_side_by_side() -> None:
    some = [Curve(name, SERIES[name], [PlotPoint(1, 1)], [PlotPoint(0, 0.0, -0.1, 0.1)]) for name in "ab"]
    a, b = (each for each in seen(page(lines("both", some, across="t"))) if ", 0: 0.00" in each.told)
    assert a.at.get("cx", a.at.get("points")) != b.at.get("cx", b.at.get("points"))


def test_a_bar_is_as_long_as_its_value_from_zero_and_tells_it() -> None:
    drawn = [each for each in seen(page(bar_chart())) if each.kind == "rect" and each.told]
    (a, b, two), told = drawn, [each.told for each in drawn]
    assert told == ["a, one: 0.75 0.50–1.00", "b, one: 0.25", "a, two: 1.00"]
    assert a.number("width") == pytest.approx(3 * b.number("width"), abs=0.3)
    assert two.number("width") == pytest.approx(4 * b.number("width"), abs=0.3), "panels have one scale"
    assert {"0.75", "0.25", "1.00", "–", "one", "two", "a", "b", "c"} <= set(texts(page(bar_chart())))


def test_panels_may_have_scales_of_their_own_and_zero_has_no_bar() -> None:
    panels = [Panel("large", [Bar("a", SERIES["a"], 50.0)]), Panel("small", [Bar("a", SERIES["a"], 0.5)])]
    large, small = (e for e in seen(page(bars("both", panels, own_scales=True))) if e.kind == "rect" and e.told)
    assert small.number("width") == pytest.approx(large.number("width"), rel=0.2)
    nothing = page(bars("zero", [Panel("one", [Bar("a", SERIES["a"], 0.0)])]))
    assert not [each for each in seen(nothing) if each.kind == "rect" and each.told]
    assert "0.0" in texts(nothing)


def test_points_at_one_place_stand_side_by_side_and_are_both_named() -> None:
    drawn = seen(page(scatter_chart()))
    a, b = (each for each in drawn if each.told in ("a: 50.0, 50.0", "b: 50.0, 50.0"))
    assert a.at.get("cx") != b.at.get("x")
    names = [each for each in drawn if each.kind == "text" and each.text in ("a", "b")]
    assert names[0].x == names[1].x
    assert abs(names[0].y - names[1].y) >= 14
    assert any(each.kind == "polyline" for each in drawn)


def test_a_cell_is_darker_the_larger_its_value_is_and_red_below_zero() -> None:
    drawn = [each for each in seen(page(matrix_chart())) if each.kind == "rect" and each.told]
    assert [each.told for each in drawn] == ["a · A: 100", "b · A: -40", "b · B: 55"]
    red, green, blue = ([int(e.at["fill"][k : k + 2], 16) for e in drawn] for k in (1, 3, 5))
    assert blue[0] > red[0]
    assert red[1] > blue[1]
    assert sum(channel[0] for channel in (red, green, blue)) < sum(channel[2] for channel in (red, green, blue))
    assert {"100", "−40", "55", "A", "B", "rows", "columns"} <= set(texts(page(matrix_chart())))


def test_a_correlation_is_written_in_little_room() -> None:
    drawn = page(matrix("r", ["a"], ["1", "2", "3", "4"], [[0.934, -0.5, 1.0, -0.001]], digits=2, most=1.0))
    assert {".93", "−.50", "1", ".00"} <= set(texts(drawn))


def test_long_column_heads_are_slanted_and_names_cut() -> None:
    drawn = page(matrix("r", ["m" * 200], ["a_rather_long_name"] * 20, [[1.0] * 20]))
    assert drawn.count("rotate(-45)") == 20
    assert "m" * 200 in [each.told for each in seen(drawn)]


@pytest.mark.parametrize("values", [[], [0.3], [0.0, 0.0], [-0.2, 0.3], [1e-7, 1e6], [99.99, 100.0], [0.1, 0.9]])
def test_ticks_are_few_round_and_around_all_values(values: list[float]) -> None:
    scale = round_scale(values, 0, 100)
    assert 2 <= len(scale.ticks) <= 7
    assert all(scale.low <= value + 1e-6 and value - 1e-6 <= scale.high for value in values)
    assert len({scale.told(tick) for tick in scale.ticks}) == len(scale.ticks)


def test_labels_keep_apart_in_their_order_and_inside() -> None:
    placed = apart([10, 10, 10, 90, 95], 16, 0, 100)
    assert all(below - above >= 16 - 1e-9 for above, below in pairwise(placed))
    assert placed[0] >= 0
    assert placed[-1] <= 100
