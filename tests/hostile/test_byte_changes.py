"""Single bytes changed anywhere in a ledger: each is found, and named as what it is; what means the same is not."""

from pathlib import Path

import pytest

from lab.byte_changes import CHANGES, KINDS, try_changes
from tests.conftest import Checkout
from tests.ledger.verify.conftest import untouched  # noqa: F401  # a fixture
from tests.ledger.verify.test_verify import published  # noqa: F401  # likewise

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", KINDS)
def test_every_changed_byte_is_found_and_named(published: Checkout, kind: str) -> None:  # noqa: F811
    """Of a lock every one that changes what it means, and no other."""
    told = try_changes(published.root, kind)
    assert told[2:] == ([], [], [])
    assert told.found + told.meaningless == CHANGES
    assert (told.meaningless > 0) == (kind == "lock")


def test_there_are_200_changes() -> None:
    assert len(KINDS) * CHANGES >= 200


def test_what_passes_would_be_told(published: Checkout) -> None:  # noqa: F811
    """The control: a check that finds nothing, and one that finds another file."""
    from driftledger.ledger.findings import Finding, VerifyResult

    def blind(root: Path, run: str | None) -> VerifyResult:
        return VerifyResult()

    def wrong(root: Path, run: str | None) -> VerifyResult:
        return VerifyResult([Finding("bytes", "elsewhere", "")])

    assert len(try_changes(published.root, "scores", by=blind).unseen) == CHANGES
    assert len(try_changes(published.root, "scores", by=wrong).misnamed) == CHANGES
    assert try_changes(published.root, "lock", by=wrong).unfounded
