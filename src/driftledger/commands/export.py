"""A run in the format of another tool."""

from pathlib import Path

from driftledger.core.errors import LedgerError, unknown_name
from driftledger.core.paths import Combination
from driftledger.exports.base import FORMATS, Run, files_of, write
from driftledger.ledger.lineage import read_evidence
from driftledger.project.project import Project


def export(project: Project, kind: str, run: str, out: Path) -> int:
    """Write a selected run, whose files are here, below ``out``; say how many files.

    Raises:
        LedgerError: there is no such format or run.
    """
    if kind not in FORMATS:
        raise LedgerError(unknown_name("format", kind, FORMATS))
    evidence = read_evidence(project.root, project.selected, _named(project, run))
    return write(out, files_of(kind, Run.of(project.root, evidence)))


def _named(project: Project, run: str) -> Combination:
    names = {name: each for each in project.combinations for name in (str(each), "/".join(each))}
    if run not in names:
        raise LedgerError(unknown_name("selected run", run, ["/".join(each) for each in project.combinations]))
    return names[run]
