"""``ledger.jsonl``: one line per published run, each holding the SHA-256 of the line before it.

MLflow can be thrown away, and ``dvc.lock`` has the newest runs only. The ledger is what stays of every run that
was ever published: which evidence it stood on, and that nobody has edited, reordered or removed a line since. It is
committed; whoever can write to the repository could write all of it again, and then Git's history of it is the one
witness: each committed version must be the beginning of the next. At a merge that holds for one side; what the other
side had appended is appended again after it.

Two branches that both append meet in a merge conflict, since a line's number and hash depend on the one before; never
merge them as text. Keep one side (``git checkout --ours ledger.jsonl``, or ``--theirs``) and run ``driftledger track``,
which appends what the other side had. ``.gitattributes`` keeps Git from mixing the lines or changing their ends.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from driftledger.core.canonical import canonical_json, sha256_bytes
from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import write_bytes
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.log.lines import (
    BEGINNING,
    LogLine,
    Noted,
    Published,
    PublishedCode,
    encoded,
    read_chain,
    rows_of,
)
from driftledger.ledger.objects.git import Git, blob_id, why_unread

_LOCK_SECONDS = 60
_MOST = 20
_TRACK = "run 'driftledger track'"


def evidence_json(evidence: Evidence) -> str:
    """What a run stands on, as canonical JSON: its score files' contents and lock entries, less everything about code.

    The same from ``dvc.lock`` and score files on any machine, and from the ``evidence.json`` that MLflow keeps. What
    has the value that it has by default is left out, so that a field that a later version adds changes nothing.
    """
    rest: dict[str, Any] = evidence.model_dump(mode="json", by_alias=True, exclude={"code"}, exclude_defaults=True)
    for told, lineage in zip(rest["lineages"], evidence.lineages, strict=True):
        told["stages"] = {stage: entry.without_code() for stage, entry in lineage.stages.items()}
    return canonical_json(rest)


def evidence_digest(evidence: Evidence) -> str:
    """Hex SHA-256 of :func:`evidence_json`."""
    return sha256_bytes(evidence_json(evidence).encode())


def append(path: Path, evidence: Sequence[Evidence], lock: Path) -> int:
    """Append a line for each run whose fingerprint has none; return how many.

    The file is replaced whole, or stays as it was; earlier lines are never touched. A run that a merge has left out is
    appended again. A fingerprint that stands there with other evidence gets no second line: :func:`check` reports it.

    Args:
        path: ``ledger.jsonl`` in the project's top folder.
        lock: A lock file: of several processes at once, one appends and the others find its work done.

    Raises:
        LedgerError: the file is not as it was written, cannot be written, or Git's history is damaged.
    """
    runs = [_published(each) for each in evidence]
    if not _due(read_ledger(path), path, runs):
        return 0  # without a lock: nothing is written where nothing is due, in a read-only checkout for instance
    with _writing(path, lock):
        data = read_ledger(path)
        due = _due(data, path, runs)
        _write(path, rows_of(data), due)
    return len(due)


def note(path: Path, lock: Path, make: Callable[[int, Sequence[bytes]], Noted]) -> int:
    """Append one line of another kind, unless it stands there; return its number. Arguments and errors as in
    :func:`append`.

    Args:
        make: what to note, given the number that its line will have and the lines before it, at which nobody else can
            write meanwhile.
    """
    with _writing(path, lock):
        data = read_ledger(path)
        rows = _with(rows_of(data), _due(data, path, []))
        noted = make(len(rows) + 1, rows)
        known = {line.key: n for n, line in read_chain(data).notes.items()}
        if noted.key in known:
            return known[noted.key]
        _write(path, rows, [noted])
    return len(rows) + 1


def _write(path: Path, rows: Sequence[bytes], due: Sequence[Published | Noted]) -> None:
    write_bytes(path, b"".join(row + b"\n" for row in _with(rows, due)), synced=True)


def _with(rows: Sequence[bytes], due: Sequence[Published | Noted]) -> list[bytes]:
    made = list(rows)
    for each in due:
        made.append(encoded(each, len(made) + 1, sha256_bytes(made[-1]) if made else BEGINNING))
    return made


def read_ledger(path: Path) -> bytes:
    """The bytes of the ledger; none where it is not there.

    Raises:
        LedgerError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise LedgerError(f"{path} cannot be read ({error.strerror})") from None


def _due(data: bytes, path: Path, runs: Sequence[Published]) -> list[Published | Noted]:
    chain = read_chain(data, path.name)
    if chain.findings:
        first, more = chain.findings[0], len(chain.findings) - 1
        raise LedgerError(
            f"nothing is appended to {path.name}, which is not as it was written: {first.where} {first.what}"
            f"{f'; and {more} more' if more else ''}; restore it with 'git checkout {path.name}', and {_TRACK}"
        )
    past = history(path.parent, path, data)
    due: dict[str, Published | Noted] = dict(past.left_out) if past else {}
    for run in runs:
        due.setdefault(run.key, run)
    known = {line.key for line in chain.all.values()}
    return [each for key, each in due.items() if key not in known]


def _published(evidence: Evidence) -> Published:
    return Published(
        name=evidence.name,
        fingerprint=evidence.fingerprint,
        evidence_sha256=evidence_digest(evidence),
        code=PublishedCode(commit=evidence.code.commit, dirty=evidence.code.dirty),
    )


@contextmanager
def _writing(path: Path, lock: Path) -> Iterator[None]:
    """Hold the lock, and say in one sentence why the ledger cannot be written."""
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, timeout=_LOCK_SECONDS):
            yield
    except Timeout:
        raise LedgerError(
            f"another process has been writing {path.name} for {_LOCK_SECONDS} s; {_TRACK} when it is done"
        ) from None
    except OSError as error:
        raise LedgerError(
            f"{path} cannot be written ({error.strerror}), so its newest runs have no line; {_TRACK} where it can"
        ) from None


def check(path: Path, root: Path, evidence: Sequence[Evidence]) -> VerifyResult:
    """Whether the ledger is as it was written, by its own lines, by Git, and by the runs there are.

    A line that was removed, moved or edited is named by its number, as ``ledger.jsonl line 3``.

    Args:
        root: the top folder, of whose Git history each version of the file must be the beginning of the next.
        evidence: runs that must have a line, which must hold their evidence: the current ones, as a rule.

    Raises:
        LedgerError: the file is there and cannot be read, or Git's history is damaged.
    """
    result = VerifyResult()
    data, there = read_ledger(path), path.exists()
    chain = read_chain(data, path.name)
    result.findings += chain.findings
    result.checked["ledger lines"] = len(rows_of(data))
    if there:
        result += _check_runs(path.name, chain.lines, chain.unreadable, evidence)
    elif evidence:
        result.findings.append(Finding("missing", path.name, f"is not there, with a line for each run; {_TRACK}"))
    if there and data and not chain.lines:
        return result + VerifyResult(skipped=[Skipped(path.name, "no line can be read, to compare with Git's history")])
    return result + _check_history(path, root, data, {finding.where for finding in chain.findings})


def _check_runs(
    name: str, lines: Mapping[int, LogLine], unreadable: bool, evidence: Sequence[Evidence]
) -> VerifyResult:
    result = VerifyResult()
    of = {line.fingerprint: line for line in reversed([*lines.values()])}
    for each in evidence:
        run, line = f"{for_line(each.name)}, fingerprint {each.fingerprint}", of.get(each.fingerprint)
        if line is None and unreadable:
            result.skipped.append(Skipped(name, f"the line of {run}, may be one that is not as it was written"))
        elif line is None:
            result.findings.append(Finding("missing", name, f"has no line for {run}; {_TRACK}"))
        elif (line.name, line.evidence_sha256) != (each.name, digest := evidence_digest(each)):
            there = f"{for_line(line.name)}, {line.evidence_sha256}"
            what = f"names other evidence ({there}) than is here of {run} ({digest})"
            result.findings.append(Finding("bytes", f"{name} line {line.n}", what))
        result.checked["runs"] += 1
    return result


def _check_history(path: Path, root: Path, data: bytes, told: set[str]) -> VerifyResult:
    """What Git knows better than the file; what the file has ``told`` already is not told again."""
    past = history(root, path, data.replace(b"\r\n", b"\n"))
    if past is None:
        why = f" ({unread})" if (unread := why_unread(root)) else ""
        why = (
            f"no commit holds it to compare with{why}: lines removed from its end, or all written again, leave no trace"
        )
        return VerifyResult(skipped=[Skipped(path.name, why)])
    result = VerifyResult(findings=[each for each in past.findings if each.where not in told])
    result.checked["ledger versions"] = past.versions
    for each in past.left_out.values():
        what = f"has no such line for {for_line(each.name)}, {for_line(each.key)}, as a merged branch has"
        result.findings.append(Finding("missing", path.name, f"{what}; {_TRACK}"))
    if past.shallow:
        why = "this clone has the newest commits only; run 'git fetch --unshallow' to compare older versions"
        result.skipped.append(Skipped(path.name, why))
    return result


class HistoryCheck(NamedTuple):
    """What comparing the committed versions told."""

    versions: int
    shallow: bool
    """Whether Git holds only the newest commits, so that older versions could not be compared."""
    findings: list[Finding]
    left_out: dict[str, Published | Noted]
    """Key → what a merged side has a line for, and the file has none."""
    first: str
    """The oldest commit here that has the file."""


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
    first = next((each.commit for each in versions if each.blob), "")
    return HistoryCheck(len(versions) - 1, git.is_shallow, findings, _left_out(sides, data), first)


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


def _left_out(sides: Iterable[bytes], data: bytes) -> dict[str, Published | Noted]:
    """Both sides may have published a run, each at its own commit: that is one run."""
    here = {_without_code(line.entry) for line in read_chain(data).all.values()}
    there = [line.entry for side in sides for line in read_chain(side).all.values()]
    return {each.key: each for each in there if _without_code(each) not in here}


def _without_code(said: Published | Noted) -> tuple[str, ...]:
    return tuple(sorted(f"{name}:{value}" for name, value in said.to_dict().items() if name != "code"))
