"""Whether all behind a run still holds: bytes, links and numbers, and the ledger's line of it."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import DriftledgerError
from driftledger.core.paths import Combination
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, read_all_evidence
from driftledger.ledger.log.chain import check as check_chain
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.bytes_check import check_bytes, check_stages
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.links import check_links
from driftledger.ledger.verify.recompute import recompute
from driftledger.project.project import Project


class Verified(NamedTuple):
    """What was checked, and what came of it."""

    names: list[str]
    result: VerifyResult

    def lines(self) -> list[str]:
        """One line where all holds, or one for each difference; then what cannot be checked here."""
        checked = ", ".join(f"{count:,} {what}" for what, count in sorted(self.result.checked.items()))
        what = self.names[0] if len(self.names) == 1 else f"{len(self.names)} runs"
        findings = self.result.findings
        said = [f"{what}: all holds ({checked})"] if not findings else [f"{what}: {len(findings)} differences"]
        said += [f"{finding.kind}: {finding.where}: {finding.what}" for finding in findings]
        return said + [f"not checked: {each.where}: {each.why}" for each in self.result.skipped]

    def to_dict(self) -> dict[str, object]:
        return {
            "runs": self.names,
            "holds": self.result.holds,
            "checked": dict(self.result.checked),
            "findings": [finding._asdict() for finding in self.result.findings],
            "skipped": [each._asdict() for each in self.result.skipped],
        }


def verify(project: Project, run: str | None, *, regenerated: int) -> Verified:
    """Check every byte, link and number behind a run, or behind all that are selected.

    Args:
        regenerated: how many calls of each run are made again.
    """
    contents = Contents(project.root)
    try:
        evidence = _to_verify(project, run)
    except DriftledgerError as error:  # what is damaged may be what would have told what is behind the run
        return _damaged(project, run, contents, error)
    result = check_bytes(project.root, evidence, contents)
    result += check_links(evidence, contents)
    components = Components.of(project)
    result += recompute(project, [lineage for each in evidence for lineage in each.lineages], contents, components)
    if regenerated:
        from driftledger.ledger.verify.regenerate import regenerate

        for each in evidence:
            result += regenerate(project, each, contents, regenerated, project.settings.run.seed, components)
    result += check_chain(project.paths.ledger, project.root, evidence)
    return Verified([each.name for each in evidence], result)


def verify_ledger(project: Project) -> Verified:
    """Check the chain of ``ledger.jsonl``, and that the selected runs are in it."""
    evidence = read_all_evidence(project.root, project.selected, project.combinations)
    return Verified(["ledger.jsonl"], check_chain(project.paths.ledger, project.root, evidence))


def _to_verify(project: Project, run: str | None) -> Sequence[Evidence]:
    if run is None:
        return read_all_evidence(project.root, project.selected, project.combinations)
    with suppress(DriftledgerError):  # which Git's history or MLflow may still have
        if here := _named(project, run):
            return read_all_evidence(project.root, project.selected, here)
    from driftledger.commands.ask import evidence_of  # which opens MLflow

    return [evidence_of(project, run)]


def _named(project: Project, run: str | None) -> list[Combination]:
    """The selected runs of that name; all for None."""
    return [each for each in project.combinations if run in (None, str(each), "/".join(each))]


def _damaged(project: Project, run: str | None, contents: Contents, error: DriftledgerError) -> Verified:
    """What is wrong with the stages behind a selected run whose evidence cannot be read; else the error as it is."""
    chosen = _named(project, run)
    if not chosen:
        raise error
    scores = [score for each in chosen for score in project.selected.of(each).scores]
    result = check_stages(project.root, Selected(scores), contents)
    if result.holds:
        result += VerifyResult([Finding("missing", "evidence", str(error))])
    return Verified([str(each) for each in chosen], result)
