"""Ledgers of lines that no run stands behind, in repositories whose owner signs."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from driftledger.core.canonical import sha256_bytes
from driftledger.ledger.attest.check import Trust, Whose, check_whose
from driftledger.ledger.log.lines import BEGINNING, Noted, Published, PublishedCode, encoded, rows_of
from driftledger.project.project import Project
from tests.support.git import commit, git


def run(number: int) -> Published:
    """What a line says of a run."""
    digest = hashlib.sha256(b"run %d" % number).hexdigest()
    code = PublishedCode(commit=digest[:40], dirty=number % 2 == 0)
    return Published(name=f"run {number}", fingerprint=digest, evidence_sha256=digest[::-1], code=code)


def chained(said: Sequence[Published | Noted]) -> bytes:
    """The bytes of a ledger of these lines."""
    rows = list[bytes]()
    for each in said:
        rows.append(encoded(each, len(rows) + 1, sha256_bytes(rows[-1]) if rows else BEGINNING))
    return b"".join(row + b"\n" for row in rows)


def signing_with(root: Path, key: Path) -> None:
    """Let Git sign with a key in a repository."""
    git(root, "config", "gpg.format", "ssh")
    git(root, "config", "user.signingkey", str(key))


def repository(root: Path, lines: int, key: Path | None = None) -> Project:
    """A repository with a ledger of runs, committed."""
    root.mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    if key:
        signing_with(root, key)
    put(root, chained([run(number) for number in range(1, lines + 1)]))
    return Project(root)


def put(root: Path, data: bytes) -> None:
    """Give a repository another ledger, and commit all that is there."""
    (root / "ledger.jsonl").write_bytes(data)
    commit(root)


def grow(project: Project, lines: int) -> None:
    """More runs, committed."""
    data = project.paths.ledger.read_bytes()
    said = [run(number) for number in range(len(rows_of(data)) + 1, len(rows_of(data)) + lines + 1)]
    put(project.root, _appended(data, said))


def _appended(data: bytes, said: Sequence[Published]) -> bytes:
    rows = rows_of(data)
    for each in said:
        rows.append(encoded(each, len(rows) + 1, sha256_bytes(rows[-1])))
    return b"".join(row + b"\n" for row in rows)


def whose(project: Project, **trust: Path | None) -> Whose:
    """What ``verify --ledger`` tells of the checkpoints."""
    return check_whose(project.paths.ledger, project.root, Trust(**trust))


def wrong(told: Whose) -> list[str]:
    """Each finding in a line."""
    return [f"{each.kind}: {each.where}: {each.what}" for each in told.result.findings]


def chained_anew(project: Project, *, dropped: int) -> Project:
    """The same ledger without its last lines but one, every ``dirty`` false, with a history of its own, beside it."""
    said = []
    for row in rows_of(project.paths.ledger.read_bytes()):
        line = json.loads(row)
        code = PublishedCode(commit=line["code"]["commit"], dirty=False)
        rest = {name: line[name] for name in ("name", "fingerprint", "evidence_sha256")}
        said.append(Published(**rest, code=code))
    forged = repository(project.root.parent / "forged", 1)
    put(forged.root, chained(said[: -dropped - 1] + said[-1:]))
    git(forged.root, "checkout", "--quiet", "--orphan", "fresh")
    commit(forged.root)
    git(forged.root, "branch", "--quiet", "-D", "main")
    return forged
