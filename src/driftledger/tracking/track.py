"""``track``: let MLflow show the selected runs.

MLflow is a view that can be deleted and made again.

A run is created, filled and set FINISHED last. A run that is not FINISHED was cut short, unless
another clone may be writing it now: it is deleted and made again, so nothing is ever completed or
repaired.
"""

import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftledger.components.base import ComponentCard
from driftledger.core.canonical import canonical_json, md5_file, pretty_json
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.files import read_bytes, read_jsonl
from driftledger.core.paths import main_checkout
from driftledger.data.records import QUESTIONS, SAMPLES
from driftledger.ledger.lineage import Run
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.published import mlflow_state, note_mlflow
from driftledger.reports.charts import series_of
from driftledger.scoring.roles import ROLES, Kind
from driftledger.scoring.score import Row
from driftledger.tracking.content import (
    EVALUATION,
    FINGERPRINT,
    NOTE,
    TYPE,
    Tracked,
    cards_of,
    digest_of,
    flat,
    headlines_of,
    metrics_of,
    params_of,
    ranked_in,
    tags_of,
)
from driftledger.tracking.store import (
    all_pages,
    experiment_of,
    id_of,
    lock_of,
    opened,
    sqlite_file,
    tracking_uri,
    without_credentials,
)
from driftledger.tracking.traces import (
    CUT_SHORT,
    OF_RUN,
    Traces,
    both_sizes,
    chain_rows,
    delete_traces,
    pictures_of,
    traces_of,
)
from driftledger.tracking.view import CURRENT, PAGES, VIEW_TAG, leaderboard

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run as MlflowRun

    from driftledger.project.settings import Tracking

WRITER = "driftledger.writer"
"""Tag of a run while it is written: the clone that writes it."""
UNDER_WAY = 600
"""Seconds after its start for which a run of another clone counts as being written; the largest
took a minute."""
OLD = "old · "
"""The beginning of the name of a run that a newer one replaces."""
PARENT = "mlflow.parentRunId"
"""Tag of a nested run. *Evaluation runs* lists a nested run only below its parent, so that a run
which names itself as its parent is not listed."""
EXPERIMENT = "DVC_EXP_NAME"
"""Variable in which ``dvc exp run`` names its experiment. Its runs are shown, but are not current,
since it may be thrown away."""
CHAINS = "driftledger.chains"
"""Tag of a run whose chains are logged with all of their pictures."""
TRACKED = "reports/tracked.json"
"""Name → fingerprint of the selected runs, as the stage ``track`` writes it."""

_SOURCE = "models:/"
_METRICS_PER_CALL = 900
"""MLflow takes 1,000 metrics, params and tags together."""

_TRACES_AT_ONCE = 200
"""Traces to queue before they are written. MLflow drops traces while its queue of 1,000 is full and
waits two seconds for each write, so several runs are finished together."""

_NOTE = """\
[Leaderboard with charts]({1}) · [all scores]({0}): a run for each combination of model, \
generator and encoder.

It is made from what DVC's lock holds: delete it, and `driftledger track` makes it again.

- **Evaluation runs**: all scores, the best run first when they were made together.
- **Traces**: chains, answers and descriptions step by step.
- Scores are `<metric>/<data>`; intervals, categories and all other numbers are in the artifacts \
`score.json` and `rows.jsonl` of a run.
- Runs tagged `driftledger.current: true` show what is selected now; others are not among the \
evaluation runs, and are called `old · …` where one of that name replaces them. Where a number \
comes from: `driftledger audit RUN:METRIC`.
"""


def track(root: Path, runs: Sequence[Run], tracking: "Tracking") -> str:
    """Make these the current runs of the experiment; say how many were created.

    Raises:
        LedgerError: the MLflow store cannot be used; the next call does what is left to do.
    """
    with lock_of(root, tracking), opened(tracking, create=True) as client:
        return _Push(client, root, runs, tracking).push()


def is_filled(root: Path, tracking: "Tracking", tracked: Mapping[str, str]) -> bool:
    """Return True if the store was last filled from here, with exactly these runs.

    MLflow is neither imported nor asked.

    Args:
        tracked: name → fingerprint.
    """
    file = root / TRACKED
    if not file.is_file() or read_bytes(file) != pretty_json(tracked).encode():
        return False
    return mlflow_state(Workspace(root)).filled == fill_of(root, tracking)


def fill_of(root: Path, tracking: "Tracking") -> str:
    """Return the store in use and the tracked runs, to compare with the last fill.

    A file that is made again under its name has another number, and the runs of an experiment of
    DVC are not current.
    """
    uri = tracking_uri(tracking)
    file = sqlite_file(uri)
    number = file.stat().st_ino if file is not None and file.exists() else 0
    experiments = [tracking.experiment, os.environ.get(EXPERIMENT)]
    return canonical_json(
        [without_credentials(uri), number, md5_file(root / TRACKED), experiments]
    )


class _Push:
    """One update of an experiment."""

    def __init__(
        self,
        client: "MlflowClient",
        root: Path,
        runs: Sequence[Run],
        tracking: "Tracking",
    ) -> None:
        self._client = client
        self._root = root
        self._tracking = tracking
        self._series = series_of(each.score for run in runs for each in run.lineages)
        self._runs = sorted(runs, key=_sort_key)
        self._ranked = ranked_in(runs)
        # a score without a generator is in several runs
        self._rows_of = cache(lambda path: read_jsonl(root / path, Row))
        self._writer = id_of(main_checkout(root))
        experiment = experiment_of(client, tracking)
        self._experiment_id = experiment.experiment_id
        self._experiment_tags = experiment.tags
        self._model_ids: dict[tuple[Kind, str], str] = {}
        """Kind and fingerprint → the logged model of a component."""
        self._elsewhere = set[str]()
        """Fingerprints of the runs that another clone is writing."""
        self._unfinished: dict[str, Traces] = {}
        """Id of a run that is not yet FINISHED → its traces."""

    def push(self) -> str:
        """Delete incomplete runs, write missing ones, and mark all of them.

        An experiment of DVC changes no mark of another run.

        Raises:
            LedgerError: another clone is writing some of the runs; all else is done.
        """
        finished = self._finished()
        earlier = dict(finished)
        known = earlier.keys() | self._elsewhere
        missing = [run for run in self._runs if run.fingerprint not in known]
        for run in missing:
            finished[run.fingerprint] = self._write(run)
            if sum(map(len, self._unfinished.values())) >= _TRACES_AT_ONCE:
                self._finish()
        self._finish()
        self._mark(finished)
        for run in self._runs:  # pictures may have been missing in the earlier checkout
            if run.fingerprint in earlier:
                self._log_chains(run, earlier[run.fingerprint])
        note_mlflow(
            self._root, {each.info.run_id: key for key, each in finished.items()}
        )
        if EXPERIMENT not in os.environ:
            self._describe()
        elsewhere = self._elsewhere - finished.keys()
        others = [run.name for run in self._runs if run.fingerprint in elsewhere]
        if others:
            raise LedgerError(
                f"another clone is writing the same runs ({first_few(others)}); run 'driftledger "
                f"track' again when it has ended, or in {UNDER_WAY // 60} minutes if it was killed"
            )
        counts = (
            f"{len(missing)} runs created, {len(self._runs) - len(missing)} unchanged"
        )
        return f"MLflow experiment {self._tracking.experiment!r}: {counts}"

    def _finished(self) -> "dict[str, MlflowRun]":
        """Return fingerprint → finished run, old ones too, and delete incomplete runs.

        Two clones that do not see each other's run may write it twice; one is deleted.
        """
        from mlflow.exceptions import MlflowException

        finished: dict[str, MlflowRun] = {}
        order = ["attributes.start_time ASC", "attributes.run_id ASC"]
        ours = f"tags.`{FINGERPRINT}` LIKE '%'"
        runs = all_pages(
            self._client.search_runs,
            [self._experiment_id],
            ours,
            order_by=order,
        )
        for run in runs:
            fingerprint = run.data.tags[FINGERPRINT]
            if self._is_under_way(run):
                self._elsewhere.add(fingerprint)
            elif (
                run.info.status != "FINISHED"
                or finished.setdefault(fingerprint, run) is not run
            ):
                delete_traces(
                    self._client, self._experiment_id, OF_RUN.format(run.info.run_id)
                )
                self._client.delete_run(run.info.run_id)
        if not self._elsewhere:
            with suppress(MlflowException):  # an older server cannot be asked so
                delete_traces(self._client, self._experiment_id, CUT_SHORT)
        return finished

    def _is_under_way(self, run: "MlflowRun") -> bool:
        """Return True if another clone may be writing a run.

        This one writes no other run, since it holds a lock.
        """
        is_ours = run.data.tags.get(WRITER) == self._writer
        age = abs(time.time() - run.info.start_time / 1000)
        return run.info.status == "RUNNING" and not is_ours and age < UNDER_WAY

    def _write(self, run: Run) -> "MlflowRun":
        """Write a run without its final status, and queue its traces."""
        from mlflow.entities import LoggedModelInput, Param, RunTag

        client = self._client
        tags = tags_of(run, self._ranked)
        first = {FINGERPRINT: tags[FINGERPRINT], WRITER: self._writer}
        written = client.create_run(
            self._experiment_id, run_name=_title(run), tags=first
        )
        run_id = written.info.run_id
        models: dict[str, None] = {}
        for role, cards in cards_of(run).items():
            models |= dict.fromkeys(self._model_id(ROLES[role], card) for card in cards)
        model_inputs = [LoggedModelInput(model_id) for model_id in models]
        client.log_inputs(run_id, _datasets(run, self._root), model_inputs)
        model_id = self._model_id("model", run.components["model"])
        metrics = _metrics(run, written.info.start_time, model_id)
        params = [Param(key, value) for key, value in params_of(run).items()]
        run_tags = [RunTag(key, value) for key, value in tags.items()]
        client.log_batch(run_id, params=params, tags=run_tags)
        for start in range(0, len(metrics), _METRICS_PER_CALL):
            client.log_batch(run_id, metrics[start : start + _METRICS_PER_CALL])
        for lineage in run.lineages:
            files = str(self._root / lineage.folder.path)
            client.log_artifacts(run_id, files, lineage.place)
        self._log_chains(run, written)
        self._queue_traces(run, run_id)
        return written

    def _log_chains(self, run: Run, stored: "MlflowRun") -> None:
        """Log the pictures of a run's chains that are in this checkout.

        Of two chains of a sample it is the longer one.

        A benchmark of one redrawing has the first step of such a chain.
        """
        if CHAINS in stored.data.tags:
            return
        pictures: dict[str, list[Path | None]] = {}
        for lineage in run.lineages:
            chains = chain_rows(lineage, self._rows_of, self._tracking.traces)
            places = lineage.places(self._root).values()
            if chains and all(place.is_dir() for place in places):
                for key, files in pictures_of(lineage, self._root, chains):
                    pictures[key] = max(pictures.get(key, []), files, key=len)
        run_id = stored.info.run_id
        for key, files in pictures.items():
            for t, file in enumerate(files):
                if file is not None:
                    picture, _ = both_sizes(file)
                    self._client.log_image(run_id, picture, key=key, step=t)
        if pictures:
            self._client.set_tag(run_id, CHAINS, "true")

    def _queue_traces(self, run: Run, run_id: str) -> None:
        """Queue the traces of a run; scores of the same records share the first's."""
        import mlflow

        traces = Traces(self._client, self._experiment_id, run_id)
        seen = []
        for lineage in run.lineages:
            if lineage.collected in seen:
                continue
            seen.append(lineage.collected)
            rows = self._rows_of(lineage.rows_path)
            for trace in traces_of(lineage, self._root, rows, self._tracking.traces):
                traces.add(lineage, trace)
                if len(traces) % _TRACES_AT_ONCE == 0:
                    mlflow.flush_trace_async_logging()
        self._unfinished[run_id] = traces

    def _model_id(self, kind: Kind, card: ComponentCard) -> str:
        """Return the logged model behind a component's version; make it if missing.

        The source of a version is a logged model of MLflow, the only one that any server accepts
        and that needs no files.
        """
        from mlflow.entities import LoggedModelStatus
        from mlflow.exceptions import MlflowException

        key = (kind, card.fingerprint)
        name = f"{kind}.{card.name}"
        client = self._client
        if key in self._model_ids:
            return self._model_ids[key]
        same = f"tags.`{FINGERPRINT}` = '{card.fingerprint}'"
        versions = all_pages(
            client.search_model_versions, f"name = '{name}' AND {same}"
        )
        if versions:
            source = min(versions, key=lambda version: int(version.version)).source
            return self._model_ids.setdefault(key, source.removeprefix(_SOURCE))
        params = {"provider": card.provider, "version": card.version} | flat(
            "", card.settings
        )
        tags = {FINGERPRINT: card.fingerprint} | flat("identity", card.identity)
        begun = client.search_logged_models(
            [self._experiment_id], filter_string=f"name = '{card.name}' AND {same}"
        )
        # left by a push that was cut short
        model = next((each for each in begun if each.model_type == kind), None)
        if model is None:
            model = client.create_logged_model(
                self._experiment_id, card.name, None, tags, params, kind
            )
        client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        try:
            client.create_registered_model(
                name,
                description=f"The {kind} `{card.name}`, a version per fingerprint.",
            )
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        version = client.create_model_version(
            name,
            f"{_SOURCE}{model.model_id}",
            tags=tags,
            description=(
                f"Which scores it made: `driftledger audit --{kind} "
                f"{card.name}@{card.fingerprint[:12]}`"
            ),
            model_id=model.model_id,
            await_creation_for=0,
        )
        # leads from a run's page to the version
        registered = [{"name": name, "version": int(version.version)}]
        client.set_logged_model_tags(
            model.model_id, {"mlflow.modelVersions": json.dumps(registered)}
        )
        return self._model_ids.setdefault(key, str(model.model_id))

    def _finish(self) -> None:
        """Set written runs FINISHED after all of their traces have arrived."""
        import mlflow

        if any(self._unfinished.values()):
            mlflow.flush_trace_async_logging()
        for run_id, traces in self._unfinished.items():
            traces.require()
            self._client.set_terminated(run_id)
            self._client.delete_tag(run_id, WRITER)
        self._unfinished = {}

    def _mark(self, finished: "dict[str, MlflowRun]") -> None:
        """Mark current and old runs by their tags and names.

        An experiment of DVC changes no other run, but shows an old one that has its results.
        """
        current = {run.fingerprint: run for run in self._runs}
        names = [run.name for run in self._runs]
        is_experiment = EXPERIMENT in os.environ
        for fingerprint, stored in finished.items():
            run = current.get(fingerprint)
            run_id = stored.info.run_id
            name = str(stored.info.run_name)
            if is_experiment and (run is None or not name.startswith(OLD)):
                continue
            wanted = name
            tags = {CURRENT: "false", TYPE: None, PARENT: run_id}
            if run is not None:
                wanted = _title(run)
                colour = self._series[run.combination.model].colour
                tags = {TYPE: EVALUATION, PARENT: None, "mlflow.runColor": colour}
                tags[CURRENT] = str(not is_experiment).lower()
                # another run's control may be the floor
                tags[NOTE] = tags_of(run, self._ranked)[NOTE]
            elif name.removeprefix(OLD) in names:
                wanted = OLD + name.removeprefix(OLD)
            if wanted != name:
                self._client.update_run(run_id, name=wanted)
            for key, value in tags.items():
                if value == stored.data.tags.get(key):
                    continue
                if value is None:
                    self._client.delete_tag(run_id, key)
                else:
                    self._client.set_tag(run_id, key, value)

    def _describe(self) -> None:
        """Write the note and the saved view of the experiment's page."""
        pages = [page.format(self._experiment_id) for page in PAGES.values()]
        tags = {NOTE: _NOTE.format(*pages)}
        headlines: dict[str, Tracked] = {}
        steps: dict[str, int] = {}
        for run in self._runs:
            headlines |= {tracked.name: tracked for tracked in headlines_of(run)}
            steps |= {tracked.name: tracked.step for tracked in metrics_of(run)}
        chains: dict[str, Row] = {}
        for run in self._runs[-1:]:
            for lineage in run.lineages:
                chains |= chain_rows(lineage, self._rows_of, self._tracking.traces)
        if headlines:
            curves = [name for name, step in steps.items() if step]
            first, *_ = headlines.values()
            tags[VIEW_TAG] = leaderboard(
                sorted(curves, key=lambda name: not name.startswith("similarity/")),
                {name: tracked.title for name, tracked in headlines.items()},
                columns=list(steps),
                higher=first.metric.direction != "lower",
                chains=[*chains],
            )
        for key, value in tags.items():
            if self._experiment_tags.get(key) != value:
                self._client.set_experiment_tag(self._experiment_id, key, value)


def _title(run: Run) -> str:
    """Return the name of a run that is made or brought back.

    MLflow cuts long names at the end, so the experiment comes first.
    """
    if EXPERIMENT in os.environ:
        return f"exp {os.environ[EXPERIMENT]} · {run.name}"
    return run.name


def _sort_key(run: Run) -> float:
    """Return a key that sorts runs without a rank first, then the worst first.

    MLflow lists the newest runs first.
    """
    for headline in headlines_of(run)[:1]:
        if headline.score.unranked is None:
            sign = -1 if headline.metric.direction == "lower" else 1
            return sign * headline.value
    return -math.inf


def _datasets(run: Run, root: Path) -> list[Any]:
    """Return an input per dataset, by the digest of its content.

    Its profile counts all samples or questions, where the data is in this checkout.
    """
    from mlflow.entities import Dataset, DatasetInput, InputTag

    from driftledger.dvc_source import source_of

    inputs = []
    lineages = {}
    for lineage in run.lineages:
        lineages[lineage.score.on] = lineage
    for on, lineage in lineages.items():
        data = lineage.data
        files = [root / data.path / name for name in (SAMPLES, QUESTIONS)]
        counts = [file.read_bytes().count(b"\n") for file in files if file.is_file()]
        profile = json.dumps({"samples": sum(counts)}) if counts else None
        source = source_of(root, data.path, data.md5).to_json()
        dataset = Dataset(on, digest_of(lineage.score), "dvc", source, profile=profile)
        tags = [InputTag("mlflow.data.context", "evaluation")]
        inputs.append(DatasetInput(dataset, tags))
    return inputs


def _metrics(run: Run, timestamp: int, model_id: str) -> list[Any]:
    """Return the metrics of a run, linked to its model.

    A curve is linked by its last value, since MLflow shows a link beside each.
    """
    from mlflow.entities import Metric

    metrics = metrics_of(run)
    last = {tracked.name: tracked for tracked in metrics}
    entities = []
    for tracked in metrics:
        metric = Metric(
            tracked.name,
            tracked.value,
            timestamp,
            tracked.step,
            model_id=model_id if tracked is last[tracked.name] else None,
            dataset_name=tracked.score.on,
            dataset_digest=digest_of(tracked.score),
        )
        entities.append(metric)
    return entities
