"""The correlations in MLflow: read where a person reads them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftledger.project.settings import Tracking
from driftledger.tracking import correlation_run

from .stores import Store

FILES = ("correlation.csv", "correlation.md", "correlation.svg", "correlation_matrix.csv")


def _show(root: Path, uri: str) -> list[str]:
    return list(correlation_run.show(root, Tracking(uri=uri, experiment="driftledger", traces="none")))


def _runs(store: Store) -> list[dict[str, Any]]:
    client = store.client()
    experiment = client.get_experiment_by_name("driftledger-reports").experiment_id
    return [
        {
            "name": run.info.run_name,
            "status": run.info.status,
            "current": run.data.tags["driftledger.current"],
            "note": run.data.tags["mlflow.note.content"],
            "files": sorted(each.path for each in client.list_artifacts(run.info.run_id)),
        }
        for run in client.search_runs([experiment], order_by=["attributes.start_time ASC"])
    ]


def test_one_run_holds_what_reports_holds(
    tmp_path: Path, mlflow_store: Store, in_child: Callable[..., Any], monkeypatch: Any
) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    assert in_child(_show, tmp_path, mlflow_store.uri) == []  # the stage has not run
    (tmp_path / "reports").mkdir()
    for name in FILES:
        (tmp_path / "reports" / name).write_text(f"first {name}", encoding="utf-8")
    experiment = "MLflow experiment 'driftledger-reports': correlation"
    assert in_child(_show, tmp_path, mlflow_store.uri) == [f"{experiment} is shown"]
    assert in_child(_show, tmp_path, mlflow_store.uri) == [f"{experiment} is unchanged"]
    [run] = in_child(_runs, mlflow_store)
    assert run.pop("note").startswith("first correlation.md\n\nMLflow run `")
    assert run == {
        "name": "correlation",
        "status": "FINISHED",
        "current": "true",
        "files": sorted(FILES),
    }

    (tmp_path / "reports" / "correlation.md").write_text("second", encoding="utf-8")
    assert in_child(_show, tmp_path, mlflow_store.uri) == [f"{experiment} is shown"]
    runs = in_child(_runs, mlflow_store)
    assert sorted((run["name"], run["current"]) for run in runs) == [
        ("correlation", "true"),
        ("correlation (superseded)", "false"),
    ]
    assert sorted(run["note"].partition(":")[0] for run in runs)[0] == "**Superseded**"
