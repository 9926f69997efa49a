"""Commands of the terminal, a module each, imported when used.

They may import every room; no room but ``cli`` imports them.
"""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from driftledger.commands import (
        again,
        audit,
        collect,
        compare,
        compared,
        evaluate,
        gc,
        init,
        lock,
        models,
        new,
        people,
        plan,
        run,
        shards,
        stages,
        verify,
    )

    __all__ = [
        "again",
        "audit",
        "collect",
        "compare",
        "compared",
        "evaluate",
        "gc",
        "init",
        "lock",
        "models",
        "new",
        "people",
        "plan",
        "run",
        "shards",
        "stages",
        "verify",
    ]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module(f"{__name__}.{name}")
