import json
from collections.abc import Sequence
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from driftledger.core.errors import ConfigError
from lab.validity.measured import share
from lab.validity.ranked import Drawing, Ranking, Rungs, rank
from lab.validity.resampled import common_units, resampled_scores
from lab.validity.scores import Reading
from lab.validity.stages import climb
from lab.validity.units import Unit, Units
from tests.conftest import REPOSITORY

CASES = json.loads((REPOSITORY / "tests" / "cases" / "validity.json").read_text(encoding="utf-8"))
STEPS = {"early": 100, "middle": 300, "final": 900}
RUNGS = Rungs(("early", "middle", "final"), STEPS, {}, ("blind",))
DRAWING = Drawing(resamples=400, seed=1)
COLUMNS = st.lists(
    st.tuples(st.integers(-50, 50), st.integers(-50, 50), st.integers(-50, 50), st.sampled_from("xyz")),
    min_size=1,
    max_size=20,
)


def ranked(values: dict[str, Sequence[float]], rungs: Rungs = RUNGS, lower: bool = False) -> Ranking:
    readings = {name: Reading(*each) for name, each in values.items()}
    return rank(readings, rungs, higher_is_better=not lower, drawing=DRAWING)


class Counts(NamedTuple):
    scored: int
    counted: int
    total: int = 100


def test_rungs_of_which_one_leaves_out_far_more_are_not_ranked() -> None:
    values = {"early": 0.1, "middle": 0.2, "final": 0.3, "blind": 0.0}

    def found(**counts: Counts) -> Ranking:
        readings = {name: Reading(value, counts=counts.get(name, Counts(100, 100))) for name, value in values.items()}
        truth = Rungs(RUNGS.names, STEPS, {"early": 0.1, "middle": 0.5, "final": 0.9, "blind": 0.0}, ("blind",))
        return rank(readings, truth, higher_is_better=True, drawing=DRAWING)

    for alike in (found(), found(early=Counts(95, 95)), found(early=Counts(20, 100))):
        assert (alike.rises, alike.spearman, alike.spearman_measured, alike.apart) == (True, 1.0, 1.0, None)
        assert alike.controls["blind"].last
    assert found(early=Counts(20, 100)).values["early"].coverage == 0.2
    barred = found(early=Counts(94, 94))
    assert (barred.rises, barred.spearman, barred.spearman_measured, barred.resampled) == (None, None, None, None)
    assert barred.apart == (
        "coverage differs (100/100, 100.0% and 94/100, 94.0%): more than 5% apart: what is left out is seldom what is "
        "easy"
    )
    control = found(blind=Counts(94, 94))
    assert (control.rises, control.spearman, control.spearman_measured) == (True, 1.0, None)
    assert control.controls["blind"].last is None
    assert control.apart == barred.apart


def alone(values: Sequence[float], strata: Sequence[str] | None = None) -> Units:
    """Samples that are drawn one by one; their ids are in the order of ``values``."""
    names = [f"{number:03}" for number in range(len(values))]
    return {n: Unit(v, s, n) for n, v, s in zip(names, values, strata or ["all"] * len(values), strict=True)}


def of_units(*columns: Sequence[float]) -> Ranking:
    readings = {
        name: Reading(sum(each) / len(each), units=alone(each)) for name, each in zip(STEPS, columns, strict=True)
    }
    return rank(readings, RUNGS, higher_is_better=True, drawing=DRAWING)


@pytest.mark.parametrize("case", CASES["ranked"], ids=lambda case: case["why"])
def test_hand_worked_rankings(case: dict[str, Any]) -> None:
    found = ranked(case["values"], lower=case.get("lower", False))
    said = {"rises": found.rises, "disjoint": found.disjoint, "spearman": found.spearman}
    control = found.controls.get("blind")
    said |= {"last": control.last if control else None, "apart": control.disjoint if control else None}
    assert said == case["expected"]


@pytest.mark.parametrize("case", CASES["order"], ids=lambda case: case["why"])
def test_hand_worked_rank_correlations(case: dict[str, Any]) -> None:
    rungs = Rungs(tuple("abcd"), {"a": 1, "b": 20, "c": 300, "d": 301}, {})
    found = ranked({name: [value] for name, value in zip("abcd", case["values"], strict=True)}, rungs)
    assert found.spearman == case["spearman"]
    assert found.rises is (case["spearman"] == 1.0)


@given(st.lists(st.floats(-1, 1), min_size=3, max_size=8))
def test_rank_correlation_is_scipys(values: list[float]) -> None:
    names = [str(number) for number in range(len(values))]
    rungs = Rungs(tuple(names), {name: 3**place for place, name in enumerate(names)}, {})
    found = ranked({name: [value] for name, value in zip(names, values, strict=True)}, rungs).spearman
    seen = [round(value, 6) for value in values]
    if len(set(seen)) == 1:
        assert found is None
    else:
        assert found == pytest.approx(scipy.stats.spearmanr(range(len(seen)), seen).statistic, abs=1e-6)


def test_what_was_measured_is_correlated_over_all_that_it_was_measured_of() -> None:
    values = {"early": [0.4], "middle": [0.3], "final": [0.9], "blind": [0.1]}
    truth = {"early": 0.2, "middle": 0.5, "final": 0.9}
    assert ranked(values, RUNGS._replace(truth=truth)).spearman_measured == 0.5
    assert ranked(values, RUNGS._replace(truth=truth | {"blind": 0.0})).spearman_measured == 0.8
    assert ranked(values, RUNGS._replace(truth={"early": 0.2, "final": 0.9})).spearman_measured is None


def test_samples_that_agree_leave_no_doubt_about_the_order() -> None:
    found = of_units([0.1, 0.5, 0.2], [0.2, 0.6, 0.3], [0.3, 0.7, 0.4])
    assert found.resampled is not None
    assert (found.resampled.samples, found.resampled.resamples) == (3, DRAWING.resamples)
    assert (found.resampled.rising, found.resampled.spearman) == (1.0, 1.0)


def test_samples_that_disagree_leave_as_much_doubt_as_all_draws_say() -> None:
    columns = np.array([[0.0, 0.3, 0.9], [0.2, 0.2, 0.7], [0.6, 0.4, 0.3]])
    draws = [columns[:, list(draw)].mean(axis=1) for draw in np.ndindex(3, 3, 3)]
    rising = sum(all(a < b - 1e-9 for a, b in pairwise(draw)) for draw in draws) / len(draws)
    rho = np.mean([scipy.stats.spearmanr(range(3), np.round(draw, 9)).statistic for draw in draws])
    assert 0.2 < rising < 0.8, "a case that says something"
    readings = {n: Reading(0.0, units=alone(row.tolist())) for n, row in zip(STEPS, columns, strict=True)}
    found = rank(readings, RUNGS, higher_is_better=True, drawing=Drawing(20_000, 3)).resampled
    assert found is not None
    assert found.rising == pytest.approx(rising, abs=0.015)
    assert found.spearman == pytest.approx(rho, abs=0.02)


def test_resamples_in_which_all_are_equal_have_no_rank_correlation() -> None:
    tied, mixed = of_units([0.5, 0.1], [0.5, 0.1], [0.5, 0.1]), of_units([0.0, 0.5], [0.1, 0.5], [0.2, 0.5])
    assert tied.resampled is not None
    assert (tied.resampled.rising, tied.resampled.spearman) == (0.0, None)
    assert mixed.resampled is not None
    assert mixed.resampled.rising == pytest.approx(0.75, abs=0.1)
    assert mixed.resampled.spearman == 1.0


def test_without_values_per_sample_in_every_stage_there_is_no_resampling() -> None:
    readings = {name: Reading(0.5, units=alone([0.5])) for name in STEPS}
    for broken in (None, {"elsewhere": Unit(0.5, "all", "elsewhere")}):
        found = rank(readings | {"middle": Reading(0.5, units=broken)}, RUNGS, higher_is_better=True, drawing=DRAWING)
        assert found.resampled is None


def test_only_what_all_have_in_the_same_place_is_common() -> None:
    one = {"a": Unit(1, "x", "a"), "b": Unit(1, "x", "b"), "c": Unit(1, "x", "c")}
    other = {"c": Unit(2, "x", "c"), "b": Unit(2, "y", "b"), "a": Unit(2, "x", "a"), "d": Unit(2, "x", "d")}
    assert common_units([one, other]) == ["a", "c"]
    with pytest.raises(ValueError, match="nothing to draw"):
        resampled_scores([one, other], [], resamples=10, seed=1)


@given(COLUMNS, st.permutations(range(3)))
def test_all_scores_are_of_the_same_draws_whatever_their_order(
    rows: list[tuple[int, int, int, str]], order: list[int]
) -> None:
    *values, strata = zip(*rows, strict=True)
    columns = [alone(each, strata) for each in values]
    common = common_units(columns)
    scores = resampled_scores(columns, common, resamples=50, seed=2)
    again = resampled_scores([columns[place] for place in order], common, resamples=50, seed=2)
    assert (scores[:, order] == again).all()
    higher = {name: unit._replace(value=unit.value + 1) for name, unit in columns[0].items()}
    both = resampled_scores([columns[0], higher], common, resamples=50, seed=2)
    assert np.allclose(both[:, 1] - both[:, 0], 1)


@pytest.mark.parametrize("order", list(permutations(STEPS.items())))
def test_rungs_are_climbed_by_their_steps(order: tuple[tuple[str, int], ...]) -> None:
    assert climb("models", dict(order)) == ("early", "middle", "final")


@pytest.mark.parametrize("rungs", [{}, {"only": 5}, {"one": 5, "other": 5}, {"a": 5, "b": 9, "c": 5}])
def test_rungs_of_which_none_is_higher_are_one_sentence(rungs: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"^the models that are ranked must be .*trio/params.yaml$"):
        climb("models", rungs)


@pytest.mark.parametrize("case", CASES["shares"], ids=lambda case: f"{case['right']} of {case['of']}")
def test_intervals_of_shares_are_the_published_ones(case: dict[str, Any]) -> None:
    found = share(number < case["right"] for number in range(case["of"]))
    assert (found.right, found.of) == (case["right"], case["of"])
    assert (round(found.low, 4), round(found.high, 4)) == (case["low"], case["high"])
    assert found.share == round(case["right"] / case["of"], 6)


def test_a_share_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="share of nothing"):
        share([])
