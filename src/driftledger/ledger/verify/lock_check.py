"""Whether entries of ``dvc.lock`` mean what they should: by their names, by each other, by the settings, and by Git.

What an entry says of data is settled by the bytes. What it says of commands and settings has no bytes of its own, and
is compared with the checkout, and where that is another now, with what else knows of such a run: Git's last commit, and
DVC's own memory of what it has run.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from driftledger.benchmarks.base import Benchmark, Stage
from driftledger.benchmarks.code import code_behind, code_behind_data
from driftledger.benchmarks.registry import lock_files
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.limits import LARGEST_JSON, load_json
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from driftledger.ledger.lock import CODE, RESOLVED, LockedFile, LockEntry, parse_locks
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.git import contents_at

_COMMAND = re.compile(rb"cmd: (.*(?:\n  .*)*)")
"""A long one goes on in the next line."""


class KnownEntries:
    """Entries by what they ran, read when first asked for."""

    def __init__(self, root: Path, runs: Iterator[Path]) -> None:
        """Look below ``root``, and in the files of DVC's run cache."""
        self._root, self._cached = root, runs

    def of(self, cmd: str | list[str]) -> Iterator[LockEntry]:
        """Every entry known for this command, that of the last commit first."""
        yield from (entry for entry in self.committed.values() if entry.cmd == cmd)
        for text in self._runs.get(str(cmd), []):
            with suppress(yaml.YAMLError, ValueError):
                yield LockEntry.model_validate(load_yaml(text))

    def have_param(self, cmd: str | list[str], file: str, key: str, value: object) -> bool:
        """Whether a run of this command is known to have had this setting."""
        return any(key in each.params.get(file, {}) and each.params[file][key] == value for each in self.of(cmd))

    @property
    def nothing(self) -> bool:
        """Whether there is neither Git nor a cache to ask."""
        return not self.committed and not self._runs

    @cached_property
    def committed(self) -> dict[str, LockEntry]:
        """Stage → its entry in Git's last commit; empty without a commit."""
        contents = zip(lock_files(), contents_at(self._root, lock_files()), strict=True)
        return parse_locks({file: data for file, data in contents if data is not None}).entries

    @cached_property
    def _runs(self) -> dict[str, list[bytes]]:
        """The entries of DVC's run cache by the command, with which they begin: only those asked for are parsed."""
        found: dict[str, list[bytes]] = defaultdict(list)
        for path in self._cached:
            text = path.read_bytes()
            if command := _COMMAND.match(text):
                found[" ".join(command[1].decode(errors="replace").split())].append(text)
        return dict(found)


class Expected(NamedTuple):
    """What the table of a benchmark says of one stage."""

    command: str
    formerly: str
    """The command in locks of version 0.1."""
    place: str
    """The folder that it writes."""
    stage: Stage
    is_first: bool
    """Whether it builds the data; only then it may read files that no stage wrote."""
    code: str
    """What ``data/resolved.json`` calls the digest of its code."""


def expected_stage(spec: Benchmark, name: str) -> Expected | None:
    """What a stage of that name must be; None where the benchmark has no such stage."""
    word, _, rest = name.partition("@")
    names = rest.split("-")
    for stage in spec.stages:
        if stage.name == word and len(names) == len(stage.keys):
            is_first = stage is spec.data
            words = [stage.name, *names] if is_first else [spec.name, stage.name, *names]
            command = " ".join(["driftledger", "stage", *words])
            formerly = " ".join(["driftledger", *words]) if is_first else command
            place = stage.at(dict(zip(stage.keys, names, strict=True)))
            return Expected(command, formerly, place, stage, is_first, f"{CODE}{'.'.join(words[:2])}")
    return None


class LockCheck:
    """The check of lock entries that belong together; what it finds is in ``result``."""

    def __init__(
        self,
        stages: Mapping[str, LockEntry],
        specs: Mapping[str, Benchmark],
        where: Callable[[str], str],
        contents: Contents,
        known: KnownEntries,
        *,
        are_whole: bool = True,
    ) -> None:
        """Take entries, of which nothing is checked yet.

        Args:
            specs: stage → the benchmark of a score that is made of it.
            where: stage → where its entry stands, e.g. ``dvc.lock: dataset@photos``.
            are_whole: whether every stage is among them whose files another one read.
        """
        self._stages, self._specs, self._where = stages, specs, where
        self._contents, self._known, self._are_whole = contents, known, are_whole
        found = {name: expected_stage(specs[name], name) for name in stages}
        self._expected = {name: expected for name, expected in found.items() if expected is not None}
        self.right: dict[str, LockedFile] = {}
        """Path → which of several contradicting entries the bytes, or most others, bear out."""
        self.result = VerifyResult(checked=Counter({"lock entries": len(stages)}))

    def _find(self, stage: str, what: str) -> None:
        self.result.findings.append(Finding("bytes", self._where(stage), what))

    def check_names(self) -> None:
        """Every stage runs the command that belongs to its name, and writes below its own folder."""
        for name, entry in self._stages.items():
            expected = self._expected.get(name)
            if expected is None:
                self._find(name, f"{self._specs[name].name} has no such stage")
                continue
            if str(entry.cmd) not in (expected.command, expected.formerly):
                ran = for_line(str(entry.cmd))
                self._find(name, f"it runs another command than {expected.command!r}: {ran!r:.200}")
            for out in entry.outs:
                if out.path != expected.place and not out.path.startswith(f"{expected.place}/"):
                    self._find(name, f"it writes {for_line(out.path)!r:.200}, which is not its own")

    def check_flow(self) -> None:
        """Every stage read what another wrote, down to size and number of files; the first ones, files that are
        here."""
        claims: dict[str, list[tuple[str, str, LockedFile]]] = defaultdict(list)
        for stage, entry in self._stages.items():
            for did, files in (("wrote", entry.outs), ("read", entry.deps)):
                for file in files:
                    claims[file.path].append((stage, did, file))
        places = {expected.place for expected in self._expected.values()}
        for path, said in claims.items():
            if any(did == "wrote" for _, did, _ in said):
                self._compare(path, said)
                continue
            for stage, _, file in said:
                expected = self._expected.get(stage)
                if self._are_whole and expected and not expected.is_first and path not in places:
                    self._find(stage, f"it read {for_line(path)!r:.200}, which no stage behind it wrote")
                elif file != self._contents.locked_here(path) and not any(
                    file in entry.deps for entry in self._known.of(self._stages[stage].cmd)
                ):
                    what = f"it read {for_line(path)}, md5 {file.md5}, which is neither here nor known of any run"
                    self._find(stage, what)

    def _compare(self, path: str, said: list[tuple[str, str, LockedFile]]) -> None:
        """Find which entries are wrong, where several differ over one path."""
        times, written = Counter(file for _, _, file in said), {file for _, did, file in said if did == "wrote"}
        if len(times) == 1:
            return
        right = max(times, key=lambda file: (self._contents.fits(file), times[file], file in written))
        self.right[path] = right
        according = next(stage for stage, _, file in said if file == right)
        for stage, did, file in said:
            for field in ("md5", "size", "nfiles"):
                one, other = getattr(file, field), getattr(right, field)
                if one != other:
                    what = f"it {did} {for_line(path)} with {field} {one}, and with {other} according to {according}"
                    self._find(stage, what)
                    break

    def check_settings(self) -> None:
        """Every setting is the one here, or one that a run is known to have had."""
        named = {file for entry in self._stages.values() for file in entry.params}
        files = {file: _settings(self._contents.here(file)) for file in named}
        for stage, entry in self._stages.items():
            for file, key, value in [(file, *each) for file, some in entry.params.items() for each in some.items()]:
                if key in entry.code or plain(_dug(files[file], key)) == plain(value):
                    continue
                if not self._known.have_param(entry.cmd, file, key, value):
                    what = f"it ran with {for_line(key)} = {for_line(str(value))!r:.80}, which is neither what"
                    more = f"{for_line(file)!r:.80} says nor known of any run; run 'git diff', or 'dvc repro'"
                    self._find(stage, f"{what} {more}")

    def check_code(self, *, here: bool) -> None:
        """The code of every stage is the one here; else nobody knows whether it would give the same again.

        Args:
            here: whether they are entries of ``dvc.lock`` here: of other code, a run must then be known.
        """
        older = list[str]()
        for name, entry in self._stages.items():
            for key, digest in entry.code.items():
                if (key, digest) == self._code_here(name, entry):
                    continue
                known = self._known
                if not here or known.nothing or known.have_param(entry.cmd, RESOLVED, key, digest):
                    older.append(name)
                else:
                    what = f"it ran with {for_line(key)} = {for_line(digest):.20}"
                    self._find(name, f"{what}, which is neither here nor known of any run")
        if older:
            more = f" and {len(older) - 1} more ran" if len(older) > 1 else " ran"
            why = f"the code here is not the recorded one, with which {older[0]}{more}"
            self.result.skipped.append(Skipped("code", why))

    def _code_here(self, name: str, entry: LockEntry) -> tuple[str, str] | None:
        """Key and digest of the code here behind a stage; None where its entry does not say what it builds."""
        expected = self._expected.get(name)
        if expected is None:
            return None
        if not expected.is_first:
            return expected.code, code_behind(self._specs[name], expected.stage)
        try:
            built = entry.params[RESOLVED][f"settings.{expected.stage.name}s.{name.partition('@')[2]}"]
            return expected.code, code_behind_data(expected.stage, built)
        except (ConfigError, ValueError, TypeError, LookupError):
            return None

    def check_committed(self, files: Mapping[str, str]) -> None:
        """Which locks have entries that Git's last commit does not have, so that nothing but this checkout has them."""
        differing: dict[str, list[str]] = defaultdict(list)
        for stage, entry in self._stages.items():
            if self._known.committed.get(stage) != entry:
                differing[files[stage]].append(stage)
        for file, stages in differing.items():
            more = f" and {len(stages) - 1} more" if len(stages) > 1 else ""
            why = f"Git's last commit does not have the entry of {for_line(stages[0])}{more} as it is here"
            self.result.skipped.append(Skipped(file, why))


def _settings(path: Path | None) -> Any:
    """What a file of settings holds; None where there is none, or none that is read."""
    try:
        if path is None or path.stat().st_size > LARGEST_JSON:
            return None
        data = path.read_bytes()
        return load_json(data) if path.suffix == ".json" else load_yaml(data.decode())
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
