"""Compare a record's components with those installed.

What another version gives proves nothing.

Nothing is loaded to find out.
"""

from collections.abc import Collection, Iterator
from typing import cast

from pydantic import ValidationError

from driftledger.components.base import Component, ComponentCard
from driftledger.components.service import NEVER_TWICE, RemoteComponent
from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import ConfigError, DriftledgerError
from driftledger.core.registry import providers
from driftledger.core.strict import explain
from driftledger.core.text import changes
from driftledger.project.catalogue import class_of_record
from driftledger.project.project import Project
from driftledger.project.settings import Settings
from driftledger.scoring.roles import ROLES, SECTIONS

_DANGEROUS = ("allow_pickle", "trust_remote_code")
"""Settings that run code of a checkpoint: only the reader's own ``params.yaml`` may allow them."""


class Components:
    """The recorded versions of components, each looked for once.

    They have the recorded settings. Those that are in no fingerprint, such as where weights are,
    come from an entry of ``params.yaml``: from the one of the recorded name, else from any of the
    same provider. A branch of the hub is not resolved: the recorded commit is taken. A service is
    never available, since no one else has the version behind it.
    """

    def __init__(self, project: Project) -> None:
        """Look in the entries of a project, if its ``params.yaml`` can be read."""
        self._trust = project.own_code
        self._components = dict[tuple[str, str], Component | str]()
        try:
            self._settings: Settings | None = project.settings
        except ConfigError:
            self._settings = None

    def get(self, card: ComponentCard, role: str) -> Component | str:
        """Return the component of the recorded fingerprint, or why it is not here."""
        kind = ROLES[role]
        key = kind, sha256_of(card.to_dict())
        if key not in self._components:
            component = self._get(card, SECTIONS[kind])
            self._components[key] = (
                f"{kind} {card.name}: {component}"
                if isinstance(component, str)
                else component
            )
        return self._components[key]

    def _get(self, card: ComponentCard, section: str) -> Component | str:
        for setting in _DANGEROUS:
            if card.settings.get(setting) and not self._trust:
                return f"its checkpoint may run code ({setting}); --trust allows it"
        entries = getattr(self._settings, section, {}).values()
        own_code = getattr(self._settings, "own_code", None)
        named = {entry.provider for entry in entries}
        provider = class_of_record(section, card.provider, own_code, named)
        if isinstance(provider, str):
            return provider
        cls = cast(type[Component], provider)
        if issubclass(cls, RemoteComponent):
            return NEVER_TWICE
        if cls.version != card.version:
            return (
                f"version {cls.version} of its provider is installed, and version {card.version} "
                "was used"
            )
        reasons = []
        for settings in self._candidates(card, cls, section):
            try:
                component = cls.model_validate(settings)
                if component.fingerprint == card.fingerprint:
                    return component
                reasons.append(_other(card, component))
            except ValidationError as error:
                reasons.append(_not_taken(error))
            except (DriftledgerError, OSError) as error:
                reasons.append(str(error))
        return reasons[0]

    def _candidates(
        self, card: ComponentCard, cls: type[Component], section: str
    ) -> Iterator[Json]:
        """Yield settings that may give the recorded fingerprint, the likeliest first."""
        entries = self._settings.entries(section) if self._settings else {}
        own = getattr(self._settings, section) if self._settings else {}
        operational = cls.operational()
        recorded = _picked(card.settings, card.settings.keys() - operational)
        weights = card.identity.get("weights")
        repository = weights.get("repository") if isinstance(weights, dict) else None
        commits = {}
        for setting, key in (("revision", "weights"), ("adapter_revision", "adapter")):
            source = card.identity.get(key)
            if isinstance(source, dict) and "commit" in source:
                commits[setting] = source["commit"]
        places = providers(section)
        provider = places.get(card.provider, card.provider)
        for name in sorted(
            entries, key=lambda name: (name != card.name, name not in own)
        ):
            if places.get(entries[name].provider, entries[name].provider) != provider:
                continue
            entry = entries[name].model_extra or {}
            settings = _picked(entry, operational)
            if repository is not None and settings.get("path") != repository:
                continue
            if all(
                not recorded.get(setting) or entry.get(setting)
                for setting in _DANGEROUS
            ):
                yield settings | commits | recorded
        yield recorded


def _picked(settings: Json, names: Collection[str]) -> Json:
    return {name: value for name, value in settings.items() if name in names}


def _other(card: ComponentCard, component: Component) -> str:
    """Say how a component differs from the recorded one."""
    for change in changes(card.identity, component.spec["identity"]):
        return (
            f"its {change.key} is {change.new!r:.80} here, and was {change.old!r:.80}"
        )
    return f"its record does not fit its own fingerprint {card.fingerprint[:12]}"


def _not_taken(error: ValidationError) -> str:
    """Say why recorded settings do not make a component here."""
    mistakes = error.errors()
    if all(mistake["type"] == "missing" for mistake in mistakes):
        return f"no entry of params.yaml has its {mistakes[0]['loc'][0]}"
    return explain(error, "its provider here does not take its recorded settings")
