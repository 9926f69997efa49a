"""What a user asks of the ledger: where a score comes from, what a version touched, how runs and revisions differ."""

import json
import os
from pathlib import Path

from rich.console import RenderableType

from driftledger.collect.observations import read_observations
from driftledger.core.errors import LedgerError
from driftledger.core.terminal import lines
from driftledger.ledger.audit import audit as audits
from driftledger.ledger.audit import touched as touching
from driftledger.ledger.audit.answer import as_answer
from driftledger.ledger.audit.offers import as_offers, meant
from driftledger.ledger.audit.query import parse_query
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import find_run, resolve_target
from driftledger.ledger.compare import compare as comparing
from driftledger.ledger.compare.told import as_table as comparison_table
from driftledger.ledger.diff import diff as diffing
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.objects.reach import HERE, Reach
from driftledger.ledger.why import why as explain_call
from driftledger.project.project import Project
from driftledger.tracking.lookup import MlflowRuns


def sources(project: Project, reach: Reach) -> Sources:
    """What may know about a score here: the working tree, Git, DVC's cache, and MLflow, if the environment names one;
    that of ``params.yaml`` could be a stranger's, and is asked with trust alone."""
    is_asked = reach.trust or os.environ.get("MLFLOW_TRACKING_URI")
    mlflow = MlflowRuns(project.settings.tracking) if is_asked else None
    return Sources(project.root, project.selected, project.combinations, mlflow=mlflow, reach=reach)


def audit(project: Project, target: str, reach: Reach, *, full: bool, as_json: bool) -> RenderableType:
    """The evidence behind a run, a score file, an image or one number; in short, ``full`` as a tree.

    A text that names none of these may be a value, or the name of a metric, a component or a dataset: what it could
    mean is offered.
    """
    with sources(project, reach) as known:
        try:
            found = resolve_target(known, target)
        except LedgerError:
            if as_json or not (offers := meant(known, target)):
                raise
            return as_offers(target, offers)
        if as_json:
            return audits.as_json(found, known)
        return audits.as_tree(found, known) if full else as_answer(found)


def touched(
    project: Project,
    reach: Reach,
    *,
    model: str | None = None,
    generator: str | None = None,
    encoder: str | None = None,
    judge: str | None = None,
    dataset: str | None = None,
    image: Path | None = None,
    since: str | None = None,
    as_json: bool,
) -> RenderableType:
    """Every score that a version of a component, a dataset or an image stands behind, here, in Git and in MLflow."""
    query = parse_query(
        model=model, generator=generator, encoder=encoder, judge=judge, dataset=dataset, image=image, since=since
    )
    with sources(project, reach) as known:
        answer = touching.touched(known, query)
        return touching.as_json(answer) if as_json else touching.as_table(answer)


def compare(project: Project, a: str, b: str, reach: Reach, *, anyway: bool, as_json: bool) -> RenderableType:
    """Two runs, metric by metric, with paired intervals over what both were measured on."""
    with sources(project, reach) as known:
        seen = read_observations(project.paths.observations)
        found = comparing.compare(_evidence(known, a), _evidence(known, b), known.contents, anyway=anyway, seen=seen)
    return json.dumps(found.model_dump(mode="json"), indent=2) if as_json else comparison_table(found)


def diff(project: Project, old: str, new: str | None, reach: Reach, *, as_json: bool) -> RenderableType:
    """What changed between two Git revisions, or since one: components, data, scores, and how answers are read."""
    found = diffing.diff(project.root, old, new, reach)
    return str(found.model_dump_json(indent=2)) if as_json else diffing.as_text(found)


def why(project: Project, key_or_sample: str) -> RenderableType:
    """Which part of a call's key differs from the nearest stored call."""
    with project.store() as store:
        return lines(explain_call(store, key_or_sample))


def evidence_of(project: Project, run: str, reach: Reach = HERE) -> Evidence:
    """The evidence of a run, from wherever it can be had.

    Raises:
        LedgerError: there is no such run.
    """
    with sources(project, reach) as known:
        return _evidence(known, run)


def _evidence(known: Sources, run: str) -> Evidence:
    found = find_run(known, run)
    if found is None:
        not_asked = "" if known.why_not is None else f" (MLflow was not asked: {known.why_not})"
        raise LedgerError(f"there is no run {run!r}: neither in dvc.lock, nor in Git history, nor in MLflow{not_asked}")
    return found.evidence
