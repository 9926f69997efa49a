"""The run "running · <date>", which shows the calls of ``driftledger run`` while they are made.

A thread of its own writes it, so that no trouble with MLflow reaches the calls.
"""

import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING

from filelock import Timeout

from driftledger.collect.progress import COUNTS, Counts, read_counts
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import DriftledgerError
from driftledger.core.paths import STATE
from driftledger.core.text import say
from driftledger.project.project import Project
from driftledger.tracking.store import all_pages, experiment_of, lock_of, opened

if TYPE_CHECKING:
    from mlflow import MlflowClient

LIVE = "driftledger.live"
"""Tag: the checkout whose calls a run shows."""
SEEN = "driftledger.seen"
"""Tag: when a run got its last point, in seconds."""
MARK = "live"
"""A file in the folder of the checkout's state while MLflow may have such a run."""
PERIOD = 60.0
"""Seconds between points."""
FIRST = 10.0
"""Seconds until the first point: a run with few calls does without."""
PATIENCE = 10.0
"""Seconds for which the end waits for MLflow."""
SILENT = 600
"""Seconds without a point after which other clones remove a run."""


def counts_of(project: Project) -> Counts:
    """Return what the run under way has counted so far by entry, as ``driftledger plan`` names
    it."""
    names = {}
    for section in ("generators", "models"):
        for name, fingerprint in project.noted().get(section, {}).items():
            names[fingerprint] = f"{section}.{name}"
    counts = read_counts(project.root / STATE / COUNTS)
    return {names.get(key, key[:12]): values for key, values in counts.items()}


@contextmanager
def shown_live(project: Project, period: float = PERIOD) -> Iterator[None]:
    """Count calls from 0, and show the counts in MLflow during the block."""
    (project.root / STATE / COUNTS).unlink(missing_ok=True)
    ended = Event()
    thread = Thread(target=_show, args=(project, ended, period), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE)


def _show(project: Project, ended: Event, period: float) -> None:
    """Write a point each period, and remove the run in the end, or what a kill has left.

    The first trouble is said, and each period is a new try.
    """
    mark = project.root / STATE / MARK
    tracking = project.settings.tracking
    run_id = ""
    is_in_trouble = False
    for step in count():
        is_over = ended.wait(period if run_id else min(FIRST, period))
        counts = {} if is_over else counts_of(project)
        try:
            if counts or mark.exists():
                # while 'track' writes, there is no point
                with (
                    suppress(Timeout),
                    lock_of(project.root, tracking).acquire(timeout=PATIENCE),
                    opened(tracking, create=True) as client,
                ):
                    if not (counts and run_id):
                        mark.touch()
                        run_id = _replace(client, project, again=bool(counts))
                    if counts:
                        _add_point(client, run_id, step, counts=counts)
                    else:
                        mark.unlink()
        except (DriftledgerError, OSError) as error:
            if not is_in_trouble:
                reason = str(error).partition(";")[0]
                say(f"no progress is shown in MLflow, the calls go on: {reason}")
            is_in_trouble = True
        if is_over:
            return


def _replace(client: "MlflowClient", project: Project, *, again: bool) -> str:
    """Remove the run of this checkout, and those of others that have fallen silent; return the id
    of a new one.

    Args:
        again: whether there is to be a new one.
    """
    import mlflow

    if mlflow.active_run():
        mlflow.end_run()
    experiment = experiment_of(client, project.settings.tracking).experiment_id
    checkout = sha256_of([platform.node(), str(project.root.resolve())])[:16]
    for run in all_pages(client.search_runs, [experiment], f"tags.`{LIVE}` LIKE '%'"):
        silent = time.time() - float(run.data.tags[SEEN])
        if run.data.tags[LIVE] == checkout or silent > SILENT:
            client.delete_run(run.info.run_id)
    if not again:
        return ""
    # listed under "Evaluation runs"
    tags = {LIVE: checkout, SEEN: str(time.time()), "mlflow.runType": "genai_evaluate"}
    title = time.strftime("running · %Y-%m-%d %H:%M")
    run_id: str = client.create_run(experiment, run_name=title, tags=tags).info.run_id
    if find_spec("psutil"):
        # by its id: 'mlflow run' names another one in the environment
        mlflow.start_run(run_id, log_system_metrics=True)
    return run_id


def _add_point(
    client: "MlflowClient", run_id: str, step: int, *, counts: Counts
) -> None:
    from mlflow.entities import Metric, RunTag

    now = time.time()
    metrics = []
    for entry, values in counts.items():
        for name, value in values.items():
            metrics.append(Metric(f"{name}/{entry}", value, int(now * 1000), step))
    client.log_batch(run_id, metrics=metrics, tags=[RunTag(SEEN, str(now))])
