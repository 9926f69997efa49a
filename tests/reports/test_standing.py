"""Which models can be told apart by a number, from the rows behind scores; and which may be ranked
at all."""

from driftledger.metrics.exact import exact_mean
from driftledger.reports.charts import figures_of, series_of
from driftledger.reports.tables import in_order, misplaced, reasons_in
from driftledger.scoring.score import Row, Score
from tests.support.cases import cases, each_case
from tests.support.ledgers import (
    component,
    fidelity_score,
    genception_score,
    row,
    varied,
)
from tests.support.tables import control, ranked, tables_of

SETTINGS = {"confidence": 0.95, "ssim_side": 256, "seed": 7, "ratings": None}
HIGH = [50.0 + 0.1 * n for n in range(9)]
HALF = [45.0 + 0.1 * n for n in range(9)]
LOW = [40.0 + 0.1 * n for n in range(9)]
CLOSE = [49.99 + 0.1 * n + (0.2 if n % 2 else -0.2) for n in range(9)]
VALUES = {"high": HIGH, "half": HALF, "low": LOW, "close": CLOSE}
"""What cases call by a name."""
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


def numbers_of(metric, *some, group=""):
    """Model → its number of this metric at the last t."""
    rows = {(score.model, score.keys["generator"]): own for score, own in some}
    made = ranked(
        [score for score, _ in some],
        lambda score: rows[score.model, score.keys["generator"]],
    )
    own = [n for n in made if n.metric == metric and n.group == group and n.last]
    return {number.model: number for number in own}


def ranks(numbers):
    """Model → rank and letters, where it has a rank."""
    return {
        model: [number.rank, number.letters]
        for model, number in numbers.items()
        if number.rank
    }


@each_case(cases(__file__, "ranks"))
def test_ranks_and_letters(case):
    """Models with these values, their ranks and letters, and the best group."""
    some = [scored(name, VALUES[values]) for name, values in case["models"].items()]
    numbers = numbers_of("ssim", *some)
    assert all(number.tested for number in numbers.values())
    assert ranks(numbers) == case["ranks"]
    best = [model for model, number in numbers.items() if number.best]
    assert sorted(best) == case["best"]


def test_a_model_beside_controls_alone_has_no_letter():
    some = scored("high", HIGH), scored("blind", LOW, control=True)
    assert ranks(numbers_of("ssim", *some)) == {"high": [1, ""]}


def test_controls_do_not_compete_and_are_placed_beside_each_model():
    some = (
        scored("low", LOW),
        scored("high", HIGH),
        scored("blind", CLOSE, control=True),
    )
    numbers = numbers_of("ssim", *some)
    assert {model: number[0] for model, number in ranks(numbers).items()} == {
        "high": 1,
        "low": 2,
    }
    assert {model for model, number in numbers.items() if number.doubtful} == {
        "high",
        "low",
    }
    assert misplaced([*numbers.values()], "SSIM") == [
        "SSIM: 2 of 2 models are not shown to be better than a control."
    ]
    scores = [score for score, _ in some]
    assert [score.model for score in in_order(ranked(scores))] == [
        "high",
        "low",
        "blind",
    ]
    untested = numbers_of("ssim", *((score, []) for score in scores))
    assert ranks(untested) == {"low": [2, ""], "high": [1, ""]}
    assert misplaced([*untested.values()], "SSIM") == [
        "SSIM: a control is better than 1 of 2 models."
    ]


def test_letters_are_in_tables_and_figures():
    some = scored("low", LOW), scored("high", HIGH), scored("blind", LOW, control=True)
    rows = {score.model: own for score, own in some}
    scores = [score for score, _ in some]
    first, *_ = tables_of(scores, lambda score: rows[score.model])
    shown = {str(row[0]): (str(row[1]), row[1].bold) for row in first.rows}
    assert shown == {
        "high": ("50.40 a", True),
        "low": ("40.40 b", False),
        "blind (control)": ("40.40", False),
    }
    note = "SSIM (0–100): 1 of 2 models are not shown to be better than a control."
    assert note in first.notes
    numbers = ranked(scores, lambda score: rows[score.model])
    bars, *_ = figures_of(numbers, series_of(scores))
    assert "models that share a letter cannot be told apart" in bars.note


def test_groups_have_their_own_rows():
    groups = [
        {"groups": {"category": {"a": {"ssim": exact_mean(values[::3])}}}}
        for values in (LOW, HIGH)
    ]
    some = scored("low", LOW, **groups[0]), scored("high", HIGH, **groups[1])
    letters = {
        model: own
        for model, (_, own) in ranks(numbers_of("ssim", *some, group="a")).items()
    }
    assert letters == {"high": "a", "low": "a"}, "three images show nothing"


def test_what_rows_do_not_make_up_is_not_tested():
    high, rows = scored("high", HIGH)
    values = {"ssim": exact_mean(HIGH), "frechet": 3.0, "words": 7.0}
    more = fidelity_score(model="high", metrics=values, coverage=1.0)
    low = scored("low", LOW)
    for metric in ("frechet", "words"):
        assert not numbers_of(metric, (more, rows), low)["high"].tested
    for fewer in (rows[1:], []):
        numbers = numbers_of("ssim", (high, fewer), low)
        assert not numbers["high"].tested, "rows give another number"


def models_with_rank(numbers):
    """The models that have a rank by some number."""
    return {number.model for number in numbers if number.rank}


def test_the_best_covered_model_decides_who_is_ranked():
    """94 % is near 98 %, but too far from 100 %; a control does not decide."""
    scores = [
        genception_score(
            model=f"m{n}", scored=n, counted=n, total=100, coverage=n / 100
        )
        for n in (90, 94, 98, 100)
    ]
    numbers = ranked(scores)
    assert {*reasons_in(numbers)} == {"m90", "m94"}
    assert models_with_rank(numbers) == {"m98", "m100"}
    assert {score.model for score in in_order(numbers)[:2]} == {"m98", "m100"}
    numbers = ranked([*scores[:2], control(scores[3])])
    assert {*reasons_in(numbers)} == {"m100"}
    assert models_with_rank(numbers) == {"m90", "m94"}


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
    numbers = ranked(scores)
    reason = (
        "coverage of m80: 80/100 (100 counted) could be scored, and genception.min_coverage asks "
        "for 90%"
    )
    assert reasons_in(numbers) == {"m80": reason}
    assert models_with_rank(numbers) == {"m90", "m92"}
    assert in_order(numbers)[-1].model == "m80"
