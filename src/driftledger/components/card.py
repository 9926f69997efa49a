"""The version of a component, as a record of what it did names it."""

from typing import TYPE_CHECKING, Any

from driftledger.core.files import Record

if TYPE_CHECKING:
    from driftledger.components.base import Component


class ComponentCard(Record):
    """Which version of a component was at work: its catalogue name, its spec, and the fingerprint over the spec."""

    name: str
    fingerprint: str
    provider: str
    version: str
    settings: dict[str, Any]
    identity: dict[str, Any]

    @classmethod
    def of(cls, name: str, component: "Component") -> "ComponentCard":
        return cls(name=name, fingerprint=component.fingerprint, **component.spec)
