"""What a user asks of the ledger: what a version touched, how revisions differ, and who may know.

Where a score comes from and how two runs differ is asked of :class:`~driftledger.notebook.opened.OpenedProject`, in a
terminal as in a notebook.
"""

import os
from pathlib import Path

from rich.console import RenderableType

from driftledger.core.errors import LedgerError
from driftledger.core.terminal import lines
from driftledger.ledger.audit import touched as touching
from driftledger.ledger.audit.query import parse_query
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import find_run
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
        return evidence_in(known, run)


def evidence_in(known: Sources, run: str) -> Evidence:
    """The evidence of a run, from what may know it; errors as in :func:`evidence_of`."""
    found = find_run(known, run)
    if found is None:
        not_asked = "" if known.why_not is None else f" (MLflow was not asked: {known.why_not})"
        raise LedgerError(f"there is no run {run!r}: neither in dvc.lock, nor in Git history, nor in MLflow{not_asked}")
    return found.evidence
