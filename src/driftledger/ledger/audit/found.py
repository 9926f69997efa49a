"""Runs and score files with the evidence behind them, from wherever it can be had: here, Git history or MLflow."""

import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, TypeVar

from pydantic import ValidationError

from driftledger.benchmarks.registry import find_score as score_at
from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.paths import Combination
from driftledger.ledger.audit.logged import LoggedRun, LoggedRuns
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.summary import ScoreSummary
from driftledger.ledger.lineage import Evidence, Lineage, read_evidence

T = TypeVar("T")

FINGERPRINT_START = re.compile(r"[0-9a-f]{8,64}")

Known = Literal["dvc.lock", "git", "mlflow"]
"""Where evidence is from: the working tree, an earlier commit, or a run in MLflow."""


class RunTarget(NamedTuple):
    """A whole run."""

    evidence: Evidence
    known: Known
    logged: LoggedRun | None = None
    """The same run in MLflow, where that could be asked."""


class ScoreTarget(NamedTuple):
    """One score file, and the first run that shows it."""

    lineage: Lineage
    run: RunTarget
    in_run: bool = True
    """Whether ``run`` is one; otherwise its evidence is that of this score alone, and its fingerprint no run's."""


def find_run(sources: Sources, text: str) -> RunTarget | None:
    """The run of that name, MLflow id or fingerprint; of several of a name, the current or newest one.

    Raises:
        LedgerError: a fingerprint's start is that of several runs; or the run is known, and its evidence is nowhere
            complete.
    """
    missing: DriftledgerError | None = None
    try:
        if here := _here(sources, text):
            return RunTarget(here, "dvc.lock", sources.ask_mlflow(lambda mlflow: mlflow.find(here.fingerprint)))
    except DriftledgerError as error:
        missing = error
    logged = sources.ask_mlflow(lambda mlflow: mlflow.find(text))
    try:
        if logged is not None:
            return RunTarget(evidence_in(logged), "mlflow", logged)
    except LedgerError as error:  # which Git history may still have in a form that is known here
        missing = error
    if earlier := _earlier_run(sources, text):
        return RunTarget(earlier, "git", logged)
    if missing is not None:
        raise missing
    return None


def find_score(sources: Sources, facts: ScoreSummary, md5: str) -> ScoreTarget | None:
    """The score file with these bytes, which says ``facts`` of itself."""
    for combination in sources.combinations:
        if _shows(combination, facts) and (run := sources.complete(combination)) and (it := _having(run, md5)):
            logged = sources.ask_mlflow(lambda mlflow, run=run: mlflow.find(run.fingerprint))  # type: ignore[misc]
            return ScoreTarget(it, RunTarget(run, "dvc.lock", logged))
    if found := _alone(sources, facts.path, md5) or _alone_earlier(sources, facts.path, md5):
        return found
    return sources.ask_mlflow(lambda mlflow: next(_logged(mlflow, facts.path, md5), None))


def evidence_in(logged: LoggedRun) -> Evidence:
    """The evidence that a run in MLflow carries.

    Raises:
        LedgerError: it carries none that this version of the program can read.
    """
    try:
        return Evidence.model_validate(logged.evidence())
    except ValidationError:
        raise LedgerError(f"run {logged.run_id!r} carries no evidence that this version can read") from None


def is_called(text: str, combination: Combination) -> bool:
    """Whether a run of this combination may be named so."""
    return text in (str(combination), "/".join(combination))


def _here(sources: Sources, text: str) -> Evidence | None:
    named = next((each for each in sources.combinations if is_called(text, each)), None)
    if named is not None:
        return read_evidence(sources.root, sources.selected, named)
    if not FINGERPRINT_START.fullmatch(text):
        return None
    return _only(text, {run.fingerprint: run for run in sources.current if run.fingerprint.startswith(text)})


def _only(text: str, runs: Mapping[str, T]) -> T | None:
    """The only one of the runs; None where there is none."""
    if len(runs) > 1:
        raise LedgerError(f"{len(runs)} runs have a fingerprint that begins with {text}; give more of it")
    return next(iter(runs.values()), None)


def _earlier_run(sources: Sources, text: str) -> Evidence | None:
    history = sources.history
    is_name = len(re.split(r"/| · ", text)) == len(Combination._fields)
    if history is None or not (is_name or FINGERPRINT_START.fullmatch(text)):
        return None
    for state in reversed(history.states):
        runs = history.fingerprints(state)
        if is_name:
            found = next((each for each in runs.values() if is_called(text, each)), None)
        else:
            found = _only(text, {key: each for key, each in runs.items() if key.startswith(text)})
        if found is not None:
            return history.evidence(state, history.selection(state)[0], found)
    return None


def _shows(combination: Combination, facts: ScoreSummary) -> bool:
    """Whether a run of this combination may show such a score."""
    return all(facts.keys.get(role, name) == name for role, name in combination._asdict().items())


def _having(run: Evidence, md5: str) -> Lineage | None:
    return next((each for each in run.lineages if each.score_file.md5 == md5), None)


def selection_of(path: str) -> tuple[Selected, Combination] | None:
    """The selection whose only score stands at ``path``, relative to the top folder; None if no score stands there."""
    found = score_at(path)
    if found is None:
        return None
    spec, keys = found
    names = [keys.get(role, "") for role in Combination._fields]
    return Selected([(spec, keys)]), Combination(*names)


def _alone(sources: Sources, path: str, md5: str) -> ScoreTarget | None:
    """A score that ``dvc.lock`` has, and that belongs to no run which is selected and complete."""
    selection = selection_of(path)
    if selection is None or sources.outs.get(path) != md5:
        return None
    evidence = read_evidence(sources.root, *selection)
    return ScoreTarget(evidence.lineages[0], RunTarget(evidence, "dvc.lock"), in_run=False)


def _alone_earlier(sources: Sources, path: str, md5: str) -> ScoreTarget | None:
    history, selection = sources.history, selection_of(path)
    if history is None or selection is None:
        return None
    for standing in history.scores:
        if standing.path == path and history.stored(standing.blob).md5 == md5:
            evidence = history.evidence(standing.state, *selection)
            if evidence is not None:
                return ScoreTarget(evidence.lineages[0], RunTarget(evidence, "git"), in_run=False)
    return None


def _logged(mlflow: LoggedRuns, path: str, md5: str) -> Iterator[ScoreTarget]:
    for logged in mlflow.every():
        files = [each.get("score_file") or {} for each in logged.evidence().get("lineages") or ()]
        if any(file.get("md5") == md5 and file.get("path") == path for file in files):
            evidence = evidence_in(logged)
            lineage = _having(evidence, md5)
            if lineage is not None:
                yield ScoreTarget(lineage, RunTarget(evidence, "mlflow", logged))
