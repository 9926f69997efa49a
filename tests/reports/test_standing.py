"""Which models can be told apart by a number, from the rows behind scores; and which may be ranked
at all."""

from driftledger.metrics.exact import exact_mean
from driftledger.reports.charts import figures_of, series_of
from driftledger.reports.tables import in_order, notes_on_controls
from tests.support.cases import cases, each_case
from tests.support.ledgers import (
    component,
    fidelity_score,
    row,
    varied,
)
from tests.support.tables import ranked, tables_of

SETTINGS = {"confidence": 0.95, "ssim_side": 256, "seed": 7, "ratings": None}
HIGH = [50.0 + 0.1 * n for n in range(9)]
HALF = [45.0 + 0.1 * n for n in range(9)]
LOW = [40.0 + 0.1 * n for n in range(9)]
CLOSE = [49.99 + 0.1 * n + (0.2 if n % 2 else -0.2) for n in range(9)]
VALUES = {"high": HIGH, "half": HALF, "low": LOW, "close": CLOSE}
"""What cases call by a name."""


def scored(model, values, **more):
    """SSIM of so many images, in three categories; the model ``blind`` is a control."""
    numbers = {"ssim": exact_mean(values), "category/a/ssim": exact_mean(values[::3])}
    card = component(model, control=model == "blind")
    score = varied(
        fidelity_score(model=model, numbers=numbers, **more),
        settings=SETTINGS,
        model=card,
    )
    rows = []
    for number, value in enumerate(values):
        category = "abc"[number % 3]
        rows.append(row(f"u{number}", {"ssim": [value]}, category=category))
    return score, rows


def numbers_of(metric, *some, group=""):
    """Model → its number of this metric at the last t."""
    rows = {score.model: own for score, own in some}
    numbers = ranked([score for score, _ in some], lambda score: rows[score.model])
    own = [n for n in numbers if n.metric == metric and n.group == group and n.last]
    return {number.model: number for number in own}


@each_case(cases(__file__, "ranks"))
def test_ranks_and_letters(case):
    """Models with these values, their ranks and letters, the best group, and what is said of
    controls."""
    some = [scored(name, VALUES[values]) for name, values in case["models"].items()]
    if case.get("untested"):
        some = [(score, []) for score, _ in some]
    numbers = numbers_of("ssim", *some, group=case.get("group", ""))
    ranks = {}
    for model, number in numbers.items():
        if number.rank:
            assert number.tested is not case.get("untested", False)
            ranks[model] = [number.rank, number.letters]
    order = in_order(ranked([score for score, _ in some]))
    found = {
        "ranks": ranks,
        "best": sorted(model for model, number in numbers.items() if number.best),
        "doubtful": sorted(name for name, number in numbers.items() if number.doubtful),
        "order": [score.model for score in order],
        "says": notes_on_controls([*numbers.values()], "SSIM"),
    }
    for name in found.keys() & case.keys():
        assert found[name] == case[name]


def test_letters_are_in_tables_and_figures():
    some = scored("low", LOW), scored("high", HIGH), scored("blind", LOW)
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


def test_what_rows_do_not_make_up_is_not_tested():
    high, rows = scored("high", HIGH)
    values = {"ssim": exact_mean(HIGH), "frechet": 3.0, "words": 7.0}
    more = fidelity_score(model="high", numbers=values)
    low = scored("low", LOW)
    for metric in ("frechet", "words"):
        assert not numbers_of(metric, (more, rows), low)["high"].tested
    for fewer in (rows[1:], []):
        numbers = numbers_of("ssim", (high, fewer), low)
        assert not numbers["high"].tested, "rows give another number"
