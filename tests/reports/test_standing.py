"""Which models can be told apart by a number, from the rows behind scores; and which may be ranked
at all."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import RepeatRow, Row, Score
from driftledger.metrics.exact import exact_mean
from driftledger.reports.ceiling import SHARE, Range, range_of
from driftledger.reports.charts import figures_of, series_of
from driftledger.reports.scores import blocks_of
from driftledger.reports.tables import misplaced
from driftledger.reports.tables import tables_of as table_list
from tests.reports.test_tables import control
from tests.support.ledgers import (
    component,
    fidelity_score,
    genception_score,
    row,
    varied,
)
from tests.support.tables import tables_of

SETTINGS = {"confidence": 0.95, "ssim_side": 256, "seed": 7, "ratings": None}
HIGH, LOW = ([base + 0.1 * n for n in range(9)] for base in (50.0, 40.0))
CLOSE = [49.99 + 0.1 * n + (0.2 if n % 2 else -0.2) for n in range(9)]
SPEC = benchmark("fidelity")

Scored = tuple[Score, list[Row]]


def scored(model, values, provider="", **more):
    """SSIM of so many images."""
    plain = fidelity_score(
        model=model, metrics={"ssim": exact_mean(values)}, coverage=1.0, **more
    )
    score = varied(
        plain,
        settings=SETTINGS,
        model=component(model, **({"provider": provider} if provider else {})),
    )
    return score, [
        row(f"u{n}", {"ssim": [value]}, category="abc"[n % 3])
        for n, value in enumerate(values)
    ]


def ranks(made, number):
    """Model → rank and letters, where it has a rank."""
    cells = made.cells(number)
    return {
        model: (cell.rank, cell.letters) for model, cell in cells.items() if cell.rank
    }


def blocks(some, ceiling=""):
    rows: Mapping[tuple[str, str], list[Row]] = {
        (score.model, score.keys["generator"]): rows for score, rows in some
    }
    return blocks_of(
        SPEC,
        [score for score, _ in some],
        lambda score: rows[score.model, score.keys["generator"]],
        ceiling,
    )


def block(*some, ceiling=""):
    [made] = blocks(some, ceiling)
    return made


CASES = {
    "told apart": ((LOW, HIGH), {"m0": (2, "b"), "m1": (1, "a")}, {"m1"}),
    "one group above": (
        (LOW, HIGH, CLOSE),
        {"m0": (3, "b"), "m1": (1, "a"), "m2": (1, "a")},
        {"m1", "m2"},
    ),
    "all alike": ((HIGH, CLOSE), {"m0": (1, "a"), "m1": (1, "a")}, set()),
}
"""Values of models → rank and letters by model, and the best group."""


@pytest.mark.parametrize(("values", "expected", "best"), CASES.values(), ids=CASES)
def test_ranks_and_letters(values, expected, best):
    made = block(*(scored(f"m{n}", each) for n, each in enumerate(values)))
    tested = made.tested("ssim")
    assert tested is not None
    assert {
        m: (tested.groups.ranks[m], tested.groups.letters[m])
        for m in tested.groups.ranks
    } == expected
    assert tested.groups.best == best
    assert ranks(made, "ssim") == expected
    assert {model for model, cell in made.cells("ssim").items() if cell.bold} == best


def test_a_model_beside_controls_alone_has_no_letter():
    made = block(scored("high", HIGH), scored("blind", LOW, "blind"))
    assert ranks(made, "ssim") == {"high": (1, "")}


def test_controls_do_not_compete_and_are_placed_beside_each_model():
    made = block(
        scored("low", LOW), scored("high", HIGH), scored("blind", CLOSE, "blind")
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
    assert ranks(untested, "ssim") == {"low": (2, ""), "high": (1, "")}


HALF = [45.0 + 0.1 * n for n in range(9)]
ENDS = "SSIM: of the range, blind is 0 and truth, the ceiling, is 1."
LEVEL = (
    "SSIM: saturated: no test shows near at 1.00 (0.98–1.01) to be below the ceiling; other "
    "samples, more of them or a better generator may set them apart."
)
NO_RANGE = "SSIM has no range: truth, the ceiling, is not shown to be above a control."
RANGES = {
    "half way": (
        {"half": HALF},
        LOW,
        {"blind": 0.0, "half": 0.5, "truth": 1.0},
        [ENDS],
    ),
    # of 9 images, five are 0.21 below and four 0.19 above: −0.29 / 9 of a range of 10
    "saturated": (
        {"near": CLOSE, "half": HALF},
        LOW,
        {"blind": 0.0, "half": 0.5, "near": 1 - 0.29 / 90, "truth": 1.0},
        [ENDS, LEVEL],
    ),
    "a control as good": ({"half": HALF}, CLOSE, {}, [NO_RANGE]),
    "no control": ({"half": HALF}, None, {}, [NO_RANGE]),
}
"""Values of models and of a control → shares, and what is said; the ceiling has those of HIGH."""


@pytest.mark.parametrize(
    ("models", "control", "shares", "remarks"), RANGES.values(), ids=RANGES
)
def test_models_stand_between_a_control_and_the_ceiling(
    models, control, shares, remarks
):
    some = [scored(name, values) for name, values in (models | {"truth": HIGH}).items()]
    if control:
        some.append(scored("blind", control, "blind"))
    made = block(*some, ceiling="truth")
    found = range_of(made, "ssim", "SSIM")
    assert {
        model: share[SHARE] for model, share in found.shares.items()
    } == pytest.approx(shares)
    assert found.remarks == remarks
    first, *_ = table_list(made)
    assert ("SSIM of the range" in first.head) is bool(shares)
    assert set(remarks) <= set(first.notes)
    plain = block(*some)
    assert range_of(plain, "ssim") == range_of(made, "coverage") == Range()
    assert [made.cells("ssim")[m].letters for m in models] == [
        plain.cells("ssim")[m].letters for m in models
    ], "a ceiling changes no other number"


def test_letters_are_in_tables_and_figures():
    some = scored("low", LOW), scored("high", HIGH), scored("blind", LOW, "blind")
    rows = {score.model: rows for score, rows in some}
    first, *_ = tables_of([score for score, _ in some], lambda score: rows[score.model])
    shown = {str(row[0]): (str(row[1]), row[1].bold) for row in first.rows}
    assert shown == {
        "high": ("50.40 a", True),
        "low": ("40.40 b", False),
        "blind (control)": ("40.40", False),
    }
    assert (
        "SSIM: 1 of 2 models are not shown to be better than a control." in first.notes
    )
    made = block(*some)
    bars, *_ = figures_of(made, series_of(made.scores))
    assert "models that share a letter cannot be told apart" in bars.note


@pytest.mark.parametrize(
    ("values", "repeats", "gc", "expected"),
    [
        ([None, 0.2, 0.4, 0.6], [], 0.35, (0.3, 0.45)),
        (
            [None, 0.5, -0.1, 0.2],
            [],
            0.275,
            (0.125, 0.275),
        ),  # what is below 0 is the worst
        ([0.2, 0.4, 0.4, 0.6], [], 0.4, None),
        (
            [0.2, 0.4, 0.4, 0.6],
            [0.2, None],
            0.4,
            (0.375, 0.45),
        ),  # the first of two repeats came
        (
            [None, None, 0.4, 0.4],
            [],
            0.4,
            None,
        ),  # a category that ends sooner lacks nothing
    ],
)
def test_what_failed_is_bounded(values, repeats, gc, expected):
    """Two chains of the category a, and two of b; the repeats are of the first."""
    rows = []
    for n, value in enumerate(values):
        made = row(f"u{n}", {"gc": [1.0, value]}, "aabb"[n])
        many = [RepeatRow(outcome="ok", values={"gc": [1.0, each]}) for each in repeats]
        rows.append(made.model_copy(update={"repeats": [] if n else many}))
    score = genception_score(metrics={"gc_at_2": gc}, scored=3, total=4, coverage=0.75)
    [made] = blocks_of(benchmark("genception"), [score], lambda score: rows)
    assert made.bounds(score, "gc_at_2") == (expected and pytest.approx(expected))
    table, *_ = tables_of([score], lambda score: rows)
    shown = f"0.750 ({expected[0]:.3f} to {expected[1]:.3f})" if expected else "0.750"
    assert str(table.rows[0][-1]) == shown
    assert any("worth as much as the best" in note for note in table.notes) is bool(
        expected
    )


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
    scores = list[Score]()
    for name, some, counted in (("m80", 80, 100), ("m92", 92, 92), ("m90", 90, 90)):
        score = genception_score(
            model=name, scored=some, counted=counted, total=100, coverage=some / 100
        )
        settings = score.inputs.settings | {"min_coverage": 0.9}
        scores.append(
            score.model_copy(
                update={
                    "inputs": score.inputs.model_copy(update={"settings": settings})
                }
            )
        )
    [made] = blocks_of(benchmark("genception"), scores)
    reason = (
        "coverage of m80: 80/100 (100 counted) could be scored, and genception.min_coverage asks "
        "for 90%"
    )
    assert made.apart == {"m80": reason}
    assert {*ranks(made, "gc_at_2")} == {"m90", "m92"}
    assert made.order()[-1].model == "m80"
