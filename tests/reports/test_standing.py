"""Which models can be told apart by a number, from the rows behind scores; and which may be ranked
at all."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.metrics.exact import exact_mean
from driftledger.reports.charts import figures_of, series_of
from driftledger.reports.scores import blocks_of
from driftledger.reports.tables import misplaced
from driftledger.reports.tables import tables_of as table_list
from driftledger.scoring.score import RepeatRow, Row, Score
from tests.reports.test_tables import control
from tests.support.cases import cases, each_case
from tests.support.ledgers import (
    component,
    fidelity_score,
    genception_score,
    row,
    varied,
)

SETTINGS = {"confidence": 0.95, "ssim_side": 256, "seed": 7, "ratings": None}
HIGH = [50.0 + 0.1 * n for n in range(9)]
HALF = [45.0 + 0.1 * n for n in range(9)]
LOW = [40.0 + 0.1 * n for n in range(9)]
CLOSE = [49.99 + 0.1 * n + (0.2 if n % 2 else -0.2) for n in range(9)]
VALUES = {"high": HIGH, "half": HALF, "low": LOW, "close": CLOSE}
"""What cases call by a name."""
SPEC = benchmark("fidelity")

Scored = tuple[Score, list[Row]]


def scored(model, values, control=False, **more):
    """SSIM of so many images."""
    plain = fidelity_score(
        model=model, metrics={"ssim": exact_mean(values)}, coverage=1.0, **more
    )
    score = varied(
        plain,
        settings=SETTINGS,
        model=component(model, control=control),
    )
    return score, [
        row(f"u{n}", {"ssim": [value]}, category="abc"[n % 3])
        for n, value in enumerate(values)
    ]


def ranks(made, number):
    """Model → rank and letters, where it has a rank."""
    cells = made.cells(number)
    return {
        model: [cell.rank, cell.letters] for model, cell in cells.items() if cell.rank
    }


def blocks(some):
    rows: Mapping[tuple[str, str], list[Row]] = {
        (score.model, score.keys["generator"]): rows for score, rows in some
    }
    return blocks_of(
        SPEC,
        [score for score, _ in some],
        lambda score: rows[score.model, score.keys["generator"]],
    )


def block(*some):
    [made] = blocks(some)
    return made


@each_case(cases(__file__, "ranks"))
def test_ranks_and_letters(case):
    """Models with these values, their ranks and letters, and the best group."""
    made = block(
        *(scored(name, VALUES[case["models"][name]]) for name in case["models"])
    )
    groups = made.tested("ssim").groups
    assert {m: [groups.ranks[m], groups.letters[m]] for m in groups.ranks} == case[
        "ranks"
    ]
    assert ranks(made, "ssim") == case["ranks"]
    assert sorted(groups.best) == case["best"]
    cells = made.cells("ssim")
    assert sorted(model for model in cells if cells[model].bold) == case["best"]


def test_a_model_beside_controls_alone_has_no_letter():
    made = block(scored("high", HIGH), scored("blind", LOW, control=True))
    assert ranks(made, "ssim") == {"high": [1, ""]}


def test_controls_do_not_compete_and_are_placed_beside_each_model():
    made = block(
        scored("low", LOW), scored("high", HIGH), scored("blind", CLOSE, control=True)
    )
    tested = made.tested("ssim")
    assert tested is not None
    assert tested.groups.ranks == {"high": 1, "low": 2}
    assert tested.doubtful == {"high", "low"}
    assert misplaced(made, "ssim", "SSIM") == [
        "SSIM: 2 of 2 models are not shown to be better than a control."
    ]
    assert [score.model for score in made.order()] == ["high", "low", "blind"]
    untested = replace(made, rows_of=lambda score: ())
    assert ranks(untested, "ssim") == {"low": [2, ""], "high": [1, ""]}


def test_letters_are_in_tables_and_figures():
    some = scored("low", LOW), scored("high", HIGH), scored("blind", LOW, control=True)
    made = block(*some)
    first, *_ = table_list(made)
    shown = {str(row[0]): (str(row[1]), row[1].bold) for row in first.rows}
    assert shown == {
        "high": ("50.40 a", True),
        "low": ("40.40 b", False),
        "blind (control)": ("40.40", False),
    }
    assert (
        "SSIM: 1 of 2 models are not shown to be better than a control." in first.notes
    )
    bars, *_ = figures_of(made, series_of(made.scores))
    assert "models that share a letter cannot be told apart" in bars.note


@each_case(cases(__file__, "bounds"))
def test_what_failed_is_bounded(case):
    """Two chains of the category a, and two of b; the repeats are of the first."""
    rows = [
        row(f"u{n}", {"gc": [1.0, value]}, "aabb"[n])
        for n, value in enumerate(case["values"])
    ]
    repeats = [
        RepeatRow(outcome="ok", values={"gc": [1.0, value]})
        for value in case.get("repeats", [])
    ]
    rows[0] = rows[0].model_copy(update={"repeats": repeats})
    plain = {"scored": 3, "total": 4, "coverage": 0.75}
    score = genception_score(metrics={"gc_at_2": case["gc"]}, **plain)
    [made] = blocks_of(benchmark("genception"), [score], lambda score: rows)
    bounds = made.bounds(score, "gc_at_2")
    assert (bounds and list(bounds)) == pytest.approx(case["bounds"])
    table, *_ = table_list(made)
    assert str(table.rows[0][-1]) == case["shown"]
    noted = any("worth as much as the best" in note for note in table.notes)
    assert noted is (case["bounds"] is not None)


def test_groups_have_their_own_rows():
    groups = [
        {"groups": {"category": {"a": {"ssim": exact_mean(values[::3])}}}}
        for values in (LOW, HIGH)
    ]
    made = block(scored("low", LOW, **groups[0]), scored("high", HIGH, **groups[1]))
    tested = made.tested("category/a/ssim")
    assert tested is not None
    assert tested.groups.letters == {"high": "a", "low": "a"}, (
        "three images show nothing"
    )


def test_what_rows_do_not_make_up_is_not_tested():
    high, rows = scored("high", HIGH)
    high = high.model_copy(
        update={"metrics": high.metrics | {"fid": 3.0, "words": 7.0, "ssim_low": 1.0}}
    )
    made = block((high, rows), scored("low", LOW))
    assert [
        made.tested(number) for number in ("fid", "words", "ssim_low", "nothing")
    ] == [None] * 4
    for fewer in (rows[1:], []):
        assert block((high, fewer), scored("low", LOW)).tested("ssim") is None, (
            "rows give another number"
        )


def test_the_best_covered_model_decides_who_is_ranked():
    """94 % is near 98 %, but too far from 100 %; a control does not decide."""
    scores = [
        genception_score(
            model=f"m{n}", scored=n, counted=n, total=100, coverage=n / 100
        )
        for n in (90, 94, 98, 100)
    ]
    [made] = blocks_of(benchmark("genception"), scores)
    assert {*made.apart} == {"m90", "m94"}
    assert {*ranks(made, "gc_at_2")} == {"m98", "m100"}
    assert {score.model for score in made.order()[:2]} == {"m98", "m100"}
    [made] = blocks_of(benchmark("genception"), [*scores[:2], control(scores[3])])
    assert {*made.apart} == {"m100"}
    assert {*ranks(made, "gc_at_2")} == {"m90", "m94"}


def test_a_model_below_min_coverage_has_no_rank_and_decides_for_no_one():
    """All replies of m80 are counted, so that more of them are in the denominators than of m92."""
    plain = genception_score(total=100)
    settings = plain.inputs.settings | {"min_coverage": 0.9}
    inputs = plain.inputs.model_copy(update={"settings": settings})
    scores = [
        genception_score(
            model=f"m{n}",
            scored=n,
            counted=counted,
            total=100,
            coverage=n / 100,
            inputs=inputs,
        )
        for n, counted in ((80, 100), (92, 92), (90, 90))
    ]
    [made] = blocks_of(benchmark("genception"), scores)
    reason = (
        "coverage of m80: 80/100 (100 counted) could be scored, and genception.min_coverage asks "
        "for 90%"
    )
    assert made.apart == {"m80": reason}
    assert {*ranks(made, "gc_at_2")} == {"m90", "m92"}
    assert made.order()[-1].model == "m80"
