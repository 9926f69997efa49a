"""``driftledger track``: MLflow is imported where there may be something to do."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.core.files import parsed_once
from driftledger.ledger.lineage import Evidence, Unread
from driftledger.project.settings import Tracking
from driftledger.tracking.addresses import tracking_uri
from driftledger.tracking.last_push import LastPush, content_key, last_push, note, store_mark


@parsed_once()
def track(evidence: Unread, tracking: Tracking, *, repair: bool = False, calls: Path | None = None) -> Sequence[str]:
    """Let MLflow show the combinations and the correlations; say in a line each what that took.

    Arguments and errors as in :func:`~driftledger.tracking.projection.show`, and as in
    :func:`~driftledger.ledger.lineage.read_all_evidence`.
    """
    root, key = evidence.root, evidence.key  # before it is read, so that what changes meanwhile has another key
    if not repair and (pushed := last_push(root, tracking, content_key(root, key, tracking))) is not None:
        return pushed.told
    read = evidence.read()
    told = _push(root, read, tracking, repair, calls)
    _note(root, key, read, tracking, calls)
    return told


def _push(
    root: Path, evidence: Sequence[Evidence], tracking: Tracking, repair: bool, calls: Path | None
) -> tuple[str, ...]:
    from driftledger.tracking import correlation_run, projection

    shown = projection.show(root, evidence, tracking, repair=repair, calls=calls)
    return (shown, *correlation_run.show(root, tracking, repair=repair))


def _note(root: Path, key: str, evidence: Sequence[Evidence], tracking: Tracking, calls: Path | None) -> None:
    """Push once more, which finds nothing to do, and remember that, where nobody wrote to the store or to the files
    meanwhile."""
    from driftledger.tracking.ui import experiment_id

    uri = tracking_uri(tracking)
    if (mark := store_mark(uri)) is None:
        return
    shown = content_key(root, key, tracking)
    told = _push(root, evidence, tracking, False, calls)
    if store_mark(uri) == mark and content_key(root, key, tracking) == shown:
        note(root, shown, mark, LastPush(tracking.experiment, experiment_id(tracking), told))
