"""The version of a component, as a record of what it did names it."""

from typing import TYPE_CHECKING, Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from driftledger.core.files import Record

if TYPE_CHECKING:
    from driftledger.components.base import Component

CONTROLS = frozenset({"blind", "always_refuse", "random_choice"})
"""Providers of models that do not look: what they score is what a benchmark gives away for free."""


class ComponentCard(Record):
    """Which version of a component was at work: its catalogue name, its spec, and the fingerprint over the spec.

    Where code is the identity, its digest is ``identity["code"]`` and thereby in the fingerprint; else it is ``code``.
    """

    name: str
    fingerprint: str
    provider: str
    version: str
    settings: dict[str, Any]
    identity: dict[str, Any]
    code: str | None = None
    """The digest of an adapter's code, which may change under one version and one fingerprint."""
    mark: str | None = None
    """What a reader of every score with it must know; not written where there is nothing."""

    @classmethod
    def of(cls, name: str, component: "Component") -> "ComponentCard":
        code = None if component.code_is_identity else component.code_digest
        return cls(name=name, fingerprint=component.fingerprint, **component.spec, code=code, mark=component.mark)

    @model_serializer(mode="wrap")
    def _without_empty_mark(self, whole: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in whole(self).items() if key != "mark" or value is not None}

    @property
    def is_control(self) -> bool:
        """Whether it stands beside the models as a control, and is no model to choose."""
        return self.provider in CONTROLS

    @property
    def code_digest(self) -> str | None:
        """The digest of its code, wherever it stands; None in a record that names none."""
        code = self.identity.get("code", self.code)
        return code if isinstance(code, str) else None
