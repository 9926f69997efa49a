"""What differs between two versions of a component."""

from driftledger.components.card import ComponentCard
from driftledger.core.changes import Change, changes


def component_changes(old: ComponentCard, new: ComponentCard) -> list[Change]:
    """Which parts of a component's specification made its fingerprint another."""
    kept = {"provider", "version", "settings", "identity"}
    return list(changes(old.model_dump(mode="json", include=kept), new.model_dump(mode="json", include=kept)))
