"""Source code as DVC hashed it, against what is installed here."""

import pytest
from driftledger.ledger.verify.other_code import other_code

from driftledger.ledger.lock import read_lock
from tests.ledger.verify.conftest import Ledger

pytestmark = pytest.mark.slow


def test_the_hashes_are_those_of_dvc(kept: Ledger) -> None:
    entries = list(read_lock(kept.root).values())
    assert sum(dep.path.startswith("src/") for entry in entries for dep in entry.deps) > 50
    assert other_code(entries) == []


def test_what_differs_is_named_once(kept: Ledger) -> None:
    entries = [
        entry.model_copy(
            update={
                "deps": [
                    dep.model_copy(update={"md5": "0" * 32}) if dep.path in ("src/driftledger/metrics",) else dep
                    for dep in entry.deps
                ]
            }
        )
        for entry in read_lock(kept.root).values()
    ]
    assert other_code(entries) == ["src/driftledger/metrics"]
