"""``driftledger track``: MLflow is imported where there may be something to do."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.ledger.lineage import Evidence
from driftledger.project.settings import Tracking
from driftledger.tracking.addresses import tracking_uri
from driftledger.tracking.last_push import LastPush, content_key, last_push, note, store_mark


def track(
    root: Path, evidence: Sequence[Evidence], tracking: Tracking, *, repair: bool = False, calls: Path | None = None
) -> Sequence[str]:
    """Let MLflow show the combinations and the correlations; say in a line each what that took.

    Arguments and errors as in :func:`~driftledger.tracking.projection.show`.
    """
    if not repair and (pushed := last_push(root, tracking, content_key(root, evidence, tracking))) is not None:
        return pushed.told
    told = _push(root, evidence, tracking, repair, calls)
    _note(root, evidence, tracking, calls)
    return told


def _push(
    root: Path, evidence: Sequence[Evidence], tracking: Tracking, repair: bool, calls: Path | None
) -> tuple[str, ...]:
    from driftledger.tracking import correlation_run, projection

    shown = projection.show(root, evidence, tracking, repair=repair, calls=calls)
    return (shown, *correlation_run.show(root, tracking, repair=repair))


def _note(root: Path, evidence: Sequence[Evidence], tracking: Tracking, calls: Path | None) -> None:
    """Push once more, which finds nothing to do, and remember that, where nobody wrote to the store meanwhile."""
    from driftledger.tracking.ui import experiment_id

    uri = tracking_uri(tracking)
    if (mark := store_mark(uri)) is None:
        return
    pushed = LastPush(experiment_id(tracking), _push(root, evidence, tracking, False, calls))
    if store_mark(uri) == mark:
        note(root, content_key(root, evidence, tracking), mark, pushed)
