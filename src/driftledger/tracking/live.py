"""The run "running · <date>", which shows the calls of ``driftledger run`` while they are made.

A thread of its own writes it, so that no trouble with MLflow reaches the calls.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from threading import Event, Thread
from typing import TYPE_CHECKING

from filelock import Timeout

from driftledger.collect.progress import COUNTS, read_counts
from driftledger.core.errors import DriftledgerError
from driftledger.core.paths import STATE
from driftledger.core.text import say
from driftledger.project.project import Project
from driftledger.tracking.store import experiment_of, id_of, lock_of, opened

if TYPE_CHECKING:
    from mlflow import MlflowClient

LIVE = "driftledger.live"
"""Tag: the checkout whose calls a run shows."""
MARK = "live"
"""A file in the folder of the checkout's state while MLflow may have such a run."""
PERIOD = 60.0
"""Seconds before each point."""
PATIENCE = 10.0
"""Seconds for which the end waits for MLflow."""


@contextmanager
def shown_live(project: Project) -> Iterator[None]:
    """Count calls from 0, and show the counts in MLflow during the block."""
    (project.root / STATE / COUNTS).unlink(missing_ok=True)
    ended = Event()
    thread = Thread(target=_show, args=(project, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(PATIENCE)


def _show(project: Project, ended: Event) -> None:
    """Write a point each period, and remove the run in the end, also that of a killed process.

    Each period is a new try, and each trouble is said once.
    """
    mark = project.root / STATE / MARK
    tracking = project.settings.tracking
    say_once = cache(say)
    run_id = ""
    for minute in count():
        is_over = ended.wait(PERIOD)
        counts = read_counts(mark.with_name(COUNTS))
        try:
            if mark.exists() if is_over else counts:
                with (
                    suppress(Timeout),  # while 'track' writes, there is no point
                    lock_of(project.root, tracking).acquire(PATIENCE),
                    opened(tracking, create=True) as client,
                ):
                    import mlflow

                    mark.touch()
                    run_id = run_id or _replace(client, project)
                    if is_over:
                        client.delete_run(run_id)
                        mark.unlink()
                    else:
                        metrics = {**counts, **_system_metrics()}
                        mlflow.log_metrics(metrics, minute, run_id=run_id)
        except (DriftledgerError, OSError) as error:
            say_once(f"no progress is shown in MLflow, the calls go on: {error}")
        if is_over:
            return


def _replace(client: "MlflowClient", project: Project) -> str:
    """Remove what is left of this checkout, and return the id of a new run."""
    experiment = experiment_of(client, project.settings.tracking).experiment_id
    checkout = id_of(project.root.resolve())
    for run in client.search_runs([experiment], f"tags.`{LIVE}` = '{checkout}'"):
        client.delete_run(run.info.run_id)
    new = client.create_run(
        experiment,
        # listed under "Evaluation runs"
        tags={LIVE: checkout, "mlflow.runType": "genai_evaluate"},
        run_name=time.strftime("running · %Y-%m-%d %H:%M"),
    )
    return str(new.info.run_id)


def _system_metrics() -> dict[str, float]:
    """Measure the machine where psutil is installed; named as MLflow names it."""
    with suppress(ImportError):
        import psutil  # type: ignore[import-untyped]

        return {
            "system/cpu_utilization_percentage": psutil.cpu_percent(),
            "system/system_memory_usage_percentage": psutil.virtual_memory().percent,
        }
    return {}
