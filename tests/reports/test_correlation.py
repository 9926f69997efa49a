"""Correlations: the paper's numbers from the paper's tables, and whose values count for which
model."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from driftledger.core.errors import ConfigError
from driftledger.core.types import Outcome
from driftledger.metrics.drift import gc_at
from driftledger.project.catalogue import CorrelationSettings, shipped
from driftledger.reports.correlation import (
    correlation,
    our_columns,
    published_columns,
)
from driftledger.reports.ratings import model_spreads, rating_tables
from driftledger.reports.scores import no_rows
from tests.support.ledgers import (
    fidelity_score,
    genception_score,
    question_score,
    row,
)
from tests.support.tables import control, ranked

TABLE_3 = {
    **{("GC@3", "MME"): 0.52, ("GC@3", "HallusionBench"): 0.93, ("GC@1", "GC@3"): 0.99},
    **{("GC@1", "MME"): 0.46, ("GC@1", "HallusionBench"): 0.92},
}
"""Pearson's r, as Figure 2 and Table 3 of the GenCeption paper have it."""


SETTINGS = CorrelationSettings.model_validate(shipped("correlation"))


def rows_of(found):
    """The first two columns of the table → the others."""
    rows = [list(map(str, row)) for row in found.tables[0].rows]
    assert rows
    return {(row[0], row[1]): row[2:] for row in rows}


@pytest.fixture(scope="module")
def published():
    """What the shipped leaderboards give, where nothing is evaluated."""
    return correlation(SETTINGS, [], no_rows)


def test_table_3_is_reproduced_from_tables_2_and_4(published):
    rows = rows_of(published)
    for (a, b), printed in TABLE_3.items():
        ends = f"{a}, mmeception", f"{b}, mmeception"
        models, pearson, _ = rows.get(ends) or rows[ends[::-1]]
        r, low, high = map(float, re.findall(r"-?[0-9.]+", pearson))
        assert (r, models) == (printed, "7")
        assert low < printed < high


def test_the_matrix_is_symmetric(published):
    axes = Figure().subplots()
    published.picture.draw(axes)
    values = np.ma.filled(axes.collections[0].get_array(), np.nan)
    assert np.array_equal(values, values.T, equal_nan=True)
    assert np.isfinite(values).sum() > 20


def test_a_name_is_ours_only_on_the_leaderboard_that_the_settings_name():
    columns = dict(published_columns({"mmeception": {"ours": "GPT-4V"}}))
    assert columns["MME, mmeception"]["ours"] == 126.5
    assert "genception_v1: GPT-4V" in columns["HallusionBench, genception_v1"]
    assert not [name for name in columns if "/" in name], "parts are left out"
    with pytest.raises(
        ConfigError,
        match=r"leaderboard 'mmecepton' is unknown; did you mean 'mmeception'",
    ):
        dict(published_columns({"mmecepton": {}}))
    with pytest.raises(
        ConfigError,
        match=r"correlation\.models\.mmeception\.ours: model 'gpt-4v' is unknown",
    ):
        dict(published_columns({"mmeception": {"ours": "gpt-4v"}}))


def exams(**values):
    """MME's scores of models."""
    return [
        question_score("mme", model=name, metrics={"score": value})
        for name, value in values.items()
    ]


def test_ours_are_headlines_of_models_that_look():
    scores = exams(a=3.0, b=4.0)
    scores.append(control(question_score("mme", model="blind", metrics={"score": 0.0})))
    columns = our_columns(ranked(scores))
    assert columns == {"score, mme on exam": {"a": 3.0, "b": 4.0}}


OURS = {"a": "GPT-4V", "b": "mPLUG-Owl2", "c": "LLaVA-13B", "d": "LLaVA-7B"}


def test_pairs_share_four_models_that_are_not_the_same():
    """GC@3 of the four is 0.351, 0.257, 0.238 and 0.225; e has d's results."""
    numbers = ranked(exams(a=9.0, b=2.0, c=3.0, d=1.0, e=1.0))
    settings = SETTINGS.model_copy(update={"models": {"mmeception": OURS}})
    row = rows_of(correlation(settings, numbers, no_rows))[
        "score, mme on exam", "GC@3, mmeception"
    ]
    assert row == ["4", "0.97 (0.11 to 1.00)", "0.80"], "by scipy"
    names = {"d": "LLaVA-7B", "e": "LLaVA-13B"} | {name: OURS[name] for name in "ab"}
    settings = SETTINGS.model_copy(update={"models": {"mmeception": names}})
    rows = rows_of(correlation(settings, numbers, no_rows))
    assert ("score, mme on exam", "GC@3, mmeception") not in rows


CHAINS = {
    "a": ((0.9, 0.8, 0.7), 9.0),
    "b": ((0.8, 0.8, 0.1), 6.0),
    "c": ((0.7, 0.6, 0.5), 7.0),
    "d": ((0.2, 0.2, 0.2), 1.0),
}
"""Model → s(1) … s(3), and its score in another benchmark."""


def test_table_3_is_made_of_ones_own_models():
    chains = []
    for name, (similarities, _) in CHAINS.items():
        metrics = {
            f"similarity_at_{t}": value for t, value in enumerate(similarities, 1)
        }
        metrics |= {
            f"gc_at_{t}": gc_at(np.array([similarities]), t)[0] for t in (1, 2, 3)
        }
        chains.append(
            genception_score(
                model=name,
                metrics=metrics,
                groups={"category": {}},
                details={"groups": {}},
            )
        )
    others = exams(**{name: other for name, (_, other) in CHAINS.items()})
    numbers = ranked([*chains, *others])
    place = "genception on shapes · brush · eye"
    mme = "score, mme on exam"
    rows = rows_of(correlation(SETTINGS, numbers, no_rows))
    assert {
        name: rows[f"{name}, {place}", mme][1].split()[0]
        for name in ("GC@1", "GC@3", "s(3)")
    } == {"GC@1": "0.96", "GC@3": "0.98", "s(3)": "0.70"}, "by scipy"


RATED = [1, 2, 2, 4, 5, 3, 5, 5]
"""Of eight samples; their GC@1 rises in tenths, their SSIM is the same. The ninth is refused."""


def rated():
    samples = {
        f"s{place}": {"ratings": [rating], "weight": 2.0}
        for place, rating in enumerate(RATED)
    }
    samples["s1"]["ratings"] = [1, 3]
    details = {"ratings": {"used": 9, "counts": [1, 2, 1, 1, 3], "samples": samples}}
    without = {"ratings": {"used": 0, "counts": []}}

    def rows(score):
        refused = {"outcome": Outcome.REFUSED}
        scale = {"a": 1.0, "b": 0.5, "blind": 9.0}[score.model]
        if score.benchmark == "fidelity":
            units = [row(f"s{place}", {"ssim": [30.0]}) for place in range(8)]
            return [*units, row("s8", {"ssim": [0.0]}, **refused)]
        return [row(f"s{t}", {"gc": [scale * t / 10]}) for t in range(9)]

    fidelity = [
        fidelity_score(model="a", metrics={"ssim": 30.0}, details=details),
        fidelity_score(model="b", metrics={"ssim": 30.0}, details=without),
    ]
    chains = [
        genception_score(model=name, metrics={"gc_at_1": 0.4}) for name in ("a", "b")
    ]
    chains.append(control(genception_score(model="blind", metrics={"gc_at_1": 0.4})))
    return ranked([*chains, *fidelity], rows), rows


def test_ratings_say_what_metrics_are_worth():
    """r and the smallest r are those of the metric's example; SSIM, which is constant, corrects
    nothing, so its mean is that of the ratings, 27/8."""
    [table] = rating_tables(*rated())
    gc, ssim = [[str(each) for each in line] for line in table.rows]
    assert gc[:6] == [
        *("a", "GenCeption GC@1", "8 of 8", "0.86 (0.39 to 0.97)", "0.85"),
        "follows the ratings",
    ]
    assert ssim[:6] == ["a", "fidelity SSIM", "8 of 8", "–", "0.85", "may be noise"]
    assert ssim[6].startswith("3.38 (")
    assert "alpha: 0.00. 1 is perfect" in table.notes[0], "1 − 2/2: one text, 1 and 3"
    assert table.name == "ratings-fidelity-shapes-brush-eye"


def test_models_differ_by_the_first_metric_that_two_have():
    numbers, rows = rated()
    spreads = model_spreads(numbers, rows, "shapes")
    assert spreads == pytest.approx({f"s{t}": t / 20 for t in range(9)})
    fidelity = [number for number in numbers if number.benchmark == "fidelity"]
    alike = model_spreads(fidelity, rows, "shapes")
    assert alike == dict.fromkeys(spreads, 0.0)
    assert model_spreads(numbers, rows, "photos") == {}
