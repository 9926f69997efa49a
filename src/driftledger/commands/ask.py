"""What a user asks of the ledger: which scores a version is behind, and whether everything behind a
run still holds."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Group, RenderableType

from driftledger.components.checkpoints import forget_sha256
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.paths import Combination
from driftledger.core.terminal import BAD, GOOD, line, lines
from driftledger.ledger.answers import as_answer, as_yaml, data_of, offers_table, touched_table
from driftledger.ledger.audit import Sources, find_run, meant, resolve_target, touched
from driftledger.ledger.findings import Finding, Kind, VerifyResult
from driftledger.ledger.lineage import PUBLISHED, Folder
from driftledger.ledger.lock import LOCK, locked_now, read_lock
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import why_unread
from driftledger.ledger.published import check_published
from driftledger.project.project import Project

if TYPE_CHECKING:
    from driftledger.ledger.verify.replay import Regenerated

_REMEDY: dict[Kind, str] = {
    "bytes": (
        "bytes: 'dvc checkout' or 'git checkout' restores what was recorded; 'dvc repro' makes it "
        "again"
    ),
    "numbers": (
        "numbers: 'dvc repro' computes them again from the records; what was published with them "
        "was wrong"
    ),
    "missing": "missing: 'dvc pull' brings what a remote has; 'dvc repro' makes it again",
}
"""What to do, kind by kind."""

_SHOWN = 5
"""Most lines about what cannot be checked here; JSON has all."""
_HASHES = "files"
_UNSIGNED = "nothing here shows who published the files, and when: docs/trust.md says how to sign"


def audit(
    project: Project,
    target: str | None,
    versions: Mapping[str, str | None],
    *,
    full: bool,
    as_json: bool,
) -> RenderableType:
    """Show where a run, a score, an image or a number comes from; or what a value or a name could
    mean.

    Args:
        target: None: show every score that one of the ``versions`` is behind, here and in Git's
            history.

    Raises:
        LedgerError: nothing has that name.
    """
    sources = Sources(project)
    if target is not None:
        try:
            resolved = resolve_target(sources, target)
        except LedgerError:
            offers = [] if as_json else meant(sources, target)
            if not offers:
                raise
            return offers_table(target, offers, sources.git)
        if as_json:
            return json.dumps(data_of(resolved), indent=2)
        return (
            as_yaml(resolved)
            if full
            else as_answer(resolved, why_unread(project.root), sources.git)
        )
    rows = touched(sources, versions)
    if sources.git is None:
        notes = [f"Git was not read: {why_unread(project.root)}"]
    else:
        shallow = (
            "; the clone is shallow, and older commits are not in it"
            if sources.git.is_shallow
            else ""
        )
        notes = [f"from Git: {len(sources.git.commits())} commits were read{shallow}"]
    return (
        json.dumps({"scores": rows, "said": notes}, indent=2)
        if as_json
        else Group(touched_table(rows), lines(notes))
    )


class Verified(NamedTuple):
    """What was checked, and the findings."""

    names: list[str]
    checks: dict[str, VerifyResult]
    """In the order in which they were made."""
    again: "Regenerated | None" = None

    @property
    def result(self) -> VerifyResult:
        """All of it together."""
        return sum(self.checks.values(), VerifyResult())

    def as_text(self) -> Group:
        """Show a line per check, each difference and what to do, what cannot be checked here, and a
        sentence on all."""
        result = self.result
        shown = list[str]()
        if self.again is not None:
            shown.append(
                f"calls are drawn by lot, with seed {self.again.seed}; --seed draws the same ones "
                "again"
            )
            shown += [
                "{name}: {compared:,} of {calls:,} made again".format(**kind)
                for kind in self.again.kinds
            ]
        for name, each in self.checks.items():
            parts = [f"{count:,} {what}" for what, count in sorted(each.checked.items())]
            parts += [f"{len(each.findings)} wrong"] * bool(each.findings)
            parts += [f"{len(each.skipped)} not checked"] * bool(each.skipped)
            shown.append(f"{name}: {', '.join(parts) or 'nothing to check'}")
        shown += [f"{each.kind}: {each.where}: {each.what}" for each in result.findings]
        shown += [
            f"→ {_REMEDY[kind]}" for kind in dict.fromkeys(each.kind for each in result.findings)
        ]
        shown += [f"not checked: {each.where}: {each.why}" for each in result.skipped[:_SHOWN]]
        more = len(result.skipped) - _SHOWN
        shown += [f"not checked: {more} more; --json has them all"] * (more > 0)
        what = self.names[0] if len(self.names) == 1 else f"{len(self.names)} runs"
        rest = f" that can be checked here; {len(result.skipped)} not" if result.skipped else ""
        several = "" if len(result.findings) == 1 else "s"
        end = (
            f"{len(result.findings)} difference{several}" if result.findings else f"all holds{rest}"
        )
        if result.findings and all(
            each.kind == "missing" and each.where.startswith("data/") for each in result.findings
        ):
            end = "not pulled yet: 'dvc pull' brings what is missing here"
        return Group(
            lines(shown), line(f"{what}: {end}", GOOD if result.holds else BAD), line(_UNSIGNED)
        )

    def to_dict(self) -> dict[str, object]:
        return {
            "runs": self.names,
            "holds": self.result.holds,
            "checked": dict(self.result.checked),
            "findings": [finding._asdict() for finding in self.result.findings],
            "skipped": [each._asdict() for each in self.result.skipped],
            "told": [_UNSIGNED],
            **(
                {}
                if self.again is None
                else {"regenerated": {"seed": self.again.seed, "kinds": self.again.kinds}}
            ),
        }


def verify(
    project: Project, run: str | None, *, regenerated: int = 0, seed: int | None = None
) -> Verified:
    """Check every byte, link and number behind a run, or behind all that are selected, and the
    report.

    Args:
        run: None checks all pages of the report; of one run, these are the tables and the page of
            its model.
        regenerated: how many calls of each run are made again.
        seed: draws the calls of an earlier verification again; None draws others each time.
    """
    from driftledger.ledger.verify.components import Components
    from driftledger.ledger.verify.files import check_hashes, check_links
    from driftledger.ledger.verify.replay import recompute, regenerate

    forget_sha256()
    sources = Sources(project)
    contents = sources.contents
    chosen = [each for each in project.combinations if run in (None, str(each), each.path)]
    try:
        evidence = sources.runs(chosen) if run is None else [find_run(sources, run)]
    except DriftledgerError as error:
        # the damaged file may be the one that says what is behind the run
        return _damaged(project, chosen, contents, error)
    components = Components(project)
    lineages = [lineage for each in evidence for lineage in each.lineages]
    checks = {
        _HASHES: check_hashes(evidence, contents),
        "links between them": check_links(evidence, contents),
        "scores computed again": recompute(project, lineages, contents, components),
    }
    again: Regenerated | None = None
    if regenerated:
        again = regenerate(project, evidence, contents, regenerated, seed, components)
        checks["calls made again"] = again.result
    if not any(each.findings for each in checks.values()):
        from driftledger.reports.report import check_report

        checks["report"] = check_report(project, contents, run and evidence[0].combination.model)
    checks[PUBLISHED] = check_published(project.root, evidence)
    return Verified([each.name for each in evidence], checks, again)


def _damaged(
    project: Project, chosen: list[Combination], contents: Contents, error: DriftledgerError
) -> Verified:
    """Return what is wrong with the folders behind selected runs, for runs with evidence that
    cannot be read."""
    from driftledger.ledger.verify.files import check_folders

    if not chosen:
        raise error
    lock = locked_now(project.root)
    folders = list[Folder]()
    result = VerifyResult()
    try:
        read_lock(project.root)
    except DriftledgerError as damage:
        result.find(LOCK, str(damage))
    for spec, keys in (
        score for each in chosen for score in project.selected if each.shows(score[1])
    ):
        for stage in spec.stages:
            name = stage.lock(keys)
            out = stage.out(keys)
            locked = lock[name].out(out) if name in lock else None
            if locked is not None:
                folders.append(Folder(path=stage.at(keys), out=out, md5=locked.md5))
    result += check_folders(folders, contents)
    if result.holds:
        result += VerifyResult([Finding("missing", "evidence", str(error))])
    return Verified([str(each) for each in chosen], {_HASHES: result})
