"""Whether entries of ``dvc.lock`` mean what they should: by their names, by each other, by the settings, and by Git.

What an entry says of data is settled by the bytes. What it says of commands and settings has no bytes of its own, and
is compared with the checkout and with what else knows of it.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from driftledger.benchmarks.base import Benchmark, Stage
from driftledger.benchmarks.code import code_behind, code_behind_data
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.findings import Finding, Skipped
from driftledger.ledger.lock import RESOLVED, LockedFile, LockEntry
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.locks import KnownEntries

_FIELDS = ("md5", "size", "nfiles")


class Expected(NamedTuple):
    """What the table of a benchmark says of one stage."""

    command: str
    place: str
    """The folder that it writes."""
    spec: Benchmark
    stage: Stage
    is_first: bool
    """Whether it builds the data; only then it may read files that no stage wrote."""


def expected_stage(spec: Benchmark, name: str) -> Expected | None:
    """What a stage of that name must be; None where the benchmark has no such stage."""
    word, _, rest = name.partition("@")
    names = rest.split("-")
    for stage in spec.stages:
        if stage.name == word and len(names) == len(stage.keys):
            words = [stage.name] if stage is spec.data else ["stage", spec.name, stage.name]
            place = stage.at(dict(zip(stage.keys, names, strict=True)))
            return Expected(" ".join(["driftledger", *words, *names]), place, spec, stage, stage is spec.data)
    return None


@dataclass(frozen=True)
class Entries:
    """Lock entries that are checked together."""

    stages: Mapping[str, LockEntry]
    specs: Mapping[str, Benchmark]
    """Stage → the benchmark of a score that it stands behind."""
    where: Callable[[str], str]
    """Stage → where its entry stands, e.g. ``dvc.lock: dataset@photos``."""
    are_whole: bool = True
    """Whether every stage is among them whose files another one read."""

    @cached_property
    def expected(self) -> dict[str, Expected]:
        """Stage → what it must be, for those whose names say so."""
        found = {name: expected_stage(self.specs[name], name) for name in self.stages}
        return {name: stage for name, stage in found.items() if stage is not None}

    def finding(self, stage: str, what: str) -> Finding:
        """Something about an entry does not hold."""
        return Finding("bytes", self.where(stage), what)


def check_names(entries: Entries) -> Iterator[Finding]:
    """Every stage runs the command that its name stands for, and writes below its own folder."""
    for name, entry in entries.stages.items():
        expected = entries.expected.get(name)
        if expected is None:
            yield entries.finding(name, f"{entries.specs[name].name} has no such stage")
            continue
        if str(entry.cmd) != expected.command:
            what = f"it runs another command than {expected.command!r}: {for_line(str(entry.cmd))!r:.200}"
            yield entries.finding(name, what)
        for out in entry.outs:
            if out.path != expected.place and not out.path.startswith(f"{expected.place}/"):
                yield entries.finding(name, f"it writes {for_line(out.path)!r:.200}, which is not its own")


class Flow(NamedTuple):
    """How what was read compares with what was written."""

    findings: list[Finding]
    right: dict[str, LockedFile]
    """Path → which of several contradicting entries the bytes, or most others, bear out."""


def check_flow(entries: Entries, contents: Contents, known: KnownEntries) -> Flow:
    """Every stage read what another wrote, down to size and number of files; the first ones, files that are here."""
    claims: dict[str, list[tuple[str, str, LockedFile]]] = defaultdict(list)
    for stage, entry in entries.stages.items():
        for did, files in (("wrote", entry.outs), ("read", entry.deps)):
            for file in files:
                claims[file.path].append((stage, did, file))
    flow, places = Flow([], {}), {expected.place for expected in entries.expected.values()}
    for path, said in claims.items():
        if any(did == "wrote" for _, did, _ in said):
            if len({file for _, _, file in said}) > 1:
                flow.right[path] = right = _borne_out([(did, file) for _, did, file in said], contents)
                flow.findings.extend(_unlike(entries, said, right))
            continue
        for stage, _, file in said:
            expected = entries.expected.get(stage)
            if entries.are_whole and expected and not expected.is_first and path not in places:
                what = f"it read {for_line(path)!r:.200}, which no stage behind it wrote"
                flow.findings.append(entries.finding(stage, what))
            elif file != contents.locked_here(path) and not known.have_file(entries.stages[stage].cmd, "deps", file):
                what = f"it read {for_line(path)}, md5 {file.md5}, which is neither here nor known of any run"
                flow.findings.append(entries.finding(stage, what))
    return flow


def _borne_out(said: list[tuple[str, LockedFile]], contents: Contents) -> LockedFile:
    times, written = Counter(file for _, file in said), {file for did, file in said if did == "wrote"}
    return max(times, key=lambda file: (contents.fits(file), times[file], file in written))


def _unlike(entries: Entries, said: list[tuple[str, str, LockedFile]], right: LockedFile) -> Iterator[Finding]:
    according = next(stage for stage, _, file in said if file == right)
    for stage, did, file in said:
        field = next((name for name in _FIELDS if getattr(file, name) != getattr(right, name)), None)
        if field is not None:
            what = f"it {did} {for_line(file.path)} with {field} {getattr(file, field)}, and with"
            yield entries.finding(stage, f"{what} {getattr(right, field)} according to {according}")


def check_settings(root: Path, entries: Entries, known: KnownEntries) -> Iterator[Finding]:
    """Every setting is the one here, or one that a run is known to have had."""
    files = {file: _settings(root / file) for file in {f for entry in entries.stages.values() for f in entry.params}}
    for stage, entry in entries.stages.items():
        for file, key, value in [(file, *each) for file, some in entry.params.items() for each in some.items()]:
            if key in entry.code or plain(_dug(files[file], key)) == plain(value):
                continue
            if not known.have_param(entry.cmd, file, key, value):
                what = f"it ran with {for_line(key)} = {for_line(str(value))!r:.80}, which is neither what"
                more = f"{for_line(file)!r:.80} says nor known of any run; run 'git diff', or 'dvc repro'"
                yield entries.finding(stage, f"{what} {more}")


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
    """A setting with numbers as text: ``1e-05`` is one to DVC's YAML and text to PyYAML's."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else str(value)


def check_code(entries: Entries, known: KnownEntries | None) -> Iterator[Finding | Skipped]:
    """The code of every stage is the one here; else nobody knows whether it would give the same again.

    Args:
        known: of entries of ``dvc.lock`` here, what must know of a run with that code; None for those of other runs.
    """
    older = list[str]()
    for name, entry in entries.stages.items():
        for key, digest in entry.code.items():
            if name in entries.expected and digest == _code_here(name, entries.expected[name], entry):
                continue
            if known is None or known.nothing or known.have_param(entry.cmd, RESOLVED, key, digest):
                older.append(name)
            else:
                what = (
                    f"it ran with {for_line(key)} = {for_line(digest):.20}, which is neither here nor known of any run"
                )
                yield entries.finding(name, what)
    if older:
        more = f" and {len(older) - 1} more ran" if len(older) > 1 else " ran"
        yield Skipped("code", f"the code here is not the recorded one, with which {older[0]}{more}")


def _code_here(name: str, expected: Expected, entry: LockEntry) -> str | None:
    """The digest of the code here behind a stage; None where its entry does not say what it builds."""
    stage = expected.stage
    if not expected.is_first:
        return code_behind(expected.spec, stage)
    try:
        return code_behind_data(stage, entry.params[RESOLVED][f"settings.{stage.name}s.{name.partition('@')[2]}"])
    except (ConfigError, ValueError, TypeError, LookupError):
        return None


def check_committed(entries: Entries, files: Mapping[str, str], known: KnownEntries) -> Iterator[Skipped]:
    """Which locks have entries that Git's last commit does not have, so that nothing but this checkout has them."""
    differing: dict[str, list[str]] = defaultdict(list)
    for stage, entry in entries.stages.items():
        if known.committed.get(stage) != entry:
            differing[files[stage]].append(stage)
    for file, stages in differing.items():
        more = f" and {len(stages) - 1} more" if len(stages) > 1 else ""
        yield Skipped(file, f"Git's last commit does not have the entry of {for_line(stages[0])}{more} as it is here")
