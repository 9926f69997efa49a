"""``verify``: check that everything behind runs still holds."""

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Group

from driftledger.commands.terminal import BAD, GOOD, line, lines
from driftledger.components.checkpoints import forget_sha256
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.ledger.findings import Finding, Kind, VerifyResult
from driftledger.ledger.lineage import (
    PUBLISHED,
    incomplete_models,
    locked_folder,
)
from driftledger.ledger.lock import locked_now, read_lock
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.published import check_published
from driftledger.ledger.sources import Sources, find_run
from driftledger.project.project import LOCK, Combination, Project

if TYPE_CHECKING:
    from driftledger.ledger.verify.replay import Regenerated

_REMEDY: dict[Kind, str] = {
    "bytes": (
        "bytes: 'dvc checkout dvc.yaml' or 'git checkout' restores what was recorded; 'dvc repro' "
        "makes it again"
    ),
    "numbers": (
        "numbers: 'dvc repro' computes them again from the records; what was published with them "
        "was wrong"
    ),
    "missing": "missing: 'dvc pull' brings what a remote has; 'dvc repro' makes it again",
}
"""Kind of finding → what to do about it."""

_MOST_SKIPPED = 5
"""The most lines about what cannot be checked here; JSON has all."""
_HASHES = "files"
_UNSIGNED = "nothing here shows who published the files, and when: docs/trust.md says how to sign"


class Verified(NamedTuple):
    """The results of all checks of some runs."""

    names: list[str]
    checks: dict[str, VerifyResult]
    """In the order in which they were made."""
    again: "Regenerated | None" = None

    @property
    def result(self) -> VerifyResult:
        """The results of all checks together."""
        return sum(self.checks.values(), VerifyResult())

    def as_text(self) -> Group:
        """Show a line per check, differences, what was not checked, and a verdict."""
        result = self.result
        texts = []
        if self.again is not None:
            seed = self.again.seed
            texts.append(
                f"calls are drawn by lot, with seed {seed}; --seed draws the same ones again"
            )
            for kind in self.again.kinds:
                texts.append(
                    "{name}: {compared:,} of {calls:,} made again".format(**kind)
                )
        for name, check in self.checks.items():
            texts.append(f"{name}: {_counts(check)}")
        remedies: dict[str, None] = {}
        for finding in result.findings:
            texts.append(f"{finding.kind}: {finding.where}: {finding.what}")
            remedies[f"→ {_REMEDY[finding.kind]}"] = None
        texts += remedies
        for skipped in result.skipped[:_MOST_SKIPPED]:
            texts.append(f"not checked: {skipped.where}: {skipped.why}")
        if len(result.skipped) > _MOST_SKIPPED:
            texts.append(
                f"not checked: {len(result.skipped) - _MOST_SKIPPED} more; --json has them all"
            )
        runs = self.names[0] if len(self.names) == 1 else f"{len(self.names)} runs"
        verdict = line(f"{runs}: {_verdict(result)}", GOOD if result.holds else BAD)
        return Group(lines(texts), verdict, line(_UNSIGNED))

    def to_dict(self) -> dict[str, object]:
        """Return it ready for JSON."""
        data = {
            "runs": self.names,
            "holds": self.result.holds,
            "checked": dict(self.result.checked),
            "findings": [finding._asdict() for finding in self.result.findings],
            "skipped": [skipped._asdict() for skipped in self.result.skipped],
            "notes": [_UNSIGNED],
        }
        if self.again is not None:
            data["regenerated"] = {"seed": self.again.seed, "kinds": self.again.kinds}
        return data


def _counts(check: VerifyResult) -> str:
    parts = [f"{count:,} {what}" for what, count in sorted(check.checked.items())]
    if check.findings:
        parts.append(f"{len(check.findings)} wrong")
    if check.skipped:
        parts.append(f"{len(check.skipped)} not checked")
    return ", ".join(parts) or "nothing to check"


def _verdict(result: VerifyResult) -> str:
    findings = result.findings
    if not findings:
        rest = (
            f" that can be checked here; {len(result.skipped)} not"
            if result.skipped
            else ""
        )
        return f"all holds{rest}"
    if all(
        finding.kind == "missing" and finding.where.startswith("data/")
        for finding in findings
    ):
        return "not pulled yet: 'dvc pull' brings what is missing here"
    return f"{len(findings)} difference{'' if len(findings) == 1 else 's'}"


def verify(
    project: Project, run: str | None, *, regenerated: int = 0, seed: int | None = None
) -> Verified:
    """Check every byte, link and number behind a run or all runs, and the report.

    Args:
        run: None checks all pages of the report; of one run, these are the tables and the page of
            its model.
        regenerated: how many calls of each run are made again.
        seed: draws the calls of an earlier verification again; None draws others each time.
    """
    from driftledger.ledger.verify.components import Components
    from driftledger.ledger.verify.files import check_hashes, check_links, check_store
    from driftledger.ledger.verify.replay import recompute, regenerate

    forget_sha256()
    sources = Sources(project)
    contents = sources.contents
    chosen = []
    for combination in project.combinations:
        if run in (None, str(combination), combination.path):
            chosen.append(combination)
    try:
        incomplete = incomplete_models(project.root, sources.selected, contents.here)
        models = dict.fromkeys(combination.model for combination in chosen)
        lacking = [incomplete[model] for model in models if model in incomplete]
        if run is None:
            complete = [
                combination
                for combination in chosen
                if combination.model not in incomplete
            ]
            runs = sources.runs(complete)
        else:
            runs = [] if lacking else [find_run(sources, run)]
    except DriftledgerError as error:
        # the damaged file may be the one that says what is behind the run
        return _damaged(project, chosen, contents, error)
    components = Components(project)
    lineages = []
    for checked in runs:
        lineages += checked.lineages
    checks = {
        _HASHES: check_hashes(runs, contents),
        "links between them": check_links(runs, contents),
        "scores computed again": recompute(project, lineages, contents, components),
    }
    if run is None:
        checks["call store"] = check_store(project)
    for why in lacking:
        checks[_HASHES].find(LOCK, why, "missing")
    again: Regenerated | None = None
    if regenerated:
        again = regenerate(runs, contents, components, regenerated, seed)
        checks["calls made again"] = again.result
    if not any(check.findings for check in checks.values()):
        from driftledger.reports.report import check_report

        checks["report"] = check_report(
            project, contents, run and runs[0].combination.model
        )
    checks[PUBLISHED] = check_published(project.root, runs)
    names = [checked.name for checked in runs]
    names = names or [str(combination) for combination in chosen]
    return Verified(names, checks, again)


def _damaged(
    project: Project,
    chosen: list[Combination],
    contents: Contents,
    error: DriftledgerError,
) -> Verified:
    """Check the folders behind selected runs whose scores cannot be read."""
    from driftledger.ledger.verify.files import check_folders

    if not chosen:
        raise error
    result = VerifyResult()
    try:
        read_lock(project.root)
    except DriftledgerError as damage:
        result.find(LOCK, str(damage))
    lock = locked_now(project.root)
    folders = []
    for combination in chosen:
        for spec, keys in project.selected:
            for stage in spec.stages if combination.shows(keys) else ():
                with suppress(LedgerError):
                    folders.append(locked_folder(lock, stage, keys))
    result += check_folders(folders, contents)
    if result.holds:
        result += VerifyResult([Finding("missing", "evidence", str(error))])
    return Verified([str(combination) for combination in chosen], {_HASHES: result})
