"""Making somebody else's run again, and noting that somebody made one of ours."""

from pathlib import Path

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import write_bytes
from driftledger.ledger.attest.attest import attest, read, write
from driftledger.ledger.attest.signing import signing_key
from driftledger.ledger.code import code_version
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.log.chain import note, read_ledger
from driftledger.ledger.log.lines import Noted, PublishedCode, read_chain
from driftledger.ledger.reproduce.reproduce import reproduce as make_again
from driftledger.ledger.verify.regenerate import own_seed
from driftledger.project.project import Project
from driftledger_check.bundle import EVIDENCE
from driftledger_check.dsse import REPRODUCTION, Attestation

_KIND = "reproduction"
_SHOWN = 5


def reproduce(
    project: Project, file: Path, out: Path | None, calls: int | None, seed: int | None
) -> tuple[list[str], bool]:
    """Make a bundle's calls again, write a statement of what came of it, and say so in a few lines.

    It is signed with the user's Git signing key, where there is one, and noted in the ledger, where there is one.

    Args:
        out: where the statement is written; None is beside where the command runs, by the bundle's name.
        calls: how many; None is all.
        seed: draws the calls of an earlier reproduction; None draws others.

    Returns:
        What is said, and whether all was reproduced.
    """
    made = make_again(project, file, calls, own_seed() if seed is None else seed)
    try:
        key, unsigned = signing_key(project.root), ""
    except LedgerError as error:
        key, unsigned = None, str(error)
    attestation = attest(made.statement, key)
    path = out or project.root / f"{file.stem}.{_KIND}.json"
    write_bytes(path, attestation.to_bytes())
    told = [f"{kind.name}: {kind.compared:,} of {kind.calls:,} made again" for kind in made.again.kinds]
    told += [f"cannot be made again: {why}" for why in made.again.never]
    told += [*_differences(made.again.result), *_differences(made.scores)]
    told.append(f"{for_line(file.name)}: {made.outcome}, {made.scores.checked['numbers']:,} numbers compared")
    told.append(f"{for_line(str(path))}: " + (f"signed by {attestation.envelope.key}" if key else "unsigned"))
    told += [unsigned.partition(";")[0]] if unsigned else []
    if project.paths.ledger.is_file():
        told.append(_noted(project, attestation))
    return told, made.outcome == "reproduced"


def note_reproduction(project: Project, file: Path) -> str:
    """Note in the ledger that somebody made one of its runs again, and say so in a sentence.

    Raises:
        LedgerError: it is no such statement, or of no run in the ledger.
    """
    attestation = read(file)
    statement = attestation.envelope.statement
    published = read_chain(read_ledger(project.paths.ledger)).lines.values()
    if statement.predicate_type != REPRODUCTION:
        raise LedgerError(f"{for_line(str(file))} is no statement of a reproduction; 'driftledger reproduce' writes it")
    if statement.subject.get(EVIDENCE) not in {line.evidence_sha256 for line in published}:
        raise LedgerError(f"{for_line(str(file))} is of no run in {project.paths.ledger.name}")
    return _noted(project, attestation)


def _noted(project: Project, attestation: Attestation) -> str:
    """Let the ledger have a line of it, and the statement stand beside the ledger."""
    payload, said = attestation.envelope.payload, attestation.envelope.statement.predicate
    run = said.get("run")
    name = for_line(str(run.get("name") if isinstance(run, dict) else "")) or "unnamed"
    code = code_version(project.root)
    then = PublishedCode(commit=code.commit, dirty=code.dirty)
    line = Noted(kind=_KIND, name=name[:200], subject_sha256=sha256_bytes(payload), code=then)
    n = note(project.paths.ledger, project.paths.state / "locks" / "ledger.lock", lambda *_: line)
    path = write(project.root, _KIND, n, attestation)
    return f"line {n} of {project.paths.ledger.name} notes it, with {path.relative_to(project.root)}: commit both"


def _differences(result: VerifyResult) -> list[str]:
    told = [f"differs: {each.where}: {each.what}" for each in result.findings[:_SHOWN]]
    told += [f"differs: {len(result.findings) - _SHOWN:,} more; the statement lists them"] * (
        len(result.findings) > _SHOWN
    )
    return told + [f"not compared: {each.where}: {each.why}" for each in result.skipped[:_SHOWN]]
