"""The version of a component, as a record of what it did names it."""

from typing import TYPE_CHECKING, Any

from pydantic import Field

from driftledger.core.files import Record
from driftledger.core.registry import package_of

if TYPE_CHECKING:
    from driftledger.components.base import Component

CONTROLS = frozenset({"blind", "always_refuse", "random_choice"})
"""Providers of models that do not look: what they score is what a benchmark gives away for free."""


class ComponentCard(Record):
    """Which version of a component was at work: its catalogue name, its spec, and the fingerprint over the spec."""

    name: str
    fingerprint: str
    provider: str
    version: str
    settings: dict[str, Any]
    identity: dict[str, Any]
    mark: str | None = Field(default=None, exclude_if=lambda mark: mark is None)
    """What a reader of every score with it must know; not written where there is nothing."""
    package: str | None = Field(default=None, exclude_if=lambda package: package is None)
    """The distribution that its class is from, and the version: ``my-encoders 1.2``. Not written of driftledger's own
    classes, and of those that are in no distribution; in no fingerprint, which has the code itself."""

    @classmethod
    def of(cls, name: str, component: "Component") -> "ComponentCard":
        return cls(
            name=name,
            fingerprint=component.fingerprint,
            **component.spec,
            mark=component.mark,
            package=package_of(type(component).__module__),
        )

    @property
    def is_control(self) -> bool:
        """Whether it is a control beside the models, and not a model to choose."""
        return self.provider in CONTROLS
