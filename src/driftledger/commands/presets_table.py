"""The presets as a table for the terminal."""

from collections.abc import Iterable

from rich.console import Group
from rich.table import Table
from rich.text import Text

from driftledger.core.terminal import HEAD, QUIET, line
from driftledger.project.presets import PresetInWords


def presets_table(told: Iterable[PresetInWords]) -> Table:
    """What each is, needs and costs."""
    shown = Table.grid(padding=(0, 2, 0, 0))
    shown.add_column(style=HEAD, no_wrap=True)
    shown.add_column(overflow="fold")
    for each in told:
        more = [("needs ", each.needs), ("costs ", each.costs)]
        facts = [Text.assemble((word, QUIET), line(text)) for word, text in more if text]
        shown.add_row(line(each.name), Group(line(each.what), *facts))
    return shown
