"""Folders of data that DVC keeps beside the pipeline.

An old folder is refused before anything is paid, and new files are noted in its ``.dvc`` file. A
folder that is what that file says needs neither.
"""

import re
import shlex
import sys
from collections.abc import Set
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import BaseModel, ValidationError

from driftledger.commands.init import run_program
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.files import (
    LARGEST_TEXT,
    LARGEST_YAML,
    conflict_in,
    load_yaml,
    read_regular,
    write_bytes,
)
from driftledger.core.paths import STATE
from driftledger.core.text import for_line, say
from driftledger.data.datasets.base import reached
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import (
    Listing,
    Workspace,
    listing_bytes,
    listing_md5,
    parse_listing,
)
from driftledger.ledger.objects.git import Git
from driftledger.project.project import Project

Pairs: TypeAlias = Set[tuple[str, str]]
"""Name and MD5 of each file of a folder."""
DIGESTS = "digests.dir"
"""In the folder of the checkout's state: MD5s of the files, known by their sizes and times."""
_HIDDEN = re.compile(r"(^|/)\.")


class _Folder(LockedFile):
    hash: Literal["md5"]


class _DvcFile(BaseModel):
    outs: list[_Folder]
    wdir: Literal["."] = "."


def note_new_files(project: Project) -> None:
    """Bring ``.dvc`` files up to date with their folders, and print that.

    Git's index stays as it is.

    Raises:
        ConfigError: as of :func:`new_files`, or DVC fails.
    """
    for path, names in new_files(project).items():
        command = [sys.executable, "-m", "dvc", "commit", "--force", "--no-relink"]
        run_program(*command, "--", f"{path}.dvc", cwd=project.root)
        say(for_line(f"{path}.dvc names what is new in {path}: {first_few(names)}"))


def new_files(project: Project) -> dict[str, list[str]]:
    """List, by folder, the files that the folder's ``.dvc`` file does not name.

    Raises:
        ConfigError: a folder lacks files that were not pulled, or that were removed; or its
            ``.dvc`` file has a conflict.
    """
    new = {}
    mistakes = list[str]()
    for path, files in _listings(project).items():
        try:
            if names := _new_in(project.root, path, files):
                new[path] = names
        except ConfigError as error:
            mistakes += error.args
    if mistakes:
        raise ConfigError(*mistakes)
    return new


def _listings(project: Project) -> dict[str, Listing]:
    """List the folders of datasets, or folders above them, that have a ``.dvc`` file.

    Files that have not changed since are not read again.
    """
    root = project.root.resolve()
    workspace = Workspace(root, trust=True)
    index = root / STATE / DIGESTS
    with suppress(OSError, ValueError):
        workspace.known = parse_listing(read_regular(index, LARGEST_TEXT)) or {}
    listings = {}
    for name in project.settings.named("datasets"):
        path = getattr(project.settings.build("datasets", name), "path", None)
        with suppress(ConfigError, OSError):  # it cannot be read, which others say
            if isinstance(path, Path):
                place = reached(path, "folder", "path")
                place = place.parent.resolve() / place.name
                for folder in (place, *place.parents):
                    if root in folder.parents and Path(f"{folder}.dvc").is_file():
                        folder_name = folder.relative_to(root).as_posix()
                        listings[folder_name] = workspace.listing(folder_name)
    if workspace.md5s != workspace.known:
        write_bytes(index, listing_bytes(workspace.md5s))
    return listings


def _new_in(root: Path, path: str, listing: Listing) -> list[str]:
    """List the files of a folder that its ``.dvc`` file lacks.

    Errors are as in :func:`new_files`.
    """
    file = f"{path}.dvc"
    quoted = shlex.quote(file)
    pull = f"run 'dvc pull {quoted}'"
    meant = f"or 'dvc commit {quoted}' if it is meant"
    aside = f"move your own new files elsewhere, {pull}, and put them back"
    conflict = ConfigError(
        f"{file} has the conflict of a merge: keep one side of it, as by 'git checkout --theirs "
        f"{quoted} && git add {quoted}'; then {aside}"
    )
    try:
        content = read_regular(root / file, LARGEST_YAML, within=root)
        if conflict_in(content.decode(errors="replace")):
            raise conflict
        noted = _md5_in(content, path)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"{file} cannot be read ({error}); 'git checkout HEAD {quoted}' restores it"
        ) from None
    now = listing_md5(listing)
    if noted in ("", now):
        return []
    contents = Contents(root, trust=True)
    newest = before = ""
    if (git := contents.git) is not None:
        if git.is_unmerged(file):
            raise conflict
        ever = _versions(git, path)
        for head in reversed(git.heads()):  # what is being merged comes last
            versions = [*_versions(git, path, head)]
            if noted in versions:
                break
        [newest, before, *_] = [*versions, "", ""]
        if now in ever and now != newest:
            commit = f"commit {ever[now][:8]} ({git.date(ever[now])})"
            raise ConfigError(
                f"{path} is as {commit} has it, and not as {file} says: {pull}, {meant}"
            )
        if noted in versions:  # an earlier one, as 'dvc repro' writes it back
            noted = newest
    files = _pairs(listing)
    named = _pairs(contents.cached_listing(noted))
    if not named:
        raise ConfigError(
            f"{path} is not what {file} says, and DVC's list of its files is not here, as after "
            f"'git pull' without 'dvc pull': {aside}; {meant}"
        )
    new = sorted(name for name, _ in files - named)
    gone = _lost(named, files, named)
    if gone and not new:
        raise ConfigError(
            f"{path} lacks files that {file} names ({first_few(gone)}): {pull}, {meant}"
        )
    earlier = _pairs(contents.cached_listing(before))
    added = _pairs(contents.cached_listing(newest)) - earlier
    if lost := _lost(added & named, files, earlier):
        raise ConfigError(
            f"{path} has files that {file} does not name ({first_few(new)}) and lacks files that "
            f"it names ({first_few(lost)}), as after 'git pull' without 'dvc pull': {aside}; "
            f"{meant}"
        )
    return new


def _versions(git: Git, path: str, *tips: str) -> dict[str, str]:
    """Map the MD5 of each version of a folder to a commit; the newest comes first."""
    versions = dict[str, str]()
    for blob, commit in git.ever_at(f"{path}.dvc", tips):
        with suppress(ValueError):
            versions.setdefault(_md5_in(git.read(blob) or b"", path), commit)
    return versions


def _md5_in(data: bytes, path: str) -> str:
    """Return the MD5 of a folder in its ``.dvc`` file.

    It is empty if the file has none in the form of DVC 3.

    Raises:
        ValueError: it is not YAML.
    """
    content = load_yaml(data)
    with suppress(ValidationError):
        for out in _DvcFile.model_validate(content).outs:
            if out.path == Path(path).name:
                return out.md5
    return ""


def _pairs(listing: Listing | None) -> Pairs:
    """Return name and MD5 of all files but hidden ones, which no dataset reads."""
    pairs = (listing or {}).items()
    return {(name, md5) for name, md5 in pairs if not _HIDDEN.search(name)}


def _lost(wanted: Pairs, files: Pairs, earlier: Pairs) -> list[str]:
    """List the files that a folder lacks without a newer one of that name or content.

    A file is newer if it is not in ``earlier``.
    """
    newer = {part for pair in files - earlier for part in pair}
    return sorted(name for name, md5 in wanted - files if not {name, md5} & newer)
