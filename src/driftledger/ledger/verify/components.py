"""The version of a component that a record names, where it is installed: what another version gives proves nothing.

Nothing is loaded to find out.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self, cast

from pydantic import ValidationError

from driftledger.benchmarks.base import SECTIONS, Kind, kind_of
from driftledger.components.base import Component
from driftledger.components.card import ComponentCard
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.components.remote.component import NEVER_TWICE, RemoteComponent
from driftledger.core.canonical import sha256_of
from driftledger.core.changes import changes
from driftledger.core.errors import ConfigError, DriftledgerError
from driftledger.core.escaping import for_line
from driftledger.core.registry import same_provider
from driftledger.core.strict import explain
from driftledger.project.catalogue import CatalogueEntry
from driftledger.project.project import Project
from driftledger.project.providers import class_of_record
from driftledger.project.settings import Settings

_DANGEROUS = ("allow_pickle", "trust_remote_code")
"""What runs code that comes with a checkpoint: an entry of params.yaml has to allow it, and be the reader's own."""


class Unavailable(NamedTuple):
    """Why a component of the recorded version cannot be had here, as a sentence that names it."""

    why: str


class Components:
    """The versions that were asked for, each looked for once."""

    def __init__(self, settings: Settings | None, *, trust: bool = False) -> None:
        self._settings, self._trust = settings, trust
        self._found: dict[tuple[Kind, str], Component | Unavailable] = {}

    @classmethod
    def of(cls, project: Project, *, trust: bool = False) -> Self:
        """Those of a project. Without a ``params.yaml`` that can be read, what needs no entry in it is left.

        Args:
            trust: whether the project is the reader's own, whose checkpoints may run their code.
        """
        try:
            return cls(project.settings, trust=trust)
        except ConfigError:
            return cls(None, trust=trust)

    def get(self, card: ComponentCard, role: str) -> Component | Unavailable:
        """The component that played a role."""
        key = kind_of(role), sha256_of(card.to_dict())
        if key not in self._found:
            self._found[key] = at_hand(card, self._settings, key[0], trust=self._trust)
        return self._found[key]


def at_hand(
    card: ComponentCard, settings: Settings | None, kind: Kind, *, trust: bool = False
) -> Component | Unavailable:
    """The component of the recorded fingerprint, or why it cannot be had.

    It has the recorded settings. Those that are in no fingerprint, such as where its weights are, come from an entry of
    ``params.yaml``: from the one of the recorded name, else from any of the same provider; what needs none of these is
    built from the record alone. A branch of the hub is not resolved: the recorded commit is taken. A service never is.
    """
    section, who = SECTIONS[kind], f"{kind} {for_line(card.name)}"
    if not trust and (asked := [each for each in _DANGEROUS if card.settings.get(each)]):
        return Unavailable(f"{who}: its checkpoint may run code ({asked[0]}), pass --trust to run it")
    found = class_of_record(section, card.provider, settings)
    if isinstance(found, str):
        return Unavailable(f"{who}: {found}")
    cls = cast(type[Component], found)
    if issubclass(cls, RemoteComponent):
        return Unavailable(f"{who}: {NEVER_TWICE}")
    if cls.version != card.version:
        return Unavailable(
            f"{who}: version {cls.version} of its provider is installed, and version {for_line(card.version)} was used"
        )
    reasons = []
    for given in _candidates(card, cls, settings, section):
        built = _built(card, cls, given)
        if not isinstance(built, Unavailable):
            return built
        reasons.append(built.why)
    return Unavailable(f"{who}: {for_line(reasons[0])}")


def _candidates(
    card: ComponentCard, cls: type[Component], settings: Settings | None, section: str
) -> Iterator[dict[str, Any]]:
    """Settings that may give the recorded fingerprint, the likeliest first."""
    known, own = (settings.entries(section), getattr(settings, section)) if settings else ({}, {})
    named_first = sorted(known.items(), key=lambda item: (item[0] != card.name, item[0] not in own))
    entries = [
        each.settings()
        for _, each in named_first
        if isinstance(each, CatalogueEntry) and same_provider(section, each.provider, card.provider)
    ]
    recorded = {key: value for key, value in card.settings.items() if key not in cls.operational()}
    weights = card.identity.get("weights")
    repository = weights.get("repository") if isinstance(weights, dict) else None
    for entry in entries:
        given = {key: value for key, value in entry.items() if key in cls.operational()}
        if repository is not None and given.get("path") != repository:
            continue
        commit = {"revision": weights["commit"]} if repository is not None and weights else {}
        if all(not recorded.get(setting) or entry.get(setting) for setting in _DANGEROUS):
            yield given | commit | recorded
    yield recorded


def _built(card: ComponentCard, cls: type[Component], given: Mapping[str, Any]) -> Component | Unavailable:
    try:
        component = cls.model_validate(given)
        if component.fingerprint == card.fingerprint:
            return component
        return Unavailable(_difference(component, card))
    except ValidationError as error:
        missing = [str(each["loc"][0]) for each in error.errors() if each["type"] == "missing"]
        if missing:
            return Unavailable(f"no entry of params.yaml says its {missing[0]}")
        return Unavailable(explain(error, "its provider here does not take its recorded settings"))
    except (DriftledgerError, OSError) as error:
        return Unavailable(str(error))


def _difference(component: Component, card: ComponentCard) -> str:
    """What of the recorded version is another here."""
    changed = list(changes(card.identity, component.spec["identity"]))
    if not changed:
        return f"its record does not fit its own fingerprint {card.fingerprint[:12]}"
    if any(each.key == "code" for each in changed):
        return _other_code(component, card)
    first = changed[0]
    if first.key.startswith("weights") and isinstance(component, CheckpointComponent):
        return f"its weights at {component.path} are not those of fingerprint {card.fingerprint[:12]}"
    return f"its {first.key} is {first.new!r:.80} here, and was {first.old!r:.80}"


def other_code(component: Component, card: ComponentCard) -> str | None:
    """What to say of a component at hand whose code is not the recorded one, under one version; None where it is."""
    if card.code_digest in (None, component.code_digest):
        return None
    return f"{component.kind} {for_line(card.name)}: {_other_code(component, card)}"


def _other_code(component: Component, card: ComponentCard) -> str:
    digests = f"digest {component.code_digest!s:.12} here, {for_line(str(card.code_digest)):.12} recorded"
    return f"its code here is not the recorded one ({digests}), under one version {component.version}"
