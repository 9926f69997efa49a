"""Which scores did a version touch: in the working tree, in Git history and in MLflow, each score once."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict
from rich.console import Group, RenderableType

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import LedgerError
from driftledger.core.terminal import HEAD, figure, line, lines, table
from driftledger.ledger.audit.answer import DIGITS, SHORT
from driftledger.ledger.audit.history import State
from driftledger.ledger.audit.query import AuditQuery, ScoreFilter
from driftledger.ledger.audit.sources import LoggedRun, LoggedRuns, Sources
from driftledger.ledger.audit.summary import ScoreSummary, Version, read_summary
from driftledger.ledger.audit.targets import selection_of
from driftledger.ledger.audit.tree import inert_json
from driftledger.ledger.lineage import folders_behind, place_of
from driftledger.ledger.objects.git import why_unread


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
    known_from: list[Literal["git", "mlflow", "here"]]
    """A commit, a run in MLflow, or the working tree."""
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
    logged = sources.ask_mlflow(lambda mlflow: list(_from_mlflow(sources, asked, mlflow))) or []
    rows: dict[tuple[str, str], ScoreUse] = {}
    for row in (*_from_git(sources, asked), *_from_here(sources, asked), *logged):
        held = rows.get((row.path, row.md5))
        rows[row.path, row.md5] = row if held is None else _merged(held, row)
    if not rows:
        raise LedgerError(asked.nothing() + (f"; {sources.unread}" if sources.unread else ""))
    found = [row for row in rows.values() if asked.came_since(row.first_commit, row.first_date)]
    ordered = sorted(found, key=lambda row: (row.first_date or "9", row.path, row.md5))
    return Answer(ordered, [*asked.said, *_said(sources)])


def _from_git(sources: Sources, asked: ScoreFilter) -> Iterator[ScoreUse]:
    history = sources.history
    if history is None:
        return
    for path, blob, (first, last), state in history.scores:
        md5, facts = history.stored(blob)
        if facts is not None and asked.is_for(facts, folders_behind(path, history.outs(state))):
            yield ScoreUse(
                path=path,
                md5=md5,
                facts=facts,
                runs=_runs_then(sources, state, path),
                first_commit=first.id,
                first_date=first.date,
                last_commit=last.id,
                last_date=last.date,
                known_from=["git"],
                current=sources.outs.get(path) == md5,
            )


def _runs_then(sources: Sources, state: State, path: str) -> list[str]:
    """The runs of a state whose scores this is one of."""
    history, selection = sources.history, selection_of(path)
    if history is None or selection is None:
        return []
    wanted = selection[1]
    shared = not wanted.generator  # the model's score, whatever the generator and the encoder
    return [
        fingerprint
        for fingerprint, names in history.fingerprints(state).items()
        if (names.model == wanted.model if shared else names == wanted)
    ]


def _from_here(sources: Sources, asked: ScoreFilter) -> Iterator[ScoreUse]:
    runs: dict[str, list[str]] = {}
    for run in sources.current:
        for lineage in run.lineages:
            runs.setdefault(lineage.score_file.path, []).append(run.fingerprint)
    for path, md5, facts, folders in sources.scores:
        if asked.is_for(facts, folders):
            shown_by = runs.get(path, [])
            yield ScoreUse(path=path, md5=md5, facts=facts, runs=shown_by, known_from=["here"], current=True)


def _from_mlflow(sources: Sources, asked: ScoreFilter, mlflow: LoggedRuns) -> Iterator[ScoreUse]:
    for run in filter(asked.may_be_in, mlflow.every()):
        key = f"{run.run_id} {run.fingerprint}"  # the evidence of a finished run does not change
        for path, md5, said, folders in sources.remembered.recall("logged", key, partial(_told_by, run)):
            facts = ScoreSummary.model_validate(said)
            if asked.is_for(facts, folders):
                yield ScoreUse(
                    path=path,
                    md5=md5,
                    facts=facts,
                    runs=[run.fingerprint],
                    first_date=run.started,
                    last_date=run.started,
                    known_from=["mlflow"],
                    current=run.current and (not sources.outs or sources.outs.get(path) == md5),
                )


def _told_by(run: LoggedRun) -> list[list[Any]]:
    """Path, MD5 and facts of the scores in a run's evidence, and the folders behind each; ready for JSON."""
    found: list[list[Any]] = []
    for lineage in run.evidence().get("lineages") or ():
        facts, file = read_summary(lineage.get("score") or {}), lineage.get("score_file") or {}
        if facts is not None and {"path", "md5"} <= file.keys():
            folders = [lineage.get("data") or {}, *(lineage.get("collected") or {}).values()]
            md5s = {str(each["path"]): str(each["md5"]) for each in folders if {"path", "md5"} <= each.keys()}
            found.append([str(file["path"]), str(file["md5"]), facts.model_dump(mode="json"), md5s])
    return found


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
        yield f"from Git: {len(history.commits)} commits were looked at{cut}"
        if history.unread:
            yield history.unread
    if not sources.outs:
        yield "there is no dvc.lock here: which scores are current is what MLflow says"
    yield "from MLflow: every finished run" if sources.why_not is None else f"MLflow was not asked: {sources.why_not}"


def as_table(answer: Answer) -> Group:
    """The scores that came and went together, the oldest first, below what made them; on what the answer stands."""
    together: dict[tuple[str, str], list[ScoreUse]] = {}
    for row in answer.rows:
        when = f"from {_when(row.first_commit, row.first_date)}"
        until = "stands now" if row.current else f"until {_when(row.last_commit, row.last_date)}"
        versions = sorted(row.facts.versions, key=lambda each: each.role != "generator")
        made_with = ", ".join(dict.fromkeys(_named(each) for each in versions if each.part != "model"))
        together.setdefault((f"{when}, {until} ({', '.join(row.known_from)})", made_with), []).append(row)
    blocks: list[RenderableType] = []
    for (when, made_with), rows in together.items():
        scores = table("score", "model", "metric", "value", "run", numbers=["value"])
        for row in rows:
            scores.add_row(*map(line, _cells(row)))
        blocks += [line(when, HEAD), line(f"made with {made_with}"), scores, ""]
    several = "" if len(answer.rows) == 1 else "s"
    return Group(*blocks, lines([f"{len(answer.rows)} score{several}", *answer.said]))


def as_json(answer: Answer) -> str:
    """Everything that is known of each score."""
    scores = [row.model_dump(mode="json", exclude={"facts"}) | row.facts.model_dump(mode="json") for row in answer.rows]
    return inert_json({"scores": scores, "said": answer.said})


def _cells(row: ScoreUse) -> tuple[str, ...]:
    facts = row.facts
    spec = benchmark(facts.benchmark)
    metric, more = spec.metric(facts.headline), f" and {len(row.runs) - 1} more" if len(row.runs) > 1 else ""
    return (
        place_of(spec, facts.keys),
        ", ".join(_named(each) for each in facts.versions if each.part == "model"),
        metric.named(facts.headline) if metric and metric.match(facts.headline) else facts.headline,
        "–" if facts.value is None else figure(facts.value, metric.digits if metric else DIGITS),
        row.runs[0][:SHORT] + more if row.runs else "–",
    )


def _named(version: Version) -> str:
    return f"{version.name}@{version.fingerprint[:SHORT]}"


def _when(commit: str | None, date: str | None) -> str:
    said = [commit[:SHORT] if commit else "", date[:10] if date else ""]
    return " ".join(each for each in said if each) or "–"
