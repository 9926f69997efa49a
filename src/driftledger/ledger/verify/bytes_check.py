"""Whether every file behind a score is, byte for byte, the one that was recorded."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import LOCK, lock_file
from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.escaping import for_line
from driftledger.core.files import read_json
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage, fingerprint_of
from driftledger.ledger.lock import LockedFile, LockEntry, locks_here, parse_locks
from driftledger.ledger.objects.contents import Contents, beneath
from driftledger.ledger.objects.fetching import FOLDER
from driftledger.ledger.verify.lock_check import KnownEntries, LockCheck

Stages = Mapping[str, LockEntry]


def check_bytes(root: Path, evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Hash every file behind these runs, fetching what is not at hand, and check the lock entries that name them.

    Entries that are those of ``dvc.lock`` here are also compared with the workspace, the settings and Git. Those of
    other runs are checked by themselves: their bytes come from wherever they are.
    """
    check = _Check(root, contents)
    specs = {stage: each.spec for run in evidence for each in run.lineages for stage in each.stages}
    runs = {run.name: {n: entry for each in run.lineages for n, entry in each.stages.items()} for run in evidence}
    contents.fetch(_files(entry for stages in runs.values() for entry in stages.values()))
    here: dict[str, LockEntry] = {}
    for name, stages in runs.items():
        current = {stage: entry for stage, entry in stages.items() if check.locks.entries.get(stage) == entry}
        here |= current
        if current != stages:
            check.run_elsewhere(name, stages, specs)
    check.run_here(here, specs)
    result = check.finish()
    for run in evidence:
        result.findings.extend(_check_evidence(run, contents))
    return result


def check_stages(root: Path, selected: Selected, contents: Contents) -> VerifyResult:
    """The same for the stages of ``dvc.lock`` behind these scores, where a damaged file keeps evidence from being
    read."""
    check = _Check(root, contents)
    specs = {stage.named(keys): spec for spec, keys in selected.scores for stage in spec.stages}
    here = {stage: check.locks.entries[stage] for stage in specs if stage in check.locks.entries}
    contents.fetch(_files(here.values()))
    check.run_here(here, specs)
    result = check.finish()
    for stage, spec in specs.items():
        if stage not in here and not check.locks.damage:
            file = LOCK if stage.startswith(f"{spec.data.name}@") else lock_file(spec.name)
            result.findings.append(Finding("missing", file, f"it has no stage {stage}; run 'git status'"))
    return result


def _files(entries: Iterable[LockEntry]) -> list[LockedFile]:
    """What these stages wrote, and what they read of what others wrote."""
    return list(dict.fromkeys(file for entry in entries for file in (*entry.outs, *entry.deps)))


class _Output(NamedTuple):
    """A file or folder that a stage wrote."""

    locked: LockedFile
    cmd: str | list[str]
    here: bool
    """Whether it is in ``dvc.lock`` here, so that the workspace should hold it, if anything."""
    where: str
    """Where its entry stands, e.g. ``dvc.lock: chain@photos-seer-brush``."""


class _Check:
    """A check as it goes on: what was found, and the outputs that are still to be looked at."""

    def __init__(self, root: Path, contents: Contents) -> None:
        self._root, self._contents = root, contents
        self._known = KnownEntries(root, contents.runs())
        self._outputs: list[_Output] = []
        self.locks = parse_locks(locks_here(root))
        self._here = {out for entry in self.locks.entries.values() for out in entry.outs}
        damaged = [Finding("bytes", where, f"{what}; run 'git diff {file}'") for file, where, what in self.locks.damage]
        self._result = VerifyResult(damaged)

    def run_here(self, stages: Stages, specs: Mapping[str, Benchmark]) -> None:
        """Check entries that are those of ``dvc.lock`` here."""
        check = LockCheck(stages, specs, self.locks.where, self._contents, self._known, are_whole=not self.locks.damage)
        check.check_names()
        check.check_flow()
        check.check_settings()
        check.check_code(here=True)
        check.check_committed(self.locks.files)
        self._add(check, stages, self.locks.where)

    def run_elsewhere(self, name: str, stages: Stages, specs: Mapping[str, Benchmark]) -> None:
        """Check the entries that a run carries, not all of which ``dvc.lock`` here has."""

        def where(stage: str) -> str:
            return for_line(f"evidence of {name}: {stage}")

        check = LockCheck(stages, specs, where, self._contents, self._known)
        check.check_names()
        check.check_flow()
        check.check_code(here=False)
        self._add(check, stages, where)

    def _add(self, check: LockCheck, stages: Stages, where: Callable[[str], str]) -> None:
        self._result += check.result
        self._outputs += [
            _Output(check.right.get(out.path, out), entry.cmd, out in self._here, where(stage))
            for stage, entry in stages.items()
            for out in entry.outs
        ]

    def finish(self) -> VerifyResult:
        """Hash every file of the outputs, where it is; it must be somewhere."""
        for output in {(each.locked, each.here): each for each in self._outputs}.values():
            try:
                manifest = self._contents.manifest(output.locked)
            except LedgerError:
                self._result.findings.append(self._unknown_folder(output))
                continue
            self._result.checked["files"] += len(manifest)
            found = list(self._check_files(output, manifest))
            wrong = self._wrong_md5(output)
            self._result.findings.extend([wrong] if wrong else [*found, *self._check_size(output)])
        return self._result

    def _check_files(self, output: _Output, manifest: dict[str, str]) -> Iterator[Finding]:
        (locked, _, here, where), contents = output, self._contents
        folder, is_folder = locked.path, locked.md5.endswith(FOLDER)
        is_here = here and (self._root / folder).exists()
        if is_folder:
            yield from self._check_cached(locked.md5, folder)
        for name, md5 in manifest.items():
            path = beneath(folder, name)
            yield from self._check_cached(md5, path)
            at_hand = contents.path(md5, path) is not None
            if is_here and (file := contents.here(path)) is not None:
                if (found := contents.md5_of(file)) != md5:
                    said = f"it was written with {md5}" if is_folder else f"{where} has {md5}"
                    more = "" if at_hand else f"; no file that is to be had has that, and {self._unfetched}"
                    yield Finding("bytes", path, f"it has md5 {found}, and {said}{more}")
                    continue
            elif is_here and at_hand:
                what = f"it is not in its folder (md5 {md5}); 'dvc checkout {folder}' restores it"
                yield Finding("missing", path, what)
            if not at_hand:
                what = f"no file with md5 {md5} is here or in DVC's cache, and {self._unfetched}"
                yield Finding("missing", path, what)
        if is_here and is_folder:
            for name in contents.more_here(folder, manifest.keys()):
                yield Finding("bytes", beneath(folder, name), "the folder was written without this file")

    def _check_cached(self, md5: str, path: str) -> Iterator[Finding]:
        cached, root = self._contents.cached(md5), self._root
        if cached is not None and self._contents.md5_of(cached) != md5.removesuffix(FOLDER):
            place = cached.relative_to(root) if cached.is_relative_to(root) else cached
            what = f"DVC's cache holds something else under the name of {path}; remove it and run 'dvc fetch'"
            yield Finding("bytes", place.as_posix(), what)

    def _unknown_folder(self, output: _Output) -> Finding:
        """A folder whose manifest is lost; one that stands at its path is another, or it would have told."""
        path, md5 = output.locked.path, output.locked.md5
        here = self._contents.locked_here(path) if output.here else None
        if here is None:
            what = f"no folder with md5 {md5} is here or in DVC's cache, and {self._unfetched}"
            return Finding("missing", path, what)
        what = f"it has md5 {here.md5}, and was written with {md5}; which of its files differ is not known"
        return Finding("bytes", path, f"{what}, and {self._unfetched}")

    @property
    def _unfetched(self) -> str:
        if self._contents.unfetched:
            return f"the remote could not be asked: {for_line(self._contents.unfetched)}"
        return "the remote does not have it either"

    def _wrong_md5(self, output: _Output) -> Finding | None:
        """An MD5 that no file anywhere has is wrong where a run is known to have written the file that is here."""
        locked = output.locked
        if not output.here or locked.md5.endswith(FOLDER) or self._contents.path(locked.md5, locked.path) is not None:
            return None
        here = self._contents.locked_here(locked.path)
        if here is None or not any(here in entry.outs for entry in self._known.of(output.cmd)):
            return None
        what = f"it says that {locked.path} has md5 {locked.md5}; the file that was written has {here.md5}"
        return Finding("bytes", output.where, what)

    def _check_size(self, output: _Output) -> Iterator[Finding]:
        locked = output.locked
        if not self._contents.has(locked):
            return
        measured = self._contents.measured(locked)
        for field in ("size", "nfiles"):
            said, found = getattr(locked, field), getattr(measured, field)
            if said != found:
                what = f"it says that the {field} of {locked.path} is {said}, and by its md5 it is {found}"
                yield Finding("bytes", output.where, what)


def _check_evidence(evidence: Evidence, contents: Contents) -> Iterator[Finding]:
    """What the evidence says beside its lock entries is what they, and the files that they name, say."""
    where = for_line(f"evidence of {evidence.name}")
    if fingerprint_of(evidence.lineages, evidence.combination) != evidence.fingerprint:
        what = f"its fingerprint {evidence.fingerprint} is not that of its lock entries, one of which was changed"
        yield Finding("bytes", where, what)
    for lineage in evidence.lineages:
        outs = {out for entry in lineage.stages.values() for out in entry.outs}
        for file in (lineage.score_file, lineage.rows_file, lineage.data, *lineage.collected.values()):
            if file not in outs:
                yield Finding("bytes", where, f"no stage in it wrote {file.path} with md5 {file.md5}")
        path = contents.path(lineage.score_file.md5, lineage.score_file.path)
        if path is not None and not _holds(path, lineage):
            yield Finding("bytes", where, f"the score in it is not the one in {lineage.score_file.path}")


def _holds(path: Path, lineage: Lineage) -> bool:
    try:
        return read_json(path, type(lineage.score)) == lineage.score
    except StoreError:
        return False
