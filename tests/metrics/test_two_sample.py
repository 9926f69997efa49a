import math
from itertools import combinations

import numpy as np
import pytest

from driftledger.metrics.two_sample import energy_test


def apart(values):
    return np.abs(np.subtract.outer(values, values)).astype(float)


def energy(x, y):
    """Székely and Rizzo 2013, equation 6.1, pair by pair."""

    def mean(a, b):
        return sum(abs(p - q) for p in a for q in b) / (len(a) * len(b))

    return 2 * mean(x, y) - mean(x, x) - mean(y, y)


def test_the_distance_is_the_energy_distance() -> None:
    x, y = [0.1, 0.5, 0.3], [0.9, 0.2]
    found = energy_test([apart(np.array(x + y))], [3], permutations=9, seed=1)
    assert found.distance == pytest.approx(energy(x, y), abs=1e-9)
    several = energy_test([apart(np.array(x + y)), apart(np.array([0.0, 1.0]))], [3, 1], permutations=9, seed=1)
    assert several.distance == pytest.approx((energy(x, y) + 2) / 2, abs=1e-9)


def test_p_is_that_of_every_dealing() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=8) + np.array([0, 0, 0, 0, 1, 1, 1, 1.0])
    found = energy_test([apart(values)], [4], permutations=20_000, seed=1)
    observed, every = energy(values[:4], values[4:]), list(combinations(range(8), 4))
    above = sum(energy(values[list(some)], np.delete(values, some)) >= observed - 1e-12 for some in every)
    assert found.p == pytest.approx(above / len(every), abs=0.01)


def test_scipys_permutation_test_has_the_same_p() -> None:
    from scipy import stats

    rng = np.random.default_rng(5)
    x, y = rng.normal(size=5), rng.normal(size=5) + 0.8
    theirs = stats.permutation_test((x, y), energy, n_resamples=np.inf, alternative="greater", vectorized=False)
    ours = energy_test([apart(np.concatenate([x, y]))], [5], permutations=50_000, seed=1)
    assert ours.p == pytest.approx(theirs.pvalue, abs=0.01)


def test_p_of_one_source_is_below_alpha_as_often_as_alpha() -> None:
    """Answers that are often the same, as a service's are at temperature 0."""
    rng = np.random.default_rng(7)
    answers = (rng.random((400, 6, 10)) < 0.2).astype(float)
    ps = [energy_test([apart(each) for each in some], [5] * 6, permutations=99, seed=1).p for some in answers]
    for alpha in (0.05, 0.1, 0.2):
        assert sum(p <= alpha for p in ps) / 400 < alpha + 3 * math.sqrt(alpha * (1 - alpha) / 400)


def test_another_source_is_told() -> None:
    rng = np.random.default_rng(7)
    before, after = rng.random((200, 10, 5)) < 0.2, rng.random((200, 10, 5)) < 0.8
    both = np.concatenate([before, after], axis=2).astype(float)
    ps = [energy_test([apart(each) for each in some], [5] * 10, permutations=99, seed=1).p for some in both]
    assert sum(p <= 0.05 for p in ps) > 180


def test_what_is_the_same_is_no_evidence() -> None:
    same = energy_test([np.zeros((6, 6))] * 3, [3] * 3, permutations=99, seed=1)
    assert same == (0.0, 1.0)
    assert energy_test([np.zeros((2, 2))], [2], permutations=99, seed=1) is None
    assert energy_test([], [], permutations=99, seed=1) is None


def test_prompts_without_an_answer_of_one_time_are_left_out() -> None:
    full = apart(np.array([0.0, 0.0, 1.0, 1.0]))
    assert energy_test([full], [2], permutations=99, seed=1) == energy_test(
        [full, np.zeros((2, 2))], [2, 0], permutations=99, seed=1
    )


@pytest.mark.parametrize(
    ("distances", "first", "permutations", "message"),
    [
        ([np.zeros((2, 2))], [1], 0, "permutations must be"),
        ([np.zeros((2, 2))], [1, 1], 9, "1 matrices of distances, and 2 counts"),
        ([np.zeros((2, 3))], [1], 9, r"shape \(2, 3\)"),
        ([np.array([[0.0, 1.0], [2.0, 0.0]])], [1], 9, "not symmetric"),
        ([np.ones((2, 2))], [1], 9, "diagonal of 0"),
        ([np.full((2, 2), np.nan)], [1], 9, "not finite"),
    ],
)
def test_it_says_what_is_wrong(distances, first, permutations, message) -> None:
    with pytest.raises(ValueError, match=message):
        energy_test(distances, first, permutations=permutations, seed=1)
