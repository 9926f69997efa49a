"""What ``data/resolved.json`` has of sources that are not on this machine.

In a colleague's clone there are records, scores and locks, and often neither the images nor the weights nor the
libraries behind them. What they were known as is kept there, so that whatever needs no new call runs as it does where
they are; a stage that needs one of them fails. Only what is not here is kept, and only for an entry that is written as
it was: what has changed is never taken for what was noted.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from driftledger.core.errors import MissingExtraError
from driftledger.core.escaping import for_terminal
from driftledger.core.missing import MissingSourceError
from driftledger.ledger.lock import RESOLVED, locked_now
from driftledger.project.project import Project

ENTRIES = "entries"
"""Under which ``data/resolved.json`` has how each entry was written; no stage depends on it."""


class NamedSource(NamedTuple):
    """Something that a setting names."""

    written: str
    """A digest of how its entry is written, which can be had without it."""
    digest: Callable[[], str]
    """What it is now; raises where it is not here."""


@dataclass
class KeptAsNoted:
    """What was noted before, of which what is not here is kept."""

    project: Project
    noted: Mapping[str, Any]
    missing: dict[str, str] = field(default_factory=dict)
    """What is kept, as parameters of DVC are named, and what that is known as."""
    _places: dict[str, str] = field(default_factory=dict)
    _libraries: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, project: Project) -> "KeptAsNoted":
        return cls(project, project.noted())

    def unless_here(self, key: str, source: NamedSource) -> str:
        """What a source is now; where it is not here, what was noted under its key of ``data/resolved.json``.

        Raises:
            ConfigError: as the source; of what is not here, where nothing was noted of an entry that was written so.
        """
        try:
            return source.digest()
        except (MissingSourceError, MissingExtraError) as error:
            kept = _text(self.noted, key)
            if kept is None or self._written(key) != source.written:
                raise
            self.missing[key] = kept
            if isinstance(error, MissingSourceError):
                self._places[key] = error.place
            else:
                self._libraries[str(error)].append(key)
            return kept

    def told(self) -> list[str]:
        """A sentence on what is not here, one on each library that is not, and one on what was locked otherwise."""
        places = [f"{key} ({place!r:.200})" for key, place in self._places.items()]
        told = []
        if places:
            it = "it" if len(places) == 1 else "them"
            told = [f"not here: {', '.join(places)}; {_kept(it)}: 'dvc pull' {it}, or put {it} there"]
        told += [f"{', '.join(keys)}: {why}; until then {_kept('it')}" for why, keys in self._libraries.items()]
        if other := self._locked_otherwise():
            told.append(f"the locks are of another {', '.join(other)} than data/resolved.json; its stages fail here")
        return told

    def tell(self) -> None:
        for sentence in self.told():
            print(f"driftledger: {for_terminal(sentence)}", file=sys.stderr, flush=True)

    def _written(self, key: str) -> Any:
        entries = self.noted.get(ENTRIES)
        return entries.get(key) if isinstance(entries, Mapping) else None

    def _locked_otherwise(self) -> list[str]:
        """What is kept and is not what any stage ran with."""
        if not self.missing:
            return []
        entries = locked_now(self.project.root).values()
        locked = [entry.params.get(RESOLVED, {}) for entry in entries]
        values = {key: [some[key] for some in locked if key in some] for key in self.missing}
        return [key for key, kept in self.missing.items() if values[key] and kept not in values[key]]


def _kept(it: str) -> str:
    return f"what data/resolved.json has of {it} is kept, and only a stage that needs {it} fails"


def _text(noted: Any, key: str) -> str | None:
    for part in key.split("."):
        noted = noted.get(part) if isinstance(noted, Mapping) else None
    return noted if isinstance(noted, str) else None
