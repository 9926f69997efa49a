"""``verify --mlflow`` over a project: what its locks and its ledger say of its runs in MLflow."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from driftledger.commands import verify
from driftledger.core.errors import LedgerError
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import Evidence, read_all_evidence
from driftledger.project.settings import Tracking
from driftledger.tracking import check, projection
from driftledger.tracking.content import EVIDENCE, NOTE
from tests.support.audited import Audited, audited_in
from tests.support.ledgers import COMBINATION, SELECTED

from .stores import Store

TRACKING = Tracking(uri="sqlite:///mlflow.db", experiment="driftledger", traces=2)


@pytest.fixture
def tracked(tmp_path: Path, mlflow_store: Store, monkeypatch: pytest.MonkeyPatch) -> Audited:
    """A checkout that was evaluated, tracked and committed."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mlflow_store.uri)
    project = audited_in(tmp_path / "project", monkeypatch)
    project.produce()
    project.commit("first")
    track(project)
    project.commit("published")
    return project


def project_in(root: Path) -> Any:
    """A project's part in it."""
    settings = SimpleNamespace(tracking=TRACKING)
    return SimpleNamespace(root=root, combinations=(COMBINATION,), settings=settings)


def track(audited: Audited, *, repair: bool = False) -> None:
    projection.show(audited.root, evidence_in(audited), TRACKING, repair=repair)


def evidence_in(audited: Audited) -> list[Evidence]:
    return read_all_evidence(audited.root, SELECTED, [COMBINATION])


def checked(audited: Audited) -> VerifyResult:
    return check.check(project_in(audited.root), evidence_in(audited), whole=True)


def test_what_was_tracked_holds_at_every_later_commit(tracked: Audited) -> None:
    assert checked(tracked).findings == []
    (tracked.root / "README.md").write_text("untracked, so the tree is dirty")
    result = checked(tracked)
    assert (result.findings, result.skipped) == ([], [])
    assert result.checked["metrics"] > 10


def test_every_gc_value_set_to_099_is_found_and_mended(tracked: Audited, mlflow_store: Store) -> None:
    client = mlflow_store.client()
    experiment = client.get_experiment_by_name("driftledger").experiment_id
    [run] = client.search_runs([experiment])
    gc = [key for key in run.data.metrics if "gc" in key]
    for key in gc:
        for row in client.get_metric_history(run.info.run_id, key):
            client.log_metric(run.info.run_id, key, 0.99, step=row.step)
    found = checked(tracked).findings
    assert {each.kind for each in found} == {"mlflow"}
    assert "MLflow: seer · brush · eye: metric gc_at_2.genception.shapes, step 0" in {each.where for each in found}
    assert all(any(f"metric {key}, step" in each.where for each in found) for key in gc)
    track(tracked)
    assert len(checked(tracked).findings) == len(found), "a plain track leaves a finished run alone"
    track(tracked, repair=True)
    assert checked(tracked).findings == []


def test_a_run_shows_the_code_that_the_ledger_has_of_it(tracked: Audited, mlflow_store: Store) -> None:
    client = mlflow_store.client()
    [run] = client.search_runs([client.get_experiment_by_name("driftledger").experiment_id])
    published = json.loads(tracked.paths.ledger.read_text())["code"]["commit"]
    assert run.data.tags["git.commit"] == published != tracked.git("rev-parse", "HEAD").strip()
    client.delete_run(run.info.run_id)
    assert [each.what for each in checked(tracked).findings] == [
        f"no finished run has its fingerprint {run.data.tags['driftledger.fingerprint']}; 'driftledger track' writes it"
    ]
    track(tracked)
    assert checked(tracked).findings == []
    [again] = client.search_runs([run.info.experiment_id])
    assert again.data.tags["git.commit"] == published
    client.set_tag(again.info.run_id, "git.dirty", "maybe")
    assert [each.where.rpartition(": ")[2] for each in checked(tracked).findings] == ["tag git.dirty"]


def test_the_page_and_the_evidence_are_compared(tracked: Audited, mlflow_store: Store) -> None:
    for file in mlflow_store.folder.rglob("artifacts/*"):
        if file.name in (EVIDENCE, projection.REPORT):
            file.write_bytes(file.read_bytes().replace(b"0.7", b"0.9"))
    for file in mlflow_store.folder.rglob("artifacts/**/table.json"):
        file.write_bytes(b"{}")
    found = {each.where.rpartition(": ")[2] for each in checked(tracked).findings}
    assert {f"artifact {EVIDENCE}", f"artifact {projection.REPORT}"} <= found
    track(tracked, repair=True)
    assert checked(tracked).findings == []


def test_a_note_leads_to_its_own_run(tracked: Audited, mlflow_store: Store) -> None:
    client = mlflow_store.client()
    experiment = client.get_experiment_by_name("driftledger").experiment_id
    [old] = client.search_runs([experiment])
    fingerprint = old.data.tags["driftledger.fingerprint"]
    assert f"`driftledger audit {fingerprint[:12]}`" in old.data.tags[NOTE]
    assert old.data.tags[NOTE].endswith(f"MLflow run `{old.info.run_id}`, fingerprint `{fingerprint}`")
    tracked.produce(value=0.8)
    track(tracked)
    old = client.get_run(old.info.run_id)
    assert old.info.run_name == "seer · brush · eye (superseded)"
    assert f"`driftledger audit {fingerprint[:12]}`" in old.data.tags[NOTE]
    assert checked(tracked).findings == []


def test_a_run_that_is_not_selected_is_not_compared(tracked: Audited) -> None:
    [evidence] = evidence_in(tracked)
    other = evidence.model_copy(update={"name": "seer · pen · eye"})
    result = check.check(project_in(tracked.root), [other], whole=False)
    assert [each.where for each in result.skipped] == ["MLflow: seer · pen · eye"]


def test_only_the_mlflow_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with pytest.raises(LedgerError, match=r"set it, to sqlite:///mlflow\.db for instance"):
        verify.verify(project_in(tmp_path), None, regenerated=0, mlflow=True)
    check.refuse_unnamed(trust=True)
