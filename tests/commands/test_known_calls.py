"""A plan that remembers what it counted says what one says that remembers nothing."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.commands import known_calls
from driftledger.commands.collect import plan
from driftledger.commands.known_calls import FILE
from driftledger.project.project import Project
from tests.conftest import Checkout

pytestmark = pytest.mark.slow


@pytest.fixture
def counted(evaluated: Checkout, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of which all is evaluated and counted once."""
    monkeypatch.chdir(evaluated.root)
    assert all(each["stored"] and not each["to_make"] for each in planned(evaluated.root).values())
    return evaluated.root


def planned(root: Path) -> dict[str, dict[str, Any]]:
    return {name: each.to_dict() for name, each in plan(Project(root)).items()}


def walks_nothing(*_: Any) -> None:
    raise AssertionError("walked once more")


def test_what_has_not_changed_is_not_walked_again(counted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = planned(counted)
    monkeypatch.setattr("driftledger.collect.plan.walk_together", walks_nothing)
    assert planned(counted) == before


def test_a_store_that_nobody_wrote_to_is_not_read_again(counted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, before = list[Path](), planned(counted)

    def noted(folder: Path, digests: Sequence[str]) -> Iterator[tuple[str, str]]:
        read.append(folder)
        return rows(folder, digests)

    rows = known_calls._rows
    monkeypatch.setattr(known_calls, "_rows", noted)
    monkeypatch.setattr("driftledger.collect.plan.walk_together", walks_nothing)
    assert planned(counted) == before
    assert not read
    _change_store(counted, "UPDATE calls SET made = made + 1")
    assert planned(counted) == before
    assert read
    read.clear()
    assert planned(counted) == before
    assert not read


def _no_image(root: Path) -> None:
    next((root / ".driftledger" / "objects").rglob("*.png")).unlink()


def _another_image(root: Path) -> None:
    next((root / ".driftledger" / "objects").rglob("*.png")).write_bytes(b"no longer what it was")


def _change_store(root: Path, statement: str) -> None:
    with closing(sqlite3.connect(root / ".driftledger" / "calls.db")) as store, store:
        assert store.execute(statement).rowcount


def _no_call(root: Path) -> None:
    _change_store(root, "DELETE FROM calls WHERE role = 'describe'")


def _another_result(root: Path) -> None:
    _change_store(root, "UPDATE calls SET result = replace(result, 'ok', 'failed') WHERE role = 'describe'")


def _another_seed(root: Path) -> None:
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    params["run"]["seed"] += 1
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")


def _no_records(root: Path) -> None:
    shutil.rmtree(root / "data" / "chains")


def _fewer_samples(root: Path) -> None:
    file = next((root / "data" / "datasets").rglob("samples.jsonl"))
    lines = file.read_bytes().splitlines(keepends=True)
    file.unlink()  # which DVC may have linked from its cache
    file.write_bytes(b"".join(lines[:-1]))


def _damaged_memory(root: Path) -> None:
    (root / ".driftledger" / FILE).write_bytes(b"no database")


def _other_memory(root: Path) -> None:
    with closing(sqlite3.connect(root / ".driftledger" / FILE)) as remembered, remembered:
        remembered.execute("""UPDATE answers SET value = '{"calls": {}}'""")


CHANGES = (
    _no_image,
    _another_image,
    _no_call,
    _another_result,
    _another_seed,
    _no_records,
    _fewer_samples,
    _damaged_memory,
    _other_memory,
)


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_counted_again(counted: Path, change: Callable[[Path], None]) -> None:
    change(counted)
    found = planned(counted)
    (counted / ".driftledger" / FILE).unlink()
    assert found == planned(counted)


def test_a_checkout_that_cannot_be_written_is_counted_each_time(counted: Path) -> None:
    before = planned(counted)
    file = counted / ".driftledger" / FILE
    file.unlink()
    file.mkdir()  # so that nothing can be kept
    assert planned(counted) == planned(counted) == before
