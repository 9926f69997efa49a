"""From what MLflow calls a run back to the evidence that travels with it."""

import json
import tempfile
from pathlib import Path

from pydantic import ValidationError

from driftledger.config import Tracking
from driftledger.errors import LedgerError
from driftledger.layout import Layout
from driftledger.ledger.evidence import Evidence
from driftledger.tracking import connection
from driftledger.tracking.content import CURRENT, FINGERPRINT
from driftledger.tracking.project import EVIDENCE, tracking_uri


def find_evidence(layout: Layout, tracking: Tracking, run: str) -> Evidence:
    """The evidence of a run, given its id, its name or its fingerprint; of several, the current or newest one.

    Raises:
        LedgerError: MLflow cannot be asked, has no such run, or the run carries no evidence.
    """
    uri = tracking_uri(tracking)
    client = connection.connect(uri, create=False)
    with connection.spoken_errors(uri):
        experiment = client.get_experiment_by_name(tracking.experiment)
        runs = connection.all_pages(client.search_runs, [experiment.experiment_id]) if experiment else []
        named = [
            each for each in runs if run in (each.info.run_id, each.info.run_name, each.data.tags.get(FINGERPRINT))
        ]
        if not named:
            raise LedgerError(
                f"MLflow experiment {tracking.experiment!r} has no run {run!r}; 'driftledger track' shows what is "
                "selected in params.yaml there"
            )
        found = max(named, key=lambda each: (each.data.tags.get(CURRENT) == "true", each.info.start_time))
        with tempfile.TemporaryDirectory() as folder:
            path = client.download_artifacts(found.info.run_id, EVIDENCE, folder)
            text = Path(path).read_text(encoding="utf-8")
    try:
        return Evidence.model_validate(json.loads(text))
    except (ValidationError, ValueError):
        raise LedgerError(f"run {run!r} carries no evidence that this version can read") from None
