"""Signing what the ledger holds, and what is going to be run: ``publish`` and ``preregister``."""

from collections.abc import Sequence

from driftledger.commands.attempts import ledger_lock, planned
from driftledger.commands.resolve import resolved
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.errors import LedgerError
from driftledger.ledger.attest.attest import Kept, attest, read_all, write
from driftledger.ledger.attest.checkpoints import begins, checkpoint, read_checkpoint, root_of
from driftledger.ledger.attest.signing import sign, signing_key
from driftledger.ledger.attest.timestamps import stamp
from driftledger.ledger.code import code_version
from driftledger.ledger.log.chain import check, note, read_ledger
from driftledger.ledger.log.lines import Noted, PublishedCode, rows_of
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS
from driftledger_check.dsse import PLAN, Attestation, Statement

_CHECKPOINT, _PLAN = "checkpoint", "plan"


def publish(project: Project, authorities: Sequence[str] = (), *, unsigned: bool = False) -> str:
    """Sign a checkpoint over the ledger, and say in a sentence what that was.

    Where nothing is new since the last one, it gets the signature and the timestamps that it still lacks.

    Args:
        authorities: addresses of RFC 3161 timestamp authorities.
        unsigned: whether it is made without a signature.

    Raises:
        LedgerError: the ledger does not hold, there is no key, or an authority does not answer; nothing is written.
    """
    key = None if unsigned else signing_key(project.root)
    rows, kept = _sound(project), read_all(project.root).of(_CHECKPOINT)
    last = kept[-1] if kept else None
    if last is not None and last.n == len(rows):
        return _complete(project, last, key, authorities)
    commit = code_version(project.root).commit
    statement = checkpoint(rows, last.attestation.envelope.payload if last else None, commit)
    made = attest(statement, key, authorities)
    path = write(project.root, _CHECKPOINT, len(rows), made)
    new = len(rows) - (last.n if last else 0)
    return (
        f"{path.relative_to(project.root)}: {new} new line{'s' * (new != 1)} of {len(rows)}, {_how(made)}; commit it, "
        "and let somebody else keep a copy"
    )


def preregister(project: Project, runs: int, authorities: Sequence[str] = (), *, unsigned: bool = False) -> str:
    """Sign what is selected now as the plan of what will be run, note it in the ledger, and say so in a sentence.

    Args:
        runs: how many published attempts it allows; others as in :func:`publish`.

    Raises:
        LedgerError: as in :func:`publish`, or the ledger cannot be written.
    """
    key = None if unsigned else signing_key(project.root)
    _sound(project)
    code, noted = code_version(project.root), resolved(project)
    plan = planned(project, noted) | {"runs": runs, "commit": code.commit}
    told: list[str] = []

    def make(n: int, rows: Sequence[bytes]) -> Noted:
        predicate = plan | {"ledger": {"n": len(rows), "root": root_of(rows)}}
        statement = Statement(PLAN, {PARAMS: sha256_file(project.root / PARAMS)}, predicate)
        payload = statement.to_bytes()
        old = next((each for each in read_all(project.root).of(_PLAN) if each.n == n), None)
        made = old.attestation if old and old.attestation.envelope.payload == payload else None
        if made is None or (key and made.envelope.signature is None):  # else it was written, and its line was not
            made = attest(statement, key, authorities)
            write(project.root, _PLAN, n, made)
        told.append(_how(made))
        name, code_then = ", ".join(sorted(predicate["headlines"])), PublishedCode(commit=code.commit, dirty=code.dirty)
        return Noted(kind=_PLAN, name=name, subject_sha256=sha256_bytes(payload), code=code_then)

    n = note(project.paths.ledger, ledger_lock(project), make)
    return (
        f"plan {n} allows {runs} published run{'s' * (runs != 1)} of {plan['selection_sha256'][:12]}, {told[0]}; every "
        "selection that is tried until then is noted: commit it, and 'driftledger publish'"
    )


def _sound(project: Project) -> list[bytes]:
    """The lines of the ledger, which hold by themselves, by Git's history, and by every checkpoint beside them."""
    path, beside = project.paths.ledger, read_all(project.root)
    rows, findings = rows_of(read_ledger(path)), check(path, project.root, []).findings
    wrong = [f"{each.where} {each.what}" for each in findings] + [f"{name} {why}" for name, why in beside.wrong.items()]
    for each in beside.of(_CHECKPOINT):
        said = read_checkpoint(each.statement)
        if said is None or (lost := begins(each.statement, said, rows)):
            wrong.append(f"{each.name} {lost.what if said and lost else 'is no checkpoint'}")
    if wrong:
        raise LedgerError(f"nothing is signed: {wrong[0]}{f'; and {len(wrong) - 1} more' if wrong[1:] else ''}")
    if not rows:
        raise LedgerError(f"nothing is signed: {path.name} has no line yet; 'driftledger track' writes it")
    return rows


def _complete(project: Project, last: Kept, key: str | None, authorities: Sequence[str]) -> str:
    envelope, stamps = last.attestation
    if envelope.signature is None and key:
        envelope, stamps = sign(envelope.payload, key), []
    lacking = [each for each in authorities if each not in [stamp.authority for stamp in stamps]]
    made = Attestation(envelope, [*stamps, *(stamp(envelope, each) for each in lacking)])
    if made == last.attestation._replace(stamps=[*last.attestation.stamps]):
        return f"nothing is new since {last.name}, {_how(made)}"
    write(project.root, _CHECKPOINT, last.n, made)
    return f"{last.name}: no new line, now {_how(made)}"


def _how(made: Attestation) -> str:
    by = f"signed by {made.envelope.key}" if made.envelope.signature else "unsigned"
    return f"{by}, timestamped by {len(made.stamps)}" if made.stamps else f"{by}, without a timestamp"
