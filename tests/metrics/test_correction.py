import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftledger.metrics.correction import (
    Corrected,
    Graded,
    corrected_mean,
    count_of,
    normal_quantile,
    operating_characteristics,
    regression_mean,
)


def calibration(right, of_right, wrong, of_wrong):
    """So many of the right ones were let pass, so many of the wrong ones turned down."""
    given = [1.0] * right + [0.0] * (of_right - right) + [0.0] * wrong + [1.0] * (of_wrong - wrong)
    return [1.0] * of_right + [0.0] * of_wrong, given


def by_the_papers_equations(p, n, q1, m1, q0, m0, confidence=0.95):
    """Lee et al. 2025, equations 5 to 7."""
    z = stats.norm.ppf((1 + confidence) / 2)
    n_, m0_, m1_ = n + z**2, m0 + 2, m1 + 2
    p_, q0_, q1_ = (n * p + z**2 / 2) / n_, (m0 * q0 + 1) / m0_, (m1 * q1 + 1) / m1_
    theta = (p_ + q0_ - 1) / (q0_ + q1_ - 1)
    shift = 2 * z**2 * (-(1 - theta) * q0_ * (1 - q0_) / m0_ + theta * q1_ * (1 - q1_) / m1_)
    variance = p_ * (1 - p_) / n_ + (1 - theta) ** 2 * q0_ * (1 - q0_) / m0_ + theta**2 * q1_ * (1 - q1_) / m1_
    half = z * math.sqrt(variance) / (q0_ + q1_ - 1)
    return tuple(np.clip([theta + shift - half, theta + shift + half], 0, 1))


@pytest.mark.parametrize(
    ("positive", "tested", "sensitivity", "specificity", "low", "high", "digits"),
    [
        (4060, 11284, (178, 179), (358, 359), 0.349, 0.372, 3),
        (51, 2971, (32, 33), (20, 20), 0, 0.053, 3),
        (0.06 * 11862, 11862, (8, 10), (12, 12), 0, 0.147, 3),
        (259, 509, (84, 127), (96, 109), 0.58, 0.87, 2),
        (51, 509, (23, 41), (187, 195), 0.037, 0.195, 3),
    ],
)
def test_the_examples_of_lang_and_reiczigel(positive, tested, sensitivity, specificity, low, high, digits):
    """As the manual page of ``asht::prevSeSp`` (Fay) quotes them."""
    known, judged = calibration(*sensitivity, *specificity)
    found = corrected_mean(Graded(positive / tested, tested), known, judged, confidence=0.95)
    assert (round(found.low, digits), round(found.high, digits)) == (low, high)


@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40)).flatmap(
        lambda sizes: st.tuples(
            *(st.tuples(st.integers(math.ceil(size * 0.6), size), st.just(size)) for size in sizes),
            st.integers(0, 60),
        )
    )
)
def test_of_right_and_wrong_it_is_the_papers(drawn):
    (right, of_right), (wrong, of_wrong), passed = drawn
    found = corrected_mean(Graded(passed / 60, 60), *calibration(right, of_right, wrong, of_wrong), confidence=0.95)
    expected = by_the_papers_equations(passed / 60, 60, right / of_right, of_right, wrong / of_wrong, of_wrong)
    q1, q0 = right / of_right, wrong / of_wrong
    estimate = min(1, max(0, (passed / 60 + q0 - 1) / (q0 + q1 - 1)))
    low, high = expected
    assert found == pytest.approx((estimate, min(low, estimate), max(high, estimate)), abs=1e-9)


def test_a_judge_without_mistakes_corrects_nothing_but_is_not_known_to_make_none():
    few = corrected_mean(Graded(0.4, 60), *calibration(4, 4, 3, 3), confidence=0.95)
    many = corrected_mean(Graded(0.4, 60), *calibration(400, 400, 300, 300), confidence=0.95)
    assert few.estimate == many.estimate == 0.4
    assert few.high - few.low > 2.5 * (many.high - many.low)
    assert 0.2 < many.high - many.low < 0.3


def test_a_lenient_judge_lifts_and_the_correction_lowers():
    known, lenient = [1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 0.4, 0.4]
    assert operating_characteristics(known, lenient)[:2] == (1.0, 0.6)
    assert corrected_mean(Graded(0.7, 100), known, lenient, confidence=0.95).estimate == 0.5


def test_half_right_answers_lie_on_the_line_between():
    known, judged = [1.0, 0.5, 0.0], [0.9, 0.6, 0.3]
    assert operating_characteristics(known, judged) == (0.9, 0.7, 1, 1)
    fit = stats.linregress([1.0, 0.5, 0.0, 1.0], [0.9, 0.6, 0.3, 0.7])
    found = operating_characteristics([*known, 1.0], [*judged, 0.7])
    assert found.sensitivity == pytest.approx(fit.intercept + fit.slope, abs=1e-9)
    assert found.specificity == pytest.approx(1 - fit.intercept, abs=1e-9)


def test_the_order_of_the_calibration_changes_no_bit():
    rng = np.random.default_rng(1)
    known, judged = rng.choice([0.0, 0.5, 1.0], 30), rng.random(30)
    orders = [rng.permutation(30) for _ in range(20)]
    assert len({corrected_mean(Graded(0.5, 40), known[o], judged[o], confidence=0.9) for o in orders}) <= 1


@pytest.mark.parametrize(
    ("known", "judged"),
    [([1.0, 1.0], [1.0, 1.0]), ([0.0, 0.5], [0.0, 0.0]), ([1.0, 0.0], [0.2, 0.4]), ([1.0, 0.0], [0.5, 0.5])],
)
def test_nothing_is_corrected_by_a_judge_that_tells_nothing_apart(known, judged):
    assert corrected_mean(Graded(0.5, 10), known, judged, confidence=0.95) is None


def test_as_how_many_answers_gradings_count():
    assert count_of([1, 0] * 30, [1, 1] * 30, [str(i) for i in range(60)]) == (0.5, 59.0)
    five_times = count_of([5, 0] * 30, [5, 5] * 30, [str(i) for i in range(60)])
    assert five_times == (0.5, 59.0)
    assert count_of([1.0] * 4, [1] * 4, list("abcd")) == (1.0, 4.0)
    assert count_of([1.0, 0.0], [1, 1], ["a", "a"]) == (0.5, 1.0)
    between = count_of([0.4, 0.6] * 10, [1, 1] * 10, [str(i) for i in range(20)])
    assert between.n > 400  # grades that all but agree vary less than right and wrong


PEOPLE = [1, 0, 0.5, 1, 0, 0, 1, 0.5, 0, 1, 1, 0, 0.5, 1, 0, 0, 1, 0, 0.5, 1, 0, 1, 0, 0.5]
JUDGE = [0.9, 0.2, 0.5, 1, 0.4, 0, 0.8, 0.7, 0.1, 1, 0.6, 0, 0.5, 0.9, 0.3, 0, 1, 0.5, 0.4, 0.8, 0.2, 1, 0, 0.6]
OTHERS = [(7 * k * k + 3 * k) % 11 / 10 for k in range(40)]


def regressed(people=PEOPLE, judge=JUDGE, others=OTHERS, confidence=0.95):
    return regression_mean(people, judge, [*judge, *others], confidence=confidence)


def test_the_regression_estimate_is_that_of_ppi_plus_plus():
    """``ppi_py`` 0.2.3: ``ppi_mean_pointestimate(PEOPLE, JUDGE, OTHERS, lam=b / (1 + 24 / 40))`` with b the slope of
    people's grades on the judge's, which is λ as PPI++ tunes it, by the labelled answers alone."""
    assert regressed().estimate == pytest.approx(0.3968194483634312, abs=1e-9)


def test_the_regression_estimate_of_dead_trees():
    """Lohr, "Sampling: Design and Analysis", chapter 4: dead trees on 25 of 100 plots, counted in the field, and on all
    by photographs, 11.3 of them on average; ŷ = 5.059292 + 0.613274 · 11.3 = 11.99."""
    photo = [10, 12, 7, 13, 13, 6, 17, 16, 15, 10, 14, 12, 10, 5, 12, 10, 10, 9, 6, 11, 7, 9, 11, 10, 10]
    field = [15, 14, 9, 14, 8, 5, 18, 15, 13, 15, 11, 15, 12, 8, 13, 9, 11, 12, 9, 12, 13, 11, 10, 9, 8]
    elsewhere = [12] * 40 + [11] * 35
    assert sum([*photo, *elsewhere]) / 100 == 11.3
    found = regressed(*([count / 20 for count in counts] for counts in (field, photo, elsewhere)))
    assert 20 * found.estimate == pytest.approx(5.059292 + 0.613274 * 11.3, abs=1e-5)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_of_the_regression_estimate_solves_its_equation(confidence):
    """Wilson's ends are where (θ̂ − θ)² = t² · θ(1 − θ) / n."""
    line = stats.linregress(JUDGE, PEOPLE)
    everywhere = np.array([*JUDGE, *OTHERS])
    left = np.sum((np.array(PEOPLE) - line.intercept - line.slope * np.array(JUDGE)) ** 2) / 22
    estimate = line.intercept + line.slope * everywhere.mean()
    variance = line.slope**2 * everywhere.var(ddof=1) / len(everywhere) + left / len(PEOPLE)
    square = stats.t.ppf((1 + confidence) / 2, len(PEOPLE) - 1) ** 2 * variance / (estimate * (1 - estimate))
    roots = np.roots([1 + square, -2 * estimate - square, estimate**2])
    assert regressed(confidence=confidence) == pytest.approx((estimate, *sorted(roots)), abs=1e-9)


def test_a_judge_without_mistakes_is_believed_of_all_answers_and_one_that_says_nothing_of_none():
    people, others = [1.0] * 12 + [0.0] * 12, [1.0] * 10 + [0.0] * 30
    told = regressed(people, people, others)
    assert told.estimate == pytest.approx(22 / 64)
    flat = regressed(people, [0.3] * 24, [0.3] * 40)
    assert flat.estimate == 0.5
    assert flat.high - flat.low > 1.5 * (told.high - told.low)


def test_where_all_is_right_the_interval_is_that_of_as_many_answers_as_people_graded():
    found = regressed([1.0] * 24, [1.0] * 24, [1.0] * 40)
    square = stats.t.ppf(0.975, 23) ** 2 / 24
    assert found == pytest.approx((1, 1 / (1 + square), 1), abs=1e-9)


@given(st.permutations(range(24)))
def test_the_order_of_people_s_grades_changes_no_bit(order):
    assert regressed([PEOPLE[k] for k in order], [JUDGE[k] for k in order]) == regressed()


def test_two_answers_that_people_graded_say_nothing():
    assert regressed(PEOPLE[:2], JUDGE[:2]) is None


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_the_quantile_is_scipys(confidence):
    assert normal_quantile(confidence) == pytest.approx(stats.norm.ppf((1 + confidence) / 2), abs=1e-9)


def test_all_ends_are_grades():
    found = corrected_mean(Graded(0.02, 50), *calibration(9, 10, 8, 10), confidence=0.95)
    assert found.estimate == found.low == 0
    assert isinstance(found, Corrected)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: corrected_mean(Graded(0.5, 10), [1.0], [1.0], confidence=1), "confidence must be between"),
        (lambda: corrected_mean(Graded(1.5, 10), [1.0], [1.0], confidence=0.9), "a mean grade is within"),
        (lambda: corrected_mean(Graded(0.5, 0), [1.0], [1.0], confidence=0.9), "of something"),
        (lambda: operating_characteristics([1.0, 2.0], [1.0, 1.0]), "known holds 2.0 at 1"),
        (lambda: operating_characteristics([1.0], [math.nan]), "given holds nan at 0"),
        (lambda: operating_characteristics([1.0], []), "1 of known, 0 of given"),
        (lambda: count_of([0.0], [0], ["a"]), "no grading is counted"),
        (lambda: regression_mean([1.0], [1.0], [], confidence=0.9), "people graded 1 answers, but the judge only 0"),
        (lambda: regression_mean([1.0], [1.0], [2.0], confidence=0.9), "everywhere holds 2.0 at 0"),
        (lambda: regression_mean([1.0], [1.0], [1.0], confidence=1), "confidence must be between"),
    ],
)
def test_it_says_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
