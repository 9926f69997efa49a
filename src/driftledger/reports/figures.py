"""Every benchmark's figures as files: README, the site, MLflow and papers show the same bytes."""

from collections.abc import Iterator
from pathlib import Path

from driftledger.charts.figure import Figure
from driftledger.charts.pdf import to_pdf
from driftledger.core.errors import StoreError
from driftledger.core.files import new_folder, write_bytes, write_text
from driftledger.reports.sections import Told


def write_figures(folder: Path, told: Told) -> None:
    """Write an SVG file for each figure.

    Args:
        told: the scores in the order of the selection, with what tests of their differences show.
    """
    with new_folder(folder) as made:
        for name, figure in figures_by_name(told):
            write_text(made / f"{name}.svg", figure.svg)


def figures_by_name(told: Told) -> Iterator[tuple[str, Figure]]:
    """``<benchmark>-<on>-<name>`` → figure, of each block of each benchmark."""
    for spec, _, blocks in told:
        for block in blocks:
            yield from ((f"{block.name}-{figure.name}", figure) for figure in spec.figures(block))


def write_pdfs(folder: Path, target: Path) -> int:
    """Write the figures of ``folder`` as PDF into ``target``; say how many.

    Raises:
        StoreError: there are none yet.
        MissingExtraError: what draws PDFs is not installed.
    """
    found = sorted(folder.glob("*.svg"))
    if not found:
        raise StoreError(f"{folder} holds no figures; run 'dvc repro report', which draws them")
    target.mkdir(parents=True, exist_ok=True)
    for figure in found:
        write_bytes(target / f"{figure.stem}.pdf", to_pdf(figure.read_text(encoding="utf-8")))
    return len(found)
