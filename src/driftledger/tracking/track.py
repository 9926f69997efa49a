"""``driftledger track``."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.ledger.lineage import Evidence
from driftledger.project.settings import Tracking


def track(
    root: Path,
    evidence: Sequence[Evidence],
    tracking: Tracking,
    *,
    repair: bool = False,
    calls: Path | None = None,
) -> Sequence[str]:
    """Let MLflow show the combinations and the correlations; say in a line each what that took.

    Arguments and errors as in :func:`~driftledger.tracking.projection.show`.
    """
    from driftledger.tracking import correlation_run, projection

    shown = projection.show(root, evidence, tracking, repair=repair, calls=calls)
    return (shown, *correlation_run.show(root, tracking, repair=repair))
