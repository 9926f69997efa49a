import math
import subprocess
import sys
from fractions import Fraction
from statistics import NormalDist

import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.intervals.student import t_quantile, t_tails

DEGREES = [0.5, 1, 1.37, 2, 2.5, 3, 5, 7.125, 10, 19, 29.9, 100, 413, 1000.5]
TABLE = {  # Abramowitz and Stegun, table 26.10: t with a share A in between, by degrees of freedom
    1: {"0.8": 3.078, "0.9": 6.314, "0.95": 12.706, "0.98": 31.821, "0.99": 63.657},
    2: {"0.8": 1.886, "0.9": 2.920, "0.95": 4.303, "0.98": 6.965, "0.99": 9.925},
    5: {"0.8": 1.476, "0.9": 2.015, "0.95": 2.571, "0.98": 3.365, "0.99": 4.032},
    10: {"0.8": 1.372, "0.9": 1.812, "0.95": 2.228, "0.98": 2.764, "0.99": 3.169},
    30: {"0.8": 1.310, "0.9": 1.697, "0.95": 2.042, "0.98": 2.457, "0.99": 2.750},
    120: {"0.8": 1.289, "0.9": 1.658, "0.95": 1.980, "0.98": 2.358, "0.99": 2.617},
}


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("probability", ["0.5001", "0.6", "0.75", "0.9", "0.975", "0.995", "0.9995"])
def test_quantiles_are_scipys(df: float, probability: str) -> None:
    exact = Fraction(probability)
    assert t_quantile(exact, df) == pytest.approx(scipy.stats.t.isf(float(1 - exact), df), rel=1e-10)


@pytest.mark.parametrize("df", DEGREES)
@pytest.mark.parametrize("t", [0.0, 0.01, 1.0, 1.7, 1.8, 3.0, 10.0, -2.0, 45.0])
def test_tails_are_scipys(df: float, t: float) -> None:
    assert t_tails(t, df) == pytest.approx(2 * scipy.stats.t.sf(abs(t), df), rel=1e-9)


@pytest.mark.parametrize("df", TABLE)
def test_quantiles_are_those_of_the_printed_table(df: int) -> None:
    between = {share: round(t_quantile((1 + Fraction(share)) / 2, df), 3) for share in TABLE[df]}
    assert between == TABLE[df]


@pytest.mark.parametrize("probability", ["0.6", "0.95", "0.975", "0.9995", "0.9999999"])
def test_with_infinitely_many_it_is_the_normal_distribution(probability: str) -> None:
    exact = Fraction(probability)
    assert t_quantile(exact, math.inf) == pytest.approx(-NormalDist().inv_cdf(float(1 - exact)), rel=1e-12)
    assert t_quantile(exact, math.inf) < t_quantile(exact, 1e6)


@given(st.floats(0.01, 30), st.sampled_from(DEGREES))
def test_a_quantile_has_its_share_outside(t: float, df: float) -> None:
    share = 1 - Fraction(t_tails(t, df)) / 2
    if share < 1 - Fraction(1, 10**9):
        assert t_quantile(share, df) == pytest.approx(t, rel=1e-6)


def test_one_degree_is_cauchys_distribution() -> None:
    """Its quantiles are tangents: those of 45° and of 60°, which has a third outside."""
    assert t_quantile(Fraction(3, 4), 1) == 1.0
    assert t_quantile(Fraction(5, 6), 1) == math.sqrt(3)
    assert t_tails(1.0, 1) == 0.5


def test_the_edges() -> None:
    assert t_quantile(Fraction(1, 2), 3) == 0.0
    assert t_tails(0.0, 3) == 1.0
    assert t_tails(math.inf, 3) == 0.0
    assert t_tails(60.0, 10**5) == 0.0


def test_known_bits() -> None:
    """No C library has a part in them."""
    found = t_quantile(Fraction(39, 40), 7.123), t_tails(2.5, 7.123)
    assert [each.hex() for each in found] == ["0x1.2d9d986328ed5p+1", "0x1.4b2ddbaf2cf49p-5"]


def test_the_callers_decimal_context_does_not_matter() -> None:
    code = (
        "import decimal; decimal.setcontext(decimal.Context(prec=3, traps=[]));"
        "from fractions import Fraction; from driftledger.metrics.intervals.student import t_quantile, t_tails;"
        "print(t_quantile(Fraction(39, 40), 7.123), t_tails(2.5, 7.123))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split() == [str(t_quantile(Fraction(39, 40), 7.123)), str(t_tails(2.5, 7.123))]


@pytest.mark.parametrize(
    ("probability", "df", "message"),
    [
        (Fraction(1, 3), 3, "from 1/2 to below 1, but is 1/3"),
        (Fraction(1), 3, "from 1/2 to below 1, but is 1"),
        (Fraction(3, 4), 0, "degrees of freedom must be above 0, but are 0"),
        (Fraction(3, 4), math.nan, "degrees of freedom must be above 0, but are nan"),
    ],
)
def test_says_what_is_wrong_with_a_quantile(probability: Fraction, df: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        t_quantile(probability, df)


@pytest.mark.parametrize(
    ("t", "df", "message"), [(math.nan, 3, "t is nan"), (1.0, -1, "above 0"), (1.0, math.inf, "must be finite")]
)
def test_says_what_is_wrong_with_tails(t: float, df: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        t_tails(t, df)
