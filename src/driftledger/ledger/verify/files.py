"""Check that every file behind a run is the recorded one.

DVC's hashes say that files are those that were written. The hashes inside of files say that what
was written belongs together, and hold for files that were handed on without DVC.
"""

from collections.abc import Iterable, Sequence
from functools import cache, partial

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ConfigError, LedgerError, StoreError
from driftledger.core.files import parse_json, read_regular
from driftledger.core.made import INPUTS, Made
from driftledger.core.media import MEDIA
from driftledger.core.paths import leads_out
from driftledger.ledger import links
from driftledger.ledger.bundles import reading
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import Folder, Run
from driftledger.ledger.lock import Lock, locked_now
from driftledger.ledger.objects.contents import FETCH, Contents
from driftledger.ledger.objects.files import Listing, listing_md5
from driftledger.project.project import LOCK, NOTED_SETTINGS, Project
from driftledger.scoring.score import SCORE


def check_hashes(runs: Sequence[Run], contents: Contents) -> VerifyResult:
    """Hash every file behind runs, and check the entries of ``dvc.lock``.

    Each stage must have run its own command, and read what another wrote.
    """
    folders: list[Folder] = []
    stages: Lock = {}
    for run in runs:
        folders += run.folders
        stages |= run.stages
    result = check_folders(folders, contents)
    result.checked["lock entries"] = len(stages)
    wrote = {}
    for name, entry in stages.items():
        for out in entry.outs:
            wrote[out.path] = (name, out.md5)
    for name, entry in stages.items():
        command = f"driftledger stage {name.replace('@', ' ')}"
        where = f"{LOCK}: {name}"
        if entry.cmd != command:
            result.find(where, f"it ran {entry.cmd!s:.80}, not {command}")
        for noted in entry.noted.values():
            if isinstance(noted, str):
                what = f"it ran with settings of SHA-256 {noted:.64}, which {NOTED_SETTINGS} lacks"
                result.find(where, f"{what}; run 'dvc repro'", "missing")
        for dep in entry.deps:
            by, md5 = wrote.get(dep.path, (name, dep.md5))
            if md5 != dep.md5:
                what = f"it read {dep.path} with md5 {dep.md5}, and {by} wrote it with {md5}"
                result.find(where, f"{what}; run 'dvc repro'")
    return result


def check_folders(folders: Iterable[Folder], contents: Contents) -> VerifyResult:
    """Hash every file of these folders.

    Folders in the present ``dvc.lock`` must be in the workspace as they were written, if they are
    there at all. Others are read from wherever their bytes are.
    """
    result = VerifyResult()
    now = set()
    for entry in locked_now(contents.root).values():
        now |= {(out.path, out.md5) for out in entry.outs}
    for folder in dict.fromkeys(folders):
        here = (
            contents.listing_here(folder.path)
            if (folder.out, folder.md5) in now
            else {}
        )
        _check_folder(result, contents, folder, here)
    return result


def check_links(runs: Sequence[Run], contents: Contents) -> VerifyResult:
    """Follow every hash inside the files behind runs, as ``check`` does."""
    result = VerifyResult()
    seen = set()
    checked: set[str] = set()
    opened = cache(partial(_opened, contents))
    for run in runs:
        for lineage in run.lineages:
            if lineage.folder in seen:
                continue
            seen.add(lineage.folder)
            folders = lineage.folders.values()
            absent = [folder.path for folder in folders if not contents.has(folder)]
            if absent:
                why = f"{absent[0]} is not here as it was recorded; {FETCH}"
                result.skip(lineage.score_path, why)
                continue
            behind = {folder.path: opened(folder) for folder in folders}
            content = lineage.model_dump(mode="json", by_alias=True)
            content["score"] = behind[lineage.folder.path].json(SCORE)
            result.add(links.check_components(content), "links")
            lines = links.check_lineage(
                content, behind.__getitem__, run.combination, checked
            )
            result.add(lines, "links")
            checked.update(folder.path for folder in folders)
    return result


def check_store(project: Project) -> VerifyResult:
    """Hash every image in the call store.

    A look-up believes images of the same size and time.
    """
    result = VerifyResult()
    try:
        store = project.state
    except ConfigError as error:
        result.skip("store", str(error))
        return result
    for file in sorted(store.glob("objects/*/*")):
        if file.suffix in MEDIA and file.is_file() and not leads_out(file, store):
            result.checked["images"] += 1
            if sha256_file(file) != file.stem:
                what = "its bytes do not have the SHA-256 that is its name"
                advice = "delete it, and 'driftledger run' restores it or makes its call again"
                result.find(str(file), f"{what}; {advice}")
    return result


def _opened(contents: Contents, folder: Folder) -> reading.OpenedFolder:
    """Read a folder of which every file is here."""

    def read(name: str) -> bytes:
        file = contents.within(folder, name)
        return b"" if file is None else read_regular(file)

    named = {name: reading.digests(read(name)) for name in contents.manifest(folder)}
    return reading.OpenedFolder(folder.path, named, named, read)


def _check_folder(
    result: VerifyResult, contents: Contents, folder: Folder, here: Listing
) -> None:
    """Check a folder by the MD5 of its files, and by those in the workspace.

    Args:
        here: the files of the folder in the workspace.
    """
    try:
        files = contents.manifest(folder)
    except LedgerError:
        if not here:
            result.find(
                folder.path,
                f"no such folder of md5 {folder.md5} is here; {FETCH}",
                "missing",
            )
            return
        md5 = listing_md5(contents.listing_here(folder.out))
        files = {**here}
        what = (
            f"{folder.out} has md5 {md5}, and {LOCK} has {folder.md5}; run 'git status' or 'dvc "
            "status'"
        )
        result.find(folder.out, what)
    else:
        result.checked["files"] += len(files)
        if not files:
            what = (
                f"{folder.out} of md5 {folder.md5} has no such folder; run 'dvc repro'"
            )
            result.find(folder.path, what, "missing")
    for name, md5 in files.items():
        path = f"{folder.path}/{name}"
        _check_cache(result, contents, path, md5)
        is_found = contents.path(md5, path) is not None
        if here.get(name, md5) != md5:
            more = "" if is_found else f", which is nowhere here; {FETCH}"
            result.find(
                path, f"it has md5 {here[name]}, and was written with {md5}{more}"
            )
        elif not is_found:
            result.find(path, f"no file with md5 {md5} is here; {FETCH}", "missing")
        elif here and name not in here:
            what = f"it is not in its folder; 'dvc checkout {folder.out}' restores it"
            result.find(path, what, "missing")
    for name in sorted(here.keys() - files.keys()):
        result.find(
            f"{folder.path}/{name}",
            "the folder was written without this file; delete it",
        )
    _check_inputs(result, contents, folder, files)


def _check_cache(result: VerifyResult, contents: Contents, path: str, md5: str) -> None:
    """Check that DVC's caches hold a file's bytes under its MD5."""
    for cached in contents.cached(md5):
        if contents.here.md5(cached) != md5:
            is_inside = cached.is_relative_to(contents.root)
            where = cached.relative_to(contents.root) if is_inside else cached
            what = f"DVC's cache holds other bytes under the name of {path}"
            result.find(where.as_posix(), f"{what}; delete it and run 'dvc fetch'")


def _check_inputs(
    result: VerifyResult, contents: Contents, folder: Folder, files: Listing
) -> None:
    """Check that the stage noted the digest of the other files in ``inputs.json``."""
    digests = {}
    for name, md5 in files.items():
        if name == INPUTS:
            continue
        path = contents.path(md5, f"{folder.path}/{name}")
        if path is None:
            return
        digests[name] = sha256_file(path)
    where = f"{folder.path}/{INPUTS}"
    if INPUTS not in files:
        what = f"nothing says what the folder was made from; run 'dvc repro -f {folder.out}'"
        result.find(where, what, "missing")
        return
    noted = contents.path(files[INPUTS], where)
    try:
        inputs = None if noted is None else parse_json(read_regular(noted), Made, where)
    except StoreError as error:
        result.find(where, str(error))
        return
    if inputs and inputs.files != sha256_of(digests):
        result.find(
            where,
            "its digest does not fit the other files of its folder; one was changed",
        )
