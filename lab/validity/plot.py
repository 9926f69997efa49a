"""``reports/validity.svg``: the report at a glance, as narrow as a page."""

from driftledger.charts.lines import lines
from driftledger.charts.svg import page, row, sentence
from lab.validity.assembled import Validity
from lab.validity.panels import panels

WIDTH = 990
"""Of the picture, in pixels."""

_TITLE = "Do the metrics rank a better model higher?"


def draw_validity(found: Validity) -> str:
    """An SVG: one row of panels, each with its own legend; where there is nothing to show, a sentence that says so."""
    shown = panels(found)
    if not shown:
        return page(sentence(_TITLE, "There is nothing to show: no benchmark is selected in run: of params.yaml."))
    across = WIDTH / len(shown)
    charts = [
        lines(each.title, each.lines, across=each.across, ticks=each.ticks, width=across, height=240, below=True)
        for each in shown
    ]
    return page(row(_TITLE, f"{found.controls[0]} is the control; bands and whiskers are intervals.", charts))
