"""Which versions of a service were behind a score, by what the service itself said."""

from collections import Counter
from collections.abc import Iterable, Mapping


def version(name: str | None, fingerprint: str | None) -> str:
    """The served model's name and, where the service tells it, its system fingerprint; empty for a local component."""
    return " ".join(part for part in (name, fingerprint) if part)


def count_versions(found: Mapping[str, Iterable[str]]) -> dict[str, dict[str, int]]:
    """Role → version → how many calls; local components, which have no version, are absent."""
    counts = {role: Counter(versions) for role, versions in found.items()}
    named = {role: {name: count for name, count in sorted(each.items()) if name} for role, each in counts.items()}
    return {role: each for role, each in named.items() if each}


def changed_versions(served: Mapping[str, Mapping[str, int]]) -> list[str]:
    """A sentence for each role that more than one version has played."""
    return [
        f"{len(versions)} served versions of the {role} are behind this score: "
        + ", ".join(f"{name} ({count} calls)" for name, count in versions.items())
        for role, versions in served.items()
        if len(versions) > 1
    ]
