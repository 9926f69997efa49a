"""``dvc.lock`` as text: every line of it means something, so that no changed byte goes unseen.

What :mod:`driftledger.ledger.lock` reads leniently is read strictly here, and each value knows its line.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from driftledger.core.escaping import for_line
from driftledger.core.yaml_text import LOADER, load_yaml
from driftledger.ledger.findings import Finding
from driftledger.ledger.lock import LockEntry, locks_here
from driftledger.ledger.verify.lock_form import first_odd_line, first_unlike_dvc

Step = str | int
"""A key or a place in a list, on the way to a value."""


class _Exact(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _File(_Exact):
    path: Annotated[str, Field(min_length=1)]
    hash: Literal["md5"]
    md5: Annotated[str, Field(pattern=r"^[0-9a-f]{32}(\.dir)?$")]
    size: Annotated[int, Field(ge=0)]
    nfiles: Annotated[int, Field(ge=0)] | None = None
    isexec: Literal[True] | None = None


class _Stage(_Exact):
    cmd: str | list[str]
    deps: list[_File] = []
    params: dict[str, dict[str, Any]] = {}
    outs: list[_File] = []


class _Lock(_Exact):
    schema_: Annotated[Literal["2.0"], Field(alias="schema")]
    stages: dict[str, _Stage]


class LockText:
    """One file, what is wrong with it as a file, and the entries that can be read all the same."""

    def __init__(self, file: str, data: bytes) -> None:
        self._file = file
        self._text, self.findings = "", list[Finding]()
        self.raw: dict[str, Any] = {}
        """Stage name → what stands there."""
        try:
            self._text = data.decode()
            self._read(load_yaml(self._text))
        except UnicodeDecodeError as error:
            self._add(data[: error.start].count(b"\n") + 1, "it is not UTF-8")
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            self._add(first_odd_line(self._text) or (mark.line + 1 if mark else 1), "it is not YAML")
        except ValueError as error:  # of a date that there is none of, for instance
            self._add(first_odd_line(self._text) or 1, f"it holds a value that is none ({error!s:.100})")

    def _read(self, content: Any) -> None:
        stages = content.get("stages") if isinstance(content, dict) else None
        self.raw = stages if isinstance(stages, dict) else {}
        try:
            _Lock.model_validate(content)
        except ValidationError as error:
            first, odd = error.errors(include_url=False)[0], first_odd_line(self._text)
            way = ".".join(map(str, first["loc"]))
            self._add(odd or self.line(*first["loc"]), f"it is no lock: {for_line(way)}: {for_line(first['msg'])}")
            return
        different = first_unlike_dvc(self._text, self.raw)
        if different is not None:
            self._add(different, "DVC does not write this line so")

    def _add(self, line: int, what: str) -> None:
        self.findings.append(Finding("bytes", f"{self._file}, line {line}", f"{what}; run 'git diff {self._file}'"))

    @property
    def is_whole(self) -> bool:
        """Whether every stage's entry can be read."""
        return not self.findings or 0 < len(self.raw) == len(self.entries)

    @cached_property
    def entries(self) -> dict[str, LockEntry]:
        """Stage name → entry, of those that are entries."""
        found = {}
        for name, entry in self.raw.items():
            try:
                found[str(name)] = LockEntry.model_validate(entry)
            except ValidationError:
                continue
        return found

    def where(self, stage: str, *way: Step) -> str:
        """``dvc.lock, line N``: where a value of a stage's entry stands."""
        return f"{self._file}, line {self.line('stages', stage, *way)}"

    def line(self, *way: Step) -> int:
        """The line on which a value begins, or the last thing on the way to it that is there."""
        node = self._tree
        line = 1
        for step in way:
            if isinstance(node, yaml.MappingNode):
                pair = next(((key, value) for key, value in node.value if key.value == step), None)
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                pair = (node.value[step], node.value[step])
            else:
                pair = None
            if pair is None:
                break
            line, node = pair[0].start_mark.line + 1, pair[1]
        return line

    @cached_property
    def _tree(self) -> yaml.Node | None:
        return yaml.compose(self._text, Loader=LOADER)


class LockTexts:
    """Every lock of a project, as if it were one."""

    def __init__(self, texts: Sequence[LockText]) -> None:
        self.findings = [finding for text in texts for finding in text.findings]
        """What is wrong with them as files."""
        self.are_whole = all(text.is_whole for text in texts)
        """Whether every stage's entry can be read."""
        self.entries = {stage: entry for text in texts for stage, entry in text.entries.items()}
        self._text_of = {stage: text for text in texts for stage in text.entries}

    def where(self, stage: str, *way: Step) -> str:
        """``dvc.lock, line N``: where a value of a stage's entry stands."""
        return self._text_of[stage].where(stage, *way)


def read_lock_texts(root: Path) -> LockTexts | None:
    """The locks below ``root``; None where there is none."""
    texts = [LockText(file, data) for file, data in locks_here(root).items()]
    return LockTexts(texts) if texts else None
