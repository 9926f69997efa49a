"""What the checker says of one thing that it looked at."""

from typing import Literal, NamedTuple

Status = Literal["reproduced", "differs", "not checkable"]


class Line(NamedTuple):
    """One thing, and what came of it."""

    where: str
    """A member of the bundle, and the place in it: ``scores/…/score.json: metrics.gc_at_5``."""
    status: Status
    what: str = ""
    """By how much it differs, or why it is not checkable here; empty where it is reproduced."""
