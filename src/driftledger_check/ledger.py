"""The ledger's line of a run: what it says of itself and of the evidence, and by whose checkpoint it stands there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from driftledger_check import dsse, merkle, strict_json
from driftledger_check.bundle import CHECKPOINT, EVIDENCE, LINE, MANIFEST, PROOF, STATEMENT, Bundle, Digests, misfit
from driftledger_check.lines import Line
from driftledger_check.links import same, sha256_of, wrong

_SHAPE = {
    "schema": int,
    "n": int,
    "name": str,
    "fingerprint": str,
    "evidence_sha256": str,
    "previous": str,
    "line_sha256": str,
    "code": {"dirty": bool},
}


def check_ledger(
    bundle: Bundle, allowed_signers: Path | None = None, kept: dsse.Attestation | None = None
) -> Iterator[Line]:
    """The line is as it was written, names this run and exactly this evidence, and stands below a checkpoint.

    Args:
        allowed_signers: whose signatures the reader trusts.
        kept: a checkpoint of the ledger that the reader has from elsewhere.
    """
    names = bundle.archive.names
    if LINE not in names:
        yield Line(LINE, "not checkable", "the bundle has no line of a ledger: nothing says that the run was published")
        return
    data = bundle.archive.read(LINE)
    line: dict[str, Any] = strict_json.loads(data, in_one_form=True)
    if unfit := misfit(line, _SHAPE):
        yield wrong(LINE, unfit)
        return
    rest = {key: value for key, value in line.items() if key != "line_sha256"}
    yield same(f"{LINE}: line_sha256", line["line_sha256"], sha256_of(rest), "the line")
    yield same(f"{LINE}: name", line["name"], bundle.evidence["name"], EVIDENCE)
    yield same(f"{LINE}: fingerprint", line["fingerprint"], bundle.evidence["fingerprint"], EVIDENCE)
    digest = Digests.of(bundle.archive.read(EVIDENCE)).sha256
    yield same(f"{LINE}: evidence_sha256", line["evidence_sha256"], digest, EVIDENCE)
    if PROOF in names and CHECKPOINT in names:
        yield from _check_proof(bundle, data, line["n"], allowed_signers, kept)
    else:
        yield Line(PROOF, "not checkable", "no checkpoint holds the line: only its owner says that it was published")
    if STATEMENT in names:
        sha256 = Digests.of(bundle.archive.read(MANIFEST)).sha256
        attested = dsse.parse_attestation(bundle.archive.read(STATEMENT))
        said = attested.envelope.statement
        yield same(f"{STATEMENT}: type", said.predicate_type, dsse.SCORE, "a statement about a score")
        yield same(f"{STATEMENT}: subject", dict(said.subject), {MANIFEST: sha256}, "the bundle")
        yield _signed(STATEMENT, attested, allowed_signers)
    else:
        yield Line(STATEMENT, "not checkable", "nobody signed the bundle")


def _check_proof(
    bundle: Bundle, line: bytes, n: int, allowed_signers: Path | None, kept: dsse.Attestation | None
) -> Iterator[Line]:
    proof: dict[str, Any] = strict_json.loads(bundle.archive.read(PROOF), in_one_form=True)
    yield same(PROOF, merkle.line_holds(proof, line), True, "its path to the root")
    yield same(f"{PROOF}: n", proof["n"], n, LINE)
    attested = dsse.parse_attestation(bundle.archive.read(CHECKPOINT))
    yield from _is_root(CHECKPOINT, attested, proof)
    yield _signed(CHECKPOINT, attested, allowed_signers)
    for _ in attested.stamps[:1]:
        why = "timestamps are verified by 'driftledger verify --ledger', with the authority's certificate"
        yield Line(f"{CHECKPOINT}: timestamps", "not checkable", why)
    if kept is not None:
        if kept.envelope.statement.predicate.get("n") == proof["size"]:
            yield from _is_root("the checkpoint that you kept", kept, proof)
        else:
            why = "it is of another length than the bundle's; 'driftledger verify --ledger --since' compares both"
            yield Line("the checkpoint that you kept", "not checkable", why)


def _is_root(where: str, attested: dsse.Attestation, proof: dict[str, Any]) -> Iterator[Line]:
    said = attested.envelope.statement
    yield same(f"{where}: type", said.predicate_type, dsse.CHECKPOINT, "a checkpoint")
    yield same(f"{where}: n", said.predicate.get("n"), proof["size"], PROOF)
    yield same(f"{where}: root", said.predicate.get("root"), proof["root"], PROOF)


def _signed(where: str, attested: dsse.Attestation, allowed_signers: Path | None) -> Line:
    place = f"{where}: signature"
    if attested.envelope.signature is None:
        return Line(place, "not checkable", "nobody signed it")
    try:
        found = dsse.verify_ssh(attested.envelope, allowed_signers)
    except dsse.CannotVerify as error:
        return Line(place, "not checkable", str(error))
    if isinstance(found, dsse.Refused):
        return wrong(place, found.why)
    if found.signer is None:
        return Line(place, "not checkable", f"your --allowed-signers do not say whose key {found.key} is")
    return Line(place, "reproduced")
