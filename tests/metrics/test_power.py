import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special, stats

from driftledger.metrics import power as powers
from driftledger.metrics.power import (
    Noise,
    Plan,
    images_needed,
    minimum_detectable_difference,
    noise_of_a_difference,
    power,
)
from driftledger.metrics.variance import Ends, decompose


def by_integration(shift, df, confidence):
    bound = stats.t.ppf((1 + confidence) / 2, df)
    deviation = stats.chi(df, scale=1 / math.sqrt(df))
    low, high = deviation.ppf(1e-14), deviation.isf(1e-14)
    return integrate.quad(
        lambda s: (special.ndtr(shift - bound * s) + special.ndtr(-shift - bound * s)) * deviation.pdf(s),
        low,
        high,
        epsabs=1e-12,
        epsrel=1e-12,
        limit=500,
        points=[min(max(shift / bound, low), high)],
    )[0]


@pytest.mark.parametrize("df", [1, 1.5, 2, 3.7, 10, 57, 2000])
@pytest.mark.parametrize("shift", [0.01, 1, 2.5, 4, 7.7, 18, 40])
def test_power_agrees_with_the_noncentral_t(df, shift):
    assert powers._power(shift, df, 0.95) == pytest.approx(by_integration(shift, df, 0.95), abs=1e-9)
    if (df, shift) in [(57, 2.5), (10, 4), (2, 1)]:  # where scipy's own is not NaN
        bound = stats.t.ppf(0.975, df)
        theirs = stats.nct.sf(bound, df, shift) + stats.nct.cdf(-bound, df, shift)
        assert powers._power(shift, df, 0.95) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(
    ("difference", "standard_error", "df", "published"),
    [
        (1, math.sqrt(2 / 20), 38, 0.8689528),  # R: power.t.test(n = 20, delta = 1)
        (1, math.sqrt(2 / 22.02110), 2 * 21.02110, 0.90),  # R: power.t.test(power = .90, delta = 1)
        (0.5, 1 / math.sqrt(34), 33, 0.8077775),  # G*Power: matched pairs, dz = 0.5, power 0.8: n = 34
    ],
)
def test_published_powers(difference, standard_error, df, published):
    assert power(difference, standard_error, df) == pytest.approx(published, abs=2e-6)


@given(st.floats(1, 5000), st.floats(0.1, 0.99), st.sampled_from([0.9, 0.95, 0.99]))
def test_the_detectable_difference_is_detected_with_that_power(df, wanted, confidence):
    if wanted > 1 - confidence + 0.01:
        found = minimum_detectable_difference(2.0, df, power=wanted, confidence=confidence)
        assert power(found, 2.0, df, confidence=confidence) == pytest.approx(wanted, abs=1e-4)


def test_no_difference_is_found_as_often_as_chance_allows():
    assert power(0, 1, 12) == 0.05
    assert power(-0.5, 0.2, 20) == power(0.5, 0.2, 20)


def test_the_normal_limit():
    assert minimum_detectable_difference(1, 1e9) == pytest.approx(special.ndtri(0.975) + special.ndtri(0.8), abs=1e-5)
    assert minimum_detectable_difference(0, 5) == 0


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: power(1, 0, 5), "a standard error must be above 0"),
        (lambda: power(1, math.inf, 5), "a standard error must be above 0"),
        (lambda: power(math.nan, 1, 5), "is no number"),
        (lambda: power(1, 1, 0.5), "degrees of freedom must be at least 1"),
        (lambda: power(1, 1, 5, confidence=0), "confidence must be between 0 and 1"),
        (lambda: minimum_detectable_difference(1, 5, power=0.05), "power must be between 0.05 and 1"),
        (lambda: images_needed(lambda n: None, 0, categories=1, power=0.8, confidence=0.95), "must be above 0"),
    ],
)
def test_what_is_out_of_range_is_refused(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def two_models(spread=(1.0, 2.0), repeats=1, samples=40, seed=1):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2, 1, samples, repeats)) * spread[1] + rng.normal(size=(2, 3, samples, 1)) * spread[0]
    return decompose(values, ["model", "generator"], ["all"] * samples)


def test_the_noise_of_the_runs_that_are_there_is_that_of_a_paired_difference():
    """Of one generator's runs: the mean over generators of the variance of the differences, over their number."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=(2, 3, 12, 1)) + rng.normal(size=(12, 1))
    categories = ["a"] * 6 + ["b"] * 6
    noise = noise_of_a_difference(decompose(values, ["model", "generator"], categories), Plan(12, categories=2))
    differences = values[1, ..., 0] - values[0, ..., 0]
    by_hand = np.mean([(each[:6].var(ddof=1) / 6 + each[6:].var(ddof=1) / 6) / 4 for each in differences])
    assert noise.variance == pytest.approx(by_hand)
    assert noise.df == 10
    assert noise.interval.low < noise.variance < noise.interval.high


def test_repeats_divide_what_they_repeat():
    found = two_models(repeats=4)
    parts = {each.term: each.variance for each in found.components}
    one, many = (noise_of_a_difference(found, Plan(40, repeats=each)).variance for each in (1, 10**9))
    repeated = parts["model", "repeat"] + parts["model", "generator", "repeat"]
    assert one - many == pytest.approx(2 / 40 * repeated, rel=1e-6)


def test_any_generator_is_noisier_than_this_one_and_needs_several():
    found = two_models(spread=(1.0, 0.5))
    these, any_of_them = (
        noise_of_a_difference(found, Plan(40, generators=3), any_generator=each) for each in (False, True)
    )
    assert any_of_them.df < these.df
    alone = noise_of_a_difference(found, Plan(40))
    parts = {each.term: each.variance for each in found.components}
    assert alone.variance - these.variance == pytest.approx(2 / 40 * (2 / 3) * parts["model", "generator", "sample"])
    assert noise_of_a_difference(found, Plan(40), any_generator=True) is None
    assert noise_of_a_difference(found, Plan(40, categories=40)) is None
    with pytest.raises(ValueError, match="nothing of a factor judge"):
        noise_of_a_difference(found, Plan(40), model="judge")


@given(st.floats(0.01, 3), st.integers(1, 7), st.sampled_from([0.5, 0.8, 0.95]))
def test_images_needed_are_the_fewest(detect, categories, wanted):
    def noise(images):
        return Noise(1 / images, lambda: Ends(0, 1), images - categories) if images > categories else None

    found = images_needed(noise, detect, categories=categories, power=wanted, confidence=0.95)
    assert found % categories == 0
    assert noise(found).shows(detect, power=wanted, confidence=0.95)
    assert noise(found).detectable(power=wanted, confidence=0.95) == pytest.approx(detect, rel=1e-6) or (
        noise(found).detectable(power=wanted, confidence=0.95) < detect
    )
    before = noise(found - categories)
    assert before is None or not before.shows(detect, power=wanted, confidence=0.95)


def test_what_no_number_of_images_shows_is_said_so():
    def floor(images):
        return Noise(1.0, lambda: Ends(0, 1), 5)

    assert images_needed(floor, 0.1, categories=1, power=0.8, confidence=0.95) is None
