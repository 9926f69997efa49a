"""A bundle of a small run for all tests of the checker."""

from pathlib import Path

import pytest

from tests.conftest import Checkout, made_once
from tests.support.bundles import Forger, bundled, make_published


@pytest.fixture(scope="session")
def released(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout whose one run is in the ledger, to be looked at or copied."""
    return made_once(tmp_path_factory, "released", make_published)


@pytest.fixture(scope="session")
def score_zip(released: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its bundle, to be read."""
    return bundled(released, tmp_path_factory.mktemp("bundle") / "score.zip")


@pytest.fixture
def forger(score_zip: Path) -> Forger:
    return Forger(score_zip)
