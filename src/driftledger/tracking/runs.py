"""One experiment's runs: find them by fingerprint, fill them so that filling them again changes nothing.

A run is created with its fingerprint, filled with rows that all carry its own start time, and set FINISHED
last: that is the commit marker. Whatever is not FINISHED was cut short and is filled again or deleted; what was
FINISHED before is retired instead.
"""

import json
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from mlflow import MlflowClient, entities
from mlflow.entities import Run
from mlflow.store.tracking.dbmodels.models import SqlLoggedModelMetric
from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
from mlflow.utils.mlflow_tags import MLFLOW_RUN_NAME as _RUN_NAME
from sqlalchemy import insert

from driftledger.core.errors import LedgerError
from driftledger.tracking import connection
from driftledger.tracking.content import (
    CURRENT,
    FINGERPRINT,
    MAX_NAME,
    MAX_PARAM,
    MAX_TAG,
    METRICS_AGAIN_PER_CALL,
    METRICS_PER_CALL,
    NOTE,
    REOPENED,
    ROOM_FOR_STATE,
    SUPERSEDED,
    DatasetInput,
    RunContent,
    clip,
    clipped,
    tags_of,
)
from driftledger.tracking.held import unlike
from driftledger.tracking.traces import Traces

_TEXTS_PER_CALL = 20
"""A server takes 1 MB per call: 20 texts of 8000 characters, which JSON writes as six bytes each."""

_ARTIFACTS_AT_ONCE = 4

_AUDIT = re.compile(r"`driftledger audit [^`]*`")
_STATE = re.compile(r"\A\*\*(?:Superseded|Not selected now)\*\*.*\n*")

T = TypeVar("T")

ModelIds = Mapping[str, str]
"""Key of a component version → id of its logged model."""


class Runs:
    """The runs of one experiment, always addressed by their ids: nothing in the environment joins them.

    Args:
        begin: to be called before something is written by another way than the client, which calls it itself.
    """

    def __init__(
        self, client: MlflowClient, traces: Traces, experiment_id: str, begin: Callable[[], None] = lambda: None
    ) -> None:
        self._client = client
        self._begin = begin
        self._traces = traces
        self._experiment_id = experiment_id

    def tagged(self, key: str, value: str) -> list[Run]:
        """The runs with this tag that no one has deleted, oldest first."""
        return self._search(f"tags.`{key}` = '{value}'")

    def _search(self, which: str) -> list[Run]:
        order = ["attributes.start_time ASC", "attributes.run_id ASC"]
        return connection.all_pages(self._client.search_runs, [self._experiment_id], which, order_by=order)

    def not_current(self, name: str) -> list[Run]:
        """The runs of this name that say that they are not current, and not yet that they are superseded."""
        name = clip(name, MAX_NAME)
        quote = '"' if "'" in name else "'"
        named = "" if quote in name else f" AND attributes.run_name = {quote}{name}{quote}"  # no way to escape one
        return self._search(f"tags.`{CURRENT}` = 'false'{named}")

    def create(self, content: RunContent) -> Run:
        """A new, empty run that can be found from its first moment on.

        It ends now, and starts as much earlier as its calls took, whenever they were made.
        """
        return self._client.create_run(
            self._experiment_id,
            start_time=int(time.time() * 1000) - _milliseconds(content),
            run_name=clip(content.name, MAX_NAME),
            tags={FINGERPRINT: content.fingerprint, CURRENT: "true"},
        )

    def show(self, run: Run, content: RunContent) -> bool:
        """Let a run that was let go of be a current one again; return whether it was let go of."""
        if gone := run.data.tags.get(CURRENT) != "true":
            wanted = tags_of(content, run.info.run_id)
            kept = {key: wanted[key] for key in (CURRENT, NOTE) if key in wanted}
            self._tag(run, kept | {_RUN_NAME: clip(content.name, MAX_NAME)})
        return gone

    def retire(self, run: Run, names: Collection[str]) -> None:
        """Let a run that is not current say so."""
        self._tag(run, retired(run, names))

    def _tag(self, run: Run, wanted: Mapping[str, str]) -> None:
        new = {key: value for key, value in wanted.items() if run.data.tags.get(key) != value}
        if new:
            self._client.log_batch(run.info.run_id, tags=_items(entities.RunTag, new), synchronous=True)

    def reopen(self, run: Run) -> None:
        """Let a finished run be one that a push fills again, or retires where it is not pushed."""
        self._client.update_run(run.info.run_id, REOPENED)

    def delete(self, run: Run) -> None:
        """Move a run to MLflow's trash; its traces, for which there is no trash, are gone."""
        self._traces.delete(run.info.run_id)
        self._client.delete_run(run.info.run_id)

    def fits(self, run: Run, content: RunContent, model_ids: ModelIds) -> bool:
        """Whether an unfinished run holds only what ``content`` says, in what MLflow does not let us overwrite."""
        run_id = run.info.run_id
        whole = self._client.get_run(run_id)  # searching leaves model inputs out
        inputs = whole.inputs or entities.RunInputs([], [])
        links = {held.model_id for held in inputs.model_inputs} <= set(model_ids.values())
        return links and all(each.mendable for each in unlike(self._client, whole, content))

    def fill(self, run: Run, content: RunContent, model_ids: ModelIds, again: bool) -> None:
        """Write everything ``content`` says, and FINISHED last; with no end where no one knows what its calls took.

        Args:
            again: whether a part of it may be there already.
        """
        with ThreadPoolExecutor(_ARTIFACTS_AT_ONCE) as pool:  # pictures are drawn while the store is written to
            artifacts = {path: pool.submit(copy_context().run, make) for path, make in content.artifacts.items()}
            self._log(run, content, model_ids, again)
            if again:
                self._traces.delete(run.info.run_id)
            self._traces.write(run.info.run_id, run.info.start_time, content.traces())
            if artifacts:
                self._upload(run.info.run_id, content.name, artifacts)
        if milliseconds := _milliseconds(content):
            self._client.set_terminated(run.info.run_id, "FINISHED", end_time=run.info.start_time + milliseconds)
        else:
            self._client.update_run(run.info.run_id, "FINISHED")

    def _log(self, run: Run, content: RunContent, model_ids: ModelIds, again: bool) -> None:
        run_id = run.info.run_id
        tags = {_RUN_NAME: clip(content.name, MAX_NAME)} | tags_of(content, run_id)
        self._client.log_inputs(
            run_id,
            datasets=[_dataset_entity(dataset) for dataset in content.datasets],
            models=[entities.LoggedModelInput(model_id) for model_id in model_ids.values()],
        )
        for params in _chunks(_items(entities.Param, clipped(content.params, MAX_PARAM)), _TEXTS_PER_CALL):
            self._client.log_batch(run_id, params=params, synchronous=True)
        for some in _chunks(_items(entities.RunTag, tags), _TEXTS_PER_CALL):
            self._client.log_batch(run_id, tags=some, synchronous=True)
        rows = _metric_rows(content, run.info.start_time, model_ids)
        self._log_metrics(run_id, rows, again)  # last: to rename a run, MLflow reads all of its metrics

    def _log_metrics(self, run_id: str, rows: Sequence[Sequence[entities.Metric]], again: bool) -> None:
        """Write each metric with its links.

        Nothing in MLflow's interface links a metric to a second model but to write its row again, which MLflow then
        looks for one by one: a server is told so, a database is written to.
        """
        store: Any = self._client._tracking_client.store
        most = METRICS_AGAIN_PER_CALL if again else METRICS_PER_CALL
        if not isinstance(store, SqlAlchemyStore):
            for metrics in _chunks(list(chain.from_iterable(rows)), most):
                self._client.log_batch(run_id, metrics=metrics, synchronous=True)
            return
        for some in _chunks(rows, most):
            plain = [entities.Metric(each.key, each.value, each.timestamp, each.step) for each, *_ in some]
            self._client.log_batch(run_id, metrics=plain, synchronous=True)
        self._begin()
        links = [each for some in rows for each in some if each.model_id]
        if not again:
            self._link(store, run_id, links)
            return
        for metrics in _chunks(links, most):
            store._log_model_metrics(run_id, list(metrics), self._experiment_id)

    def _link(self, store: SqlAlchemyStore, run_id: str, links: Collection[entities.Metric]) -> None:
        """As ``_log_model_metrics`` of the store, of rows that are known to be new: in a third of the time."""
        if not links:
            return
        with store.ManagedSessionMaker(read_only=False) as session:
            session.execute(
                insert(SqlLoggedModelMetric.__table__),
                [
                    {
                        "model_id": row.model_id,
                        "metric_name": row.key,
                        "metric_timestamp_ms": row.timestamp,
                        "metric_step": row.step,
                        "metric_value": row.value,
                        "experiment_id": self._experiment_id,
                        "run_id": run_id,
                        "dataset_name": row.dataset_name,
                        "dataset_digest": row.dataset_digest,
                    }
                    for row in links
                ],
            )

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


def retired(run: Run, names: Collection[str]) -> dict[str, str]:
    """The tags of a run that is not current: its name and its note say so, and the note leads to this run's evidence.

    What is superseded stays so when that name is not selected any more either.

    Args:
        names: of the current runs.
    """
    fingerprint = run.data.tags.get(FINGERPRINT, "")
    given = run.info.run_name or ""
    name = given.removesuffix(SUPERSEDED)
    superseded = name in names or given != name
    state = "Superseded" if superseded else "Not selected now"
    head = f"**{state}**: this is what MLflow run `{run.info.run_id}`, fingerprint `{fingerprint}`, showed."
    note = _AUDIT.sub(f"`driftledger audit {fingerprint[:12]}`", _STATE.sub("", run.data.tags.get(NOTE, "")))
    note = clip(note, MAX_TAG - ROOM_FOR_STATE)
    shown = clip(name, MAX_NAME - len(SUPERSEDED)) + SUPERSEDED if superseded else name
    return {CURRENT: "false", _RUN_NAME: shown} | ({NOTE: f"{head}\n\n{note}"} if NOTE in run.data.tags else {})


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


def _metric_rows(content: RunContent, start: int, model_ids: ModelIds) -> list[list[entities.Metric]]:
    """Of each metric a row for each component that it is of, since a row names one model only; or one that names none.

    All are at the run's start time, so that writing one again is a no-op for the run.
    """
    digests = {dataset.name: dataset.digest for dataset in content.datasets}
    return [
        [
            entities.Metric(
                metric.key,
                metric.value,
                start,
                metric.step,
                model_id=model_ids[key] if key else None,
                dataset_name=metric.dataset,
                dataset_digest=digests[metric.dataset] if metric.dataset else None,
            )
            for key in metric.of or (None,)
        ]
        for metric in content.every_metric()
    ]


def _items(entity: type[T], values: Mapping[str, str]) -> list[T]:
    make: Any = entity
    return [make(key, value) for key, value in values.items()]


def _chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
