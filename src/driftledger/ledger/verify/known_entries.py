"""What else knows a stage's entry in ``dvc.lock``: the last commit, and DVC's own memory of what it has run.

A setting or source file in an entry that is not the one here may be that of an earlier run, or a changed byte. The
first is known from elsewhere; the second is not.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ValidationError

from driftledger.core.paths import LOCKS
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.lock import LockedFile, LockEntry
from driftledger.ledger.objects.git import contents_at


class KnownEntries:
    """Entries by what they ran, read when first asked for."""

    def __init__(self, root: Path, cache: Path | None) -> None:
        """Look below ``root``, and in the DVC cache whose top folder is ``cache``, where there is one."""
        self._root, self._cache = root, cache

    def of(self, cmd: str | list[str]) -> Iterator[LockEntry]:
        """Every entry known for this command, that of the last commit first."""
        yield from (entry for entry in self._committed if entry.cmd == cmd)
        yield from _entries(_loaded(text) for text in self._runs.get(f"cmd: {cmd}", []))

    def have_param(self, cmd: str | list[str], file: str, key: str, value: object) -> bool:
        """Whether a run of this command is known to have had this setting."""
        return any(key in each.params.get(file, {}) and each.params[file][key] == value for each in self.of(cmd))

    def have_file(self, cmd: str | list[str], section: Literal["deps", "outs"], locked: LockedFile) -> bool:
        """Whether a run of this command is known to have read or written exactly this."""
        return any(locked in (each.deps if section == "deps" else each.outs) for each in self.of(cmd))

    def have(self, entry: LockEntry) -> bool:
        """Whether a run is known to have left exactly this entry."""
        return any(entry == each for each in self.of(entry.cmd))

    @property
    def nothing(self) -> bool:
        """Whether there is neither Git nor a cache to ask."""
        return not self._committed and not self._runs

    @cached_property
    def _committed(self) -> list[LockEntry]:
        contents = [_loaded(data or b"") for data in contents_at(self._root, LOCKS)]
        stages = [content.get("stages") for content in contents if isinstance(content, dict)]
        return [entry for some in stages if isinstance(some, dict) for entry in _entries(some.values())]

    @cached_property
    def _runs(self) -> dict[str, list[bytes]]:
        """DVC's run cache: ``runs/<two digits>/<what went in>/<what came out>``, each the entry of one run.

        By the first line, which is the command, so that only those that are asked for are parsed.
        """
        found: dict[str, list[bytes]] = defaultdict(list)
        for path in sorted(self._cache.glob("runs/*/*/*")) if self._cache else ():
            text = path.read_bytes()
            found[text.partition(b"\n")[0].decode(errors="replace")].append(text)
        return dict(found)


def _entries(raw: Iterable[Any]) -> Iterator[LockEntry]:
    for each in raw:
        try:
            yield LockEntry.model_validate(each)
        except ValidationError:
            continue


def _loaded(data: bytes) -> Any:
    try:
        return load_yaml(data)
    except (yaml.YAMLError, ValueError):
        return None
