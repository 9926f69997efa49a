"""A project as a Git revision has it, or as it lies here now: read without checking anything out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from driftledger.benchmarks.registry import lock_files
from driftledger.benchmarks.score import Score
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import OF_VERSION_1, parse_json
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.lineage import is_score, is_score_of_version_1
from driftledger.ledger.lock import LockedFile, LockEntry, parse_lock
from driftledger.ledger.objects.git import Git, contents_at


class Scores(NamedTuple):
    """The score files that ``dvc.lock`` has, by path."""

    read: dict[str, Score]
    unread: list[str]
    """Those that this version cannot read, with the reason."""


@dataclass(frozen=True)
class Snapshot:
    """One state of a project; without a commit it is the workspace."""

    root: Path
    name: str
    commit: str | None

    @cached_property
    def params(self) -> dict[str, Any]:
        """``params.yaml``, as it is written; empty where there is none.

        Raises:
            LedgerError: it is no YAML mapping.
        """
        [data] = self.read(["params.yaml"])
        try:
            content = {} if data is None else load_yaml(data.decode()) or {}
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise LedgerError(f"params.yaml of {self.name} is not YAML ({type(error).__name__}); mend it") from None
        if not isinstance(content, dict):
            raise LedgerError(f"params.yaml of {self.name} holds no mapping; mend it")
        return content

    @cached_property
    def lock(self) -> dict[str, LockEntry]:
        """Stage name → entry of ``dvc.lock``; empty where there is none.

        Raises:
            LedgerError: it is not a ``dvc.lock``.
        """
        files = zip(lock_files(), self.read(lock_files()), strict=True)
        read = [parse_lock(data, f"{file} of {self.name}") for file, data in files if data is not None]
        return {name: entry for entries in read for name, entry in entries.items()}

    @cached_property
    def outs(self) -> dict[str, LockedFile]:
        """All that the stages wrote, by path."""
        return {out.path: out for entry in self.lock.values() for out in entry.outs}

    @cached_property
    def scores(self) -> Scores:
        old = [path for path in sorted(self.outs) if is_score_of_version_1(path)]
        more = f", as {len(old) - 1} others," if len(old) > 1 else ""
        found = Scores({}, [f"{old[0]} of {self.name}{more} {OF_VERSION_1}"] if old else [])
        paths = [path for path in sorted(self.outs) if is_score(path)]
        for path, data in zip(paths, self.read(paths), strict=True):
            try:
                if data is not None:
                    found.read[path] = parse_json(data, Score, f"{path} of {self.name}")
            except StoreError as error:
                found.unread.append(str(error))
        return found

    def data(self, stage: str) -> dict[str, LockedFile]:
        """Name → what the stage ``dataset@name``, for instance, wrote first."""
        named = {name.partition("@")[2]: entry for name, entry in self.lock.items() if name.startswith(f"{stage}@")}
        return {name: entry.outs[0] for name, entry in named.items() if entry.outs}

    def read(self, paths: Sequence[str]) -> list[bytes | None]:
        """The files at these paths, relative to the top folder; None for one that is not there."""
        if self.commit is None:
            return [path.read_bytes() if path.is_file() else None for path in (self.root / each for each in paths)]
        return contents_at(self.root, paths, self.commit)


def snapshot(root: Path, revision: str | None) -> Snapshot:
    """The project at a commit, tag or branch; without one, as it lies here now.

    Raises:
        LedgerError: there is no such revision, or no Git repository.
    """
    if revision is None:
        return Snapshot(root, "the workspace", None)
    git = Git.around(root)
    commit = None if git is None else git.commit(revision)
    if commit is None:
        raise LedgerError(
            f"the revision {revision!r:.100} cannot be read; name a commit, tag or branch of this repository"
        )
    return Snapshot(root, revision, commit.id)
