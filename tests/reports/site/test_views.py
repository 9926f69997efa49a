"""What templates are given: intervals as bars, marks of models, and who is first."""

import re
from pathlib import Path

from driftledger.benchmarks.base import Cell, Origin, Table, series_of
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.standing import Standing
from driftledger.benchmarks.tables import Place
from driftledger.benchmarks.tables import cell as number
from driftledger.metrics.groups import Difference, groups
from driftledger.reports.site.leaderboard import certain
from driftledger.reports.site.views import CONTROLS, row_views, table_view
from tests.support.ledgers import genception_score
from tests.support.sites import site_scores, written_site


def scored(model: str, value: float, low: float, high: float) -> Score:
    return genception_score(
        model=model,
        metrics={"gc_at_2": value, "gc_at_2_low": low, "gc_at_2_high": high, "gc_at_1": value},
        groups={"category": {}, "group": {}},
    )


def cell(score: Score, key: str = "gc_at_2") -> Cell:
    return Cell("x", value=score.metrics[key], of=Origin(score, key))


def test_bars_of_a_column_have_one_scale_from_0() -> None:
    a, b = scored("a", 0.5, 0.25, 1.0), scored("b", 0.25, 0.0, 0.5)
    table = Table("", ["", "x", "y"], [["a", cell(a), cell(a, "gc_at_1")], ["b", cell(b), cell(b, "gc_at_1")]])
    rows = row_views(table)
    assert [row.cells[1].bar for row in rows] == [("25.0", "75.0", "50.0"), ("0.0", "50.0", "25.0")]
    assert [row.cells[2].bar for row in rows] == [None, None], "it has no interval"


def test_a_bar_below_0_begins_at_its_end() -> None:
    [row] = row_views(Table("", ["", "x"], [["a", cell(scored("a", 0.0, -1.0, 1.0))]]))
    assert row.cells[1].bar == ("0.0", "100.0", "50.0")


def test_rows_of_models_have_their_mark_and_say_what_controls_are() -> None:
    some = [score for score in site_scores() if score.benchmark == "genception"]
    rows = row_views(Table("", ["", "x"], [[score.model, cell(score)] for score in some]), series_of(some))
    assert [row.control for row in rows] == [False, False, True]
    assert [re.findall("circle|polygon|rect", row.mark)[0] for row in rows] == ["circle", "polygon", "circle"]
    assert "hollow" in rows[2].mark
    across = row_views(Table("", ["", "seer"], [["seer", cell(some[0])]], across=True), series_of(some))
    assert [row.mark for row in across] == [""]


def test_who_is_first_says_who_cannot_be_told_apart_from_it(tmp_path: Path) -> None:
    near, far = Difference(-0.1, 0.5), Difference(-0.5, 0.0)
    found = groups("abc", {("a", "b"): near, ("a", "c"): far, ("b", "c"): far}, confidence=0.95)
    assert certain("a", ["b", "c"], Standing(found, {})) == "cannot be told apart from b"
    found = groups("abc", {("a", "b"): far, ("a", "c"): far, ("b", "c"): near}, confidence=0.95)
    assert certain("a", ["b", "c"], Standing(found, {})) == "shown to be better than every other"
    assert certain("a", ["b"], Standing(found, {})) == "shown to be better than b"
    assert certain("a", [], None) == ""
    apart = [scored("a", 0.75, 0.7, 0.8), scored("b", 0.25, 0.2, 0.3)]
    text = (written_site(tmp_path, apart) / "index.html").read_text(encoding="utf-8")
    assert "<strong>a</strong>" in text
    assert "ahead of b; whether that is chance was not tested, on" in text


def test_models_of_one_rank_have_one_shade_and_letters() -> None:
    places = [Place(1, True, "a"), Place(1, True, "ab"), Place(3, False, "b"), Place(), Place(2)]
    rows = [[f"m{n}", number(0.5, place)] for n, place in enumerate(places)]
    views = row_views(Table("", ["", "x"], rows))
    assert [row.cells[1].shade for row in views] == [1, 1, 2, 0, 0]
    assert [row.cells[1].letters for row in views] == ["a", "ab", "b", "", ""]
    assert [row.cells[1].shade for row in row_views(Table("", ["", "x"], rows[:2]))] == [0, 0], "nobody stands out"
    across = row_views(Table("", ["", "a", "b", "c"], [["x", *(row[1] for row in rows[:3])]], across=True))
    assert [cell.shade for cell in across[0].cells] == [0, 1, 1, 2]


def test_controls_are_a_body_of_their_own() -> None:
    some = [score for score in site_scores() if score.benchmark == "genception"]
    view = table_view(Table("", ["", "x"], [[score.model, cell(score)] for score in some]), "part")
    assert [(body.title, len(body.rows)) for body in view.bodies] == [("", 2), (CONTROLS, 1)]
    assert [len(body.rows) for body in table_view(Table("", ["", "x"], []), "part").bodies] == [0]


def test_a_control_is_never_first(tmp_path: Path) -> None:
    text = (written_site(tmp_path) / "index.html").read_text(encoding="utf-8")
    assert "<strong>blind</strong>" not in text
    assert text.count("<strong>") == 4
