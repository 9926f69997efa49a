"""The correlations in MLflow: they are of all runs together, so a run in an experiment of its own holds them."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.paths import Paths
from driftledger.project.settings import Tracking
from driftledger.reports.correlation import FILES, TABLES
from driftledger.tracking.content import NOTE, RunContent
from driftledger.tracking.projection import publish

NAME = "correlation"


def experiment_of(tracking: Tracking) -> str:
    """Beside that of the combinations, whose charts a run without metrics would only disturb."""
    return f"{tracking.experiment}-reports"


def show(root: Path, tracking: Tracking, *, repair: bool = False) -> Iterator[str]:
    """Let the one current run of the experiment hold what ``reports/`` holds, and say what it took; nothing where the
    stage has not run.

    Raises:
        LedgerError: the MLflow store cannot be used.
    """
    experiment = experiment_of(tracking)
    for content in contents_of(root):
        pushed = publish(root, [content], tracking, experiment, repair=repair)
        yield f"MLflow experiment {experiment!r}: {NAME} is {'unchanged' if pushed.unchanged else 'shown'}"


def contents_of(root: Path) -> list[RunContent]:
    """The run, where the stage has run."""
    paths = Paths(root)
    files = {name: paths.reports / name for name in FILES}
    if not all(file.is_file() for file in files.values()):
        return []
    digests = {name: sha256_bytes(file.read_bytes()) for name, file in files.items()}
    return [
        RunContent(
            name=NAME,
            fingerprint=sha256_of(digests),
            params={},
            tags={NOTE: files[TABLES].read_text(encoding="utf-8")},
            metrics=(),
            datasets=(),
            components=(),
            artifacts={name: partial(file.read_bytes) for name, file in files.items()},
        )
    ]
