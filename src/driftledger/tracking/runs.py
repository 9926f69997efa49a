"""One experiment's runs: find them by fingerprint, fill them so that filling them again changes nothing.

A run is created with its fingerprint, filled with rows that all carry its own start time, and set FINISHED
last: that is the commit marker. Whatever is not FINISHED was cut short and is filled again or deleted.
"""

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from mlflow import MlflowClient, entities
from mlflow.entities import Run

from driftledger.core.errors import LedgerError
from driftledger.tracking import connection
from driftledger.tracking.content import (
    CURRENT,
    FINGERPRINT,
    MAX_PARAM,
    MAX_TAG,
    DatasetInput,
    RunContent,
    clip,
    clipped,
)
from driftledger.tracking.traces import Traces

_METRICS_PER_CALL = 100
"""With more, MLflow 3.17 fails to write rows again that are linked to a model and there already."""

_TEXTS_PER_CALL = 20
"""A server takes 1 MB per call: 20 texts of 8000 characters, which JSON writes as six bytes each."""

_ARTIFACTS_AT_ONCE = 4

_MAX_NAME = 250

T = TypeVar("T")

ModelIds = Mapping[str, str]
"""Key of a component version → id of its logged model."""


class Runs:
    """The runs of one experiment, always addressed by their ids: nothing in the environment joins them."""

    def __init__(self, client: MlflowClient, traces: Traces, experiment_id: str) -> None:
        self._client = client
        self._traces = traces
        self._experiment_id = experiment_id

    def tagged(self, key: str, value: str) -> list[Run]:
        """The runs with this tag that no one has deleted, oldest first."""
        return connection.all_pages(
            self._client.search_runs,
            [self._experiment_id],
            f"tags.`{key}` = '{value}'",
            order_by=["attributes.start_time ASC", "attributes.run_id ASC"],
        )

    def create(self, content: RunContent) -> Run:
        """A new, empty run that can be found from its first moment on.

        It ends now, and starts as much earlier as its calls took, whenever they were made.
        """
        return self._client.create_run(
            self._experiment_id,
            start_time=int(time.time() * 1000) - _milliseconds(content),
            run_name=clip(content.name, _MAX_NAME),
            tags={FINGERPRINT: content.fingerprint, CURRENT: "true"},
        )

    def mark(self, run: Run, current: bool) -> None:
        """Write the tag ``driftledger.current`` where it says something else."""
        value = "true" if current else "false"
        if run.data.tags.get(CURRENT) != value:
            self._client.set_tag(run.info.run_id, CURRENT, value)

    def delete(self, run: Run) -> None:
        """Move a run to MLflow's trash; its traces, for which there is no trash, are gone."""
        self._traces.delete(run.info.run_id)
        self._client.delete_run(run.info.run_id)

    def fits(self, run: Run, content: RunContent, model_ids: ModelIds) -> bool:
        """Whether an unfinished run holds only what ``content`` says, in what MLflow does not let us overwrite."""
        run_id = run.info.run_id
        params = clipped(content.params, MAX_PARAM)
        rows = {(metric.key, metric.step, metric.value, run.info.start_time) for metric in content.every_metric()}
        datasets = {(dataset.name, dataset.digest) for dataset in content.datasets}
        whole = self._client.get_run(run_id)  # searching leaves model inputs out
        inputs = whole.inputs or entities.RunInputs([], [])
        return (
            whole.data.params.items() <= params.items()
            and {(held.dataset.name, held.dataset.digest) for held in inputs.dataset_inputs} <= datasets
            and {held.model_id for held in inputs.model_inputs} <= set(model_ids.values())
            and all(
                (held.key, held.step, held.value, held.timestamp) in rows
                for key in whole.data.metrics
                for held in self._client.get_metric_history(run_id, key)
            )
        )

    def fill(self, run: Run, content: RunContent, model_ids: ModelIds, again: bool) -> None:
        """Write everything ``content`` says, and FINISHED last; with no end where no one knows what its calls took.

        Args:
            again: whether a part of it may be there already.
        """
        with ThreadPoolExecutor(_ARTIFACTS_AT_ONCE) as pool:  # pictures are drawn while the store is written to
            artifacts = {path: pool.submit(make) for path, make in content.artifacts.items()}
            self._log(run, content, model_ids)
            if again:
                self._traces.delete(run.info.run_id)
            self._traces.write(run.info.run_id, run.info.start_time, content.traces())
            if artifacts:
                self._upload(run.info.run_id, content.name, artifacts)
        if milliseconds := _milliseconds(content):
            self._client.set_terminated(run.info.run_id, "FINISHED", end_time=run.info.start_time + milliseconds)
        else:
            self._client.update_run(run.info.run_id, "FINISHED")

    def _log(self, run: Run, content: RunContent, model_ids: ModelIds) -> None:
        run_id = run.info.run_id
        tags = {**clipped(content.tags, MAX_TAG), FINGERPRINT: content.fingerprint, CURRENT: "true"}
        self._client.log_inputs(
            run_id,
            datasets=[_dataset_entity(dataset) for dataset in content.datasets],
            models=[entities.LoggedModelInput(model_id) for model_id in model_ids.values()],
        )
        for rows in _metric_rows(content, run.info.start_time, model_ids):
            for metrics in _chunks(rows, _METRICS_PER_CALL):
                self._client.log_batch(run_id, metrics=metrics, synchronous=True)
        for params in _chunks(_items(entities.Param, clipped(content.params, MAX_PARAM)), _TEXTS_PER_CALL):
            self._client.log_batch(run_id, params=params, synchronous=True)
        for some in _chunks(_items(entities.RunTag, tags), _TEXTS_PER_CALL):
            self._client.log_batch(run_id, tags=some, synchronous=True)

    def _upload(self, run_id: str, name: str, artifacts: Mapping[str, Future[bytes]]) -> None:
        with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
            for path, made in artifacts.items():
                file = Path(folder, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(made.result())
            try:
                self._client.log_artifacts(run_id, folder)
            except OSError as error:
                raise LedgerError(
                    f"the artifacts of run {name!r} cannot be stored ({error}); mend that, then run 'driftledger track'"
                ) from None


def _milliseconds(content: RunContent) -> int:
    """Zero where no one knows."""
    return round(1000 * (content.seconds() or 0))


def _dataset_entity(dataset: DatasetInput) -> entities.DatasetInput:
    columns = list(dataset.columns.items())
    return entities.DatasetInput(
        entities.Dataset(
            name=dataset.name,
            digest=dataset.digest,
            source_type="dvc",
            source=json.dumps({"uri": dataset.source, "md5": dataset.digest}),
            schema=json.dumps({"mlflow_colspec": [{"name": name, "type": kind} for name, kind in columns]}),
            profile=json.dumps({"num_rows": dataset.samples}),
        ),
        tags=[entities.InputTag("mlflow.data.context", "evaluation")],
    )


def _metric_rows(content: RunContent, start: int, model_ids: ModelIds) -> Iterator[list[entities.Metric]]:
    """All rows at the run's start time, so that writing one again is a no-op for the run.

    A row names one model only: a metric that is of several components is written once for each of them.
    """
    digests = {dataset.name: dataset.digest for dataset in content.datasets}
    metrics = content.every_metric()
    for place in range(max((len(metric.of) for metric in metrics), default=0) or 1):
        yield [
            entities.Metric(
                metric.key,
                metric.value,
                start,
                metric.step,
                model_id=model_ids[metric.of[place]] if metric.of else None,
                dataset_name=metric.dataset,
                dataset_digest=digests[metric.dataset] if metric.dataset else None,
            )
            for metric in metrics
            if place < (len(metric.of) or 1)
        ]


def _items(entity: type[T], values: Mapping[str, str]) -> list[T]:
    make: Any = entity
    return [make(key, value) for key, value in values.items()]


def _chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
