"""What installed distributions tell of themselves: the entry points that they name, and which one a module is from."""

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_OURS = "driftledger"
_GROUPS = tuple(f"{_OURS}.{section}" for section in ("models", "generators", "encoders"))


@cache
def _entry_points() -> "tuple[EntryPoint, ...]":
    """Of all groups of ours."""
    from importlib import metadata  # with the parser of e-mails: a fifth of what the command line takes to start

    distributions: dict[str, metadata.Distribution] = {}
    for each in metadata.distributions():
        if f"[{_OURS}." in (each.read_text("entry_points.txt") or ""):
            distributions.setdefault(each.name, each)  # the first of a name is the one that is imported
    return tuple(point for each in distributions.values() for point in each.entry_points)


def _some_name(group: str) -> bool:
    """Whether any distribution has the group, or is in an archive, where only Python's own way finds it."""
    return any(
        not folder.is_dir() or any(f"[{group}]" in text for text in _texts(folder)) for folder in _import_folders()
    )


def _import_folders() -> Iterator[Path]:
    return (path for path in map(Path, dict.fromkeys(sys.path)) if path.exists())


def _texts(folder: Path) -> Iterator[str]:
    """What distributions that lie in a folder of ``sys.path`` write about their entry points."""
    for kind in ("dist-info", "egg-info"):
        for file in folder.glob(f"*.{kind}/entry_points.txt"):
            yield file.read_text(encoding="utf-8", errors="replace")


def entry_points(group: str) -> "tuple[EntryPoint, ...]":
    """Those that installed distributions name in a group of ours; what is installed later is not seen."""
    return tuple(point for point in _entry_points() if point.group == group) if _some_name(group) else ()


def package_of(module: str) -> str | None:
    """Name and version of the distribution that a module is from; None where that is driftledger's, or none.

    >>> from importlib import metadata
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
    from importlib import metadata

    named = {
        each.dist.name: each.dist.version
        for group in _GROUPS
        for each in entry_points(group)
        if each.dist is not None and each.module.partition(".")[0] == top
    }
    named = named or {name: metadata.version(name) for name in metadata.packages_distributions().get(top, ())}
    return ", ".join(f"{name} {version}" for name, version in sorted(named.items()) if name != _OURS) or None
