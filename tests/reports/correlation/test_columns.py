"""Columns: whose values stand for which model."""

import pytest

from driftledger.core.errors import ConfigError
from driftledger.data.leaderboards import Leaderboard, OutsideValue
from driftledger.project.correlation import CorrelationSettings
from driftledger.reports.correlation.columns import our_columns, outside_columns
from driftledger.reports.correlation.pairs import pairs
from tests.support.question_ledgers import question_score


def board(name: str, **models: float) -> Leaderboard:
    return Leaderboard(name, tuple(OutsideValue(model, "MME", value, "x", "2025") for model, value in models.items()))


def settings(models: dict[str, dict[str, str]] | None = None) -> CorrelationSettings:
    return CorrelationSettings(models=models or {}, lower_is_better=("FID",), confidence=0.95)


def test_a_name_stands_for_ours_only_on_the_leaderboard_that_the_settings_name() -> None:
    """LLaVA-7B is one checkpoint here and another one there."""
    boards = [board("here", A=1.0, B=2.0), board("there", A=3.0)]
    here, there = outside_columns(boards, settings({"here": {"ours": "A"}}))
    assert here.values == {"ours": 1.0, "here: B": 2.0}
    assert there.values == {"there: A": 3.0}


def test_parts_of_a_benchmark_are_details_in_its_direction() -> None:
    rows = [OutsideValue("A", name, 1.0, "x", "2025") for name in ("FID", "FID/OCR", "MME")]
    whole, part, other = outside_columns([Leaderboard("b", tuple(rows))], settings())
    assert [column.higher_is_better for column in (whole, part, other)] == [False, False, True]
    assert [column.detail for column in (whole, part, other)] == [False, True, False]
    assert [column.headline for column in (whole, part, other)] == [True, False, True]


def test_a_mapping_to_what_is_not_there_is_refused_with_what_is() -> None:
    with pytest.raises(ConfigError, match=r"leaderboard 'hree' is unknown; did you mean 'here'"):
        list(outside_columns([board("here", A=1.0)], settings({"hree": {}})))
    with pytest.raises(ConfigError, match=r"correlation\.models\.here\.ours: model 'a' is unknown; .*valid: A"):
        list(outside_columns([board("here", A=1.0)], settings({"here": {"ours": "a"}})))


def test_ours_are_the_metrics_of_the_tables_without_their_spread() -> None:
    scores = [
        question_score("mme", model=name, metrics={"score": value, "score_low": 1.0, "score_high": 2.0})
        for name, value in (("a", 3.0), ("b", 4.0))
    ]
    [column] = our_columns(scores)
    assert (column.key, column.headline, column.outside) == ("mme/score", True, False)
    assert column.values == {"a": 3.0, "b": 4.0}
    assert column.of == "mme on exam"


def test_ours_and_theirs_meet_where_three_models_stand_in_both() -> None:
    ours = [
        question_score("mme", model=name, metrics={"score": value})
        for name, value in (("a", 1.0), ("b", 2.0), ("c", 4.0), ("d", 9.0))
    ]
    outside = board("b", A=10.0, B=20.0, C=15.0, Other=99.0)
    columns = [*our_columns(ours), *outside_columns([outside], settings({"b": {"a": "A", "b": "B", "c": "C"}}))]
    [pair] = pairs(columns, 0.95)
    assert (pair.found.n, pair.found.spearman) == (3, 0.5)
    assert pair.pearson is None  # of three models
    fewer = [*our_columns(ours), *outside_columns([outside], settings({"b": {"a": "A", "b": "B"}}))]
    assert list(pairs(fewer, 0.95)) == []


def test_parts_are_not_set_against_parts() -> None:
    names = ("MME", "MME/OCR", "MME/Count")
    rows = [
        OutsideValue(model, name, value, "x", "2025")
        for name in names
        for model, value in zip("ABC", (1.0, 2.0, 4.0), strict=True)
    ]
    found = pairs(list(outside_columns([Leaderboard("b", tuple(rows))], settings())), 0.95)
    assert [(pair.a.key, pair.b.key) for pair in found] == [("MME", "MME/OCR"), ("MME", "MME/Count")]
