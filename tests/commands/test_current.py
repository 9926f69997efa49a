"""Whose records are here is not asked again, though its calls are not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from driftledger.commands.collect import collect, plan
from driftledger.core.files import write_json
from driftledger.project.project import Project
from tests.conftest import Checkout

pytestmark = pytest.mark.slow

CALLS = {"models.regions_medium": 16, "generators.painter": 16}


@pytest.fixture
def clone(evaluated: Checkout, monkeypatch: pytest.MonkeyPatch) -> Path:
    """As after ``dvc pull``: all records, and no call."""
    shutil.rmtree(evaluated.root / ".driftledger")
    monkeypatch.chdir(evaluated.root)
    return evaluated.root


def to_make(root: Path) -> dict[str, int]:
    return {name: each.to_make for name, each in plan(Project(root)).items()}


def test_what_others_have_made_is_not_made_again(clone: Path) -> None:
    assert to_make(clone) == dict.fromkeys(CALLS, 0)
    collect(Project(clone))
    with Project(clone).store() as store:
        assert list(store.rows()) == []


def _another_seed(root: Path) -> None:
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    params["run"]["seed"] += 1
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")


def _another_image(root: Path) -> None:
    """A dataset that is to be built anew, of which nothing more is known."""
    noted = json.loads((root / "data" / "resolved.json").read_bytes())
    noted["datasets"]["my_images"] = "0" * 64
    write_json(root / "data" / "resolved.json", noted)


def _no_records(root: Path) -> None:
    shutil.rmtree(root / "data" / "chains")


def _no_locks(root: Path) -> None:
    (root / "pipelines" / "genception" / "dvc.lock").unlink()


@pytest.mark.parametrize("change", [_another_seed, _another_image, _no_records, _no_locks])
def test_what_dvc_would_run_is_counted(clone: Path, change: Callable[[Path], None]) -> None:
    change(clone)
    assert to_make(clone) == CALLS
