"""Which scores did a version touch: in the working tree, in Git history and in MLflow, each score once."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from driftledger.core.errors import LedgerError
from driftledger.ledger.audit.asked import ScoreFilter
from driftledger.ledger.audit.found import selection_of
from driftledger.ledger.audit.history import Span, State
from driftledger.ledger.audit.logged import LoggedRun, LoggedRuns
from driftledger.ledger.audit.query import AuditQuery
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.summary import ScoreSummary, read_summary
from driftledger.ledger.lineage import folders_behind, is_score
from driftledger.ledger.objects.git import why_unread

KnownFrom = Literal["git", "mlflow", "here"]
"""A commit, a run in MLflow, or the working tree."""


class ScoreUse(BaseModel):
    """One content of one score file. What it says of itself was written by others."""

    model_config = ConfigDict(frozen=True)

    path: str
    md5: str
    facts: ScoreSummary
    runs: list[str]
    """Fingerprints of the runs that show it, as far as they are known."""
    first_commit: str | None = None
    """The first and the last commit in which it stood; None where Git does not know it."""
    first_date: str | None = None
    """ISO 8601, in UTC; where Git does not know the score, when it was shown in MLflow first."""
    last_commit: str | None = None
    last_date: str | None = None
    known_from: list[KnownFrom]
    current: bool
    """Whether ``dvc.lock`` has it now."""


class Answer(NamedTuple):
    """The scores, newest last, and on what the answer stands."""

    rows: list[ScoreUse]
    said: list[str]


def touched(sources: Sources, query: AuditQuery) -> Answer:
    """Every score for which all that is asked holds.

    Raises:
        LedgerError: no score was ever made with such a version, or the image or revision is not known.
    """
    asked = ScoreFilter(sources, query)
    rows: dict[tuple[str, str], ScoreUse] = {}
    for row in (*_from_git(sources, asked), *_from_here(sources, asked), *_from_mlflow(sources, asked)):
        held = rows.get((row.path, row.md5))
        rows[row.path, row.md5] = row if held is None else _merged(held, row)
    found = [row for row in rows.values() if asked.came_since(row.first_commit, row.first_date)]
    if not rows:
        unread = "" if sources.history is None or not sources.history.unread else f"; {sources.history.unread}"
        raise LedgerError(asked.nothing() + unread)
    ordered = sorted(found, key=lambda row: (row.first_date or "9", row.path, row.md5))
    return Answer(ordered, [*asked.said, *_said(sources)])


def _from_git(sources: Sources, asked: ScoreFilter) -> Iterator[ScoreUse]:
    history = sources.history
    if history is None:
        return
    for standing in history.scores:
        stored = history.stored(standing.blob)
        if stored.facts is None:
            continue
        path, state = standing.path, standing.state
        if asked.is_for(stored.facts, lambda path=path, state=state: folders_behind(path, history.outs(state))):  # type: ignore[misc]
            current = sources.outs.get(path) == stored.md5
            runs = _runs_then(sources, state, path)
            yield _row(path, stored.md5, stored.facts, "git", runs, current=current, span=standing.span)


def _from_here(sources: Sources, asked: ScoreFilter) -> Iterator[ScoreUse]:
    """What ``dvc.lock`` has now, committed or not."""
    runs: dict[str, list[str]] = {}
    for run in sources.current:
        for lineage in run.lineages:
            runs.setdefault(lineage.score_file.path, []).append(run.fingerprint)
    for path, md5 in sources.outs.items():
        file = sources.root / path
        facts = read_summary(file.read_bytes()) if is_score(path) and file.is_file() else None
        if facts and asked.is_for(facts, lambda path=path: folders_behind(path, sources.outs)):  # type: ignore[misc]
            yield _row(path, md5, facts, "here", runs.get(path, []), current=True)


def _from_mlflow(sources: Sources, asked: ScoreFilter) -> list[ScoreUse]:
    return sources.ask_mlflow(lambda mlflow: list(_logged(sources, mlflow, asked))) or []


def _logged(sources: Sources, mlflow: LoggedRuns, asked: ScoreFilter) -> Iterator[ScoreUse]:
    for run in mlflow.every():
        if not asked.may_be_in(run):
            continue
        for path, md5, facts, folders in _scores_in(sources, run):
            if asked.is_for(facts, lambda folders=folders: folders):  # type: ignore[misc]
                current = run.current and (not sources.outs or sources.outs.get(path) == md5)
                row = _row(path, md5, facts, "mlflow", [run.fingerprint], current=current)
                yield row.model_copy(update={"first_date": run.started, "last_date": run.started})


def _scores_in(sources: Sources, run: LoggedRun) -> Iterator[tuple[str, str, ScoreSummary, dict[str, str]]]:
    """The scores in a run's evidence, which does not change once the run is finished, and the folders behind each."""
    key = f"{run.run_id} {run.fingerprint}"
    kept: list[list[Any]] | None = sources.remembered.get("logged", key)
    if kept is None:
        kept = list(_told_by(run.evidence()))
        sources.remembered.keep("logged", key, kept)
    for path, md5, facts, folders in kept:
        yield path, md5, ScoreSummary.model_validate(facts), folders


def _told_by(evidence: Mapping[str, Any]) -> Iterator[list[Any]]:
    for lineage in evidence.get("lineages") or ():
        facts, file = read_summary(lineage.get("score") or {}), lineage.get("score_file") or {}
        if facts is None or not {"path", "md5"} <= file.keys():
            continue
        folders = [lineage.get("data") or {}, *(lineage.get("collected") or {}).values()]
        md5s = {str(each["path"]): str(each["md5"]) for each in folders if {"path", "md5"} <= each.keys()}
        yield [str(file["path"]), str(file["md5"]), facts.model_dump(mode="json"), md5s]


def _runs_then(sources: Sources, state: State, path: str) -> list[str]:
    """The runs of a state whose scores this is one of."""
    history, selection = sources.history, selection_of(path)
    if history is None or selection is None:
        return []
    wanted = selection[1]
    shared = not wanted.generator  # the model's score, whichever generator and encoder stand beside it
    return [
        fingerprint
        for fingerprint, names in history.fingerprints(state).items()
        if (names.model == wanted.model if shared else names == wanted)
    ]


def _row(
    path: str,
    md5: str,
    facts: ScoreSummary,
    known: KnownFrom,
    runs: list[str],
    *,
    current: bool,
    span: Span | None = None,
) -> ScoreUse:
    dates: dict[str, str] = {}
    if span is not None:
        first, last = span
        dates = {"first_commit": first.id, "first_date": first.date, "last_commit": last.id, "last_date": last.date}
    return ScoreUse(path=path, md5=md5, facts=facts, runs=runs, known_from=[known], current=current, **dates)


def _merged(one: ScoreUse, two: ScoreUse) -> ScoreUse:
    """The same score, known from two sides; the dates are Git's, where Git has any."""
    dated = min((one, two), key=lambda row: (row.first_commit is None, row.first_date or "9"))
    return dated.model_copy(
        update={
            "runs": sorted({*one.runs, *two.runs}),
            "known_from": list(dict.fromkeys([*one.known_from, *two.known_from])),
            "current": one.current or two.current,
        }
    )


def _said(sources: Sources) -> Iterator[str]:
    history = sources.history
    if history is None:
        yield f"Git was not asked: {why_unread(sources.root)}"
    else:
        cut = "; the clone is shallow, and older commits are not in it" if history.is_shallow else ""
        yield f"from Git: {history.commits} commits were looked at{cut}"
        if history.unread:
            yield history.unread
    if not sources.outs:
        yield "there is no dvc.lock here: which scores are current is what MLflow says"
    yield "from MLflow: every finished run" if sources.why_not is None else f"MLflow was not asked: {sources.why_not}"
