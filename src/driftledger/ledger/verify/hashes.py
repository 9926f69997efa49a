"""Whether every file behind a run is, byte for byte, the one that was recorded."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from driftledger.core.canonical import md5_file, sha256_file, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import INPUTS, Made, read_json
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, Folder
from driftledger.ledger.lock import LOCK, LockEntry, locked_now
from driftledger.ledger.objects.contents import FETCH, Contents
from driftledger.ledger.objects.files import listing_md5


def check_hashes(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Hash every file behind these runs, and check the entries of ``dvc.lock`` that name them.

    Folders of ``dvc.lock`` here must be in the workspace as they were written, if they are there at all. Those of other
    runs come from wherever their bytes are.
    """
    lineages = [each for run in evidence for each in run.lineages]
    result = check_folders([folder for each in lineages for folder in each.folders.values()], contents)
    stages = {name: entry for each in lineages for name, entry in each.stages.items()}
    result.findings += _check_lock(stages)
    result.checked["lock entries"] = len(stages)
    return result


def check_folders(folders: Iterable[Folder], contents: Contents) -> VerifyResult:
    """Hash every file of these folders."""
    now = {(out.path, out.md5) for entry in locked_now(contents.root).values() for out in entry.outs}
    result = VerifyResult()
    for folder in dict.fromkeys(folders):
        here = contents.listing_here(folder.path) if (folder.out, folder.md5) in now else {}
        try:
            files = contents.manifest(folder)
        except LedgerError:
            result.findings += _check_output(folder, contents, here)
        else:
            result.findings += _check_files(folder, files, contents, here)
            result.checked["files"] += len(files)
    return result


def _check_output(folder: Folder, contents: Contents, here: Mapping[str, str]) -> Iterator[Finding]:
    """The output of a folder, when the files that it had are not known."""
    if not here:
        yield Finding("missing", folder.path, f"no such folder of md5 {folder.md5} is here; {FETCH}")
        return
    md5 = listing_md5(contents.listing_here(folder.out))
    what = f"{folder.out} has md5 {md5}, and {LOCK} has {folder.md5}; run 'git status' or 'dvc status'"
    yield Finding("bytes", folder.out, what)
    yield from _check_made(folder, here, contents)


def _check_files(
    folder: Folder, files: Mapping[str, str], contents: Contents, here: Mapping[str, str]
) -> Iterator[Finding]:
    if not files:
        yield Finding("missing", folder.path, f"{folder.out} of md5 {folder.md5} has no such folder; run 'dvc repro'")
    for name, md5 in files.items():
        path = f"{folder.path}/{name}"
        for cached in contents.cached(md5):
            if md5_file(cached) != md5:
                place = cached.relative_to(contents.root) if cached.is_relative_to(contents.root) else cached
                what = f"DVC's cache holds other bytes under the name of {path}; delete it and run 'dvc fetch'"
                yield Finding("bytes", place.as_posix(), what)
        known = contents.path(md5, path) is not None
        if here.get(name, md5) != md5:
            more = "" if known else f", which is nowhere here; {FETCH}"
            yield Finding("bytes", path, f"it has md5 {here[name]}, and was written with {md5}{more}")
        elif not known:
            yield Finding("missing", path, f"no file with md5 {md5} is here; {FETCH}")
        elif here and name not in here:
            yield Finding("missing", path, f"it is not in its folder; 'dvc checkout {folder.out}' restores it")
    for name in sorted(here.keys() - files.keys()):
        yield Finding("bytes", f"{folder.path}/{name}", "the folder was written without this file; delete it")
    yield from _check_made(folder, files, contents)


def _check_made(folder: Folder, files: Mapping[str, str], contents: Contents) -> Iterator[Finding]:
    """The digest that the stage noted beside the files is theirs."""
    paths = {name: contents.path(md5, f"{folder.path}/{name}") for name, md5 in files.items()}
    noted, where = paths.pop(INPUTS, None), f"{folder.path}/{INPUTS}"
    known = {name: path for name, path in paths.items() if path is not None}
    if len(known) < len(paths):
        return
    if noted is None:
        yield Finding("missing", where, f"nothing says what the folder was made from; run 'dvc repro -f {folder.out}'")
        return
    try:
        digest = read_json(noted, Made).files
    except StoreError as error:
        yield Finding("bytes", where, str(error).replace(str(noted), where))
        return
    if digest != sha256_of({name: sha256_file(path) for name, path in known.items()}):
        yield Finding("bytes", where, "its digest is not that of the files beside it, one of which was changed")


def _check_lock(stages: Mapping[str, LockEntry]) -> Iterator[Finding]:
    """Every stage ran its own command, and read what another wrote."""
    wrote = {out.path: (name, out.md5) for name, entry in stages.items() for out in entry.outs}
    for name, entry in stages.items():
        command = f"driftledger stage {name.replace('@', ' ')}"
        if entry.cmd != command:
            yield Finding("bytes", f"{LOCK}: {name}", f"it ran {entry.cmd!s:.80}, not {command}")
        for dep in entry.deps:
            by, md5 = wrote.get(dep.path, (name, dep.md5))
            if md5 != dep.md5:
                what = f"it read {dep.path} with md5 {dep.md5}, and {by} wrote it with {md5}; run 'dvc repro'"
                yield Finding("bytes", f"{LOCK}: {name}", what)
