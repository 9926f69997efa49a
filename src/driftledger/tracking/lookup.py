"""From what MLflow calls a run back to the evidence that travels with it."""

import json
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftledger.core.errors import LedgerError
from driftledger.core.paths import Combination
from driftledger.ledger.audit.sources import FINGERPRINT_START, LoggedRun
from driftledger.project.settings import Tracking
from driftledger.tracking import connection
from driftledger.tracking.addresses import tracking_uri, without_credentials
from driftledger.tracking.content import CURRENT, EVIDENCE, FINGERPRINT, SUPERSEDED

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_FINISHED = "attributes.status = 'FINISHED'"
"""Of any other run, a part may be missing."""

_LAST = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp()


class MlflowRuns:
    """The finished runs of the project's experiment; MLflow is imported and asked when the first is wanted.

    Every method raises LedgerError where MLflow cannot be asked.
    """

    def __init__(self, tracking: Tracking) -> None:
        self._experiment = tracking.experiment
        self._uri = tracking_uri(tracking)

    def find(self, run: str) -> LoggedRun | None:
        """By id, name, ``model/generator/encoder`` or eight digits or more of a fingerprint; of several of a name, the
        current or newest one.

        Raises:
            LedgerError: a fingerprint's start is that of several runs.
        """
        names = run.split("/")
        name = str(Combination(*names)) if len(names) == len(Combination._fields) else run
        exact = [each for each in self._runs if name in (each.info.run_id, _name(each))]
        if not exact and FINGERPRINT_START.fullmatch(run):
            exact = [each for each in self._runs if each.data.tags.get(FINGERPRINT, "").startswith(run)]
            if len({each.data.tags[FINGERPRINT] for each in exact}) > 1:
                raise LedgerError(f"{len(exact)} runs in MLflow have a fingerprint that begins with {run}; give more")
        found = max(exact, key=lambda each: (_is_current(each), _written(each)), default=None)
        return None if found is None else self._logged(found)

    def every(self) -> Iterator[LoggedRun]:
        """All of them, newest first."""
        return map(self._logged, self._runs)

    @cached_property
    def _client(self) -> "MlflowClient":
        return connection.connect(self._uri, create=False)

    @cached_property
    def _runs(self) -> "list[Run]":
        client = self._client
        with connection.spoken_errors(self._uri):
            experiment = client.get_experiment_by_name(self._experiment)
            if experiment is None:
                return []
            return connection.all_pages(client.search_runs, [experiment.experiment_id], _FINISHED)

    def _logged(self, run: "Run") -> LoggedRun:
        return LoggedRun(
            run_id=run.info.run_id,
            name=_name(run),
            fingerprint=run.data.tags.get(FINGERPRINT, ""),
            current=_is_current(run),
            started=_iso(_written(run)),
            generator=run.data.params.get("generator"),
            address=without_credentials(self._uri),
            evidence=partial(self._evidence, run.info.run_id),
            files=partial(self._files, run.info.run_id),
        )

    def _evidence(self, run_id: str) -> dict[str, Any]:
        """``evidence.json`` as it is; empty where the run carries none, or one that is not JSON."""
        if EVIDENCE not in self._files(run_id):
            return {}
        with connection.spoken_errors(self._uri), tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
            path = Path(self._client.download_artifacts(run_id, EVIDENCE, folder))
            try:
                found = json.loads(path.read_bytes(), parse_constant=_refuse)
            except (ValueError, RecursionError):
                return {}
        return found if isinstance(found, dict) else {}

    def _files(self, run_id: str) -> list[str]:
        with connection.spoken_errors(self._uri):
            return [file.path for file in self._client.list_artifacts(run_id)]


def _name(run: "Run") -> str:
    """What it was called when it was current."""
    return (run.info.run_name or "").removesuffix(SUPERSEDED)


def _is_current(run: "Run") -> bool:
    return bool(run.data.tags.get(CURRENT) == "true")


def _written(run: "Run") -> int:
    """When, in milliseconds since 1970."""
    return int(run.info.end_time or run.info.start_time)


def _iso(milliseconds: int) -> str:
    """MLflow takes any number; one beyond the calendar is told as its first or last moment."""
    seconds = min(max(0, milliseconds / 1000), _LAST)
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _refuse(number: str) -> None:
    raise ValueError(f"{number} is no JSON")
