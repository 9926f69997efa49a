"""By whose history a ledger holds: its checkpoints, who signed them and when, and one that a reader has kept.

Without a checkpoint that somebody kept or signed, a ledger that was written anew with a history of its own is as good
as any. Nothing that the checkout's configuration names has a say in it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import LedgerError, MissingExtraError
from driftledger.core.escaping import for_line
from driftledger.ledger.attest.attest import FOLDER, Beside, Kept, read, read_all
from driftledger.ledger.attest.checkpoints import LEDGER, begins, read_checkpoint
from driftledger.ledger.attest.plans import over_of, read_plans
from driftledger.ledger.attest.signing import readers_allowed_signers
from driftledger.ledger.attest.timestamps import Stamped, check_stamp, read_authorities
from driftledger.ledger.findings import Finding, Kind, Skipped, VerifyResult
from driftledger.ledger.log.chain import history, read_ledger
from driftledger.ledger.log.lines import read_chain, rows_of
from driftledger_check.dsse import Attestation, CannotVerify, Refused, Signed, verify_ssh

_OWN = ("checkpoint", "plan")
"""What only a ledger's owners sign; anybody may reproduce it."""


class Trust(NamedTuple):
    """Whom the reader trusts."""

    allowed_signers: Path | None = None
    """As ``man ssh-keygen`` has it: somebody in it must have signed."""
    authorities: Path | None = None
    """Certificates of timestamp authorities in PEM."""
    since: Path | None = None
    """A checkpoint that the reader has kept."""


class Whose(NamedTuple):
    """What checkpoints tell of a ledger."""

    result: VerifyResult
    told: list[str]
    """Sentences, of which the last says by whose history the ledger holds."""


class _Vouched(NamedTuple):
    """Who signed a statement, and when."""

    signed: Signed | None
    stamped: Stamped | None

    def __str__(self) -> str:
        if self.signed is None:
            return "unsigned"
        who = f"{for_line(self.signed.signer)} ({self.signed.key})" if self.signed.signer else self.signed.key
        unknown = "" if self.signed.signer else ", whom nobody here vouches for"
        when = f"timestamped {self.stamped}" if self.stamped else "at a time that nobody vouches for"
        return f"signed by {who}{unknown}, {when}"


def check_whose(path: Path, root: Path, trust: Trust) -> Whose:
    """Check the attestations beside a ledger, and say by whose history it holds.

    Raises:
        ConfigError: a file that ``trust`` names cannot be read.
        LedgerError: the ledger cannot be read, or the kept checkpoint is none.
    """
    return _Check(path, root, trust).whose()


class _Check:
    def __init__(self, path: Path, root: Path, trust: Trust) -> None:
        self._path, self._root, self._trust = path, root, trust
        data = read_ledger(path)
        self._rows, self._chain = rows_of(data.replace(b"\r\n", b"\n")), read_chain(data, path.name)
        self._signers = trust.allowed_signers or readers_allowed_signers()
        self._authorities: Sequence[Any] = read_authorities(trust.authorities) if trust.authorities else ()
        self._result = VerifyResult()

    def whose(self) -> Whose:
        if self._trust.allowed_signers and not self._trust.allowed_signers.is_file():
            raise LedgerError(f"--allowed-signers: {for_line(str(self._trust.allowed_signers))} is not a file")
        beside = read_all(self._root)
        self._result.findings += [Finding("bytes", name, why) for name, why in beside.wrong.items()]
        vouched = {kept.name: self._vouched(kept.name, kept.attestation, kept.kind) for kept in beside.kept}
        if beside.kept:
            self._result.checked["attestations"] += len(beside.kept)
        good = self._check_checkpoints(beside.of("checkpoint"))
        self._check_notes(beside)
        named = [each for each in good if (one := vouched[each.name].signed) and one.signer]
        if self._trust.allowed_signers:
            self._check_reach(named, self._trust.allowed_signers.name)
        by = {sha256_bytes(each.attestation.envelope.payload): vouched[each.name] for each in beside.of("plan")}
        told = self._since()
        for plan in read_plans(self._chain, beside.of("plan")):
            told.append(f"{plan}; the plan is {by.get(plan.line.subject_sha256, 'not here')}")
        best = max(named or good, key=lambda each: each.n, default=None)
        return Whose(self._result, [*told, self._standing(best, vouched)])

    def _check_reach(self, named: Sequence[Kept], signers: str) -> None:
        """Of whoever asks for a signature: there is one, and what it does not reach is not checked."""
        reach = max((each.n for each in named), default=0)
        if not reach:
            why = f"no checkpoint of this ledger is signed by anyone whom {signers} names"
            self._result.findings.append(Finding("missing", FOLDER, why))
        elif reach < len(self._rows):
            why = f"no checkpoint by anyone whom {signers} names reaches the lines after {reach}"
            self._result.skipped.append(Skipped(LEDGER, why))

    def _vouched(self, where: str, attestation: Attestation, kind: str = "checkpoint") -> _Vouched:
        """Who signed, when; a signature or a timestamp that does not hold is a finding."""
        stamped, signed = self._stamped(where, attestation), None
        try:
            at = stamped.at if stamped else None
            found = verify_ssh(attestation.envelope, self._signers, at) if attestation.envelope.signature else None
            if isinstance(found, Refused):
                self._result.findings.append(Finding("bytes", where, found.why))
            else:
                signed = found
        except CannotVerify as error:
            self._result.skipped.append(Skipped(where, str(error)))
        if signed and signed.signer is None and self._trust.allowed_signers:
            what = f"is signed by {signed.key}, whom {self._trust.allowed_signers.name} does not name for driftledger"
            if kind in _OWN:
                self._result.findings.append(Finding("bytes", where, f"{what} at that time"))
            else:
                self._result.skipped.append(Skipped(where, f"{what} at that time"))
        return _Vouched(signed, stamped)

    def _stamped(self, where: str, attestation: Attestation) -> Stamped | None:
        """The earliest timestamp that holds."""
        found = list[Stamped]()
        for stamp in attestation.stamps:
            try:
                told = check_stamp(attestation.envelope, stamp, self._authorities)
            except MissingExtraError as error:
                told = str(error)
            if isinstance(told, Stamped):
                found.append(told)
            elif isinstance(told, Refused):
                self._result.findings.append(Finding("bytes", where, f"has a timestamp that {told.why}"))
            else:
                self._result.skipped.append(Skipped(where, f"its timestamp from {for_line(stamp.authority)}: {told}"))
        return min(found, key=lambda each: each.at, default=None)

    def _check_checkpoints(self, kept: Sequence[Kept]) -> list[Kept]:
        """Those of this ledger."""
        good, before = list[Kept](), None
        for each in kept:
            said, payload = read_checkpoint(each.statement), each.attestation.envelope.payload
            wrong = "is no checkpoint of its number" if said is None or said.n != each.n else ""
            if said and not wrong and (lost := begins(each.statement, said, self._rows)):
                wrong = lost.what
            if said and not wrong and said.previous != before:
                wrong = "does not follow the checkpoint before it here: one was removed, or put in"
            if wrong:
                self._result.findings.append(Finding("bytes", each.name, wrong))
            else:
                good.append(each)
            before = sha256_bytes(payload)
        return good

    def _check_notes(self, beside: Beside) -> None:
        """Each plan and reproduction stands in the ledger and beside it."""
        for kind in ("plan", "reproduction"):
            files = {sha256_bytes(each.attestation.envelope.payload): each.name for each in beside.of(kind)}
            lines = {line.subject_sha256: n for n, line in self._chain.notes.items() if line.kind == kind}
            for digest in [each for each in lines if each not in files]:
                where = f"{LEDGER} line {lines[digest]}"
                self._result.findings.append(Finding("missing", where, f"notes a {kind} that is not in {FOLDER}"))
            for digest in [each for each in files if each not in lines] if not self._chain.unreadable else ():
                what = f"is a {kind} that no line of the ledger notes; make it again, or remove it"
                self._result.findings.append(Finding("missing", files[digest], what))
        for plan in beside.of("plan"):
            if (over := plan.statement.predicate.get("ledger")) != over_of(self._rows, over):
                what = "was made over another ledger: lines before it were changed or removed"
                self._result.findings.append(Finding("bytes", plan.name, what))

    def _since(self) -> list[str]:
        """The ledger begins with the lines of the checkpoint that the reader kept."""
        if (file := self._trust.since) is None:
            return []
        attestation = read(file)
        statement, name = attestation.envelope.statement, for_line(file.name)
        if (said := read_checkpoint(statement)) is None:
            raise LedgerError(f"--since: {for_line(str(file))} is no checkpoint of a ledger")
        vouched = self._vouched(name, attestation)
        self._result.checked["kept checkpoints"] += 1
        if lost := begins(statement, said, self._rows):
            kind: Kind = "missing" if lost.missing else "bytes"
            self._result.findings.append(Finding(kind, LEDGER, f"the checkpoint {name} that you kept {lost.what}"))
            return []
        return [f"nothing was changed or removed since {name}: {said.n} lines, {vouched}"]

    def _standing(self, best: Kept | None, vouched: dict[str, _Vouched]) -> str:
        past = history(self._root, self._path, b"\n".join(self._rows) + b"\n" * bool(self._rows))
        back = f"history back to commit {past.first[:12]}" if past and past.first else "ledger, which no commit has"
        own = f"by this clone's {back}, unsigned"
        if best is None:
            return f"ledger: {own}"
        more = len(self._rows) - best.n
        rest = f"; {more} more line{'s' * (more > 1)}: {own}" if more else ""
        by = vouched[best.name]
        if by.signed is None:
            return f"ledger: {own}, {best.name} included"
        return f"ledger: to line {best.n} by {best.name}, {by}{rest}"
