"""What Git remembers of ``ledger.jsonl``: the one witness that lines were removed from its end, or all written again.

Each committed version must be the beginning of the next. At a merge that holds for one side; what the other side had
appended is appended again after it (see :mod:`driftledger.ledger.log.chain`). Versions are compared by the hash
that Git has of them, so that a long history is not read.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from driftledger.ledger.findings import Finding
from driftledger.ledger.git import git
from driftledger.ledger.log.lines import Published, read_chain, rows_of

_MOST = 20


class History(NamedTuple):
    """What comparing the committed versions told."""

    versions: int
    shallow: bool
    """Whether Git holds only the newest commits, so that older versions could not be compared."""
    findings: list[Finding]
    left_out: dict[str, Published]
    """Fingerprint → a run that a merged side has a line for, and the file has none."""


class _Version(NamedTuple):
    """The file as a commit has it, known by being the beginning of ``like``."""

    like: bytes
    size: int

    @property
    def data(self) -> bytes:
        return self.like[: self.size]


def history(root: Path, path: Path, data: bytes) -> History | None:
    """Compare the file's committed versions with one another and with ``data``, its bytes now.

    Returns:
        None where there is no Git, or no commit that knows the file.
    """
    tips = [tip for tip in ("HEAD", "MERGE_HEAD") if git(root, "rev-parse", "--verify", "--quiet", tip)]
    simplified = ("--full-history", "--simplify-merges", "--topo-order", "--parents")
    listed = git(root, "rev-list", *simplified, *tips, "--", path.name) if tips else None
    if not listed:
        return None
    parents = {commit: before for commit, *before in (line.split() for line in listed.decode().splitlines())}
    versions = _versions(root, path.name, list(parents), data)
    youngest = [commit for commit in parents if not any(commit in before for before in parents.values())]
    findings, sides = list[Finding](), list[bytes]()
    now = _Version(data, len(data))
    for commit, before in [("", youngest), *parents.items()]:
        version = versions[commit] if commit else now
        lost = [each for each in before if not _begins(versions[each], version)]
        if lost and len(lost) == len(before):
            findings += _became(path.name, lost[0], versions[lost[0]].data, commit, version.data)
        elif lost:
            sides += [versions[each].data for each in lost]
    shallow = git(root, "rev-parse", "--is-shallow-repository") == b"true\n"
    return History(len(parents), shallow, findings, _left_out(sides, data))


def _versions(root: Path, name: str, commits: list[str], now: bytes) -> Mapping[str, _Version]:
    """Commit → version, newest first; only one that is the beginning of no newer one is read."""
    prefix = (git(root, "rev-parse", "--show-prefix") or b"").removesuffix(b"\n")
    asked = b"".join(commit.encode() + b":" + prefix + name.encode() + b"\n" for commit in commits)
    format_ = "--batch-check=%(objectname) %(objectsize)"
    told = (git(root, "cat-file", format_, stdin=asked) or b"").decode(errors="replace").splitlines()
    likes, versions, known = [now], dict[str, _Version](), dict[str, _Version]()
    for commit, answer in zip(commits, told, strict=True):
        if answer.endswith(" missing"):  # it was deleted
            versions[commit] = _Version(b"", 0)
            continue
        blob, size = answer.split()
        if blob not in known:
            like = next((each for each in likes if _is_blob(each, int(size), blob)), None)
            if like is None:
                like = git(root, "cat-file", "blob", blob) or b""
                likes.append(like)
            known[blob] = _Version(like, int(size))
        versions[commit] = known[blob]
    return versions


def _is_blob(data: bytes, size: int, blob: str) -> bool:
    """Whether the first ``size`` bytes are what Git calls ``blob``."""
    if size > len(data):
        return False
    hashed = hashlib.new("sha256" if len(blob) == 64 else "sha1", b"blob %d\0" % size, usedforsecurity=False)
    hashed.update(memoryview(data)[:size])
    return hashed.hexdigest() == blob


def _begins(old: _Version, new: _Version) -> bool:
    return old.size <= new.size and (old.like is new.like or old.data == new.like[: old.size])


def _became(name: str, before: str, old: bytes, after: str, new: bytes) -> Iterator[Finding]:
    """Which lines of a version are not where the next one should have them, and what became of them."""
    told = "commit " + before[:12] + (f", and not by commit {after[:12]}" if after else "")
    rows, kept = rows_of(old), rows_of(new)
    had, has = set(rows), set(kept)
    found = list[Finding]()
    for n, row in enumerate(rows, 1):
        here = kept[n - 1] if n <= len(kept) else None
        if row not in has and here is not None and here not in had:
            found.append(Finding("bytes", f"{name} line {n}", f"was written again: it is another by {told}"))
        elif row not in has:
            found.append(Finding("missing", f"{name} line {n}", f"was removed: it is there by {told}"))
    if not found:
        moved = [n for n, (row, here) in enumerate(zip(rows, kept, strict=False), 1) if row != here]
        found = [Finding("bytes", f"{name} line {n}", f"was moved: it stands there by {told}") for n in moved]
    yield from found[:_MOST]
    if found[_MOST:]:
        yield Finding("bytes", name, f"{len(found) - _MOST} more lines are not as by {told}")
    if not found and new.endswith(b"\n"):
        yield Finding("bytes", name, f"does not begin with the bytes by {told}")


def _left_out(sides: Iterable[bytes], data: bytes) -> dict[str, Published]:
    """Both sides may have published a run, each at its own commit: that is one run."""
    here = {(line.name, line.fingerprint, line.evidence_sha256) for line in read_chain(data).lines.values()}
    there = [line.published for side in sides for line in read_chain(side).lines.values()]
    return {run.fingerprint: run for run in there if (run.name, run.fingerprint, run.evidence_sha256) not in here}
