"""Writes a bundle. The same run gives the same bytes, from whichever clone and however often."""

import platform
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from driftledger.core.canonical import canonical_json, sha256_bytes
from driftledger.core.errors import ConfigError, LedgerError, first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.attest.attest import attest, read_all
from driftledger.ledger.bundle.features import KeptFeatures
from driftledger.ledger.code import packages
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.log.chain import evidence_digest, evidence_json
from driftledger.ledger.log.lines import read_chain, rows_of
from driftledger.ledger.objects.contents import Contents, beneath
from driftledger.ledger.objects.reach import Reach
from driftledger.ledger.verify.recompute import recompute
from driftledger.project.project import Project
from driftledger_check import archive, bundle
from driftledger_check.archive import ArchiveError
from driftledger_check.bundle import Bundle, BundleError, Digests
from driftledger_check.dsse import SCORE, Statement
from driftledger_check.merkle import line_proof

Members = dict[str, Callable[[], bytes]]


class Written(NamedTuple):
    """What came of it."""

    files: int
    """Of the project, whose bytes are in the bundle."""
    left_out: int
    size: int
    """Bytes of the bundle."""
    notes: list[str]
    """What whoever checks it will not be able to make again, and why."""


def write_bundle(
    project: Project, evidence: Evidence, out: Path, *, images: bool = True, key: str | None = None
) -> Written:
    """Write everything behind a run into one file, which appears whole or not at all.

    Args:
        images: whether images are in it, or only their hashes.
        key: of :func:`~driftledger.ledger.attest.signing.signing_key`; None leaves the bundle unsigned.

    Raises:
        LedgerError: something behind the run is not at hand or does not hold, the run was not published, or something
            that is no bundle stands at ``out``.
    """
    _check_place(out)
    contents = Contents(project.root, Reach(trust=True))
    locked = _outputs(evidence)
    if absent := contents.fetch(locked):
        why = f" ({for_line(contents.unfetched)})" if contents.unfetched else ""
        raise LedgerError(f"{first_few([each.path for each in absent])} cannot be had{why}; run 'dvc pull' first")
    features = KeptFeatures(project.state / "features")
    made = recompute(project, evidence.lineages, contents, features=features)
    if made.findings:
        first = made.findings[0]
        raise LedgerError(f"nothing is bundled: {first.where}: {first.what}; run 'driftledger verify' to see all of it")
    members = (
        _beside(project, evidence)
        | _published(project, evidence)
        | {
            bundle.EVIDENCE: lambda: evidence_json(evidence).encode(),
            bundle.ENVIRONMENT: lambda: _environment(evidence),
        }
    )
    for fingerprint in {card.fingerprint for each in evidence.lineages for card in each.score.components.values()}:
        members |= {name: partial(bytes, data) for name, data in features.members(fingerprint).items()}
    digests = {name: sha256_bytes(make()) for name, make in members.items()}
    held: dict[str, Digests] = {}
    left_out: dict[str, Digests] = {}
    for path, file in _files(contents, locked):
        digested = Digests.of(file.read_bytes())
        if images or path.endswith((".json", ".jsonl")):
            held[path] = digested
            members[bundle.FILES + path] = partial(_unchanged, file, path, digested)
        else:
            left_out[path] = digested
    said = {
        "schema": 1,
        "kind": bundle.KIND,
        "run": {"name": evidence.name, "combination": [*evidence.combination], "fingerprint": evidence.fingerprint},
        "files": {path: each.to_dict() for path, each in held.items()},
        "left_out": {path: each.to_dict() for path, each in left_out.items()},
        "members": digests,
    }
    manifest = canonical_json(said).encode()
    members[bundle.MANIFEST] = lambda: manifest
    if key is not None:
        statement = Statement(SCORE, {bundle.MANIFEST: sha256_bytes(manifest)}, {"run": said["run"]})
        members[bundle.STATEMENT] = attest(statement, key).to_bytes
    _write(out, members)
    notes = list(dict.fromkeys(f"{each.where}: {each.why}" for each in made.skipped))
    return Written(len(held), len(left_out), out.stat().st_size, notes)


def is_bundle(path: Path) -> bool:
    """Whether a file has the form of a bundle."""
    try:
        with archive.Archive(path.open("rb")) as opened:
            Bundle(opened)
    except (ArchiveError, BundleError, OSError):
        return False
    return True


def _check_place(out: Path) -> None:
    shown = for_line(str(out))
    if not out.parent.is_dir():
        raise LedgerError(f"there is no folder {for_line(str(out.parent))} to write {out.name} into; make it first")
    if out.exists() and not (out.is_file() and is_bundle(out)):
        raise LedgerError(f"{shown} is there and is no bundle; move it away, or name another file with -o")


def _outputs(evidence: Evidence) -> list[LockedFile]:
    """What stands behind the scores, each once."""
    return list(
        dict.fromkeys(
            locked
            for each in evidence.lineages
            for locked in (each.data, *each.collected.values(), each.score_file, each.rows_file)
        )
    )


def _files(contents: Contents, locked: list[LockedFile]) -> Iterator[tuple[str, Path]]:
    for output in locked:
        for name, md5 in contents.manifest(output).items():
            path = beneath(output.path, name)
            file = contents.path(md5, path)
            if file is None:
                raise LedgerError(f"{path} is no longer at hand; run 'dvc pull', and bundle again")
            yield path, file


def _unchanged(file: Path, path: str, digested: Digests) -> bytes:
    data = file.read_bytes()
    if Digests.of(data) != digested:
        raise LedgerError(f"{path} was changed while it was bundled; bundle again when nothing writes to it")
    return data


def _published(project: Project, evidence: Evidence) -> Members:
    """The bytes of the run's line, without the line end; and the first checkpoint that covers it, a signed one if
    there is any, with the line's path to its root."""
    ledger, digest = project.paths.ledger, evidence_digest(evidence)
    data = ledger.read_bytes() if ledger.is_file() else b""
    chain, rows = read_chain(data, ledger.name), rows_of(data)
    if chain.findings:
        first = chain.findings[0]
        raise LedgerError(f"{first.where} {first.what}; run 'driftledger verify --ledger' first")
    published = (evidence.fingerprint, digest)
    n = next((n for n, each in chain.lines.items() if (each.fingerprint, each.evidence_sha256) == published), None)
    if n is None:
        who = for_line(evidence.name)
        raise LedgerError(f"{ledger.name} has no line for {who}; run 'driftledger track' to publish it")
    members: Members = {bundle.LINE: partial(bytes, rows[n - 1])}
    covering = [each for each in read_all(project.root).of("checkpoint") if n <= each.n <= len(rows)]
    if covering:
        found = min(covering, key=lambda each: (each.attestation.envelope.signature is None, each.n))
        proof = line_proof(rows[: found.n], n)
        members |= {bundle.CHECKPOINT: found.attestation.to_bytes, bundle.PROOF: lambda: canonical_json(proof).encode()}
    return members


def _environment(evidence: Evidence) -> bytes:
    """With what the bundle was made, and which code was behind each stage of the run."""
    code = {name: entry.code for each in evidence.lineages for name, entry in each.stages.items()}
    here = {"python": platform.python_version(), "platform": f"{platform.system()} {platform.machine()}"}
    return canonical_json({"code": code, "packages": packages().splitlines(), **here}).encode()


def _beside(project: Project, evidence: Evidence) -> Members:
    """The user's files that went into scores, as far as they still are where the settings say."""
    members: Members = {}
    for lineage in evidence.lineages:
        for setting, digest in lineage.beside.items():
            try:
                given: Path | None = getattr(project.settings.section(lineage.spec.name), setting)
            except ConfigError:
                continue
            file = project.root / given if given is not None else None
            if file is not None and file.is_file() and sha256_bytes(data := file.read_bytes()) == digest:
                members[bundle.BESIDE + digest] = partial(bytes, data)
    return members


def _write(out: Path, members: Mapping[str, Callable[[], bytes]]) -> None:
    partial_file = out.with_name(out.name + ".partial")
    try:
        with partial_file.open("wb") as file:
            archive.write(file, members)
        partial_file.replace(out)
    except ArchiveError as error:
        raise LedgerError(f"{for_line(str(out))} {error}; try --without-images") from None
    finally:
        partial_file.unlink(missing_ok=True)
