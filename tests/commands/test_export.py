"""``driftledger export``: a selected run, in a format that there is."""

from pathlib import Path

import pytest

from driftledger.commands.export import export
from driftledger.core.errors import DataError, LedgerError
from driftledger.project.project import Project
from tests.support.audited import Audited, audited_in
from tests.support.ledgers import COMBINATION, SELECTED


class Selecting(Project):
    """A project that selects the one run of the ledger."""

    combinations = (COMBINATION,)  # type: ignore[assignment]
    selected = SELECTED


RUN = "seer/brush/eye"


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    made = audited_in(tmp_path, monkeypatch)
    made.produce()
    made.commit("scores")
    return made


def test_a_run_is_written_below_the_folder(ledger: Audited, tmp_path: Path) -> None:
    for run in (RUN, "seer · brush · eye"):
        assert export(Selecting(ledger.root), "in-toto", run, tmp_path / "out") == 1
    assert (tmp_path / "out" / "statement.json").is_file()


@pytest.mark.parametrize(("kind", "run"), [("in_toto", RUN), ("in-toto", "seer/brush/eyes")])
def test_the_nearest_name_is_told(ledger: Audited, tmp_path: Path, kind: str, run: str) -> None:
    with pytest.raises(LedgerError, match="did you mean"):
        export(Selecting(ledger.root), kind, run, tmp_path / "out")


def test_a_file_is_not_overwritten_by_a_folder(ledger: Audited, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(DataError, match="is a file"):
        export(Selecting(ledger.root), "in-toto", RUN, tmp_path / "out")
