"""What a user asks of the ledger: where a score comes from, what a version touched, how runs and revisions differ."""

from pathlib import Path

from driftledger.core.errors import LedgerError
from driftledger.ledger.audit import audit as audits
from driftledger.ledger.audit import touched as touching
from driftledger.ledger.audit.query import parse_query
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import find_run, resolve_target
from driftledger.ledger.compare import compare as comparing
from driftledger.ledger.diff import diff as diffing
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.why import why as explain_call
from driftledger.project.project import Project
from driftledger.tracking.lookup import MlflowRuns


def sources(project: Project) -> Sources:
    """What may know about a score here: the working tree, Git, DVC's cache, and MLflow."""
    mlflow = MlflowRuns(project.settings.tracking)
    return Sources(project.root, project.selected, project.combinations, mlflow=mlflow)


def audit(project: Project, target: str, *, as_json: bool) -> str:
    """The evidence behind a run, a score file, an image or one number."""
    with sources(project) as known:
        found = resolve_target(known, target)
        return audits.as_json(found, known) if as_json else audits.as_tree(found, known)


def touched(
    project: Project,
    *,
    model: str | None = None,
    generator: str | None = None,
    encoder: str | None = None,
    judge: str | None = None,
    dataset: str | None = None,
    image: Path | None = None,
    since: str | None = None,
    as_json: bool,
) -> str:
    """Every score that a version of a component, a dataset or an image stands behind, here, in Git and in MLflow."""
    query = parse_query(
        model=model, generator=generator, encoder=encoder, judge=judge, dataset=dataset, image=image, since=since
    )
    with sources(project) as known:
        answer = touching.touched(known, query)
        return touching.as_json(answer) if as_json else touching.as_table(answer)


def compare(project: Project, a: str, b: str, *, anyway: bool) -> comparing.Comparison:
    """Two runs, metric by metric, with paired intervals over what both were measured on."""
    with sources(project) as known:
        one, two = _evidence(known, a), _evidence(known, b)
        return comparing.compare(one, two, known.contents, anyway=anyway)


def compare_table(comparison: comparing.Comparison) -> str:
    return comparing.as_table(comparison)


def diff(project: Project, old: str, new: str | None, *, as_json: bool) -> str:
    """What changed between two Git revisions, or since one: components, data, scores, and how answers are read."""
    found = diffing.diff(project.root, old, new)
    return str(found.model_dump_json(indent=2)) if as_json else diffing.as_text(found)


def why(project: Project, key_or_sample: str) -> str:
    """Which part of a call's key differs from the nearest stored call."""
    with project.store() as store:
        return explain_call(store, key_or_sample)


def evidence_of(project: Project, run: str) -> Evidence:
    """The evidence of a run, from wherever it can be had.

    Raises:
        LedgerError: there is no such run.
    """
    with sources(project) as known:
        return _evidence(known, run)


def _evidence(known: Sources, run: str) -> Evidence:
    found = find_run(known, run)
    if found is None:
        raise LedgerError(f"there is no run {run!r}: neither in dvc.lock, nor in Git history, nor in MLflow")
    return found.evidence
