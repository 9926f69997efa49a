"""Whether the entries of ``dvc.lock`` hold together: with each other, with the settings, and with the code.

What an entry says of data is settled by the bytes. What it says of commands, settings and code has no bytes of its own,
and is compared with the checkout and with what else knows of it.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import yaml

from driftledger.core.escaping import for_line
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.findings import Finding, Report, Unchecked
from driftledger.ledger.lock import LockedFile, LockEntry
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.known_entries import KnownEntries

Entries = Mapping[str, LockEntry]

Where = Callable[..., str]
"""Stage and steps → where that stands, e.g. ``dvc.lock, line 12``."""

_FIELDS = ("path", "md5", "size", "nfiles")
_SHOWN = 80


def is_code(path: str) -> bool:
    """Whether a dependency is source code, which may be newer than the run."""
    return path.startswith("src/")


class Flow(NamedTuple):
    """What reads and writes say of each other."""

    findings: list[Finding]
    right: dict[str, LockedFile]
    """Path → which of several contradicting entries the bytes, or most others, bear out."""


class _Claim(NamedTuple):
    stage: str
    section: Literal["deps", "outs"]
    place: int
    file: LockedFile


def check_flow(
    entries: Entries, where: Where, contents: Contents, known: KnownEntries, *, are_whole: bool = True
) -> Flow:
    """Every stage read what another wrote, down to size and number of files.

    Args:
        are_whole: whether all entries are here; else what a stage read may have been written by one that is not.
    """
    claims: dict[str, list[_Claim]] = defaultdict(list)
    for stage, entry in entries.items():
        for index, file in enumerate(entry.outs):
            claims[file.path].append(_Claim(stage, "outs", index, file))
        for index, file in enumerate(entry.deps):
            if not is_code(file.path):
                claims[file.path].append(_Claim(stage, "deps", index, file))
    around = {
        str(above) for entry in entries.values() for out in entry.outs for above in PurePosixPath(out.path).parents
    }
    flow = Flow([], {})
    for path, said in claims.items():
        if any(claim.section == "outs" for claim in said):
            if len({claim.file for claim in said}) > 1:
                _settle(said, flow, where, entries, contents, known)
            continue
        for claim in said:
            if are_whole and path not in around:
                what = f"{claim.stage} read {for_line(path)!r:.200}, which no stage behind it wrote"
                flow.findings.append(Finding("bytes", where(claim.stage, "deps", claim.place, "path"), what))
            elif claim.file != contents.locked_here(path) and not known.have_file(
                entries[claim.stage].cmd, "deps", claim.file
            ):
                what = f"{claim.stage} read {path}, md5 {claim.file.md5}, which is neither here nor known of any run"
                flow.findings.append(Finding("bytes", where(claim.stage, "deps", claim.place), what))
    return flow


def _settle(
    said: list[_Claim], flow: Flow, where: Where, entries: Entries, contents: Contents, known: KnownEntries
) -> None:
    def borne_out(claim: _Claim) -> tuple[bool, bool, int, bool]:
        same = [each for each in said if each.file == claim.file]
        remembered = any(known.have_file(entries[each.stage].cmd, each.section, each.file) for each in same)
        written = any(each.section == "outs" for each in same)
        return contents.fits(claim.file), remembered, len(same), written

    right = max(said, key=borne_out)
    flow.right[right.file.path] = right.file
    for claim in said:
        field = next((name for name in _FIELDS if getattr(claim.file, name) != getattr(right.file, name)), None)
        if field is not None:
            did = "read" if claim.section == "deps" else "wrote"
            what = (
                f"{claim.stage} {did} {right.file.path} with {field} {getattr(claim.file, field)}, and with "
                f"{getattr(right.file, field)} according to {right.stage}"
            )
            flow.findings.append(Finding("bytes", where(claim.stage, claim.section, claim.place, field), what))


def check_settings(root: Path, entries: Entries, where: Where, known: KnownEntries) -> Iterator[Finding]:
    """Every setting is the one here, or one that a run is known to have had."""
    files = {file: _settings(root / file) for file in sorted({f for entry in entries.values() for f in entry.params})}
    for stage, entry in entries.items():
        for file, key, value in [(file, *each) for file, some in entry.params.items() for each in some.items()]:
            here = _dug(files[file], key)
            if _plain(here) == _plain(value) or known.have_param(entry.cmd, file, key, value):
                continue
            what = (
                f"{stage} ran with {for_line(key)} = {for_line(str(value))!r:.{_SHOWN}}, which is neither what "
                f"{for_line(file)!r:.{_SHOWN}} says nor known of any run; run 'git diff', or 'dvc repro'"
            )
            yield Finding("bytes", where(stage, "params", file, key), what)


def _settings(path: Path) -> Any:
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text) if path.suffix == ".json" else load_yaml(text)
    except (OSError, ValueError, yaml.YAMLError):
        return None


def _dug(settings: Any, key: str) -> Any:
    for step in key.split("."):
        settings = settings.get(step) if isinstance(settings, dict) else None
    return settings


def _plain(value: Any) -> Any:
    """Numbers as text: ``1e-05`` is one to DVC's YAML and text to PyYAML's."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else str(value)


def check_code(entries: Entries, where: Where, contents: Contents, known: KnownEntries | None) -> Report:
    """Every source file is the one here, or one that a run is known to have used: that is older, and unchecked.

    Args:
        known: None where the entries are not those of ``dvc.lock`` here, so that nothing here need know them.
    """
    report, older = Report(), defaultdict[str, list[str]](list)
    paths = {dep.path for entry in entries.values() for dep in entry.deps if is_code(dep.path)}
    here = {path: contents.locked_here(path) for path in sorted(paths)}
    for stage, entry in entries.items():
        for index, dep in enumerate(entry.deps):
            if not is_code(dep.path):
                continue
            report.checked["source files"] += 1
            found = here[dep.path]
            if found == dep:
                continue
            if known is None or known.nothing or known.have_file(entry.cmd, "deps", dep):
                older[dep.path].append(stage)
                continue
            field = next(name for name in _FIELDS if found is None or getattr(found, name) != getattr(dep, name))
            what = f"{stage} ran with {dep.path!r:.200}, {field} {getattr(dep, field)}, which is neither here nor known"
            report.findings.append(Finding("bytes", where(stage, "deps", index, field), f"{what} of any run"))
    for path, stages in older.items():
        more = f" and {len(stages) - 1} more ran" if len(stages) > 1 else " ran"
        report.unchecked.append(Unchecked(path, f"the code here is not the recorded one, with which {stages[0]}{more}"))
    return report
