"""Locks, entry by entry: damage to one is a finding, and what can be read is checked all the same.

What else knows an entry are Git's last commit and DVC's own memory of what it has run: a setting that is not the one
here may be that of an earlier run, or a changed byte. The first is known from elsewhere; the second is not.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

import yaml
from pydantic import ValidationError

from driftledger.benchmarks.registry import LOCK, lock_files
from driftledger.core.escaping import for_line
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.findings import Finding
from driftledger.ledger.lock import LockedFile, LockEntry
from driftledger.ledger.objects.git import contents_at

_CONFLICT = "<<<<<<< "

_COMMAND = re.compile(rb"cmd: (.*(?:\n  .*)*)")
"""A long one goes on in the next line."""


class Locks(NamedTuple):
    """Several as if they were one."""

    entries: dict[str, LockEntry]
    """Stage → entry, of those that can be read."""
    files: dict[str, str]
    """Stage → the lock that it stands in."""
    findings: list[Finding]
    """What is damaged."""

    def where(self, stage: str) -> str:
        """Where a stage's entry stands."""
        return f"{self.files.get(stage, LOCK)}: {for_line(stage)}"


def parse_locks(contents: Mapping[str, bytes]) -> Locks:
    """Locks by their paths, as far as they can be read."""
    locks = Locks({}, {}, [])
    for file, data in contents.items():
        _parse(file, data, locks)
    return locks


def _parse(file: str, data: bytes, into: Locks) -> None:
    def damaged(where: str, what: str) -> None:
        into.findings.append(Finding("bytes", where, f"{what}; run 'git diff {file}'"))

    def line(index: int) -> str:
        return f"{file}, line {index + 1}"

    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return damaged(line(data.count(b"\n", 0, error.start)), "it is not UTF-8")
    conflict = next((number for number, row in enumerate(text.split("\n")) if row.startswith(_CONFLICT)), None)
    if conflict is not None:
        return damaged(line(conflict), "it holds both sides of a merge")
    try:
        content = load_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        return damaged(line(mark.line) if mark else file, "it is not YAML")
    except ValueError as error:  # a date that does not exist, for instance
        return damaged(file, f"it holds a value that does not exist ({for_line(str(error)):.100})")
    stages = content.get("stages") if isinstance(content, dict) else None
    if not isinstance(stages, dict):
        return damaged(file, "it has no stages")
    for name, entry in stages.items():
        into.files[str(name)] = file
        try:
            into.entries[str(name)] = LockEntry.model_validate(entry)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            way = for_line(".".join(map(str, first["loc"])))
            damaged(into.where(str(name)), f"its entry cannot be read: {way}: {for_line(first['msg'])}")
    return None


class KnownEntries:
    """Entries by what they ran, read when first asked for."""

    def __init__(self, root: Path, cache: Path | None) -> None:
        """Look below ``root``, and in the DVC cache whose top folder is ``cache``, where there is one."""
        self._root, self._cache = root, cache

    def of(self, cmd: str | list[str]) -> Iterator[LockEntry]:
        """Every entry known for this command, that of the last commit first."""
        yield from (entry for entry in self.committed.values() if entry.cmd == cmd)
        for text in self._runs.get(str(cmd), []):
            with suppress(yaml.YAMLError, ValueError):
                yield LockEntry.model_validate(load_yaml(text))

    def have_param(self, cmd: str | list[str], file: str, key: str, value: object) -> bool:
        """Whether a run of this command is known to have had this setting."""
        return any(key in each.params.get(file, {}) and each.params[file][key] == value for each in self.of(cmd))

    def have_file(self, cmd: str | list[str], section: Literal["deps", "outs"], locked: LockedFile) -> bool:
        """Whether a run of this command is known to have read or written exactly this."""
        return any(locked in (each.deps if section == "deps" else each.outs) for each in self.of(cmd))

    @property
    def nothing(self) -> bool:
        """Whether there is neither Git nor a cache to ask."""
        return not self.committed and not self._runs

    @cached_property
    def committed(self) -> dict[str, LockEntry]:
        """Stage → its entry in Git's last commit; empty where there is none."""
        contents = zip(lock_files(), contents_at(self._root, lock_files()), strict=True)
        return parse_locks({file: data for file, data in contents if data is not None}).entries

    @cached_property
    def _runs(self) -> dict[str, list[bytes]]:
        """DVC's run cache: ``runs/<two digits>/<what went in>/<what came out>``, each the entry of one run.

        By the command, with which they begin, so that only those that are asked for are parsed.
        """
        found: dict[str, list[bytes]] = defaultdict(list)
        for path in sorted(self._cache.glob("runs/*/*/*")) if self._cache else ():
            text = path.read_bytes()
            if command := _COMMAND.match(text):
                found[" ".join(command[1].decode(errors="replace").split())].append(text)
        return dict(found)
