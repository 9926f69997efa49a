"""A bundle of the evaluated project."""

from functools import partial

import pytest

from driftledger.ledger.bundles.writing import write_bundle
from tests.acceptance.checkout import made_once
from tests.ledger.conftest import Ledger, make
from tests.support.bundles import Forger


@pytest.fixture(scope="session")
def original(tmp_path_factory):
    """Evaluate smaller images and fewer questions: each check computes all numbers again."""
    small = partial(make, questions=13, size=(48, 36))
    return Ledger(made_once(tmp_path_factory, "bundled", small) / "project")


@pytest.fixture(scope="session")
def score_zip(original, tmp_path_factory):
    out = tmp_path_factory.mktemp("bundle") / "score.zip"
    write_bundle(original.project, original.evidence(), out)
    return out


@pytest.fixture
def forger(score_zip):
    return Forger(score_zip)
