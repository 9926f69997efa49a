"""Whether every file behind a run is, byte for byte, the one that was recorded, and whether these files fit together.

DVC's hashes say that files are those that were written. The hashes inside of files say that what was written belongs
together, and hold for files that were handed on without DVC.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from driftledger.benchmarks.records import RECORDS
from driftledger.core.canonical import md5_file, sha256_file, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import INPUTS, Made, read_json
from driftledger.ledger.bundle import UnpackedBundle, digests_of
from driftledger.ledger.findings import Finding, Kind, VerifyResult
from driftledger.ledger.lineage import Evidence, Folder, fingerprint_of
from driftledger.ledger.lock import LOCK, LockEntry, locked_now
from driftledger.ledger.objects.contents import FETCH, Contents
from driftledger.ledger.objects.files import listing_md5
from driftledger_check import links


def check_hashes(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Hash every file behind these runs, and check the entries of ``dvc.lock`` that name them."""
    lineages = [each for run in evidence for each in run.lineages]
    result = check_folders([folder for each in lineages for folder in each.folders.values()], contents)
    stages = {name: entry for each in lineages for name, entry in each.stages.items()}
    result.findings += _check_lock(stages)
    result.checked["lock entries"] = len(stages)
    return result


def check_folders(folders: Iterable[Folder], contents: Contents) -> VerifyResult:
    """Hash every file of these folders.

    Those that ``dvc.lock`` has now must be in the workspace as they were written, if they are there at all. Others are
    read from wherever their bytes are.
    """
    result = VerifyResult()
    now = {(out.path, out.md5) for entry in locked_now(contents.root).values() for out in entry.outs}
    for folder in dict.fromkeys(folders):
        here = contents.listing_here(folder.path) if (folder.out, folder.md5) in now else {}
        _check_folder(folder, contents, here, result)
    return result


def check_links(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Compare every hash inside of a file behind these runs with what it is the hash of, as a bundle is checked."""
    result, digests, seen = VerifyResult(), cache(digests_of), set[str]()
    for run in evidence:
        # What is not here is missing by its hash already.
        whole = [each for each in run.lineages if all(map(contents.has, each.folders.values()))]
        part = {"lineages": whole, "fingerprint": fingerprint_of(whole, run.combination)}
        unpacked = UnpackedBundle(run.model_copy(update=part), contents, digests)
        for name in unpacked.paths.keys() - seen:
            result.checked["images"] += name.endswith(".png")
            result.checked["records"] += unpacked.read(name).count(b"\n") if name.endswith(f"/{RECORDS}") else 0
        seen |= unpacked.paths.keys()
        for kind, check in {"links": links.check_links, "fingerprints": links.check_fingerprints}.items():
            for line in links.guarded(run.name, check, unpacked):
                result.checked[kind] += 1
                finding = Finding("bytes", line.where, line.what)
                if line.status == "differs" and finding not in result.findings:
                    result.findings.append(finding)
    return result


def _check_folder(folder: Folder, contents: Contents, here: Mapping[str, str], result: VerifyResult) -> None:
    """Check a folder by the MD5 of its files, and against ``here``, its files in the workspace."""

    def find(where: str, what: str, kind: Kind = "bytes") -> None:
        result.findings.append(Finding(kind, where, what))

    try:
        files = contents.manifest(folder)
    except LedgerError:
        if not here:
            find(folder.path, f"no such folder of md5 {folder.md5} is here; {FETCH}", "missing")
            return
        md5, files = listing_md5(contents.listing_here(folder.out)), {**here}
        what = f"{folder.out} has md5 {md5}, and {LOCK} has {folder.md5}; run 'git status' or 'dvc status'"
        find(folder.out, what)
    else:
        result.checked["files"] += len(files)
        if not files:
            find(folder.path, f"{folder.out} of md5 {folder.md5} has no such folder; run 'dvc repro'", "missing")
    paths = {name: contents.path(md5, f"{folder.path}/{name}") for name, md5 in files.items()}
    for name, md5 in files.items():
        path = f"{folder.path}/{name}"
        for cached in contents.cached(md5):
            if md5_file(cached) != md5:
                place = cached.relative_to(contents.root) if cached.is_relative_to(contents.root) else cached
                what = f"DVC's cache holds other bytes under the name of {path}; delete it and run 'dvc fetch'"
                find(place.as_posix(), what)
        if here.get(name, md5) != md5:
            more = "" if paths[name] else f", which is nowhere here; {FETCH}"
            find(path, f"it has md5 {here[name]}, and was written with {md5}{more}")
        elif not paths[name]:
            find(path, f"no file with md5 {md5} is here; {FETCH}", "missing")
        elif here and name not in here:
            find(path, f"it is not in its folder; 'dvc checkout {folder.out}' restores it", "missing")
    for name in sorted(here.keys() - files.keys()):
        find(f"{folder.path}/{name}", "the folder was written without this file; delete it")
    inputs, where = paths.pop(INPUTS, None), f"{folder.path}/{INPUTS}"
    others = {name: path for name, path in paths.items() if path is not None}
    if len(others) < len(paths):
        return
    if inputs is None:
        find(where, f"nothing says what the folder was made from; run 'dvc repro -f {folder.out}'", "missing")
        return
    try:
        digest = read_json(inputs, Made).files
    except StoreError as error:
        find(where, str(error).replace(str(inputs), where))
        return
    if digest != sha256_of({name: sha256_file(path) for name, path in others.items()}):
        find(where, "its digest is not that of the files beside it; one of them was changed")


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
