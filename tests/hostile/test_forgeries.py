"""Scores raised by an owner who knows how all of it is kept and mends every hash: what finds it."""

import pytest

from driftledger.commands import verify as verifying
from driftledger.ledger.verify import regenerate as regenerating
from lab.forgeries import FORGERIES, Forgery, headline, measure, outside_a_foreseen_sample
from tests.ledger.verify.conftest import Ledger, ledger, untouched  # noqa: F401  # fixtures

pytestmark = pytest.mark.slow

BY_VERIFY = {"rows and score edited together", "a forged feature store"}
BY_COMPARE = {"the worst quarter of a dataset left out", "the truth of questions edited"}
BY_NOTHING = {"the best of five seeds"}  # which is no forgery of a call: a plan that was signed before shows it
NAMES = [forgery.name for forgery in FORGERIES]


def test_images_outside_of_a_foreseen_sample_are_found(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """By lots that nobody foresees; one seeded by the run's own settings passes however often."""
    before = headline(ledger, "genception")
    outside_a_foreseen_sample(ledger)
    ledger.publish()
    assert headline(ledger, "genception") > before + 0.01

    def holds(count: int) -> bool:
        return verifying.verify(ledger.project, ledger.run, regenerated=count).result.holds

    with monkeypatch.context() as patched:
        patched.setattr(regenerating, "own_seed", lambda: ledger.project.settings.run.seed)
        assert [holds(20), holds(20)] == [True, True]
    assert not holds(120)  # which draws most of the 16 drawings, of which a few are forged


@pytest.mark.parametrize("forgery", FORGERIES, ids=NAMES)
def test_what_finds_a_forgery(forgery: Forgery, ledger: Ledger) -> None:  # noqa: F811
    measured = measure(forgery, ledger, counts=(60,))
    assert measured.after > measured.before
    assert bool(measured.verified) == (forgery.name in BY_VERIFY)
    assert all(found.startswith("numbers: reports/scores/genception/") for found in measured.verified)
    assert bool(measured.compared) == (forgery.name in BY_COMPARE)
    by_lot = forgery.name not in BY_VERIFY | BY_COMPARE | BY_NOTHING
    assert bool(measured.differ) == by_lot
    assert (measured.found[60] > 0.1) == by_lot


def test_there_are_ten_ways_and_more() -> None:
    assert len(FORGERIES) >= 10
