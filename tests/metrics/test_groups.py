"""Which models are told apart, and what ranks and letters follow."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.groups import Difference, groups, holm, normalised, shown
from driftledger.metrics.paired_t import paired_by_category

P_VALUES = st.floats(0, 1, allow_nan=False)


@given(st.lists(P_VALUES, min_size=1, max_size=8))
def test_holm_is_the_closed_test_of_bonferroni_s(p_values: list[float]) -> None:
    """Marcus, Peritz and Gabriel 1976: a hypothesis falls where every set of hypotheses that holds it falls."""
    places = range(len(p_values))
    sets = [some for k in places for some in combinations(places, k + 1)]
    closed = [
        max(min(1.0, len(some) * min(p_values[k] for k in some)) for some in sets if place in some) for place in places
    ]
    assert holm(p_values) == pytest.approx(closed, abs=1e-12)


def test_holm_by_hand() -> None:
    """The first case is what R's ``p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")`` prints."""
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.4]) == [0.4]
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="value 1"):
        holm([0.5, wrong])


def test_a_difference_at_the_level_is_shown() -> None:
    """1 − 0.95 as floats is above 0.05."""
    assert shown({("a", "b"): Difference(1.0, 0.05)}, 0.95) == {("a", "b"): 1}
    assert shown({("a", "b"): Difference(-1.0, 0.05)}, 0.95) == {("a", "b"): -1}
    assert shown({("a", "b"): Difference(1.0, 0.0500001)}, 0.95) == {("a", "b"): 0}
    with pytest.raises(ValueError, match="confidence"):
        shown({}, 95)


def test_where_lower_is_better_the_lowest_is_best() -> None:
    pairs = {("b", "a"): Difference(-1.0, 0.0), ("a", "c"): Difference(2.0, 0.0), ("c", "b"): Difference(-1.0, 0.9)}
    found = groups(["a", "b", "c"], pairs, confidence=0.95, higher_is_better=False)
    assert found.ranks == {"a": 1, "b": 2, "c": 2}
    assert found.letters == {"a": "a", "b": "b", "c": "b"}
    assert found.best == {"a"}
    assert found.better == {"a": frozenset(), "b": {"a"}, "c": {"a"}}


def test_where_nobody_is_told_apart_nobody_is_best() -> None:
    pairs = {pair: Difference(0.1, None) for pair in combinations("abc", 2)}
    found = groups("abc", pairs, confidence=0.95)
    assert set(found.ranks.values()) == {1}
    assert set(found.letters.values()) == {"a"}
    assert found.best == frozenset()
    assert groups(["only"], {}, confidence=0.95).letters == {"only": "a"}


def test_a_missing_pair_is_an_error() -> None:
    with pytest.raises(ValueError, match="a and b are not compared"):
        groups(["a", "b"], {}, confidence=0.95)
    with pytest.raises(ValueError, match="same name"):
        groups(["a", "a"], {}, confidence=0.95)


def assert_display(letters: dict[str, str], differ: set[tuple[str, str]]) -> None:
    for one, other in combinations(letters, 2):
        apart = (one, other) in differ or (other, one) in differ
        assert bool(set(letters[one]) & set(letters[other])) != apart
    assert all(letters.values())


@given(st.data(), st.integers(1, 9))
def test_two_share_a_letter_if_and_only_if_they_are_not_told_apart(data: st.DataObject, n: int) -> None:
    names = [f"m{k}" for k in range(n)]
    p_values = {pair: data.draw(st.sampled_from([0.0, 1.0])) for pair in combinations(names, 2)}
    pairs = {pair: Difference(-1.0, p) for pair, p in p_values.items()}
    found = groups(names, pairs, confidence=0.95)
    assert_display(dict(found.letters), {pair for pair, p in p_values.items() if p == 0.0})
    for name in names:
        assert found.ranks[name] == 1 + sum(p_values[pair] == 0.0 for pair in p_values if pair[1] == name)


def test_more_letters_than_there_are() -> None:
    names = [f"m{k:02}" for k in range(60)]
    pairs = {pair: Difference(-1.0, 0.0) for pair in combinations(names, 2)}
    letters = groups(names, pairs, confidence=0.95).letters
    assert len(set(letters.values())) == 60
    assert letters["m52"] == "(53)"


def test_floor_and_ceiling_are_0_and_1() -> None:
    assert normalised(2.0, 2.0, 4.0) == 0.0
    assert normalised(4.0, 2.0, 4.0) == 1.0
    assert normalised(1.0, 4.0, 2.0) == 1.5, "of a distance, whose ceiling is below its floor, better than the ceiling"
    with pytest.raises(ValueError, match="nothing in between"):
        normalised(1.0, 2.0, 2.0)
    with pytest.raises(ValueError, match="value 0"):
        normalised(float("inf"), 2.0, 3.0)


@pytest.mark.parametrize("skewed", [False, True])
def test_equally_good_models_are_seldom_told_apart(skewed: bool) -> None:
    """Six models on the sizes of photos: at most one leaderboard in twenty may show any difference."""
    rng, categories = (
        np.random.default_rng(5),
        [name for name, n in zip("abcdef", (4, 4, 4, 4, 3, 2), strict=True) for _ in range(n)],
    )
    wrong, runs = 0, 400
    for _ in range(runs):
        images = rng.normal(0, 1, len(categories))
        values = images + (
            rng.exponential(0.5, (6, len(categories))) if skewed else rng.normal(0, 0.5, (6, len(categories)))
        )
        pairs = {}
        for a, b in combinations(range(6), 2):
            found = paired_by_category((values[b] - values[a]).tolist(), categories)
            pairs[str(a), str(b)] = Difference(found.difference, found.p_value)
        wrong += bool(any(shown(pairs, 0.95).values()))
    assert wrong / runs < 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5
