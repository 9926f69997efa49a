"""The version of a component, as a record of what it did names it."""

from typing import TYPE_CHECKING, Any

from driftledger.core.files import Record

if TYPE_CHECKING:
    from driftledger.components.base import Component


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

    @classmethod
    def of(cls, name: str, component: "Component") -> "ComponentCard":
        code = None if component.code_is_identity else component.code_digest
        return cls(name=name, fingerprint=component.fingerprint, **component.spec, code=code)

    @property
    def code_digest(self) -> str | None:
        """The digest of its code, wherever it stands; None in a record that names none."""
        code = self.identity.get("code", self.code)
        return code if isinstance(code, str) else None
