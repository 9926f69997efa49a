"""What installed distributions tell of themselves: the entry points that they name, and which one a module is from."""

from functools import cache
from importlib import metadata
from typing import cast

_OURS = "driftledger"
_GROUPS = tuple(f"{_OURS}.{section}" for section in ("models", "generators", "encoders"))


@cache
def _entry_points() -> metadata.EntryPoints:
    """Of every group: to find those of one, the files of all distributions are read."""
    return cast(metadata.EntryPoints, metadata.entry_points())  # Python 3.11 has another type, which selects as well


def entry_points(group: str) -> metadata.EntryPoints:
    """Those that installed distributions name in a group; what is installed later is not seen."""
    return _entry_points().select(group=group)


def package_of(module: str) -> str | None:
    """Name and version of the distribution that a module is from; None of ours, and of a module that is in none.

    >>> package_of("pydantic.main") == f"pydantic {metadata.version('pydantic')}"
    True
    >>> package_of("driftledger.core.distributions") is None
    True
    """
    return _package_of(module.partition(".")[0])


@cache
def _package_of(top: str) -> str | None:
    if top == _OURS:
        return None
    named = {
        each.dist.name: each.dist.version
        for group in _GROUPS
        for each in entry_points(group)
        if each.dist is not None and each.module.partition(".")[0] == top
    }
    named = named or {name: metadata.version(name) for name in metadata.packages_distributions().get(top, ())}
    return ", ".join(f"{name} {version}" for name, version in sorted(named.items())) or None
