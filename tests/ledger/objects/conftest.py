"""The ledger with every benchmark in it, for tests of what its files hold."""

from pathlib import Path

import pytest

from tests.ledger.verify.conftest import kept, ledger, untouched

__all__ = ["kept", "ledger", "untouched"]


@pytest.fixture(autouse=True)
def _own_dvc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC's state and configuration of this machine stay out of it."""
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(tmp_path / "dvc-site"))
    monkeypatch.setenv("DVC_GLOBAL_CONFIG_DIR", str(tmp_path / "dvc-global"))
