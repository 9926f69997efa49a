"""What ``import driftledger`` gives to notebooks and to people's own modules; each name is imported when it is used.

It is no part of :mod:`driftledger` itself, whose code is in the fingerprint of every embedded component.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from driftledger.components.functions import dataset, encoder, generator, model
    from driftledger.notebook.first_look import evaluate
    from driftledger.notebook.opened import open_project as open  # noqa: A004  # as people call it

    __all__ = ["dataset", "encoder", "evaluate", "generator", "model", "open"]

_PLACES = {
    "dataset": "driftledger.components.functions:dataset",
    "encoder": "driftledger.components.functions:encoder",
    "evaluate": "driftledger.notebook.first_look:evaluate",
    "generator": "driftledger.components.functions:generator",
    "metrics": "driftledger.metrics",
    "model": "driftledger.components.functions:model",
    "open": "driftledger.notebook.opened:open_project",
}


def names() -> list[str]:
    """Every exported name, in the order of the alphabet."""
    return sorted(_PLACES)


def exported(name: str) -> Any:
    """What a name stands for.

    Raises:
        AttributeError: it stands for nothing.
    """
    if name not in _PLACES:
        raise AttributeError(f"module 'driftledger' has no attribute {name!r}; it has {', '.join(names())}")
    place, _, inside = _PLACES[name].partition(":")
    module = import_module(place)
    return getattr(module, inside) if inside else module
