"""Nothing is done twice: not by a second run, not after a kill, not in a clone."""

from pathlib import Path

from tests.acceptance.checkout import Checkout
from tests.acceptance.places import ALWAYS


def test_a_second_run_does_nothing(evaluated: Checkout, tmp_path: Path) -> None:
    copied = evaluated.copy(tmp_path)
    before = copied.results()
    assert len(before) > 50
    assert copied.repro() <= ALWAYS
    copied.driftledger("run")
    assert copied.results() == before
