"""Answers to what is asked of the ledger: the text that a terminal shows, and the data behind it.

``driftledger audit`` and ``driftledger compare`` print these, and notebooks hold them. What puts an answer into words
is imported when it is shown.
"""

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType

from driftledger.core.errors import LedgerError
from driftledger.notebook.shown import Told

if TYPE_CHECKING:
    import pandas as pd

    from driftledger.ledger.audit import ImageTarget, Offer, RunTarget
    from driftledger.ledger.compare import Comparison


class Audited(Told):
    """The evidence behind a run, a score file, an image or one number; its text is the tree of ``audit --full``."""

    def __init__(self, target: "RunTarget | ImageTarget") -> None:
        self._target = target

    @cached_property
    def answer(self) -> RenderableType:
        """In short: the value, which versions are behind it, what to type next."""
        from driftledger.ledger.answers import as_answer

        return as_answer(self._target)

    @cached_property
    def tree(self) -> RenderableType:
        """All files, settings, versions and lock entries."""
        from driftledger.ledger.answers import as_tree

        return as_tree(self._target)

    @property
    def shown(self) -> RenderableType:
        return self.tree

    @cached_property
    def json(self) -> str:
        """All of it for programs, as ``audit --json`` prints it."""
        from driftledger.ledger.answers import data_of, inert_json

        return inert_json(data_of(self._target))

    @property
    def data(self) -> dict[str, Any]:
        """The same as a dictionary."""
        found: dict[str, Any] = json.loads(self.json)
        return found


class Offered(Told):
    """What a text could mean that names no run, score file, image or number by itself: a value, a metric, a name."""

    def __init__(self, asked: str, offers: "Sequence[Offer]", error: LedgerError) -> None:
        self.asked, self.offers, self._error = asked, list(offers), error

    @cached_property
    def answer(self) -> RenderableType:
        """A line for each."""
        from driftledger.ledger.answers import offers_table

        return offers_table(self.asked, self.offers)

    @property
    def tree(self) -> RenderableType:
        """The same: there is no evidence of several things at once."""
        return self.answer

    @property
    def shown(self) -> RenderableType:
        return self.answer

    @property
    def json(self) -> str:
        """Nothing.

        Raises:
            LedgerError: always, since nothing is called so.
        """
        raise self._error

    @property
    def data(self) -> dict[str, Any]:
        """Nothing; raises as :attr:`json`."""
        raise self._error


class Compared(Told):
    """Two runs, metric by metric, with paired intervals over what both were measured on."""

    def __init__(self, comparison: "Comparison") -> None:
        self.comparison = comparison

    @property
    def shown(self) -> RenderableType:
        from driftledger.ledger.compare import as_table

        return as_table(self.comparison)

    @property
    def data(self) -> dict[str, Any]:
        """All of it as a dictionary."""
        return self.comparison.to_dict()

    @property
    def json(self) -> str:
        """All of it for programs, as ``compare --json`` prints it."""
        return json.dumps(self.data, indent=2)

    @property
    def table(self) -> "pd.DataFrame":
        """A row per metric: ``benchmark``, ``on``, ``metric``, both values ``a`` and ``b``, B's less A's over the units
        that both have as ``difference``, its interval from ``low`` to ``high``, how many units these are, ``common``,
        and the ``verdict`` in words."""
        import pandas as pd

        columns = ["metric", "a", "b", "difference", "low", "high", "common", "verdict"]
        rows = [
            {"benchmark": pair.benchmark, "on": pair.on} | {name: getattr(each, name) for name in columns}
            for pair in self.comparison.pairs
            for each in pair.metrics
        ]
        return pd.DataFrame(rows, columns=["benchmark", "on", *columns])
