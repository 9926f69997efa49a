"""Figures by what they draw, and as files that any reader takes."""

from math import isnan
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure

from driftledger.reports.charts import figures_of, series_of, svg_of
from tests.support.cases import cases, each_case
from tests.support.ledgers import genception_score
from tests.support.tables import HOSTILE, ranked, scores_of

SVG = "{http://www.w3.org/2000/svg}"


def figures(scores):
    drawings = figures_of(ranked(scores), series_of(scores))
    return {each.name: each for each in drawings}


def plain(values):
    """Numbers to six digits, with None where a figure has none."""
    return [None if isnan(value) else round(float(value), 6) for value in values]


def drawn_on_axes(drawing):
    """What a figure draws: its texts, bars, and lines with their points."""
    axes = Figure().subplots()
    drawing.draw(axes)
    lines = []
    for line in axes.lines:
        label = line.get_label()
        name = "" if label.startswith("_") else label
        lines.append([name, plain(line.get_xdata()), plain(line.get_ydata())])
    return {
        "title": drawing.title,
        "note": drawing.note,
        "x": axes.get_xlabel(),
        "y": axes.get_ylabel(),
        "columns": [label.get_text() for label in axes.get_xticklabels()],
        "rows": [label.get_text() for label in axes.get_yticklabels()],
        "bars": plain(bar.get_width() for bar in axes.patches),
        "texts": [text.get_text().strip() for text in axes.texts],
        "lines": lines,
    }


@each_case(cases(__file__, "figures"))
def test_a_figure(case):
    """What is drawn of scores; the lines of MM-SAP join equal shares of right and refused answers
    of all questions, (3x + 2y) / 4."""
    drawings = figures(scores_of(case["scores"]))
    for name, expected in case["draws"].items():
        found = drawn_on_axes(drawings[name])
        assert expected
        assert {key: found[key] for key in expected} == expected
        assert b"mathdefault" not in svg_of(drawings[name])
    order = case.get("order", [*case["draws"]])
    assert [name for name in drawings if name in order] == order
    assert not drawings.keys() & set(case.get("absent", []))


def test_a_figure_is_known_by_what_it_shows(monkeypatch):
    def digests(worth):
        several, *others = scores_of("several figures")
        several.numbers[0] = several.numbers[0].model_copy(update={"value": worth})
        drawings = figures([several, *others[:1]]) | figures(others[1:])
        return {name: drawing.digest for name, drawing in drawings.items()}

    before = digests(0.625)
    assert {"bars_gc_at_2", "category_gc_at_2", "vote"} <= set(before)
    assert len({*before.values()}) == len(before)
    assert digests(0.625) == before
    other = digests(0.75)
    differ = {name for name, digest in other.items() if digest != before[name]}
    assert differ == {"bars_gc_at_2", "gc"}
    monkeypatch.setattr("driftledger.reports.charts.version", "matplotlib {}".format)
    assert not {*digests(0.625).values()} & {*before.values()}


@pytest.mark.parametrize(
    "name", [HOSTILE, "$\\frac{1}{2}$", "漢字 \ud800 \ufffe", "w" * 500, "_hidden"]
)
def test_any_name_is_text(name):
    numbers = {f"category/{group}/gc_at_2": 0.5 for group in (name, "b")}
    score = genception_score(numbers=numbers, details={"groups": {}})
    file = svg_of(figures([score])["category_gc_at_2"])
    texts = ElementTree.fromstring(file).iter(f"{SVG}text")
    words = " ".join("".join(text.itertext()) for text in texts)
    assert b"<script" not in file
    assert max(map(len, words.split())) < 80
    assert b"inf" not in file
    assert name[:3].strip("\x1b") in words
