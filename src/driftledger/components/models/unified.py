"""Unified models: one component that describes and draws."""

from typing import ClassVar

from driftledger.components.base import Generator, Kind, Model


class UnifiedModel(Model, Generator):
    """Conversation in, text out, and text in, image out: one set of weights, one specification, one fingerprint.

    Derive from it and write ``respond`` and ``generate``. Its entry stands in ``models`` and in ``generators`` with the
    same settings, and then is one component: loaded once, and known in every record by the same fingerprint. Whichever
    role it plays, what the other role's calls depend on is part of its identity; so a setting that only shapes drawing
    makes another describer, too. That is meant: it is one model.
    """

    kind: ClassVar[Kind] = "model"
    """Whose workers its entry names; the role in a record says what it did."""
