"""Intervals of kappa and alpha beside the jackknife written out, and where there are none."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from driftledger.core.types import Float64
from driftledger.metrics.agreement import cohen_kappa, krippendorff_alpha
from driftledger.metrics.intervals.raters import alpha_estimate, kappa_estimate


def drawn(raters: int, answers: int) -> Float64:
    dice = np.random.default_rng(5)
    return np.rint(10 * np.clip(dice.random(answers) + dice.normal(0, 0.2, (raters, answers)), 0, 1)) / 10


def written_out(coefficient: Callable[[Float64], float | None], ratings: Float64, clusters: list[str]) -> list[float]:
    names = sorted(set(clusters))
    without = []
    for name in names:
        value = coefficient(ratings[:, [each != name for each in clusters]])
        assert value is not None
        without.append(value)
    whole = coefficient(ratings)
    assert whole is not None
    error = np.sqrt((len(names) - 1) * np.var(without))
    half = stats.t.ppf(0.975, len(names) - 1) * error / (1 - whole**2)
    return [float(np.tanh(np.arctanh(whole) + sign * half)) for sign in (-1, 1)]


@pytest.mark.parametrize("per_image", [1, 2])
def test_they_are_the_jackknifes(per_image: int) -> None:
    ratings = drawn(3, 24)
    clusters = [str(number // per_image) for number in range(24)]
    found = kappa_estimate(*ratings[:2], clusters, confidence=0.95)
    assert found.value == cohen_kappa(*ratings[:2])
    assert found.interval == pytest.approx(written_out(lambda some: cohen_kappa(*some), ratings[:2], clusters))
    ratings[2, :6] = np.nan
    ratings[1:, 0] = np.nan  # says nothing
    alpha = alpha_estimate(ratings, clusters, confidence=0.95)
    assert alpha.value == krippendorff_alpha(ratings)
    if per_image == 2:  # no image is without a pair of ratings
        assert alpha.interval == pytest.approx(written_out(krippendorff_alpha, ratings, clusters))


def test_answers_about_one_image_count_as_one() -> None:
    once = drawn(2, 20)
    twice, images = np.repeat(once, 2, axis=1), [str(number // 2) for number in range(40)]
    assert kappa_estimate(*twice, images, confidence=0.95).interval == pytest.approx(
        kappa_estimate(*once, images[::2], confidence=0.95).interval
    )


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([[1.0] * 8, [1.0] * 8], "every grade is the same"),
        ([[1.0] + [0.0] * 7] * 2, "they agree in everything"),
        ([[1.0, 0.0, 1.0], [1.0, 0.0, 0.0]], "there are fewer than 6 images"),
        ([[1.0], [0.5]], "there are fewer than 6 images"),
        ([[1.0] + [0.0] * 7, [0.0] * 8], "without one of the images every grade is the same"),
    ],
)
def test_where_there_is_none_the_reason_is_told(ratings: list[list[float]], reason: str) -> None:
    matrix = np.array(ratings)
    clusters = [str(number) for number in range(matrix.shape[1])]
    for found in (kappa_estimate(*matrix, clusters, confidence=0.95), alpha_estimate(matrix, clusters, confidence=0.9)):
        assert found.interval is None
    assert kappa_estimate(*matrix, clusters, confidence=0.95).reason == reason


def test_no_answer_with_two_grades() -> None:
    found = alpha_estimate(np.array([[1.0, np.nan], [np.nan, 0.0]]), ["a", "b"], confidence=0.95)
    assert found == (None, None, "no answer has two grades")


def test_a_cluster_for_each_answer() -> None:
    with pytest.raises(ValueError, match="clusters"):
        kappa_estimate(np.array([0.0, 1]), np.array([0.0, 1]), ["a"], confidence=0.95)
    with pytest.raises(ValueError, match="clusters"):
        alpha_estimate(np.array([[0.0, 1], [1, 1]]), ["a"], confidence=0.95)
