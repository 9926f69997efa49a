"""A bundle of the evaluated project."""

from pathlib import Path

import pytest

from driftledger.ledger.bundle import write_bundle
from tests.ledger.conftest import Ledger, ledger, original
from tests.support.bundles import Forger

__all__ = ["ledger", "original"]


@pytest.fixture(scope="session")
def score_zip(original: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("bundle") / "score.zip"
    write_bundle(original.project, original.evidence(), out)
    return out


@pytest.fixture
def forger(score_zip: Path) -> Forger:
    return Forger(score_zip)
