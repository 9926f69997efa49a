"""Whether the entries of ``dvc.lock`` hold together: with their names, each other, the settings, the code and Git.

What an entry says of data is settled by the bytes. What it says of commands and settings has no bytes of its own, and
is compared with the checkout and with what else knows of it.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from driftledger.benchmarks.base import Benchmark, Stage
from driftledger.benchmarks.code import code_behind
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lock import RESOLVED, LockedFile, LockEntry
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.locks import KnownEntries

Entries = Mapping[str, LockEntry]

Where = Callable[[str], str]
"""Stage → where its entry stands, e.g. ``dvc.lock: dataset@photos``."""

_FIELDS = ("path", "md5", "size", "nfiles")
_SHOWN = 80


class Expected(NamedTuple):
    """What the table of a benchmark says of one stage."""

    command: str
    place: str
    """The folder that it writes."""
    stage: Stage
    reads_files: bool
    """Whether it reads files of the user's: only what builds the data does."""


def expected_stage(spec: Benchmark, name: str) -> Expected | None:
    """What a stage of that name must be; None where the benchmark has no such stage."""
    word, _, rest = name.partition("@")
    names = rest.split("-")
    for stage in spec.stages:
        if stage.name == word and len(names) == len(stage.keys):
            words = [stage.name] if stage is spec.data else ["stage", spec.name, stage.name]
            place = stage.at(dict(zip(stage.keys, names, strict=True)))
            return Expected(" ".join(["driftledger", *words, *names]), place, stage, stage is spec.data)
    return None


def check_names(entries: Entries, expected: Mapping[str, Expected], where: Where) -> Iterator[Finding]:
    """Every stage runs the command that its name stands for, and writes below its own folder."""
    for name, entry in entries.items():
        stage = expected.get(name)
        if stage is None:
            yield Finding("bytes", where(name), "the benchmark of the score that it stands behind has no such stage")
            continue
        if str(entry.cmd) != stage.command:
            what = f"it runs another command than {stage.command!r}: {for_line(str(entry.cmd))!r:.200}"
            yield Finding("bytes", where(name), what)
        for out in entry.outs:
            if out.path != stage.place and not out.path.startswith(f"{stage.place}/"):
                yield Finding("bytes", where(name), f"it writes {for_line(out.path)!r:.200}, which is not its own")


class Flow(NamedTuple):
    """How what was read compares with what was written."""

    findings: list[Finding]
    right: dict[str, LockedFile]
    """Path → which of several contradicting entries the bytes, or most others, bear out."""


class _Claim(NamedTuple):
    stage: str
    section: Literal["deps", "outs"]
    file: LockedFile


def check_flow(
    entries: Entries,
    expected: Mapping[str, Expected],
    where: Where,
    contents: Contents,
    known: KnownEntries,
    *,
    are_whole: bool = True,
) -> Flow:
    """Every stage read what another wrote, down to size and number of files; or files of the user's that are here.

    Args:
        are_whole: whether all entries are here; else what a stage read may have been written by one that is not.
    """
    claims: dict[str, list[_Claim]] = defaultdict(list)
    for stage, entry in entries.items():
        for section, files in (("outs", entry.outs), ("deps", entry.deps)):
            for file in files:
                claims[file.path].append(_Claim(stage, section, file))  # type: ignore[arg-type]  # one of both
    flow, places = Flow([], {}), {stage.place for stage in expected.values()}
    for path, said in claims.items():
        if any(claim.section == "outs" for claim in said):
            if len({claim.file for claim in said}) > 1:
                _settle(said, flow, where, entries, contents, known)
            continue
        for claim in said:
            reads_files = claim.stage not in expected or expected[claim.stage].reads_files
            if not reads_files and are_whole and path not in places:
                what = f"it read {for_line(path)!r:.200}, which no stage behind it wrote"
                flow.findings.append(Finding("bytes", where(claim.stage), what))
            elif claim.file != contents.locked_here(path) and not known.have_file(
                entries[claim.stage].cmd, "deps", claim.file
            ):
                what = f"it read {for_line(path)}, md5 {claim.file.md5}, which is neither here nor known of any run"
                flow.findings.append(Finding("bytes", where(claim.stage), what))
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
                f"it {did} {for_line(right.file.path)} with {field} {getattr(claim.file, field)}, and with "
                f"{getattr(right.file, field)} according to {right.stage}"
            )
            flow.findings.append(Finding("bytes", where(claim.stage), what))


def check_settings(root: Path, entries: Entries, where: Where, known: KnownEntries) -> Iterator[Finding]:
    """Every setting is the one here, or one that a run is known to have had."""
    files = {file: _settings(root / file) for file in sorted({f for entry in entries.values() for f in entry.params})}
    for stage, entry in entries.items():
        for file, key, value in [(file, *each) for file, some in entry.params.items() for each in some.items()]:
            if key in entry.code or plain(_dug(files[file], key)) == plain(value):
                continue
            if not known.have_param(entry.cmd, file, key, value):
                what = (
                    f"it ran with {for_line(key)} = {for_line(str(value))!r:.{_SHOWN}}, which is neither what "
                    f"{for_line(file)!r:.{_SHOWN}} says nor known of any run; run 'git diff', or 'dvc repro'"
                )
                yield Finding("bytes", where(stage), what)


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


def plain(value: Any) -> Any:
    """Numbers as text: ``1e-05`` is one to DVC's YAML and text to PyYAML's."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list) else str(value)


def check_code(
    entries: Entries, expected: Mapping[str, Expected], where: Where, known: KnownEntries | None
) -> VerifyResult:
    """The code of every stage is the one here, or one that a run is known to have used: then results are not to be had
    again for certain.

    Args:
        known: None where the entries are not those of ``dvc.lock`` here, so that nothing here need know them.
    """
    result, older = VerifyResult(), list[str]()
    for name, entry in entries.items():
        for key, digest in entry.code.items():
            result.checked["code digests"] += 1
            if name in expected and digest == _code_here(name, expected[name], entry):
                continue
            if known is None or known.nothing or known.have_param(entry.cmd, RESOLVED, key, digest):
                older.append(name)
            else:
                what = (
                    f"it ran with {for_line(key)} = {for_line(digest):.12}…, which is neither here nor known of any run"
                )
                result.findings.append(Finding("bytes", where(name), what))
    if older:
        more = f" and {len(older) - 1} more ran" if len(older) > 1 else " ran"
        why = f"the code here is not the recorded one, with which {older[0]}{more}"
        result.skipped.append(Skipped("code", why))
    return result


def _code_here(name: str, expected: Expected, entry: LockEntry) -> str | None:
    """The digest of the code here behind a stage; None where nobody can say what it builds."""
    stage = expected.stage
    if not expected.reads_files:
        return code_behind(stage)
    said = entry.params.get(RESOLVED, {}).get(f"settings.{stage.name}s.{name.partition('@')[2]}")
    try:
        return code_behind(stage, said)
    except (ConfigError, ValueError, TypeError, KeyError):  # which the entry is to say, and may not
        return None


def check_committed(entries: Entries, files: Mapping[str, str], known: KnownEntries) -> Iterator[Skipped]:
    """Which locks have entries that Git's last commit does not have: nothing but this checkout vouches for them."""
    differing: dict[str, list[str]] = defaultdict(list)
    for stage, entry in entries.items():
        if known.committed.get(stage) != entry:
            differing[files[stage]].append(stage)
    for file, stages in differing.items():
        more = f" and {len(stages) - 1} more" if len(stages) > 1 else ""
        yield Skipped(file, f"Git's last commit does not have the entry of {for_line(stages[0])}{more} as it is here")
