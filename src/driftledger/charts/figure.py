"""A figure of the report: one chart, its name and what is said of it."""

from typing import NamedTuple

from driftledger.charts.svg import Drawing, page


class Figure(NamedTuple):
    """One ``<svg>`` that README, the site, MLflow and a paper show alike."""

    name: str
    """A word that no other figure of the same data and components has: its file's."""
    title: str
    """What it shows, as plain text."""
    svg: str
    """The whole file, without an XML declaration: it can stand in HTML as it is. What was untrusted in it is inert."""
    note: str = ""
    """What a reader must know to read it, as plain text; stands in the figure too."""

    @classmethod
    def of(cls, name: str, drawing: Drawing) -> "Figure":
        return cls(name, drawing.title, page(drawing), drawing.note)
