"""Evaluate multimodal LLMs on data that nobody had to label.

Each public name is imported when it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

if TYPE_CHECKING:
    from driftledger.commands.evaluate import evaluate
    from driftledger.components.functions import encoder, generator, model
    from driftledger.notebook import OpenedProject as open  # noqa: A004, N813  # as people call it

    __all__ = ["encoder", "evaluate", "generator", "model", "open"]

_PLACES = {
    "encoder": "driftledger.components.functions:encoder",
    "evaluate": "driftledger.commands.evaluate:evaluate",
    "generator": "driftledger.components.functions:generator",
    "metrics": "driftledger.metrics",
    "model": "driftledger.components.functions:model",
    "open": "driftledger.notebook:OpenedProject",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(
            f"module 'driftledger' has no attribute {name!r}; it has {', '.join(sorted(_PLACES))}"
        )
    place, _, inside = _PLACES[name].partition(":")
    module = import_module(place)
    return getattr(module, inside) if inside else module


def __dir__() -> list[str]:
    return sorted(_PLACES)
