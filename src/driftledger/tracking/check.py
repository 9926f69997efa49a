"""``verify --mlflow``: whether MLflow shows of the selected runs what the locks and the ledger say."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lineage import Evidence
from driftledger.project.project import Project
from driftledger.tracking import connection, correlation_run
from driftledger.tracking.addresses import tracking_uri
from driftledger.tracking.content import RunContent
from driftledger.tracking.projection import contents_of

if TYPE_CHECKING:
    from driftledger.tracking.held import Held


def refuse_unnamed(trust: bool = False) -> None:
    """Stop where nothing says which MLflow to ask.

    Args:
        trust: whether the MLflow that the checkout names may be asked.

    Raises:
        LedgerError: the environment names none.
    """
    if not (trust or os.environ.get("MLFLOW_TRACKING_URI")):
        raise LedgerError(
            "'verify --mlflow' asks the MLflow that MLFLOW_TRACKING_URI names, and it names none; "
            "set it, to sqlite:///mlflow.db for instance"
        )


def check(project: Project, evidence: Sequence[Evidence], *, whole: bool) -> VerifyResult:
    """Compare every metric, tag, param, dataset, link, trace and artifact with what ``track`` would write.

    Args:
        whole: whether ``evidence`` is all that is selected, so that no other run may say that it is.

    Raises:
        LedgerError: MLflow cannot be asked.
    """
    tracking = project.settings.tracking
    if not whole:
        selected = {str(each) for each in project.combinations}
        unselected = [each.name for each in evidence if each.name not in selected]
        if unselected:
            return VerifyResult(skipped=[Skipped(f"MLflow: {name}", "it is not selected now") for name in unselected])
    result = compare(tracking_uri(tracking), tracking.experiment, contents_of(project.root, evidence, tracking), whole)
    if whole and (correlations := correlation_run.contents_of(project.root)):
        experiment = correlation_run.experiment_of(tracking)
        result += compare(tracking_uri(tracking), experiment, correlations, whole)
    return result


def compare(uri: str, experiment: str, contents: Sequence[RunContent], whole: bool) -> VerifyResult:
    """Compare one experiment; arguments and errors as of :func:`check`."""
    client = connection.connect(uri, create=False)
    from driftledger.tracking.held import Held

    result = VerifyResult()
    with connection.spoken_errors(uri):
        there = client.get_experiment_by_name(experiment)
        if there is None or there.lifecycle_stage != "active":
            return VerifyResult([Finding("mlflow", f"MLflow: {for_line(experiment)}", "there is no such experiment")])
        held = Held(client, uri, there.experiment_id)
        unrecorded = Counter[str]()
        for content in contents:
            result.findings += _of_run(held, content, unrecorded)
        why = "MLflow alone tells what was at hand when a run was written"
        result.skipped += [Skipped(f"MLflow: {what} of {n} runs", why) for what, n in sorted(unrecorded.items())]
        result.findings += chain(_doubles(held), _others(held, contents) if whole else ())
    return result + VerifyResult(checked=held.compared)


def _of_run(held: "Held", content: RunContent, unrecorded: Counter[str]) -> Iterator[Finding]:
    runs = held.runs.get(content.fingerprint, [])
    if not runs:
        what = f"no finished run has its fingerprint {content.fingerprint}; 'driftledger track' writes it"
        yield Finding("mlflow", f"MLflow: {content.name}", what)
        return
    differences = list(held.differences(runs[0], content))
    yield from (
        Finding("mlflow", f"MLflow: {content.name}: {each.where}", each.what) for each in differences if each.recorded
    )
    unrecorded.update({each.where.partition("/")[0] for each in differences if not each.recorded})


def _doubles(held: "Held") -> Iterator[Finding]:
    for runs in held.runs.values():
        for double in runs[1:]:
            what = f"shows what {runs[0].info.run_id} shows"
            yield Finding("mlflow", f"MLflow: run {double.info.run_id}", what)
    for name, which in held.doubles:
        yield Finding("mlflow", f"MLflow: {for_line(name)}", f"is there twice: {for_line(which)} is a double")


def _others(held: "Held", contents: Sequence[RunContent]) -> Iterator[Finding]:
    """Runs that are not selected, and do not say so as :func:`retired` has it."""
    from driftledger.tracking.runs import retired

    names, fingerprints = {content.name for content in contents}, {content.fingerprint for content in contents}
    for fingerprint, runs in held.runs.items():
        wrong = [key for key, value in retired(runs[0], names).items() if runs[0].data.tags.get(key) != value]
        if fingerprint not in fingerprints and wrong:
            what = f"is not selected now, and its tags do not say so: {', '.join(wrong)}"
            yield Finding("mlflow", f"MLflow: run {runs[0].info.run_id}", what)
