"""What an experiment shows, without ids and times: equal dumps mean that a reader sees no difference."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from driftledger.core.canonical import canonical_json, sha256_file
from driftledger.core.errors import LedgerError
from driftledger.tracking import connection
from driftledger.tracking.content import FINGERPRINT
from driftledger.tracking.traces import SOURCE_RUN

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

_VOLATILE = ("mlflow.runName", "mlflow.user", "mlflow.modelVersions", "driftledger.shown_as.")
"""Beginnings of tags that hold who and where, ids, and version numbers, which count how often a store was filled."""


def dump(tracking_uri: str, experiment: str) -> dict[str, Any]:
    """Everything a user sees in an experiment, trash included, sorted and ready for JSON.

    Returns:
        ``runs``, ``logged_models`` and ``registered_versions``: those that carry a fingerprint of this experiment.

    Raises:
        LedgerError: the store cannot be used, or has no such experiment.
    """
    client = connection.connect(tracking_uri, create=False)
    from mlflow.entities import ViewType

    with connection.spoken_errors(tracking_uri):
        held = client.get_experiment_by_name(experiment)
        if held is None:
            raise LedgerError(f"there is no experiment {experiment!r} yet; run 'driftledger track' to make it")
        ids = [held.experiment_id]
        models = {model.model_id: model for model in connection.all_pages(client.search_logged_models, ids)}
        runs = connection.all_pages(client.search_runs, ids, run_view_type=ViewType.ALL)
        return {
            "runs": _sorted(_run(client, client.get_run(run.info.run_id), models) for run in runs),
            "logged_models": _sorted(_logged_model(model) for model in models.values()),
            "registered_versions": _sorted(_versions(client, {_fingerprint(model) for model in models.values()})),
        }


def _run(client: "MlflowClient", run: "Run", models: "dict[str, LoggedModel]") -> dict[str, Any]:
    from mlflow.entities import RunInputs

    run_id = run.info.run_id
    inputs = run.inputs or RunInputs([], [])
    return {
        "name": run.info.run_name,
        "status": run.info.status,
        "lifecycle": run.info.lifecycle_stage,
        "tags": _lasting(run.data.tags),
        "params": run.data.params,
        "metrics": sorted(
            [key, row.step, row.value] for key in run.data.metrics for row in client.get_metric_history(run_id, key)
        ),
        "datasets": _sorted(
            {"name": item.name, "digest": item.digest, "source": item.source, "profile": item.profile}
            for item in (held.dataset for held in inputs.dataset_inputs)
        ),
        "models": _sorted(_named(models.get(item.model_id)) for item in inputs.model_inputs),
        "artifacts": _artifacts(client, run_id),
        "traces": _sorted(_trace(client, trace) for trace in _traces(client, run)),
    }


def _traces(client: "MlflowClient", run: "Run") -> Any:
    return client.search_traces([run.info.experiment_id], f"metadata.`{SOURCE_RUN}` = '{run.info.run_id}'")


def _trace(client: "MlflowClient", trace: Any) -> dict[str, Any]:
    """Less ids and times; pictures by their bytes."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shown(each) for key, each in value.items()}
        if not str(value).startswith("mlflow-attachment://"):
            return value
        address = urlsplit(value)
        [owner] = parse_qs(address.query)["trace_id"]  # another trace of the run, which shows the same picture
        place = trace.info.tags["mlflow.artifactLocation"].replace(trace.info.trace_id, owner)
        store: Any = get_artifact_repository(place, tracking_uri=client.tracking_uri)
        return sha256_file(Path(store.download_artifacts(f"attachments/{address.hostname}")))

    return {
        "name": trace.info.tags["mlflow.traceName"],
        "state": str(trace.info.state),
        "previews": [trace.info.request_preview, trace.info.response_preview],
        "tags": {key: value for key, value in trace.info.tags.items() if not key.startswith("mlflow.")},
        "scores": sorted([each.name, each.value, each.source.source_id] for each in trace.info.assessments),
        "spans": [
            [span.name, span.span_type, str(span.status.status_code), shown(span.inputs), shown(span.outputs)]
            for span in trace.data.spans
        ],
    }


def _artifacts(client: "MlflowClient", run_id: str) -> dict[str, str]:
    """Path → SHA-256 of every file."""
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        if not client.list_artifacts(run_id):
            return {}
        root = Path(client.download_artifacts(run_id, "", folder))
        return {str(file.relative_to(root)): sha256_file(file) for file in sorted(root.rglob("*")) if file.is_file()}


def _logged_model(model: "LoggedModel") -> dict[str, Any]:
    return {
        "name": model.name,
        "type": model.model_type,
        "status": str(model.status),
        "tags": _lasting(model.tags),
        "params": model.params,
        "metrics": sorted(
            [row.key, row.step, row.value, row.dataset_name, row.dataset_digest] for row in model.metrics or []
        ),
    }


def _versions(client: "MlflowClient", fingerprints: set[str]) -> list[dict[str, Any]]:
    found = []
    for version in connection.all_pages(client.search_model_versions):
        if version.tags.get(FINGERPRINT) in fingerprints:
            whole = client.get_model_version(version.name, version.version)  # searching leaves aliases out
            found.append({"name": whole.name, "tags": _lasting(whole.tags), "aliases": sorted(whole.aliases)})
    return found


def _lasting(tags: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in tags.items() if not key.startswith(_VOLATILE)}


def _fingerprint(model: "LoggedModel | None") -> str:
    return str(model.tags.get(FINGERPRINT, "")) if model else ""


def _named(model: "LoggedModel | None") -> list[str]:
    return [model.name if model else "(deleted)", _fingerprint(model)]


def _sorted(values: Any) -> list[Any]:
    """By name first, where there is one, so that a reader finds things."""
    return sorted(values, key=lambda value: (value["name"] if isinstance(value, dict) else "", canonical_json(value)))
