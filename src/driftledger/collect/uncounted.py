"""What collecting says where calls are only counted, and what comes next depends on those that are still to be made."""

from collections.abc import Sequence

from driftledger.components.base import Component
from driftledger.core.types import Conversation

Uncounted = tuple[Component, Conversation | str, int]
"""Calls that nobody can put together yet: to whom, a stand-in for what is asked, and how many at most."""


class NotStoredError(Exception):
    """What comes next depends on calls that are still to be made; ``rest`` are those that come next at most."""

    def __init__(self, rest: Sequence[Uncounted] = ()) -> None:
        super().__init__("some calls are still to be made")
        self.rest = rest
