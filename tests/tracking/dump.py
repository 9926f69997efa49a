"""What a reader sees of an experiment, without ids and times: equal dumps mean that a reader sees
no difference."""

import base64
import hashlib
import json
import re
import tempfile
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from driftledger.tracking.store import opened

PARENT = "mlflow.parentRunId"
VOLATILE = (
    "mlflow.user",
    "mlflow.artifactLocation",
    "mlflow.modelVersions",
    "mlflow.trace.",
    "mlflow.source",
)


def dump(tracking):
    """Runs by name, newest first, those that were replaced, and the versions of registered
    models."""
    with opened(tracking, create=False) as client:
        experiment = client.get_experiment_by_name(tracking.experiment)
        if experiment is None:
            return {}
        runs = client.search_runs(
            [experiment.experiment_id], order_by=["attributes.start_time DESC"]
        )
        old = [run for run in runs if run.info.run_name.startswith("old")]
        models = {
            each.model_id: each
            for each in client.search_logged_models([experiment.experiment_id])
        }
        versions = sorted(
            (v.name, int(v.version), v.tags, v.description)
            for v in client.search_model_versions()
        )
        return {
            "runs": [
                _run(client, client.get_run(run.info.run_id), models)
                for run in runs
                if run not in old
            ],
            "evaluation runs": evaluation_runs(client, experiment.experiment_id),
            "old": sorted(
                [run.info.run_name, run.data.tags["driftledger.current"]] for run in old
            ),
            "versions": [list(each) for each in versions],
            "linked": {
                each.name: sorted({metric.key for metric in each.metrics or []})
                for each in models.values()
            },
            "experiment": _lasting(experiment.tags),
            "experiments": sorted(each.name for each in client.search_experiments()),
        }


def evaluation_runs(client, experiment):
    """List the names in MLflow's page *Evaluation runs*, as its code chooses them: no run that has
    made a model, and one with a parent only below that."""
    runs = [run for run in client.search_runs([experiment]) if not _made(run)]
    parents = {run.info.run_id: run.data.tags.get(PARENT) for run in runs}
    listed = [run_id for run_id, parent in parents.items() if parent is None]
    for run_id in listed:
        listed += [child for child, parent in parents.items() if parent == run_id]
    return [run.info.run_name for run in runs if run.info.run_id in listed]


def view_of(tag):
    """Read the tag of a saved view."""
    content: dict[str, Any] = json.loads(tag)
    packed = base64.b64decode(content["state"].removeprefix("deflate;"))
    return content | {"state": json.loads(zlib.decompress(packed))}


def _made(run):
    return run.outputs.model_outputs if run.outputs else []


def _run(client, run, models):
    run_id, data, inputs = run.info.run_id, run.data, run.inputs
    traces = client.search_traces(
        locations=[run.info.experiment_id],
        filter_string=f"metadata.`mlflow.sourceRun` = '{run_id}'",
    )
    with tempfile.TemporaryDirectory() as folder:
        top = Path(client.download_artifacts(run_id, "", folder))
        files = {
            _named(str(file.relative_to(top))): _digest(file)
            for file in sorted(top.rglob("*"))
            if file.is_file()
        }
    return {
        "name": run.info.run_name,
        "status": run.info.status,
        "tags": _lasting(data.tags),
        "params": dict(data.params),
        "metrics": sorted(
            [key, each.step, each.value]
            for key in data.metrics
            for each in client.get_metric_history(run_id, key)
        ),
        "models": sorted(models[each.model_id].name for each in inputs.model_inputs),
        "datasets": sorted(
            [
                each.dataset.name,
                each.dataset.digest,
                {tag.key: tag.value for tag in each.tags},
            ]
            for each in inputs.dataset_inputs
        ),
        "artifacts": files,
        "traces": [_trace(trace) for trace in traces],
    }


def _trace(trace):
    spans = [
        [span.name, _shown(span.inputs), _shown(span.outputs)]
        for span in trace.data.spans
    ]
    return {
        "tags": _lasting(trace.info.tags),
        "state": str(trace.info.state),
        "spans": spans,
    }


def _shown(value):
    """Pictures by their size, since their ids are drawn by chance."""
    if isinstance(value, dict):
        return {key: _shown(each) for key, each in value.items()}
    text = str(value)
    return (
        ["picture", parse_qs(urlsplit(text).query)["size"]]
        if text.startswith("mlflow-attachment:")
        else value
    )


def _lasting(tags):
    return {key: value for key, value in tags.items() if not key.startswith(VOLATILE)}


def _named(path):
    """Leave out the time and the random end in the name of a picture of a chain."""
    return re.sub(r"\+timestamp\+\d+\+[0-9a-f-]{36}", "", path)


def _digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()
