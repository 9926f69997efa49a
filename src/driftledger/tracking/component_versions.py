"""The components behind a score, as versions that MLflow shows: what each is, and how to ask for its scores.

Generators, models, encoders and judges are shown alike, so that MLflow itself says which runs used which version.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from driftledger.benchmarks.base import kind_of
from driftledger.benchmarks.score import Score
from driftledger.components.card import ComponentCard
from driftledger.core.escaping import for_line, for_markdown
from driftledger.tracking.content import ComponentKind, ComponentVersion, as_text, clip

_SHORT = 12
"""Characters of a fingerprint that tell versions apart for people, and for ``driftledger audit``."""

_MAX_DESCRIPTION = 5000
"""The registry's columns are no wider."""

_MAX_VALUE = 300
_MAX_SERVED = 200


def components_of(score: Score) -> dict[str, ComponentVersion]:
    """Role → who played it in a score, with what its service said it was; roles beside the measurement come last."""
    return {
        role: version_of(kind_of(role), score.components[role], score.served.get(role, ()))
        for role in sorted(score.components, key=_is_beside)
    }


def measured_in(score: Score) -> tuple[str, ...]:
    """The keys of the versions that a score is of."""
    return tuple(version.key for role, version in components_of(score).items() if not _is_beside(role))


def _is_beside(role: str) -> bool:
    """Whether who plays it only chose or described in-context examples, or what others are compared with."""
    return role.startswith(("example_", "witness."))


def all_of(scores: Iterable[Score]) -> tuple[ComponentVersion, ...]:
    """Each version once, generators first, since which one drew is what people ask, and then in order of appearance;
    with what every service said of it."""
    found: dict[str, ComponentVersion] = {}
    for component in (each for score in scores for each in components_of(score).values()):
        known = found.get(component.key, component)
        found[component.key] = replace(known, served=known.served | component.served)
    return tuple(sorted(found.values(), key=lambda component: component.kind != "generator"))


def version_of(kind: ComponentKind, card: ComponentCard, served: Collection[str] = ()) -> ComponentVersion:
    """A component's version for MLflow; its tags say what its settings resolve to."""
    return ComponentVersion(
        kind,
        card.name,
        card.fingerprint,
        params=spec_params(kind, card),
        tags={"provider": card.provider, "version": card.version} | _flat("identity", card.identity),
        description=_description(kind, card),
        served=frozenset(clip(for_line(each), _MAX_SERVED) for each in served),
    )


def spec_params(role: str, card: ComponentCard) -> dict[str, str]:
    """A component's name and everything in its fingerprint, below the name of its role."""
    params = {role: card.name, f"{role}.provider": card.provider, f"{role}.version": card.version}
    params |= {f"{role}.{key}": as_text(value) for key, value in card.settings.items()}
    return params | {f"{role}.identity.{key}": as_text(value) for key, value in card.identity.items()}


def _flat(prefix: str, values: Mapping[str, Any]) -> dict[str, str]:
    """``identity.weights.commit`` and its like, each to be searched for by itself."""
    found: dict[str, str] = {}
    for key, value in values.items():
        found |= _flat(f"{prefix}.{key}", value) if isinstance(value, dict) else {f"{prefix}.{key}": as_text(value)}
    return found


def _description(kind: ComponentKind, card: ComponentCard) -> str:
    """What the version is, in Markdown; a long list of settings is cut, how to ask for the scores never."""
    head = f"The {kind} `{card.name}`: provider {for_markdown(card.provider)}, code version {_inert(card.version)}."
    asked = f"Which scores it touched: `driftledger audit --{kind} {card.name}@{card.fingerprint[:_SHORT]}`"
    lines = [head, "", *([for_markdown(card.mark), ""] if card.mark else []), f"- fingerprint: `{card.fingerprint}`"]
    for title, values in (("settings", card.settings), ("identity", card.identity)):
        if values:
            lines += [f"- {title}:", *(f"  - {_inert(key)}: {_inert(value)}" for key, value in values.items())]
    while len("\n".join([*lines, "", asked])) > _MAX_DESCRIPTION:
        lines[-2:] = ["  - …"]
    return "\n".join([*lines, "", asked])


def _inert(value: object) -> str:
    return for_markdown(clip(as_text(value), _MAX_VALUE))
