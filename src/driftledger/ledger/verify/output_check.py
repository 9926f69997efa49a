"""Whether the files of DVC outputs are those that were locked: in the workspace, and in DVC's cache."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents, beneath
from driftledger.ledger.objects.manifests import FOLDER
from driftledger.ledger.verify.locks import KnownEntries


class Output(NamedTuple):
    """A file or folder that a stage wrote."""

    locked: LockedFile
    cmd: str | list[str]
    here: bool
    """Whether it is in ``dvc.lock`` here, so that the workspace should hold it, if anything."""
    where: str
    """Where its entry stands, e.g. ``dvc.lock: chain@photos-seer-brush``."""


def check_outputs(root: Path, outputs: Iterable[Output], contents: Contents, known: KnownEntries) -> VerifyResult:
    """Hash every file of these outputs, where it is; it must be somewhere."""
    result = VerifyResult()
    for output in {(each.locked, each.here): each for each in outputs}.values():
        try:
            manifest = contents.manifest(output.locked)
        except LedgerError:
            result.findings.append(_unknown_folder(output, contents))
            continue
        found = list(_check_files(root, output, manifest, contents, result))
        unfounded = _blame_lock(output, manifest, contents, known)
        result.findings.extend([unfounded] if unfounded else [*found, *_check_size(output, contents)])
    return result


def _check_files(
    root: Path, output: Output, manifest: dict[str, str], contents: Contents, result: VerifyResult
) -> Iterator[Finding]:
    locked, folder = output.locked, output.locked.path
    is_folder = locked.md5.endswith(FOLDER)
    is_here = output.here and (root / folder).exists()
    if is_folder:
        yield from _check_cached(locked.md5, folder, contents)
    for name, md5 in manifest.items():
        path = beneath(folder, name)
        yield from _check_cached(md5, path, contents)
        result.checked["files"] += 1
        at_hand = contents.path(md5, path) is not None
        if is_here and (root / path).is_file():
            if (found := contents.md5_of(root / path)) != md5:
                said = f"it was written with {md5}" if is_folder else f"{output.where} has {md5}"
                more = "" if at_hand else f"; no file that is to be had has that, and {_reason(contents)}"
                yield Finding("bytes", path, f"it has md5 {found}, and {said}{more}")
                continue
        elif is_here and at_hand:
            yield Finding("missing", path, f"it is not in its folder (md5 {md5}); 'dvc checkout {folder}' restores it")
        if not at_hand:
            yield Finding("missing", path, f"no file with md5 {md5} is here or in DVC's cache, and {_reason(contents)}")
    if is_here and is_folder:
        for name in sorted(contents.folder_here(folder).keys() - manifest.keys()):
            yield Finding("bytes", beneath(folder, name), "the folder was written without this file")


def _check_cached(md5: str, path: str, contents: Contents) -> Iterator[Finding]:
    cached = contents.cached(md5)
    if cached is not None and contents.md5_of(cached) != md5.removesuffix(FOLDER):
        place = cached.relative_to(contents.root) if cached.is_relative_to(contents.root) else cached
        what = f"DVC's cache holds something else under the name of {path}; remove it and run 'dvc fetch'"
        yield Finding("bytes", place.as_posix(), what)


def _unknown_folder(output: Output, contents: Contents) -> Finding:
    """A folder whose manifest is lost; one that stands at its path is another, or it would have told."""
    locked = output.locked
    here = contents.locked_here(locked.path) if output.here else None
    if here is None:
        return Finding(
            "missing",
            locked.path,
            f"no folder with md5 {locked.md5} is here or in DVC's cache, and {_reason(contents)}",
        )
    what = f"it has md5 {here.md5}, and was written with {locked.md5}; which of its files differ is not known"
    return Finding("bytes", locked.path, f"{what}, and {_reason(contents)}")


def _reason(contents: Contents) -> str:
    if contents.unfetched:
        return f"the remote could not be asked: {for_line(contents.unfetched)}"
    return "the remote does not have it either"


def _blame_lock(output: Output, manifest: dict[str, str], contents: Contents, known: KnownEntries) -> Finding | None:
    """An MD5 that no file anywhere has is the wrong one, if a run is known to have written the file that is here."""
    locked = output.locked
    if not output.here or "" not in manifest or contents.path(locked.md5, locked.path) is not None:
        return None
    here = contents.locked_here(locked.path)
    if here is None or not known.have_file(output.cmd, "outs", here):
        return None
    what = f"it says that {locked.path} has md5 {locked.md5}; the file that was written has {here.md5}"
    return Finding("bytes", output.where, what)


def _check_size(output: Output, contents: Contents) -> Iterator[Finding]:
    locked = output.locked
    if not contents.has(locked):
        return
    measured = contents.measured(locked)
    for field in ("size", "nfiles"):
        said, found = getattr(locked, field), getattr(measured, field)
        if said != found:
            what = f"it says that the {field} of {locked.path} is {said}, and {found} is what its md5 stands for"
            yield Finding("bytes", output.where, what)
