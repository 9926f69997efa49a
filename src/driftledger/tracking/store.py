"""Push runs into MLflow so that pushing again, or after a kill at any moment, leaves the same content.

MLflow is a view: everything here is looked up by fingerprint first, written only where it is missing, and can
be thrown away and pushed again. Nothing of MLflow is imported before :func:`push` is called.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit
from urllib.request import url2pathname

from filelock import FileLock, Timeout

from driftledger.core.canonical import sha256_of
from driftledger.core.errors import LedgerError
from driftledger.tracking import connection, database
from driftledger.tracking.addresses import without_credentials
from driftledger.tracking.content import CURRENT, FINGERPRINT, REOPENED, RunContent

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

    from driftledger.tracking.evaluation_datasets import EvaluationDatasets
    from driftledger.tracking.runs import Runs
    from driftledger.tracking.turn import Turn
    from driftledger.tracking.versions import Versions

_LOCK_SECONDS = 300
_FINISHED = "FINISHED"
EXPERIMENT_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""Lets the UI open the experiment as runs with metrics; it would take it for traces otherwise."""


class Pushed(NamedTuple):
    """How many runs a push made, completed, and found as they should be."""

    created: int
    resumed: int
    unchanged: int
    merged: int = 0
    """Doubles that were let go of."""


def push(
    runs: Sequence[RunContent],
    *,
    tracking_uri: str,
    experiment: str,
    lock: Path,
    about: Callable[[Mapping[str, str]], Mapping[str, str]] = lambda held: {},
    repair: bool = False,
    artifacts: str | None = None,
) -> Pushed:
    """Let the experiment's current runs be exactly ``runs``; all others stay, marked as no longer current.

    Args:
        runs: What to show; a run that is FINISHED under its fingerprint is left alone.
        tracking_uri: An ``http(s)`` server or a database such as ``sqlite:///mlflow.db``.
        experiment: Created where it does not exist.
        lock: A lock file: of several processes at once, one pushes and the others find its work done. Processes with
            other lock files, those of other clones, take turns by tags of the experiment.
        about: The experiment's tags → what to set anew of them, asked before a push writes anything, or repairs.
        repair: Whether a FINISHED run is written again where it holds something else, or anew where MLflow never writes
            over that, and what is there twice is merged. A repair that was cut short is finished by the next push.
        artifacts: Where the files of a new experiment go whose database is addressed directly.

    Raises:
        LedgerError: the store cannot be used, or the experiment is in the trash.
        ValueError: two of ``runs`` have the same fingerprint.
    """
    fingerprints = [content.fingerprint for content in runs]
    if len(set(fingerprints)) < len(fingerprints):
        raise ValueError("two of the runs have the same fingerprint")
    with _locked(lock):
        client = connection.connect(tracking_uri, create=True, artifacts=artifacts)
        from driftledger.tracking.turn import ReadAgain, Turn

        with connection.spoken_errors(tracking_uri):
            experiment_id = _open_experiment(client, tracking_uri, experiment, artifacts)
            note = lock.with_name(f"{lock.stem}-{sha256_of([tracking_uri, experiment_id])[:12]}.writer")
            with Turn(client, experiment_id, experiment, note) as turn:
                while True:
                    with suppress(ReadAgain):
                        return _push(turn, tracking_uri, experiment_id, runs, about, repair)


def _push(
    turn: "Turn",
    tracking_uri: str,
    experiment_id: str,
    contents: Sequence[RunContent],
    about: Callable[[Mapping[str, str]], Mapping[str, str]],
    repair: bool,
) -> Pushed:
    """One push, from the first look on. Whoever writes without a turn, as earlier versions do, leaves doubles."""
    from driftledger.tracking.evaluation_datasets import EvaluationDatasets
    from driftledger.tracking.runs import Runs
    from driftledger.tracking.traces import Traces
    from driftledger.tracking.versions import Versions

    client = turn.guarded()
    runs = Runs(client, Traces(tracking_uri, experiment_id, turn.begin), experiment_id, turn.begin)
    versions = Versions(client, tracking_uri, experiment_id)
    if turn.is_mine:  # first, since a push that is killed later on is done again
        _describe(client, experiment_id, about)
    merged, current = 0, runs.tagged(CURRENT, "true")
    if repair or _has_doubles(current):
        turn.begin()
        merged = _merge(client, tracking_uri, experiment_id, runs)
        if repair:
            _let_go_of_what_differs(client, tracking_uri, experiment_id, runs, contents)
        current = runs.tagged(CURRENT, "true")
    push = _Push(turn, runs, versions, EvaluationDatasets(client, experiment_id), current)
    pushed = push.all(contents, tidy=repair)
    if versions.doubled or any(_has_doubles(runs.tagged(FINGERPRINT, each.fingerprint)) for each in push.written):
        merged += _merge(client, tracking_uri, experiment_id, runs)
    return pushed._replace(merged=merged)


def _describe(
    client: "MlflowClient", experiment_id: str, about: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> None:
    held = client.get_experiment(experiment_id).tags
    for key, value in about(held).items():
        if held.get(key) != value:
            client.set_experiment_tag(experiment_id, key, value)


def _has_doubles(runs: "Sequence[Run]") -> bool:
    finished = [run.data.tags.get(FINGERPRINT) for run in runs if _is_finished(run)]
    return len(set(finished)) < len(finished)


def _merge(client: "MlflowClient", tracking_uri: str, experiment_id: str, runs: "Runs") -> int:
    """Let the first of what is there twice stay; return how many doubles went."""
    from driftledger.tracking.held import Held

    held = Held(client, tracking_uri, experiment_id)
    merged = held.doubles.merge()
    doubles = [run for known in held.runs.values() for run in known[1:]]
    for run in doubles:
        runs.delete(run)
    return merged + len(doubles)


def _let_go_of_what_differs(
    client: "MlflowClient", tracking_uri: str, experiment_id: str, runs: "Runs", contents: Sequence[RunContent]
) -> None:
    """A push then makes it anew."""
    from driftledger.tracking.held import Held

    held = Held(client, tracking_uri, experiment_id)
    for content in contents:
        for run in held.runs.get(content.fingerprint, ()):
            found = [each for each in held.differences(run, content) if each.recorded]
            if all(each.mendable for each in found):
                runs.reopen(run) if found else None
            else:
                runs.delete(run)


class _Push:
    """One push: settle every run, point the aliases, and let go of what else was current or cut short."""

    def __init__(
        self,
        turn: "Turn",
        runs: "Runs",
        versions: "Versions",
        datasets: "EvaluationDatasets",
        current: "Sequence[Run]",
    ) -> None:
        self._turn = turn
        self._runs = runs
        self._versions = versions
        self._datasets = datasets
        self._seen = {run.info.run_id: run for run in current}
        self._current: dict[str | None, list[Run]] = defaultdict(list)
        for run in current:
            self._current[run.data.tags.get(FINGERPRINT)].append(run)
        self._kept: set[str] = set()
        self.written: list[RunContent] = []
        """What had no finished run."""
        self._come: set[str] = set()
        """Names of runs that were not current before: another run of the name is superseded now."""

    def all(self, contents: Sequence[RunContent], *, tidy: bool) -> Pushed:
        outcomes = [self._settle(content) for content in contents]
        components = [component for content in contents for component in content.components]
        for component in {component.registered_name: component for component in components}.values():
            self._versions.use(component)
        gone = self._runs.tagged(CURRENT, "false") if tidy else chain(*map(self._runs.not_current, sorted(self._come)))
        self._seen = {run.info.run_id: run for run in gone} | self._seen
        self._let_go({content.name for content in contents})
        return Pushed(outcomes.count("created"), outcomes.count("resumed"), outcomes.count("unchanged"))

    def _settle(self, content: RunContent) -> Literal["created", "resumed", "unchanged"]:
        known = self._known(content.fingerprint)
        finished = next((run for run in known if _is_finished(run)), None)
        if finished:
            self._kept.add(finished.info.run_id)
            if self._runs.show(finished, content):
                self._come.add(content.name)
            return "unchanged"
        self._turn.begin()
        self._come.add(content.name)
        for dataset in content.datasets:
            self._datasets.publish(dataset)
        model_ids = {component.key: self._versions.publish(component) for component in content.components}
        leftover = next((run for run in known if self._runs.fits(run, content, model_ids)), None)
        run = leftover or self._runs.create(content)
        self._kept.add(run.info.run_id)
        self._runs.fill(run, content, model_ids, again=leftover is not None)
        self.written.append(content)
        return "resumed" if leftover else "created"

    def _known(self, fingerprint: str) -> "list[Run]":
        """The runs with this fingerprint; not searched for where a current one is FINISHED, as most are."""
        known = self._current[fingerprint]
        if not any(map(_is_finished, known)):
            known = self._runs.tagged(FINGERPRINT, fingerprint)
            self._seen |= {run.info.run_id: run for run in known}
        return known

    def _let_go(self, names: Collection[str]) -> None:
        """Runs that are not pushed now, and were finished once, say so; what was cut short before and not resumed, or
        has been made anew, is deleted."""
        anew = {content.fingerprint for content in self.written}
        for run_id, run in self._seen.items():
            if run_id not in self._kept:
                was_whole = run.info.status == REOPENED and run.data.tags.get(FINGERPRINT) not in anew
                if _is_finished(run) or was_whole:
                    self._runs.retire(run, names)
                else:
                    self._turn.begin()
                    self._runs.delete(run)


def _is_finished(run: "Run") -> bool:
    return bool(run.info.status == _FINISHED)


def _open_experiment(client: "MlflowClient", tracking_uri: str, name: str, artifacts: str | None) -> str:
    """The experiment's id; it is made where there is none, and its name makes sure that it is made once."""
    from mlflow.exceptions import MlflowException

    local = connection.sqlite_file(tracking_uri) if tracking_uri.startswith("sqlite") else None
    held = client.get_experiment_by_name(name)
    if held is None:
        location = connection.artifact_root(tracking_uri, artifacts)
        try:
            return str(client.create_experiment(name, artifact_location=location, tags=EXPERIMENT_TAGS))
        except MlflowException as error:
            held = client.get_experiment_by_name(name) if error.error_code == "RESOURCE_ALREADY_EXISTS" else None
            if held is None:
                raise
    if held.lifecycle_stage != "active":
        address = without_credentials(tracking_uri)
        raise LedgerError(
            f"the experiment {name!r} was deleted in MLflow; bring it back with 'MLFLOW_TRACKING_URI={address} "
            f"mlflow experiments restore --experiment-id {held.experiment_id}', "
            "or name another one as tracking.experiment in params.yaml"
        )
    if local:
        _check_place(local, str(held.artifact_location))
    elif database.is_database(tracking_uri):
        database.check_place(name, str(held.artifact_location), artifacts)
    return str(held.experiment_id)


def _check_place(file: Path, location: str) -> None:
    """Refuse a store that was made elsewhere and moved: its new artifacts would go where it came from."""
    here, there = connection.artifact_folder(file), Path(url2pathname(urlsplit(location).path))
    if urlsplit(location).scheme in ("", "file") and there.name == here.name and there != here:
        raise LedgerError(
            f"the MLflow store {file} was made in {there.parent} and still keeps its artifacts there; "
            "move it out of the way and run 'driftledger track' to make a new one here"
        )


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    lock.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(lock, timeout=_LOCK_SECONDS):
            yield
    except Timeout:
        raise LedgerError(f"another process has held {lock} for {_LOCK_SECONDS} s; end it or wait for it") from None
