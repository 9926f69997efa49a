import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftledger.metrics.fisher import fisher_interval

correlations = st.floats(-0.999, 0.999)
sizes = st.integers(5, 500)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=4, max_size=30))
def test_pearsons_is_scipys(drawn: list[tuple[int, int]]) -> None:
    x, y = zip(*drawn, strict=True)
    if len(set(x)) == 1 or len(set(y)) == 1:
        return
    found = stats.pearsonr(x, y)
    if abs(found.statistic) > 0.999999:
        return
    expected = found.confidence_interval(0.9)
    assert fisher_interval(found.statistic, len(drawn), "pearson", 0.9) == pytest.approx(tuple(expected), abs=1e-6)


def test_hand_worked() -> None:
    z = 1.959963984540054
    middle = math.atanh(0.6)
    for kind, sigma in (("pearson", 1 / 3), ("spearman", math.sqrt(1.18) / 3), ("kendall", math.sqrt(0.437 / 8))):
        ends = fisher_interval(0.6, 12, kind, 0.95)
        assert ends == pytest.approx((math.tanh(middle - z * sigma), math.tanh(middle + z * sigma)), abs=1e-6)


@given(correlations, sizes, st.sampled_from(["pearson", "spearman", "kendall"]))
def test_it_holds_the_correlation_and_mirrors_with_it(r: float, n: int, kind: str) -> None:
    ends, other = (fisher_interval(each, n, kind, 0.95) for each in (r, -r))
    assert -1 <= ends.low - 1e-6 <= r <= ends.high + 1e-6
    assert (other.low, other.high) == (-ends.high, -ends.low)
    wider = fisher_interval(r, n, kind, 0.99)
    assert wider.low <= ends.low <= ends.high <= wider.high


@pytest.mark.parametrize(("r", "n", "kind"), [(0.5, 3, "pearson"), (0.5, 3, "spearman"), (0.5, 4, "kendall")])
def test_too_few_have_none(r: float, n: int, kind: str) -> None:
    assert fisher_interval(r, n, kind, 0.95) is None
    assert fisher_interval(r, n + 1, kind, 0.95) is not None


@pytest.mark.parametrize("r", [-1, 1])
def test_a_line_has_none(r: float) -> None:
    assert fisher_interval(r, 100, "pearson", 0.95) is None


@pytest.mark.parametrize(
    ("r", "confidence", "said"), [(1.1, 0.95, "lies in"), (math.nan, 0.95, "lies in"), (0, 1, "between")]
)
def test_nonsense_is_refused(r: float, confidence: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fisher_interval(r, 10, "pearson", confidence)
