"""Commands without their arguments, a module each, imported when it is first used.

They may import every room; no room but ``cli`` imports them.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftledger.commands import (
        ask,
        collect,
        evaluate,
        gc,
        init,
        models,
        new,
        people,
        run,
        stages,
    )

    __all__ = [
        "ask",
        "collect",
        "evaluate",
        "gc",
        "init",
        "models",
        "new",
        "people",
        "run",
        "stages",
    ]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module(f"{__name__}.{name}")
