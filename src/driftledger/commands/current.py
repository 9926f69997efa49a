"""What need not be asked since its records are here: of a colleague's calls a clone has the records and not the calls.

DVC runs no stage whose records are those of its lock entry, and whose entry is of what is selected now. Whoever counts
calls, or makes them all at once, leaves such a stage alone too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from driftledger.benchmarks.base import Stage
from driftledger.core.errors import ConfigError
from driftledger.ledger.lock import RESOLVED, LockEntry, locked_now
from driftledger.project.project import Project
from driftledger.project.settings import read_yaml


class Current:
    """The stages that DVC would not run, as far as their locks, settings and folders tell."""

    def __init__(self, project: Project) -> None:
        self._root = project.root
        self._entries = locked_now(project.root)
        self._makers = {out.path: name for name, entry in self._entries.items() for out in entry.outs}
        self._files: dict[str, Any] = {RESOLVED: project.noted()}
        self._seen: dict[str, bool] = {}

    def has(self, stage: Stage, keys: Mapping[str, str]) -> bool:
        """Whether a stage is one."""
        return (self._root / stage.at(keys)).is_dir() and self.is_of_now(stage, keys)

    def is_of_now(self, stage: Stage, keys: Mapping[str, str]) -> bool:
        """Whether the lock holds what a stage would write, wherever that is."""
        return self._is_current(stage.named(keys))

    def entry(self, stage: Stage, keys: Mapping[str, str]) -> LockEntry:
        """The lock entry of one."""
        return self._entries[stage.named(keys)]

    def _is_current(self, name: str) -> bool:
        """Whether an entry is of the settings of now, and of what the entries before it wrote, which are current too;
        DVC lets no stage depend on itself."""
        if name not in self._seen:
            entry = self._entries.get(name)
            self._seen[name] = entry is not None and self._is_of_now(entry)
        return self._seen[name]

    def _is_of_now(self, entry: LockEntry) -> bool:
        params = [(file, key, value) for file, some in entry.params.items() for key, value in some.items()]
        if any(_dug(self._content(file), key) != value for file, key, value in params):
            return False
        makers = [(self._makers.get(dep.path), dep) for dep in entry.deps]
        return all(
            name is None or (self._entries[name].out(dep.path) == dep and self._is_current(name))
            for name, dep in makers
        )

    def _content(self, file: str) -> Any:
        if file not in self._files:
            try:
                self._files[file] = read_yaml(Path(self._root, file))
            except ConfigError:
                self._files[file] = None
        return self._files[file]


def _dug(content: Any, key: str) -> Any:
    for part in key.split("."):
        content = content.get(part) if isinstance(content, Mapping) else None
    return content
