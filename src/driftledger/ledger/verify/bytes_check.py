"""Whether every file behind a score is, byte for byte, the one that the ledger speaks of."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from driftledger.benchmarks.description_records import TracScore
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json
from driftledger.core.paths import LOCK
from driftledger.ledger.findings import Finding, Report
from driftledger.ledger.lineage import AnyScore, Behind, Evidence, Selected, fingerprint_of
from driftledger.ledger.lock import LockedFile, LockEntry
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.known_entries import KnownEntries
from driftledger.ledger.verify.lock_check import Where, check_code, check_flow, check_settings, is_code
from driftledger.ledger.verify.lock_text import Step, read_lock_texts
from driftledger.ledger.verify.output_check import Output, check_outputs
from driftledger.ledger.verify.stage_names import check_names

Stages = Mapping[str, LockEntry]


def check_bytes(root: Path, evidence: Sequence[Evidence], contents: Contents) -> Report:
    """Hash every file behind these runs, fetching what is not at hand, and check the entries that speak of them.

    Entries that are those of ``dvc.lock`` here are also compared with the workspace, the settings and, line by line,
    with what DVC writes. Those of other runs stand for themselves: their bytes come from wherever they are.
    """
    check = _Check(root, contents)
    stages = {each.name: _stages(each) for each in evidence}
    contents.fetch(_files(entry for some in stages.values() for entry in some.values()))
    here: dict[str, LockEntry] = {}
    for name, some in stages.items():
        current = {stage: entry for stage, entry in some.items() if check.lock.get(stage) == entry}
        here |= current
        if current != some:
            check.run_elsewhere(name, some)
    check.run_here(here)
    report = check.finish()
    for each in evidence:
        report.findings.extend(_check_evidence(each, contents))
    return report


def check_stages(root: Path, stages: Iterable[str], contents: Contents) -> Report:
    """The same for stages of ``dvc.lock`` here, for when a damaged file keeps their evidence from being read."""
    check = _Check(root, contents)
    here = {stage: check.lock[stage] for stage in stages if stage in check.lock}
    contents.fetch(_files(here.values()))
    check.run_here(here)
    report = check.finish()
    lost = [stage for stage in stages if stage not in here and not check.damaged]
    report.findings.extend(
        Finding("missing", LOCK, f"neither it nor that of any pipeline has a stage {stage}; run 'git status'")
        for stage in lost
    )
    return report


class _Check:
    """A check as it goes on: what was found, and the outputs that are still to be looked at."""

    def __init__(self, root: Path, contents: Contents) -> None:
        self._root, self._contents = root, contents
        self._known = KnownEntries(root, contents.cache_folder)
        self._outputs: list[Output] = []
        self._report = Report()
        self._locks = read_lock_texts(root)
        self.lock: Stages = self._locks.entries if self._locks else {}
        self.damaged = self._locks is not None and bool(self._locks.findings)
        self._spoken_of = {out for entry in self.lock.values() for out in entry.outs}
        if self._locks is not None:
            self._report.checked["lock entries"] += len(self.lock)
            self._report.findings += [*self._locks.findings, *check_names(root, self._locks)]

    def run_here(self, stages: Stages) -> None:
        """Check entries that are those of ``dvc.lock`` here, and others there that nothing else knows."""
        if self._locks is None:
            return
        where = self._locks.where
        stages = self._with_unknown(stages)
        self._add(stages, where, are_whole=self._locks.are_whole)
        self._report += check_code(stages, where, self._contents, self._known)
        self._report.findings.extend(check_settings(self._root, stages, where, self._known))

    def _with_unknown(self, stages: Stages) -> Stages:
        """Add the entries of ``dvc.lock`` that nothing else knows, and those that wrote what they read."""
        writers = {out.path: stage for stage, entry in self.lock.items() for out in entry.outs}
        found = dict(stages)
        waiting = [stage for stage, entry in self.lock.items() if stage not in stages and not self._known.have(entry)]
        while waiting:
            stage = waiting.pop()
            if stage not in found:
                found[stage] = self.lock[stage]
                waiting += [writers[dep.path] for dep in found[stage].deps if dep.path in writers]
        return found

    def run_elsewhere(self, name: str, stages: Stages) -> None:
        """Check the entries that a run called ``name`` carries, not all of which ``dvc.lock`` here has."""
        where = partial(_in_evidence, name)
        self._add(stages, where)
        others = {stage: entry for stage, entry in stages.items() if self.lock.get(stage) != entry}
        self._report += check_code(others, where, self._contents, known=None)

    def finish(self) -> Report:
        """Look at the outputs."""
        return self._report + check_outputs(self._root, self._outputs, self._contents, self._known)

    def _add(self, stages: Stages, where: Where, *, are_whole: bool = True) -> None:
        named = {finding.where for finding in self._report.findings}
        flow = check_flow(stages, where, self._contents, self._known, are_whole=are_whole)
        self._report.findings.extend(flow.findings)
        self._outputs += [
            Output(
                locked=flow.right.get(out.path, out),
                cmd=entry.cmd,
                here=out in self._spoken_of,
                line=partial(where, stage, "outs", place),
            )
            for stage, entry in stages.items()
            for place, out in enumerate(entry.outs)
            if where(stage, "outs", place, "path") not in named and where(stage, "outs", place, "md5") not in named
        ]


def _in_evidence(name: str, stage: str, *way: Step) -> str:
    return f"evidence of {name}, {'.'.join(map(str, (stage, *way)))}"


def _stages(evidence: Evidence) -> dict[str, LockEntry]:
    return {name: entry for behind in evidence.behind for name, entry in behind.stages.items()}


def _files(entries: Iterable[LockEntry]) -> list[LockedFile]:
    """What these stages wrote, and what they read of what others wrote."""
    files = (file for entry in entries for file in (*entry.outs, *entry.deps) if not is_code(file.path))
    return list(dict.fromkeys(files))


def _check_evidence(evidence: Evidence, contents: Contents) -> Iterator[Finding]:
    """What the evidence says beside its lock entries is what they, and the files that they name, say."""
    where = f"evidence of {evidence.name}"
    if fingerprint_of(evidence.behind, _selected(evidence), evidence.combination) != evidence.fingerprint:
        what = f"its fingerprint {evidence.fingerprint} is not that of its lock entries, one of which was changed"
        yield Finding("bytes", where, what)
    for behind in evidence.behind:
        outs = {out for entry in behind.stages.values() for out in entry.outs}
        for file in (behind.score_file, behind.data, *behind.collected.values()):
            if file not in outs:
                yield Finding("bytes", where, f"no stage in it wrote {file.path} with md5 {file.md5}")
        path = contents.path(behind.score_file.md5, behind.score_file.path)
        if path is not None and not _holds(path, behind):
            yield Finding("bytes", where, f"the score in it is not the one in {behind.score_file.path}")


def _holds(path: Path, behind: Behind[AnyScore]) -> bool:
    try:
        return read_json(path, type(behind.score)) == behind.score
    except StoreError:
        return False


def _selected(evidence: Evidence) -> Selected:
    """What the run was evaluated on, as far as its fingerprint hangs on it."""
    trac = evidence.of(TracScore)
    return Selected(
        genception=[b.on for b in evidence.behind if b.score.benchmark == "genception"],
        trac=[behind.on for behind in trac],
        descriptions=[trac[0].score.description] if trac else [],
        text_encoders=[trac[0].score.encoder] if trac else [],
        fidelity=[b.on for b in evidence.behind if b.score.benchmark == "fidelity"],
    )
