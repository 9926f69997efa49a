"""What the figures of all benchmarks share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from driftledger.charts.figure import Figure

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark, SideBySide


def default_figures(spec: "Benchmark", block: "SideBySide") -> Iterator[Figure]:
    """Bars of the first headline with their intervals, and lines of every curve of a metric."""
    return iter(())
