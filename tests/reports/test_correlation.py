"""Correlations: the paper's numbers from the paper's tables, and whose values count for which
model."""

import csv
import io

import numpy as np
import pytest
import yaml
from matplotlib.figure import Figure

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import ConfigError
from driftledger.core.types import Outcome
from driftledger.data.leaderboards import OutsideValue
from driftledger.metrics.drift import gc_at
from driftledger.project.catalogue import CorrelationSettings
from driftledger.project.project import Project
from driftledger.reports.correlation import (
    correlated,
    correlation,
    growth,
    our_columns,
    outside_columns,
)
from driftledger.reports.ratings import model_spreads, rating_tables
from driftledger.reports.scores import blocks_of
from tests.conftest import shapes_only
from tests.reports.test_tables import control
from tests.support.ledgers import (
    fidelity_score,
    genception_score,
    question_score,
    row,
    varied,
)
from tests.support.params import default_params

TABLE_3 = {
    **{("GC@3", "MME"): 0.52, ("GC@3", "HallusionBench"): 0.93, ("GC@1", "GC@3"): 0.99},
    **{("GC@1", "MME"): 0.46, ("GC@1", "HallusionBench"): 0.92},
}
"""Pearson's r, as Figure 2 and Table 3 of the GenCeption paper have it."""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the shipped leaderboards give, of a project that evaluates nothing."""
    root, params = tmp_path_factory.mktemp("correlation"), default_params()
    shapes_only(params)
    params["run"]["genception"] = []
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return correlation(Project(root), [])


def test_table_3_is_reproduced_from_tables_2_and_4(found):
    rows = [
        row
        for row in csv.DictReader(io.StringIO(found.csv))
        if row["of_a"] == row["of_b"] == "mmeception"
    ]
    by_pair = {frozenset((row["a"], row["b"])): row for row in rows}
    for pair, printed in TABLE_3.items():
        row = by_pair[frozenset(pair)]
        assert (round(float(row["pearson"]), 2), row["models"]) == (printed, "7")
        assert float(row["low"]) < printed < float(row["high"])


def test_people_read_what_is_missing(found):
    assert (
        "correlation.models in params.yaml names them: genception_v1: none; mm_sap: none"
        in found.lead
    )
    assert {table.name for table in found.tables} == {"genception_v1", "mmeception"}


def test_the_matrix_is_symmetric(found):
    axes = Figure().subplots()
    found.picture.draw(axes)
    values = np.ma.filled(axes.collections[0].get_array(), np.nan)
    assert np.array_equal(values, values.T, equal_nan=True)
    assert np.isfinite(values).sum() > 20


def board(*rows):
    return [OutsideValue(model, of, value, "x", "2025") for model, of, value in rows]


def settings(models=None):
    return CorrelationSettings(models=models or {}, confidence=0.95)


def test_a_name_is_ours_only_on_the_leaderboard_that_the_settings_name():
    boards = {
        "here": board(("A", "MME", 1.0), ("B", "MME", 2.0)),
        "there": board(("A", "MME", 3.0)),
    }
    here, there = outside_columns(boards, settings({"here": {"ours": "A"}}))
    assert (here.values, there.values) == (
        {"ours": 1.0, "here: B": 2.0},
        {"there: A": 3.0},
    )
    with pytest.raises(
        ConfigError, match=r"leaderboard 'hree' is unknown; did you mean 'here'"
    ):
        list(outside_columns(boards, settings({"hree": {}})))
    with pytest.raises(
        ConfigError,
        match=r"correlation\.models\.here\.ours: model 'a' is unknown; .*valid: A",
    ):
        list(outside_columns(boards, settings({"here": {"ours": "a"}})))


def test_ours_are_headlines_of_models_that_look():
    scores = [
        question_score("mme", model=n, metrics={"score": v, "score_low": 1.0})
        for n, v in (("a", 3.0), ("b", 4.0))
    ]
    scores.append(control(question_score("mme", model="blind", metrics={"score": 0.0})))
    [column] = our_columns(list(blocks_of(benchmark("mme"), scores)))
    assert (column.key, column.of, column.values) == (
        "mme/score",
        "mme on exam",
        {"a": 3.0, "b": 4.0},
    )


def test_of_duplicates_only_the_first_counts():
    """c is a's component, d has b's results, e has values like theirs of its own."""
    values = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 2.0, "e": 2.0}
    scores = [
        question_score("mme", model=name, metrics={"score": value})
        for name, value in values.items()
    ]
    scores[2] = varied(scores[2], model=scores[0].components["model"])
    worth = dict(zip("abcde", (10.0, 20.0, 30.0, 20.0, 40.0), strict=True))

    def rows(score):
        return [row("i", {"score": [worth[score.model]]}, "count")]

    [column] = our_columns(list(blocks_of(benchmark("mme"), scores, rows)))
    assert column.values == {"a": 1.0, "b": 2.0, "e": 2.0}


def test_pairs_share_four_models():
    scores = [
        question_score("mme", model=n, metrics={"score": v})
        for n, v in zip("abcde", (1.0, 2.0, 4.0, 9.0, 9.0), strict=True)
    ]
    ours = list(our_columns(list(blocks_of(benchmark("mme"), scores))))
    outside = {
        "b": board(
            *(
                (n, "MME", v)
                for n, v in (("A", 10.0), ("B", 20.0), ("C", 15.0), ("D", 99.0))
            )
        )
    }
    four = settings({"b": {"a": "A", "b": "B", "c": "C", "d": "D"}})
    [pair] = correlated([*ours, *outside_columns(outside, four)], 0.95)
    assert (pair.models, pair.spearman, pair.kendall) == (4, 0.8, 0.666667)
    assert (pair.pearson, pair.interval is None) == (
        pytest.approx(0.94329, abs=1e-6),
        False,
    )
    three = settings({"b": {"a": "A", "b": "B", "c": "C"}})
    assert list(correlated([*ours, *outside_columns(outside, three)], 0.95)) == []
    parts = {
        "b": board(
            *(
                (model, "FID/a", value)
                for model, value in zip("ABC", (1.0, 2.0, 4.0), strict=True)
            )
        )
    }
    assert list(outside_columns(parts, settings())) == [], (
        "parts of a benchmark are left out"
    )


CHAINS = {
    "a": ((0.9, 0.8, 0.7), 9.0),
    "b": ((0.8, 0.8, 0.1), 6.0),
    "c": ((0.7, 0.6, 0.5), 7.0),
    "d": ((0.2, 0.2, 0.2), 1.0),
}
"""Model → s(1) … s(3), and its score in another benchmark."""


def test_table_3_and_its_ablation_are_made_of_ones_own_models():
    chains, others = [], []
    for name, (similarities, other) in CHAINS.items():
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
        others.append(question_score("mme", model=name, metrics={"score": other}))
    blocks = [
        *blocks_of(benchmark("genception"), chains),
        *blocks_of(benchmark("mme"), others),
    ]
    columns = list(our_columns(blocks))
    assert [each.key for each in columns] == [
        *(
            "genception/gc_at_1",
            "genception/gc_at_3",
            "genception/similarity_at_3",
            "mme/score",
        )
    ]
    [table] = growth(blocks[0], columns[3:])
    assert table.rows == [
        ["score, mme on exam", "1", "4", "0.96", "0.96"],
        ["score, mme on exam", "2", "4", "0.92", "0.94"],
        ["score, mme on exam", "3", "4", "0.98", "1.00"],
    ], "r of the weighted and of the plain means, by scipy"


RATED = [1, 2, 2, 4, 5, 3, 5, 5]
"""Of eight samples; their GC@1 rises in tenths, their SSIM is the same. The ninth is refused."""


def rated_blocks():
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
    return [
        *blocks_of(benchmark("genception"), chains, rows),
        *blocks_of(benchmark("fidelity"), fidelity, rows),
    ]


def test_ratings_say_what_metrics_are_worth():
    """r and the smallest r are those of the metric's example; SSIM, which is constant, corrects
    nothing, so its mean is that of the ratings, 27/8."""
    [table] = rating_tables(rated_blocks())
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
    blocks = rated_blocks()
    spreads = model_spreads(blocks, "shapes")
    assert spreads == pytest.approx({f"s{t}": t / 20 for t in range(9)})
    assert model_spreads(blocks[1:], "shapes") == dict.fromkeys(spreads, 0.0)
    assert model_spreads(blocks, "photos") == {}
