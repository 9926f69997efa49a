"""The end of a run: the models at a glance, where to look further, and a question to ask of the first number."""

import os
import shlex
from collections.abc import Iterator, Sequence

from rich.console import RenderableType

from driftledger.benchmarks.selection import is_of
from driftledger.core.errors import DriftledgerError
from driftledger.core.escaping import for_line
from driftledger.core.terminal import show
from driftledger.project.project import Project
from driftledger.reports.glance import best_number, glance
from driftledger.reports.selected import rows_beside, selected_scores


def show_closing(project: Project, mlflow: Sequence[str] | None = None) -> None:
    """Print what :func:`closing` tells."""
    for part in closing(project, mlflow):
        show(part)


def show_after_push(project: Project) -> None:
    """The same once MLflow shows the scores; below a run that shows the end itself, only where MLflow does."""
    if os.environ.get("DRIFTLEDGER_RUN_SHOWS_THE_END"):
        print("\n".join(map(for_line, _where(project))), flush=True)
    else:
        show_closing(project)


def closing(project: Project, mlflow: Sequence[str] | None = None) -> Iterator[RenderableType]:
    """What a run ends with. What cannot be told is said in a sentence, and hides none of the rest; lines to be copied
    are plain text, which is never folded.

    Args:
        mlflow: what is known of where MLflow shows the scores; None: it is asked.
    """
    try:
        scores = selected_scores(project)
    except DriftledgerError as error:
        yield for_line(f"no scores to show: {error}")
        return
    if not scores:
        yield "no scores to show: params.yaml selects none"
        return
    yield from (glance(scores, rows_beside(project)), "")
    page = project.paths.site / "index.html"
    yield from map(for_line, _where(project) if mlflow is None else mlflow)
    if page.is_file():
        yield for_line(f"report: {page}")
    if (best := best_number(scores)) is not None:
        score, number = best
        run = next(each for each in project.combinations if is_of(score.keys, each))
        target = f"{'/'.join(run)}:{number}"
        yield for_line(f"next: {shlex.join(['driftledger', 'audit', target])}")


def _where(project: Project) -> Iterator[str]:
    from driftledger.tracking.ui import where_to_look

    yield where_to_look(project.settings.tracking)
