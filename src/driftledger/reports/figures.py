"""Every benchmark's figures as files: README, the site, MLflow and papers show the same bytes."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import Score
from driftledger.charts.figure import Figure
from driftledger.core.files import new_folder, write_text


def write_figures(folder: Path, scores: Sequence[Score]) -> None:
    """Write an SVG file for each figure.

    Args:
        scores: in the order of the selection.
    """
    with new_folder(folder) as made:
        for name, figure in figures_by_name(scores):
            write_text(made / f"{name}.svg", figure.svg)


def figures_by_name(scores: Sequence[Score]) -> Iterator[tuple[str, Figure]]:
    """``<benchmark>-<on>-<name>`` → figure, of each block of each benchmark."""
    for spec in benchmarks():
        for block in spec.blocks([score for score in scores if score.benchmark == spec.name]):
            yield from ((f"{block.name}-{figure.name}", figure) for figure in spec.figures(block))
