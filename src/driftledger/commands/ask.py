"""What a user asks of the ledger: where a score comes from, what a version touched, whether all of it still holds."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.ledger.audit import audit as audits
from driftledger.ledger.audit import touched_text
from driftledger.ledger.audit.found import find_run
from driftledger.ledger.audit.query import parse_query
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import resolve_target
from driftledger.ledger.audit.touched import touched as find_touched
from driftledger.ledger.compare import compare_text
from driftledger.ledger.compare.compare import Comparison
from driftledger.ledger.compare.compare import compare as compare_runs
from driftledger.ledger.diff import diff_text
from driftledger.ledger.diff.diff import diff as diff_revisions
from driftledger.ledger.findings import Finding, Report
from driftledger.ledger.lineage import Evidence, all_upstream_stages, read_all_evidence
from driftledger.ledger.log.chain import check as check_chain
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.bytes_check import check_bytes, check_stages
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.links import check_links
from driftledger.ledger.verify.recompute import recompute_scores
from driftledger.ledger.verify.regenerate import regenerate
from driftledger.ledger.why import why as explain_call
from driftledger.project.project import Project
from driftledger.tracking.lookup import MlflowRuns


class Verified(NamedTuple):
    """What was checked, and what came of it."""

    names: list[str]
    report: Report

    def lines(self) -> list[str]:
        """One line where all holds, or one for each difference; then what cannot be checked here."""
        checked = ", ".join(f"{count:,} {what}" for what, count in sorted(self.report.checked.items()))
        what = self.names[0] if len(self.names) == 1 else f"{len(self.names)} runs"
        findings = self.report.findings
        said = [f"{what}: all holds ({checked})"] if not findings else [f"{what}: {len(findings)} differences"]
        said += [f"{finding.kind}: {finding.where}: {finding.what}" for finding in findings]
        return said + [f"not checked: {each.where}: {each.why}" for each in self.report.unchecked]

    def to_dict(self) -> dict[str, object]:
        return {
            "runs": self.names,
            "holds": self.report.holds,
            "checked": dict(self.report.checked),
            "findings": [finding._asdict() for finding in self.report.findings],
            "unchecked": [each._asdict() for each in self.report.unchecked],
        }


def sources(project: Project) -> Sources:
    """What may know about a score here: the working tree, Git, DVC's cache, and MLflow."""
    mlflow = MlflowRuns(project.settings.tracking)
    return Sources(project.root, project.selected, project.combinations, mlflow=mlflow)


def audit(project: Project, target: str, *, as_json: bool) -> str:
    """The evidence behind a run, a score file, an image or one number."""
    with sources(project) as known:
        found = resolve_target(known, target)
        return audits.as_json(found, known) if as_json else audits.as_tree(found, known)


def touched(
    project: Project,
    *,
    model: str | None = None,
    generator: str | None = None,
    encoder: str | None = None,
    judge: str | None = None,
    dataset: str | None = None,
    image: Path | None = None,
    since: str | None = None,
    as_json: bool,
) -> str:
    """Every score that a version of a component, a dataset or an image stands behind, here, in Git and in MLflow."""
    query = parse_query(
        model=model, generator=generator, encoder=encoder, judge=judge, dataset=dataset, image=image, since=since
    )
    with sources(project) as known:
        answer = find_touched(known, query)
        return touched_text.as_json(answer) if as_json else touched_text.as_table(answer)


def compare(project: Project, a: str, b: str, *, anyway: bool) -> Comparison:
    """Two runs, metric by metric, with paired intervals over what both were measured on."""
    with sources(project) as known:
        one, two = _evidence(known, a), _evidence(known, b)
        return compare_runs(one, two, known.contents, anyway=anyway)


def compare_table(comparison: Comparison) -> str:
    return compare_text.as_table(comparison)


def diff(project: Project, old: str, new: str | None, *, as_json: bool) -> str:
    """What changed between two Git revisions, or since one: components, data, scores, and how answers are read."""
    found = diff_revisions(project.root, old, new)
    return str(found.model_dump_json(indent=2)) if as_json else diff_text.as_text(found)


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
    report = check_bytes(project.root, evidence, contents)
    report += check_links(project.root, evidence, contents)
    components = Components.of(project)
    report += recompute_scores(
        project, [lineage for each in evidence for lineage in each.lineages], contents, components
    )
    if regenerated:
        for each in evidence:
            seed = project.settings.run.seed
            report += regenerate(project, each, contents, regenerated, seed, components)
    report += check_chain(project.paths.ledger, project.root, evidence)
    return Verified([each.name for each in evidence], report)


def verify_ledger(project: Project) -> Verified:
    """Check the chain of ``ledger.jsonl``, and that the selected runs are in it."""
    evidence = read_all_evidence(project.root, project.selected, project.combinations)
    return Verified(["ledger.jsonl"], check_chain(project.paths.ledger, project.root, evidence))


def why(project: Project, key_or_sample: str) -> str:
    """Which part of a call's key differs from the nearest stored call."""
    with project.store() as store:
        return explain_call(store, key_or_sample)


def _to_verify(project: Project, run: str | None) -> Sequence[Evidence]:
    if run is None:
        return read_all_evidence(project.root, project.selected, project.combinations)
    with sources(project) as known:
        return [_evidence(known, run)]


def _damaged(project: Project, run: str | None, contents: Contents, error: DriftledgerError) -> Verified:
    """What is wrong with the stages behind a selected run whose evidence cannot be read; else the error as it is."""
    chosen = [each for each in project.combinations if run in (None, str(each), "/".join(each))]
    if not chosen:
        raise error
    stages = all_upstream_stages(project.selected, chosen)
    report = check_stages(project.root, stages, contents)
    if report.holds:
        report += Report([Finding("missing", "evidence", str(error))])
    return Verified([str(each) for each in chosen], report)


def _evidence(known: Sources, run: str) -> Evidence:
    found = find_run(known, run)
    if found is None:
        raise LedgerError(f"there is no run {run!r}: neither in dvc.lock, nor in Git history, nor in MLflow")
    return found.evidence
