"""``reports/validity.svg``: the report at a glance, one panel beside the other."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from driftledger.reports.charts import Drawing, drawn, lines
from lab.validity.assembled import Validity
from lab.validity.panels import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TITLE = "Do the metrics rank a better model higher?"


def draw_validity(found: Validity) -> bytes:
    """An SVG: one row of panels, each with its own legend; where there is nothing to show, a sentence that says so."""
    shown = panels(found)

    def draw(axes: Sequence["Axes"]) -> None:
        for axis, each in zip(axes, shown, strict=False):
            lines(axis, each.lines, each.across, each.ticks)
            axis.set_title(each.title, loc="left")
        for axis in axes[len(shown) :]:
            axis.set_axis_off()

    note = f"{found.controls[0]} is the control; bands and bars are intervals." if shown else ""
    note = note or "There is nothing to show: no benchmark is selected in run: of params.yaml."
    size = (4.6 * len(shown) or 6.0, 3.2 if shown else 0.3)
    return drawn(Drawing("validity", _TITLE, note, size, (1, max(1, len(shown))), draw))
