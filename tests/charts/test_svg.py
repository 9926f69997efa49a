import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.charts.figure import Figure
from driftledger.charts.svg import Drawing, element, number, page, row, sentence, shortened, text, width_of, wrapped
from tests.support.svg import seen, texts

HOSTILE = '</text><script>alert(1)</script>&" \x00\x1b[31m\n\u202e\ud800\uffff'


def test_what_is_hostile_is_text_in_elements_and_attributes() -> None:
    drawn = page(Drawing(HOSTILE, HOSTILE, 300, 100, text(0, 0, HOSTILE, full=f"{HOSTILE}!"), HOSTILE))
    assert "<script" not in drawn
    assert {each.kind for each in seen(drawn)} == {"title", "desc", "rect", "text"}
    [shown] = texts(drawn)
    assert shown.startswith("</text><script>")
    assert "&quot;" in element("g", aria_label=HOSTILE)


@given(st.text())
def test_any_text_is_a_well_formed_file(name: str) -> None:
    drawn = page(sentence(name, name))
    drawn.encode("utf-8")
    assert len(seen(drawn)) >= 2


def test_a_figure_stands_in_html_as_it_is_and_can_be_read_out() -> None:
    drawing = Drawing("a title", "a note", 300, 100, text(1, 2, "x"), "x: 1")
    figure = Figure.of("name", drawing)
    assert figure[:2] == ("name", "a title")
    assert figure.note == "a note"
    assert figure.svg.startswith("<svg ")
    assert 'role="img"' in figure.svg
    assert [(each.kind, each.text) for each in seen(figure.svg)][:2] == [("title", "a title"), ("desc", "a note x: 1")]
    assert " style=" not in figure.svg  # which a content security policy forbids


@pytest.mark.parametrize("value", [0.3, 12.25, 1 / 3, 99.95, 0.0])
def test_the_last_bits_of_a_value_move_nothing(value: float) -> None:
    assert number(value + 1e-13) == number(value) == number(value - 1e-13)


def test_lines_are_cut_and_broken_where_there_is_no_more_room() -> None:
    long = "commonsense_reasoning_about_numbers"
    assert width_of(shortened(long, 100)) <= 100
    assert shortened("short", 100) == "short"
    assert wrapped("two words", 200) == ["two words"]
    parts = wrapped(f"and {long}", 140)
    assert "".join(parts).replace(" ", "") == f"and{long}"
    assert all(width_of(part) <= 140 for part in parts)
    assert wrapped("", 100) == []


def test_charts_stand_beside_each_other_under_one_title() -> None:
    one = Drawing("one", "", 100, 50, text(10, 10, "left"))
    drawn = page(row("both", "", [one, one._replace(body=text(10, 10, "right"))]))
    left, right = (each for each in seen(drawn) if each.text in ("left", "right"))
    assert right.x - left.x == 100
    assert right.y == left.y
