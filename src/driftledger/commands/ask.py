"""What a user asks of the ledger: what a version touched, how revisions differ, and who may know.

Where a score comes from and how two runs differ is asked of :class:`~driftledger.notebook.opened.OpenedProject`, in a
terminal as in a notebook. What only one question needs is imported when it is asked.
"""

import os
from contextlib import suppress
from pathlib import Path

from rich.console import RenderableType

from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.terminal import lines
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import find_run, is_called
from driftledger.ledger.lineage import Evidence, read_all_evidence
from driftledger.ledger.objects.reach import HERE, Reach
from driftledger.project.project import Project


def sources(project: Project, reach: Reach) -> Sources:
    """What may know about a score here: the working tree, Git, DVC's cache, and MLflow, if the environment names one;
    that of ``params.yaml`` could be a stranger's, and is asked with trust alone."""
    mlflow = None
    if reach.trust or os.environ.get("MLFLOW_TRACKING_URI"):
        from driftledger.tracking.lookup import MlflowRuns

        mlflow = MlflowRuns(project.settings.tracking)
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
    from driftledger.ledger.audit import touched as touching
    from driftledger.ledger.audit.query import parse_query

    query = parse_query(
        model=model, generator=generator, encoder=encoder, judge=judge, dataset=dataset, image=image, since=since
    )
    with sources(project, reach) as known:
        answer = touching.touched(known, query)
        return touching.as_json(answer) if as_json else touching.as_table(answer)


def diff(project: Project, old: str, new: str | None, reach: Reach, *, as_json: bool) -> RenderableType:
    """What changed between two Git revisions, or since one: components, data, scores, and how answers are read."""
    from driftledger.ledger.diff import diff as diffing

    found = diffing.diff(project.root, old, new, reach)
    return str(found.model_dump_json(indent=2)) if as_json else diffing.as_text(found)


def why(project: Project, key_or_sample: str) -> RenderableType:
    """Which part of a call's key differs from the nearest stored call."""
    from driftledger.ledger.why import why as explain_call

    with project.store(writes=False) as store:
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


def evidence_of_both(known: Sources, a: str, b: str) -> tuple[Evidence, Evidence]:
    """As :func:`evidence_in` of each; where both are of this checkout, its locks are read once."""
    found = [next((each for each in known.combinations if is_called(run, each)), None) for run in (a, b)]
    if len(named := [each for each in found if each is not None]) == len(found):
        with suppress(DriftledgerError):  # of which evidence_in says more, or which Git's history still has
            one, two = read_all_evidence(known.root, known.selected, named)
            return one, two
    return evidence_in(known, a), evidence_in(known, b)
