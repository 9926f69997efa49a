"""Signing what the ledger holds, and what is going to be run: ``publish`` and ``preregister``."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from driftledger.commands.resolve import resolved
from driftledger.core.canonical import sha256_bytes, sha256_file, sha256_of
from driftledger.core.errors import LedgerError
from driftledger.ledger.attest.attest import Kept, attest, read_all, write
from driftledger.ledger.attest.checkpoints import begins, checkpoint, read_checkpoint, root_of
from driftledger.ledger.attest.plans import attempt_name, open_plan
from driftledger.ledger.attest.signing import sign, signing_key
from driftledger.ledger.attest.timestamps import stamp
from driftledger.ledger.code import code_version
from driftledger.ledger.log.chain import check, note, read_ledger
from driftledger.ledger.log.lines import Noted, PublishedCode, read_chain, rows_of
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
    plan = _planned(project, noted) | {"runs": runs, "commit": code.commit}
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

    n = note(project.paths.ledger, _lock(project), make)
    return (
        f"plan {n} allows {runs} published run{'s' * (runs != 1)} of {plan['selection_sha256'][:12]}, {told[0]}; every "
        "selection that is tried until then is noted: commit it, and 'driftledger publish'"
    )


def note_attempt(project: Project, noted: Mapping[str, Any]) -> None:
    """Note the selection as an attempt under the open plan, once; nothing where none is open.

    Args:
        noted: of :func:`~driftledger.commands.resolve.resolved`.

    Raises:
        LedgerError: the ledger is not as it was written, or cannot be written.
    """
    chain, kept = read_chain(read_ledger(project.paths.ledger)), read_all(project.root).of(_PLAN)
    plan, selection = open_plan(chain, kept), _planned(project, noted)["selection_sha256"]
    if plan is None:
        return
    name = attempt_name(plan.line.subject_sha256)
    if any((line.name, line.subject_sha256) == (name, selection) for line in chain.notes.values()):
        return  # and nothing need be written, nor Git be asked
    code = code_version(project.root)
    attempt = Noted(
        kind="attempt",
        name=name,
        subject_sha256=selection,
        code=PublishedCode(commit=code.commit, dirty=code.dirty),
    )
    note(project.paths.ledger, _lock(project), lambda *_: attempt)


def _planned(project: Project, noted: Mapping[str, Any]) -> dict[str, Any]:
    """What is selected, in words and as digests, and one digest of all of it."""
    settings = project.settings
    selection = {
        "run": settings.run.model_dump(mode="json"),
        "settings": {spec.name: settings.section(spec.name).model_dump(mode="json") for spec in settings.benchmarks},
        "resolved": noted,
    }
    headlines = {spec.name: [each.key for each in spec.metrics if each.headline] for spec in settings.benchmarks}
    return selection | {"headlines": headlines, "selection_sha256": sha256_of(selection)}


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


def _lock(project: Project) -> Path:
    return project.paths.state / "locks" / "ledger.lock"
