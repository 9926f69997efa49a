"""Check that a gate judges the runs that ``params.yaml`` asks for."""

from driftledger.core.canonical import sha256_of
from driftledger.core.errors import DriftledgerError, LedgerError, first_few
from driftledger.core.text import changes
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.published import (
    AS_PUBLISHED,
    NOT_PUBLISHED,
    check_published,
    check_scores,
)
from driftledger.ledger.sources import RunTarget
from driftledger.project.project import Project
from driftledger.project.resolve import resolved

_EVALUATE = "run 'driftledger run'"


class NotJudgedError(LedgerError):
    """Raised if a run is not current, or cannot be computed here."""


def basis_of(project: Project, contents: Contents, a: RunTarget, b: RunTarget) -> str:
    """Check that runs are current, and recompute their scores from records.

    A run of a commit is current by itself. If A is one, its scores are taken as published, unless
    another version of driftledger wrote those of B.

    Returns:
        ``A as published, B recomputed from its records``.

    Raises:
        NotJudgedError: a run is not current, or cannot be computed from its records here.
        LedgerError: a published run is damaged or gone, or a run does not hold: its numbers do not
            follow from the records, for instance.
    """
    _refuse("the published runs", check_published(project.root))
    wrote = set()
    for target in (a, b):
        wrote |= {lineage.score.driftledger for lineage in target.run.lineages}
    if a.source == "git" and len(wrote) == 1:
        basis = AS_PUBLISHED
    else:
        basis = _recomputed(project, contents, "A", a)
    return f"A {basis}, B {_recomputed(project, contents, 'B', b)}"


def _recomputed(
    project: Project, contents: Contents, side: str, target: RunTarget
) -> str:
    # late, as they import what makes calls
    from driftledger.ledger.verify.files import check_links
    from driftledger.ledger.verify.replay import recompute

    run = target.run
    about = f"{side}, {run.name},"
    if target.source == "dvc.lock":
        if changed := _changed_since(project, run):
            raise NotJudgedError(
                f"{about} has not been evaluated since params.yaml or what it names changed "
                f"({first_few(changed)}); {_EVALUATE}"
            )
        if check_scores(run, contents) == NOT_PUBLISHED:
            raise NotJudgedError(f"{about} is not published; {_EVALUATE}")
    result = check_links([run], contents) + recompute(project, run.lineages, contents)
    _refuse(about, result)
    for skipped in result.skipped:
        raise NotJudgedError(
            f"{about} cannot be computed from its records here ({skipped.where}: {skipped.why}); "
            "'dvc pull' brings what a remote has"
        )
    return "recomputed from its records"


def _refuse(what: str, result: VerifyResult) -> None:
    """Raise LedgerError if something does not hold."""
    for finding in result.findings:
        raise LedgerError(
            f"{what} {finding.where}: {finding.what}; 'driftledger verify' lists all that does not "
            "hold"
        )


def _changed_since(project: Project, run: Run) -> list[str]:
    """List the inputs of a run's stages that are different now.

    Raises:
        NotJudgedError: ``params.yaml`` cannot be resolved here.
    """
    try:
        now = resolved(project, missing={})
    except DriftledgerError as error:
        raise NotJudgedError(f"params.yaml cannot be resolved here: {error}") from None
    changed = []
    for name, entry in run.stages.items():
        kind, _, model = name.partition("@")
        after = now[kind][model] if model else now[kind]
        for before in entry.noted.values():
            if before not in (after, sha256_of(after)):
                changed += [change.key or name for change in changes(before, after)]
    return changed
