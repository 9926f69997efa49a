"""Figures by what they draw, and as files that any reader takes."""

from math import nan
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from driftledger.reports.charts import drawn, figures_of, series_of
from tests.reports.test_tables import case, control
from tests.support.ledgers import (
    costing,
    genception_score,
    question_score,
    trac_score,
)
from tests.support.tables import HOSTILE, ranked

SVG = "{http://www.w3.org/2000/svg}"


def figures(scores):
    drawings = figures_of(ranked(scores), series_of(scores))
    return {each.name: each for each in drawings}


def axes_of(drawing):
    axes = Figure().subplots()
    drawing.draw(axes)
    return axes


def texts(axes):
    return [each.get_text() for each in axes.texts]


def words(file):
    return " ".join(
        "".join(each.itertext())
        for each in ElementTree.fromstring(file).iter(f"{SVG}text")
    )


def test_bars_are_as_long_as_values_with_intervals():
    low, high = {"gc_at_2_low": 0.65}, {"gc_at_2_high": 0.75}
    some = [
        genception_score(metrics={"gc_at_2": 0.7} | low | high),
        genception_score(model="poet", metrics={}),
        control(genception_score(model="blind", metrics={"gc_at_2": 0.25})),
    ]
    drawing = figures(some)["bars_gc_at_2"]
    assert drawing.title == "GenCeption: GC@2 (0–1)"
    assert (
        drawing.note
        == "On shapes · brush · eye; whiskers are intervals of 95%; controls are grey."
    )
    axes = axes_of(drawing)
    widths = [bar.get_width() for bar in axes.patches]  # type: ignore[attr-defined]
    assert widths == pytest.approx([0.7, nan, 0.25], nan_ok=True)
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        "seer",
        "poet",
        "blind",
    ]
    assert texts(axes) == ["0.700", "–", "0.250"]
    whiskers = [list(line.get_xdata()) for line in axes.lines]
    assert whiskers[0] == [0.65, 0.75]
    assert whiskers[1:] == [pytest.approx([nan, nan], nan_ok=True)] * 2


def at(name, worth):
    ends = {"gc_at_2_low": worth - 0.0625, "gc_at_2_high": worth + 0.0625}
    return genception_score(model=name, metrics={"gc_at_2": worth, **ends})


def test_lines_are_in_the_order_of_the_metrics():
    curves = ["frechet", "gc", "similarity"]
    points = [{"step": 1, "value": 0.5}, {"step": 2, "value": 0.4}]
    score = genception_score(
        metrics={"gc_at_2": 0.4}, curves=dict.fromkeys(curves, points)
    )
    lines = [name for name in figures([score]) if name in curves]
    assert lines == ["gc", "similarity", "frechet"]


def test_a_line_joins_the_models_that_are_better_than_every_cheaper_one():
    # samples · $ / 1,000: 8, 16, 16, 32, 4
    some = [
        costing(at("cheap", 0.5), cost=0.064),
        costing(at("worse", 0.25), cost=0.128),
        costing(at("dear", 0.75), cost=0.256),
        costing(at("alike", 0.5), cost=0.128),
        costing(control(at("blind", 0.125)), cost=0.032),
        at("local", 0.875),
    ]
    drawing = figures(some)["cost_gc_at_2"]
    assert drawing.title == "GenCeption: GC@2 against $ / 1,000 samples"
    assert "models without a known cost are left out; whiskers are" in drawing.note
    axes = axes_of(drawing)
    front, *points = axes.lines
    assert (list(front.get_xdata()), list(front.get_ydata())) == ([8, 32], [0.5, 0.75])
    assert front.get_drawstyle() == "steps-post"
    marks = {each.get_label(): each.get_xydata().tolist()[0] for each in points}
    assert marks["blind"] == [4.0, 0.125]
    assert [*marks] == ["cheap", "worse", "dear", "alike", "blind"]
    assert axes.get_xscale() == "linear"
    whiskers = [each.get_segments()[0].tolist() for each in axes.collections]
    assert whiskers[0] == [[8.0, 0.4375], [8.0, 0.5625]]


def test_without_prices_it_is_drawn_against_seconds():
    some = [
        costing(at("slow", 0.5), cost=None, seconds=80.0),
        costing(at("quick", 0.75), seconds=4.0),
    ]
    drawings = figures(some)
    axes = axes_of(drawings["cost_gc_at_2"])
    assert (axes.get_xlabel(), axes.get_xscale()) == ("s / sample", "log")
    assert list(axes.lines[0].get_xdata()) == [0.5]
    assert b"mathdefault" not in drawn(drawings["cost_gc_at_2"])
    assert "cost_gc_at_2" not in figures([some[0], at("local", 0.5)])


def test_groups_are_shades_with_a_row_each_and_a_column_per_model():
    subset = {"basic": {"score": 70.0}, "know": {"score": 7.0}}
    axes = axes_of(figures([question_score(groups={"subset": subset})])["subset_score"])
    assert [label.get_text() for label in axes.get_yticklabels()] == ["basic", "know"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["seer"]
    assert texts(axes) == ["70.00", "7.00"]


def test_the_benchmarks_own_figures():
    of_sap = figures(case("mm_sap")[-1:])
    axes = axes_of(of_sap["quadrants"])
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "known knowns, %",
        "known unknowns, %",
    )
    [point] = [line for line in axes.lines if line.get_label() == "seer"]
    assert (list(point.get_xdata()), list(point.get_ydata())) == ([58.0], [41.0])
    alike = {
        text.get_text().strip(): line
        for text, line in zip(axes.texts, axes.lines, strict=False)
    }
    for label, line in alike.items():
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert (3 * x + 2 * y) / 4 == pytest.approx(float(label), abs=0.01), (
                "(right + refused) of all questions"
            )
    drawings = figures([trac_score()])
    by_length = axes_of(drawings["by_length_top1"]).lines[0]
    assert [*by_length.get_xdata(), *by_length.get_ydata()] == [32, 64, 64.0, 68.0]
    vote = axes_of(drawings["vote"])
    assert (vote.get_xlabel(), list(vote.lines[0].get_ydata())) == ("k", [64.0, 66.0])


def test_a_figure_is_known_by_what_it_shows(monkeypatch):
    def of_each_kind(worth):
        groups = {"category": {"a": {"gc_at_2": 0.5}, "b": {"gc_at_2": 0.25}}}
        plain = genception_score(metrics={"gc_at_2": worth}, groups=groups)
        some = figures([costing(plain, cost=0.1), costing(at("other", 0.5), cost=0.2)])
        return some | figures([trac_score()])

    def digests(drawings):
        return {name: drawing.digest for name, drawing in drawings.items()}

    one, same, other = map(of_each_kind, (0.625, 0.625, 0.75))
    assert {"bars_gc_at_2", "cost_gc_at_2", "category_gc_at_2", "vote"} <= set(one)
    before = digests(one)
    assert len({*before.values()}) == len(before)
    assert digests(same) == before
    differ = {name for name, digest in digests(other).items() if digest != before[name]}
    assert differ == {"bars_gc_at_2", "cost_gc_at_2", "gc"}
    monkeypatch.setattr("driftledger.reports.charts.version", "matplotlib {}".format)
    assert not {*digests(one).values()} & {*before.values()}


@pytest.mark.parametrize(
    "name", [HOSTILE, "$\\frac{1}{2}$", "漢字 \ud800 \ufffe", "w" * 500, "_hidden"]
)
def test_any_name_is_text(name):
    def one(**more):
        plain = genception_score(
            groups={
                "category": {name: {"gc_at_2": 0.5}, "b": {"gc_at_2": 0.25}},
                "group": {},
            }
        )
        return drawn(figures([plain])["category_gc_at_2"])

    file = one()
    assert b"<script" not in file
    assert max(map(len, words(file).split())) < 80
    assert b"inf" not in file
    assert name[:3].strip("\x1b") in words(file)
