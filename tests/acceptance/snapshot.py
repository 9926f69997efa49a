"""What MLflow holds of a project, read through its public client: ``python -m
tests.acceptance.snapshot CHECKOUT``.

Left out is what differs between two stores with the same content: ids, times, commits and
    fingerprints of runs.
"""

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from mlflow import MlflowClient

from tests.acceptance.places import GOLDEN

FILE = GOLDEN / "mlflow.json"
EXPERIMENT = "driftledger"
LEFT_OUT = re.compile(
    r"git\..*|driftledger\.(fingerprint|evidence_sha256|shown_as.*)"
    r"|mlflow\.(user|source\..*|note\.content)"
)
"""Tags whose values are left out, since each store has others; their names are held."""
IDS = re.compile(r"m-[0-9a-f]{32}")
"""Ids that MLflow gives, within other text."""


def snapshot(database: Path) -> dict[str, Any]:
    """Runs by name and versions of registered models by name, of a store in SQLite, which is not
    touched."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "mlflow.db"
        shutil.copy(database, copy)
        client = MlflowClient(f"sqlite:///{copy}")
        experiment = client.get_experiment_by_name(EXPERIMENT)
        assert experiment is not None, f"{database} has no experiment {EXPERIMENT!r}"
        runs = client.search_runs([experiment.experiment_id])
        models = client.search_registered_models()
        return {
            "runs": {
                run.info.run_name: _run(client, run)
                for run in sorted(runs, key=lambda run: run.info.run_name)
            },
            "versions": {
                model.name: [
                    {"version": version.version, "tags": _shown(version.tags)}
                    for version in client.search_model_versions(f"name='{model.name}'")
                ]
                for model in models
            },
        }


def _run(client: MlflowClient, run: Any) -> dict[str, Any]:
    return {
        "status": run.info.status,
        "metrics": {
            f"{name}[{each.step}]" if each.step else name: "…"
            if "seconds" in name
            else each.value
            for name in run.data.metrics
            for each in client.get_metric_history(run.info.run_id, name)
        },
        "params": dict(run.data.params),
        "tags": _shown(run.data.tags),
    }


def _shown(tags: dict[str, str]) -> dict[str, str]:
    return {
        IDS.sub("…", name): "…" if LEFT_OUT.fullmatch(name) else IDS.sub("…", text)
        for name, text in tags.items()
    }


def text_of(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(
        text_of(snapshot(Path(sys.argv[1]) / "mlflow.db")), encoding="utf-8"
    )
    print(f"wrote {FILE}")
