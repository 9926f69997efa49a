"""Folders of data that DVC keeps beside the pipeline, such as ``photos`` by ``photos.dvc``.

An old folder is refused before anything is paid, and new files are noted in its ``.dvc`` file. A
folder that is what that file says needs neither.
"""

import shlex
import sys
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from driftledger.commands.init import run_program
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.files import (
    CONFLICT,
    LARGEST_TEXT,
    LARGEST_YAML,
    MANY_VALUES,
    load_json,
    load_yaml,
    read_regular,
    write_json,
)
from driftledger.core.paths import STATE
from driftledger.core.strict import Md5
from driftledger.core.text import for_line, say
from driftledger.data.datasets.base import reached
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import DIR, Listing, Workspace, listing_md5
from driftledger.ledger.objects.git import Git
from driftledger.project.project import Project

DIGESTS = "digests.json"
"""In the folder of the checkout's state: facts of the files of these folders → MD5."""
_DIGESTS = TypeAdapter(dict[str, Md5])


class _Out(BaseModel):
    path: str
    md5: Md5 = ""
    hash: str = ""


class _DvcFile(BaseModel):
    outs: list[_Out]
    wdir: str = "."


def note_new_files(project: Project) -> None:
    """Bring the ``.dvc`` files up to date with their folders, and say so; Git's index stays as it
    is.

    Raises:
        ConfigError: as of :func:`new_files`, or DVC fails.
    """
    for path, names in new_files(project).items():
        file = f"{path}.dvc"
        command = [sys.executable, "-m", "dvc", "commit", "--force", "--no-relink"]
        run_program(*command, "--", file, cwd=project.root)
        what = "1 file is" if len(names) == 1 else f"{len(names)} files are"
        say(for_line(f"{file} is up to date: {what} new ({first_few(names)})"))


def new_files(project: Project) -> dict[str, list[str]]:
    """List the files that are not noted yet in the ``.dvc`` file of their folder, by folder.

    Raises:
        ConfigError: a folder is not what its ``.dvc`` file says because files of it were not
            pulled, or because they were removed, or that file has a conflict.
    """
    listings = _listings(project)
    new = dict[str, list[str]]()
    mistakes = list[str]()
    for path, files in listings.items():
        try:
            new[path] = _new_in(project.root, path, files)
        except ConfigError as error:
            mistakes += error.args
    if mistakes:
        raise ConfigError(*mistakes)
    return {path: names for path, names in new.items() if names}


def _listings(project: Project) -> dict[str, Listing]:
    """List the folders of datasets that a ``.dvc`` file names, or those above them, as they are
    now.

    Files that have not changed since are not read again.
    """
    root = project.root.resolve()
    here = Workspace(root, trust=True)
    index = root / STATE / DIGESTS
    with suppress(OSError, ValueError):
        known = load_json(
            read_regular(index, LARGEST_TEXT), LARGEST_TEXT, values=MANY_VALUES
        )
        here.known = _DIGESTS.validate_python(known)
    listings = dict[str, Listing]()
    for name in project.settings.named("datasets"):
        path = getattr(project.settings.build("datasets", name), "path", None)
        if not isinstance(path, Path):
            continue
        with suppress(ConfigError):  # it is missing, which others say
            place = reached(path, "folder", "path")
            place = place.parent.resolve() / place.name
            for folder in (place, *place.parents):
                if root in folder.parents and Path(f"{folder}.dvc").is_file():
                    kept = folder.relative_to(root).as_posix()
                    listings[kept] = here.listing(kept)
    if here.md5s != here.known:
        write_json(index, here.md5s)
    return listings


def _new_in(root: Path, path: str, files: Listing) -> list[str]:
    """List the files of a folder that its ``.dvc`` file does not name; errors as in
    :func:`new_files`."""
    file = f"{path}.dvc"
    quoted = shlex.quote(file)
    pull = f"run 'dvc pull {quoted}'"
    meant = f"or 'dvc commit {quoted}' if it is meant"
    aside = f"move your own new files elsewhere, {pull}, and put them back"
    sides = f"'git checkout --theirs {quoted} && git add {quoted}'"
    conflict = ConfigError(
        f"{file} has the conflict of a merge: keep one side of it, as by {sides}; then {aside}"
    )
    try:
        noted = _md5_in(read_regular(root / file, LARGEST_YAML, within=root), path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        if CONFLICT in str(reason):
            raise conflict from None
        raise ConfigError(
            f"{file} cannot be read: {reason}; 'git checkout HEAD {quoted}' restores it"
        ) from None
    now = listing_md5(files)
    if noted in ("", now):
        return []
    contents = Contents(root, trust=True)
    newest = before = ""
    if (git := contents.git) is not None:
        if git.is_unmerged(file):
            raise conflict
        ever = _versions(git, path)
        # while a merge is under way, that of its other head may be here
        for head in reversed(git.heads()):
            versions = _versions(git, path, head)
            [newest, before, *_] = [*versions, "", ""]
            if newest == noted:
                break
        if now in ever and now != newest:
            commit = f"commit {ever[now][:8]} ({git.date(ever[now])})"
            raise ConfigError(
                f"{path} is as {commit} has it, and not as {file} says: {pull}, {meant}"
            )
        if noted in versions:  # an earlier one, written back by 'dvc repro'
            noted = newest
    named = _visible(contents.cached_listing(noted))
    if not named:
        raise ConfigError(
            f"{path} is not what {file} says, and DVC's list of its files is not here, as after "
            f"'git pull' without 'dvc pull': {aside}; {meant}"
        )
    files = _visible(files)
    new = [name for name, md5 in files.items() if named.get(name) != md5]
    moved = {files[name] for name in new}
    gone = [
        name for name, md5 in named.items() if name not in files and md5 not in moved
    ]
    if gone and not new:
        raise ConfigError(
            f"{path} lacks files that {file} names ({first_few(gone)}): {pull}, {meant}"
        )
    earlier = _visible(contents.cached_listing(before)).items()
    fresh = dict(files.items() - earlier)
    added = _visible(contents.cached_listing(newest)).items() - earlier
    lost = []
    for name, md5 in sorted(added & named.items()):
        if name not in fresh and md5 not in fresh.values():
            lost.append(name)
    if lost:
        raise ConfigError(
            f"{path} has files that {file} does not name ({first_few(new)}) and lacks files that "
            f"it names ({first_few(lost)}), as after 'git pull' without 'dvc pull': {aside}; "
            f"{meant}"
        )
    return new


def _versions(git: Git, path: str, *tips: str) -> dict[str, str]:
    """Return a folder's MD5 in each version of its ``.dvc`` file, the newest first → a commit."""
    versions = dict[str, str]()
    for blob, commit in git.ever_at(f"{path}.dvc", tips):
        with suppress(ValueError):
            md5 = _md5_in(git.read(blob) or b"", path)
            versions.setdefault(md5, commit)
    versions.pop("", None)
    return versions


def _md5_in(data: bytes, path: str) -> str:
    """Return the MD5 of a folder in a ``.dvc`` file beside it; empty if that names none, or in the
    way of DVC 2.

    Raises:
        ValueError: it is not a ``.dvc`` file.
    """
    file = _DvcFile.model_validate(load_yaml(data))
    for out in file.outs:
        is_it = out.path == path.rpartition("/")[2] and file.wdir == "."
        if is_it and out.hash == "md5" and out.md5.endswith(DIR):
            return out.md5
    return ""


def _visible(files: Listing | None) -> Listing:
    """Leave out hidden files, which no dataset has: a system may write them."""
    visible = Listing()
    for name, md5 in (files or {}).items():
        if not f"/{name}".count("/."):
            visible[name] = md5
    return visible
