"""The version of a component that a record names, where it is installed: what another version gives
proves nothing.

Nothing is loaded to find out.
"""

from collections.abc import Iterator
from typing import cast

from pydantic import ValidationError

from driftledger.benchmarks.base import ROLES, SECTIONS
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

_DANGEROUS = ("allow_pickle", "trust_remote_code")
"""What runs code that comes with a checkpoint: an entry of params.yaml has to allow it, and be the
reader's own."""


class Components:
    """The recorded versions of components, each looked for once.

    They have the recorded settings. Those that are in no fingerprint, such as where weights are,
    come from an entry of ``params.yaml``: from the one of the recorded name, else from any of the
    same provider. A branch of the hub is not
    resolved: the recorded commit is taken. A service is never available, since no one else has the
        version behind it.
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
        """The component of the recorded fingerprint that played a role, or a sentence why it cannot
        be had."""
        kind = ROLES[role]
        key = kind, sha256_of(card.to_dict())
        if key not in self._components:
            component = self._get(card, SECTIONS[kind])
            self._components[key] = (
                f"{kind} {card.name}: {component}" if isinstance(component, str) else component
            )
        return self._components[key]

    def _get(self, card: ComponentCard, section: str) -> Component | str:
        if not self._trust and (
            allowed := [each for each in _DANGEROUS if card.settings.get(each)]
        ):
            return f"its checkpoint may run code ({allowed[0]}); --trust allows it"
        provider = class_of_record(section, card.provider, self._settings)
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
        for given in self._candidates(card, cls, section):
            try:
                component = cls.model_validate(given)
                fingerprint = component.fingerprint
            except ValidationError as error:
                mistakes = error.errors()
                if all(each["type"] == "missing" for each in mistakes):
                    reasons.append(f"no entry of params.yaml has its {mistakes[0]['loc'][0]}")
                else:
                    reasons.append(
                        explain(error, "its provider here does not take its recorded settings")
                    )
            except (DriftledgerError, OSError) as error:
                reasons.append(str(error))
            else:
                if fingerprint == card.fingerprint:
                    return component
                changed = next(iter(changes(card.identity, component.spec["identity"])), None)
                other = changed and (
                    f"its {changed.key} is {changed.new!r:.80} here, and was {changed.old!r:.80}"
                )
                reasons.append(
                    other or f"its record does not fit its own fingerprint {card.fingerprint[:12]}"
                )
        return reasons[0]

    def _candidates(
        self, card: ComponentCard, cls: type[Component], section: str
    ) -> Iterator[Json]:
        """Settings that may give the recorded fingerprint, the likeliest first."""
        entries = self._settings.entries(section) if self._settings else {}
        own = getattr(self._settings, section) if self._settings else {}
        recorded = {
            key: value for key, value in card.settings.items() if key not in cls.operational()
        }
        weights = card.identity.get("weights")
        places = providers(section)
        repository = weights.get("repository") if isinstance(weights, dict) else None
        for _, each in sorted(
            entries.items(), key=lambda item: (item[0] != card.name, item[0] not in own)
        ):
            if places.get(each.provider, each.provider) != places.get(card.provider, card.provider):
                continue
            entry = each.model_extra or {}
            given = {key: value for key, value in entry.items() if key in cls.operational()}
            if repository is not None and given.get("path") != repository:
                continue
            commit = {"revision": weights["commit"]} if repository is not None and weights else {}
            if all(not recorded.get(setting) or entry.get(setting) for setting in _DANGEROUS):
                yield given | commit | recorded
        yield recorded
