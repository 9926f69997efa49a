"""A site of units, for the tests of its pages."""

import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from driftledger.reports.site import build, runs
from tests.reports.site.unit_ledgers import write_units


@pytest.fixture
def unit_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write the ledger and the site of its units, by default with images; ``without`` a folder of its records."""
    monkeypatch.setattr(build, "CHAPTERS", (runs.CHAPTER,))

    def write(folder: str = "site", *, images: bool = True, without: str = "") -> Path:
        root = tmp_path / "ledger"
        scores = write_units(root)
        if without:
            shutil.rmtree(root / without)
        project: Any = SimpleNamespace(root=root, combinations=[])
        build.write_site(tmp_path / folder, project, scores, images=images)
        return tmp_path / folder

    return write
