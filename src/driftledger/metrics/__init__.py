"""Published measures: pure functions on arrays and text.

It imports types of ``core`` alone.
"""

from importlib import import_module
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    """Import a module of this package when it is used: ``driftledger.metrics.drift.gc_at``."""
    place = f"{__name__}.{name}"
    try:
        return import_module(place)
    except ModuleNotFoundError as error:
        if error.name != place:
            raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
