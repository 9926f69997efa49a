"""Whether every file behind a score is, byte for byte, the one that was recorded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import LOCK, lock_file
from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import StoreError
from driftledger.core.escaping import for_line
from driftledger.core.files import read_json
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage, fingerprint_of
from driftledger.ledger.lock import LockedFile, LockEntry, locks_here
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.lock_check import (
    Entries,
    check_code,
    check_committed,
    check_flow,
    check_names,
    check_settings,
)
from driftledger.ledger.verify.locks import KnownEntries, parse_locks
from driftledger.ledger.verify.output_check import Output, check_outputs

Stages = Mapping[str, LockEntry]


def check_bytes(root: Path, evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Hash every file behind these runs, fetching what is not at hand, and check the lock entries that name them.

    Entries that are those of ``dvc.lock`` here are also compared with the workspace, the settings and Git. Those of
    other runs stand for themselves: their bytes come from wherever they are.
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
            check.run_elsewhere(Entries(stages, specs, partial(_in_evidence, name)))
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
        if stage not in here and not check.locks.findings:
            file = LOCK if stage.startswith(f"{spec.data.name}@") else lock_file(spec.name)
            result.findings.append(Finding("missing", file, f"it has no stage {stage}; run 'git status'"))
    return result


class _Check:
    """A check as it goes on: what was found, and the outputs that are still to be looked at."""

    def __init__(self, root: Path, contents: Contents) -> None:
        self._root, self._contents = root, contents
        self._known = KnownEntries(root, contents.cache_folder)
        self._outputs: list[Output] = []
        self.locks = parse_locks(locks_here(root))
        self._here = {out for entry in self.locks.entries.values() for out in entry.outs}
        self._result = VerifyResult(list(self.locks.findings))

    def run_here(self, stages: Stages, specs: Mapping[str, Benchmark]) -> None:
        """Check entries that are those of ``dvc.lock`` here."""
        entries = Entries(stages, specs, self.locks.where, are_whole=not self.locks.findings)
        self._add(entries)
        self._result.findings.extend(check_settings(self._root, entries, self._known))
        self._note(check_code(entries, self._known))
        self._note(check_committed(entries, self.locks.files, self._known))

    def run_elsewhere(self, entries: Entries) -> None:
        """Check the entries that a run carries, not all of which ``dvc.lock`` here has."""
        self._add(entries)
        self._note(check_code(entries, known=None))

    def finish(self) -> VerifyResult:
        """Look at the outputs."""
        return self._result + check_outputs(self._root, self._outputs, self._contents, self._known)

    def _add(self, entries: Entries) -> None:
        self._result.checked["lock entries"] += len(entries.stages)
        flow = check_flow(entries, self._contents, self._known)
        self._result.findings += [*check_names(entries), *flow.findings]
        self._outputs += [
            Output(flow.right.get(out.path, out), entry.cmd, out in self._here, entries.where(stage))
            for stage, entry in entries.stages.items()
            for out in entry.outs
        ]

    def _note(self, found: Iterable[Finding | Skipped]) -> None:
        for each in found:
            (self._result.findings if isinstance(each, Finding) else self._result.skipped).append(each)  # type: ignore[arg-type]


def _in_evidence(name: str, stage: str) -> str:
    return for_line(f"evidence of {name}: {stage}")


def _files(entries: Iterable[LockEntry]) -> list[LockedFile]:
    """What these stages wrote, and what they read of what others wrote."""
    return list(dict.fromkeys(file for entry in entries for file in (*entry.outs, *entry.deps)))


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
