"""Assessments that driftledger's scorers made in MLflow."""

import re

from driftledger.components.base import Component
from driftledger.core.canonical import Json
from driftledger.core.errors import LedgerError
from driftledger.project.settings import Tracking
from driftledger.tracking.store import opened

ID = re.compile("(a|tr)-[0-9a-f]{32}")
"""The form of ids of assessments and traces."""
_DEFAULT = "sqlite:///mlflow.db"
"""MLflow's own store, unless MLFLOW_TRACKING_URI names another."""
_MOST = 10_000
"""The most traces that are searched for an assessment, the newest first."""


def metadata_of(name: str, component: Component) -> dict[str, str]:
    """Return the metadata with which an assessment names a component."""
    role = component.kind
    return {
        role: name,
        f"{role}_fingerprint": component.fingerprint,
        f"{role}_provider": component.provider,
        f"{role}_version": component.version,
    }


def assessments_of(target: str) -> list[Json]:
    """Return the assessment of that id, or all of the trace of that id.

    Raises:
        LedgerError: there is none, or MLflow's store cannot be used.
    """
    tracking = Tracking(uri=_DEFAULT, experiment="-", traces="none")
    # MLflow finds a trace by its id, and no assessment
    condition = f"request_id = '{target}'" if target.startswith("tr") else None
    with opened(tracking, create=False) as client:
        import mlflow  # slow

        experiments = client.search_experiments()
        traces = mlflow.search_traces(
            locations=[experiment.experiment_id for experiment in experiments],
            filter_string=condition,
            max_results=_MOST,
            include_spans=False,
            return_type="list",
        )
    answers = []
    for trace in traces:
        for assessment in trace.info.assessments:
            if target in (assessment.trace_id, assessment.assessment_id):
                answers.append(assessment.to_dictionary())
    if not answers:
        raise LedgerError(
            f"MLflow's newest {_MOST:,} traces have no assessment at {target}"
        )
    return answers
