"""An MLflow store for each test: a real SQLite file, copied from one on which MLflow's migrations
ran once."""

import re
import shutil
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from mlflow.entities import ViewType

from driftledger.ledger.lineage import Run
from driftledger.project.settings import Tracking
from driftledger.tracking.store import opened
from driftledger.tracking.track import track
from tests.tracking.dump import dump
from tests.tracking.project import (
    EXPERIMENT,
    card,
    evidence,
    gen_score,
    settings,
    write_project,
)


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("MLFLOW_TRACKING_URI", raising=False)
        with opened(settings(folder), create=True):
            pass
    return folder / "mlflow.db"


@pytest.fixture
def store(tmp_path, empty_store, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "store").mkdir()
    shutil.copy(empty_store, tmp_path / "store")
    return settings(tmp_path / "store")


@dataclass
class Evaluated:
    """An evaluated project, with runs that no store shows yet."""

    root: Path
    tracking: Tracking
    runs: Sequence[Run]

    def track(self, *runs):
        """Push some runs, by default all."""
        return track(self.root, runs or self.runs, self.tracking)

    def counts(self, *runs):
        """Push some runs, by default all, and return how many were created and unchanged."""
        line = self.track(*runs)
        assert line.startswith(f"MLflow experiment {EXPERIMENT!r}: ")
        return [int(number) for number in re.findall(r"\d+", line)]

    def change(self, gc=0.6, version=2, t=2):
        """Evaluate the first model with a version of the generator; its run."""
        score = gen_score("seer", gc, card("brush", version), t=t)
        [run] = write_project(self.root, evidence(score))
        return run

    def dump(self):
        return dump(self.tracking)

    def shown(self):
        """List the runs that a reader sees, and whether each is current: ``seer: true``."""
        shown = []
        for run in self.dump()["runs"]:
            name = run["name"].removesuffix(" · brush · eye")
            shown.append(f"{name}: {run['tags'].get('driftledger.current')}")
        return shown

    def search(self, view=ViewType.ACTIVE_ONLY):
        """Return the runs in MLflow."""
        with self.client() as (client, experiment):
            return client.search_runs([experiment], "", view)

    def stage(self, run_id):
        """Return ``deleted`` or ``active`` for a run in MLflow."""
        runs = self.search(ViewType.ALL)
        return {run.info.run_id: run.info.lifecycle_stage for run in runs}[run_id]

    @contextmanager
    def client(self):
        """Open the store; the id of its experiment."""
        with opened(self.tracking, create=True) as client:
            experiment = client.get_experiment_by_name(EXPERIMENT)
            yield client, experiment.experiment_id if experiment else ""


@pytest.fixture
def project(tmp_path, store):
    """Two runs by one generator; the first is the better one."""
    runs = write_project(
        tmp_path, evidence(gen_score("seer", 0.7)), evidence(gen_score("blind", 0.2))
    )
    return Evaluated(tmp_path, store, runs)
