"""Correlations: the paper's numbers from the paper's tables, and whose values count for which
model."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from driftledger.core.errors import ConfigError
from driftledger.core.types import Outcome
from driftledger.project.catalogue import CorrelationSettings, shipped
from driftledger.reports.correlation import (
    correlation,
    our_columns,
    published_columns,
)
from driftledger.reports.ratings import rating_tables
from driftledger.reports.scores import no_rows
from tests.support.cases import cases, each_case
from tests.support.ledgers import question_score, row
from tests.support.tables import control, ranked, scores_of

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


def test_ours_are_headlines_of_models_that_look():
    scores = []
    for model, value in (("a", 3.0), ("b", 4.0), ("blind", 0.0)):
        score = question_score("mme", model=model, numbers={"score": value})
        scores.append(control(score) if model == "blind" else score)
    columns = our_columns(ranked(scores))
    assert columns == {"score, mme on exam": {"a": 3.0, "b": 4.0}}


@each_case(cases(__file__, "correlations"))
def test_our_headlines_are_correlated(case):
    """How two headlines, or one and a published benchmark, correlate over the models of both."""
    boards = {"mmeception": case["models"]} if "models" in case else {}
    settings = SETTINGS.model_copy(update={"models": boards})
    numbers = ranked(scores_of(case["scores"]))
    rows = {}
    for (a, b), cells in rows_of(correlation(settings, numbers, no_rows)).items():
        rows[f"{a} × {b}"] = cells
    for pair, expected in case.get("pairs", {}).items():
        for cell, text in zip(rows[pair], expected, strict=False):
            assert cell.startswith(text)
    assert not rows.keys() & set(case.get("absent", []))


def rated():
    """Ratings of eight samples, whose GC@1 rises in tenths and whose SSIM is the same; a ninth is
    refused."""

    def rows(score):
        if score.benchmark == "fidelity":
            units = [row(f"s{place}", {"ssim": [30.0]}) for place in range(8)]
            return [*units, row("s8", {"ssim": [0.0]}, outcome=Outcome.REFUSED)]
        scale = {"a": 1.0, "b": 0.5, "blind": 9.0}[score.model]
        return [row(f"s{t}", {"gc": [scale * t / 10]}) for t in range(9)]

    return ranked(scores_of("rated"), rows), rows


def test_ratings_say_what_metrics_are_worth():
    """r and the smallest r are those of the metric's example; SSIM is constant and has none."""
    [table] = rating_tables(*rated())
    gc, ssim = [[str(each) for each in line] for line in table.rows]
    assert gc == [
        *("a", "GenCeption GC@1", "8 of 8", "0.86 (0.39 to 0.97)", "0.85"),
        "follows the ratings",
    ]
    assert ssim == ["a", "fidelity SSIM", "8 of 8", "–", "0.85", "may be noise"]
    assert "alpha: 0.00. 1 is perfect" in table.notes[0], "1 − 2/2: one text, 1 and 3"
    assert table.name == "ratings-fidelity-shapes-brush-eye"
