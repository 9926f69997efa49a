"""``compare``: show two runs side by side."""

from driftledger.commands.compared import Compared, concluded
from driftledger.core.errors import LedgerError
from driftledger.ledger.compare import compare_with_changes
from driftledger.ledger.gate import Gate, Judgement, Verdict
from driftledger.ledger.gate_inputs import NotJudgedError, basis_of
from driftledger.ledger.lineage import Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.published import check_scores
from driftledger.ledger.sources import Sources, find_source
from driftledger.project.project import Project


def compare(
    project: Project, a: str, b: str, *, anyway: bool = False, gate: Gate | None = None
) -> Compared:
    """Compare two runs; errors as in :func:`driftledger.ledger.compare.compare`.

    Raises:
        LedgerError: there is a gate, and what is behind a run does not fit, as
            :func:`~driftledger.ledger.gate_inputs.basis_of` says.
    """
    gate = gate or Gate()
    sources = Sources(project)
    one = find_source(sources, a)
    two = find_source(sources, b)
    comparison = compare_with_changes(sources, one.run, two.run, anyway=anyway)
    judgements = gate.judge(comparison)
    if gate.fail_if is None:
        basis = _published(sources.contents, one.run, two.run)
        return Compared(comparison, basis)
    is_one_run = one.run.fingerprint == two.run.fingerprint
    one_run = "A and B are one run" if is_one_run else ""
    try:
        basis = basis_of(project, sources.contents, one, two)
    except NotJudgedError as error:
        reasons = "; ".join(filter(None, [one_run, str(error)]))
        verdict = Judgement(Verdict.UNKNOWN, f"cannot tell: {reasons}")
        return Compared(comparison, conclusion=verdict)
    return concluded(comparison, gate, judgements, basis, is_one=is_one_run)


def _published(contents: Contents, *runs: Run) -> str:
    """Say whether the scores of two runs are as they were published, by their hashes."""
    try:
        phrases = [check_scores(run, contents) for run in runs]
    except LedgerError as error:
        return f"scores: {error}"
    return "scores: A {}, B {}".format(*phrases)
