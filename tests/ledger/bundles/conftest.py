"""A bundle of the evaluated project."""

import pytest

from driftledger.ledger.bundles.writing import write_bundle
from tests.support.bundles import Forger


@pytest.fixture(scope="session")
def score_zip(original, tmp_path_factory):
    out = tmp_path_factory.mktemp("bundle") / "score.zip"
    write_bundle(original.project, original.evidence(), out)
    return out


@pytest.fixture
def forger(score_zip):
    return Forger(score_zip)
