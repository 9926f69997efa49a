"""How far a command that reads a checkout may go: to what the reader names, and to nothing that the checkout names."""

from typing import NamedTuple


class Reach(NamedTuple):
    """What the reader of a checkout allows."""

    trust: bool = False
    """Whether the checkout is the reader's own: its links and its DVC configuration hold, and components may run the
    code of their checkpoints."""


HERE = Reach()
"""To what is here, and what the environment names."""
