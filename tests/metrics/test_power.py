"""The smallest difference that a comparison can find, against published values."""

import math

import pytest

from driftledger.metrics.power import minimum_detectable_difference


@pytest.mark.parametrize(
    ("standard_error", "df", "power", "published"),
    [
        (math.sqrt(2 / 20), 38, 0.8689528, 1),  # R: power.t.test(n = 20, delta = 1)
        (math.sqrt(2 / 22.02110), 2 * 21.02110, 0.90, 1),  # R: power.t.test(power = .90, delta = 1)
        (1 / math.sqrt(34), 33, 0.8077775, 0.5),  # G*Power: matched pairs, dz = 0.5, power 0.8: n = 34
        (0.0, 5, 0.8, 0),
        (1.0, 1, 0.8, 16.334),
        (1.0, 10**7, 0.8, 2.80159),
    ],
)
def test_smallest_difference(standard_error: float, df: float, power: float, published: float) -> None:
    assert minimum_detectable_difference(standard_error, df, power=power) == pytest.approx(published, rel=4e-6)
