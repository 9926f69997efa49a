"""What Git remembers of ``ledger.jsonl``: the one witness that lines were removed from its end, or all written again.

Each committed version must be the beginning of the next. At a merge that holds for one side; what the other side had
appended is appended again after it (see :mod:`driftledger.ledger.log.chain`).
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.ledger.findings import Finding
from driftledger.ledger.log.lines import Published, read_chain, rows_of
from driftledger.ledger.objects.git import Git, blob_id

_MOST = 20


class HistoryCheck(NamedTuple):
    """What comparing the committed versions told."""

    versions: int
    shallow: bool
    """Whether Git holds only the newest commits, so that older versions could not be compared."""
    findings: list[Finding]
    left_out: dict[str, Published]
    """Fingerprint → a run that a merged side has a line for, and the file has none."""


class _Version(NamedTuple):
    """What a commit made of the file: another content, or a choice between sides."""

    commit: str
    """Empty for the file as it is now."""
    blob: str | None
    """Git's id of the content; None where the commit has no such file."""


_NOW = _Version("", "")


def history(root: Path, path: Path, data: bytes) -> HistoryCheck | None:
    """Compare the file's committed versions with one another and with ``data``, its bytes now.

    Returns:
        None where there is no Git, or no commit that knows the file.

    Raises:
        LedgerError: Git's history is damaged.
    """
    git = Git.around(root)
    versions = {} if git is None else _versions(git, path.name)
    if git is None or not versions[_NOW]:
        return None
    texts = _Texts(git, data)
    findings, sides = list[Finding](), list[bytes]()
    for version, before in reversed(versions.items()):
        lost = [each for each in before if not texts.begins(each, version)]
        if lost and len(lost) == len(before):
            findings += _became(path.name, lost[0].commit, texts.of(lost[0]), version.commit, texts.of(version))
        else:
            sides += [texts.of(each) for each in lost]
    return HistoryCheck(len(versions) - 1, git.is_shallow, findings, _left_out(sides, data))


def _versions(git: Git, name: str) -> dict[_Version, list[_Version]]:
    """Each version, and those that it came from, which stand before it; the file as it is now is the last."""
    versions: dict[_Version, list[_Version]] = {}
    nearest: dict[str, _Version] = {}
    heads = git.heads()
    for commit, parents in git.parents(heads).items():
        [blob] = git.ids(commit, [name])
        version = _Version(commit, blob)
        before = _sides(git, version, [nearest[parent] for parent in parents if parent in nearest])
        if [each.blob for each in before] == [blob]:
            nearest[commit] = before[0]
        elif blob or before:
            nearest[commit] = version
            versions[version] = before
    versions[_NOW] = _sides(git, _NOW, [nearest[head] for head in heads if head in nearest])
    return versions


def _sides(git: Git, version: _Version, before: Sequence[_Version]) -> list[_Version]:
    """The versions that a merge brings together, less those that lead to another: they were compared on the way there.

    Where the merge took only such a one as it was, it stays: it was chosen.
    """
    sides = list(dict.fromkeys(before))
    if len(sides) < 2:
        return sides
    newest = [each for each in sides if not any(git.leads_to(each.commit, other.commit) for other in sides)]
    chosen = (
        [] if version.blob in {each.blob for each in newest} else [each for each in sides if each.blob == version.blob]
    )
    return newest + chosen[:1]


class _Texts:
    """The bytes of versions, newest first: one that begins another is known by its hash, and never read."""

    def __init__(self, git: Git, now: bytes) -> None:
        self._git = git
        self._known = {_NOW: memoryview(now)}

    def of(self, version: _Version) -> bytes:
        if version not in self._known:
            self._known[version] = memoryview(self._git.read(version.blob) or b"")
        return bytes(self._known[version])

    def begins(self, old: _Version, new: _Version) -> bool:
        if old not in self._known:
            self.of(new)
            start = self._known[new][: self._git.size(old.blob)]
            if blob_id(start) == old.blob:
                self._known[old] = start
                return True
        return self.of(new).startswith(self.of(old))


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
