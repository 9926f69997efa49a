"""How DVC writes ``dvc.lock``: one way for equal content, so that a line in another form was written by something else.

DVC's own writer takes a second for a thousand stages. Each stage is therefore first compared with a form that PyYAML's
writer in C gives, which is the same for most; DVC's is asked about the others.
"""

import re
from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

import yaml

_HEAD = "schema: '2.0'\nstages:\n"
_STAGES = "stages:\n"
_WIDTH = 80
_LONG = re.compile(r"^( *(?:- )?)([\w./]+): (\S+)$", re.MULTILINE)

_LINE = re.compile(
    r"""schema:\ '2\.0' | stages: | \ \ [\w@.-]+:                                       # a stage
    | \ {4}(cmd:\ [ -~]+ | deps: | params: | outs:)
    | \ {4}-\ path:(\ [ -~]+|\ ?) | \ {6}(hash:\ md5 | md5:\ [0-9a-f]{32}(\.dir)? | (size|nfiles):\ \d+ | isexec:\ true)
    | \ {6}[\w/]+\.(json|yaml): | \ {8}[^\x00-\x1f\x7f]* | (?=\n?\Z)                # settings, and the end""",
    re.VERBOSE,
)


class _Writer(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # one of two, both typed
    """PyYAML's writer, with texts of several lines as DVC writes them."""


def _text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "\n" in text else None)


_Writer.add_representer(str, _text)


def first_unlike_dvc(text: str, stages: Mapping[str, Any]) -> int | None:
    """The first line that DVC would have written otherwise, counted from 1; None where there is none.

    Args:
        stages: what ``text`` holds.
    """
    parts = re.split(r"^(?=  \S)", text, flags=re.MULTILINE)
    if parts[0] == _HEAD and len(parts) == len(stages) + 1:
        whole = ((_STAGES + part, name, entry) for part, (name, entry) in zip(parts[1:], stages.items(), strict=True))
        if all(part == _quickly(name, entry) or part == _as_dvc_writes(part) for part, name, entry in whole):
            return None
    written = _as_dvc_writes(text)  # of all, in which anchors are numbered through
    if written is None:
        return 1
    pairs = zip_longest(text.split("\n"), written.split("\n"))
    return next((number for number, (here, theirs) in enumerate(pairs, 1) if here != theirs), None)


def first_odd_line(text: str) -> int | None:
    """The first line, counted from 1, that is none of those that a lock consists of: damaged YAML is often noticed
    only lines later."""
    lines = text.removesuffix("\n").split("\n")
    return next((number for number, line in enumerate(lines, 1) if not _LINE.fullmatch(line)), None)


def _quickly(name: str, entry: Any) -> str:
    written: str = yaml.dump(
        {"stages": {name: entry}}, Dumper=_Writer, sort_keys=False, width=_WIDTH, allow_unicode=True
    )
    return _LONG.sub(_broken, written)


def _broken(line: "re.Match[str]") -> str:
    if len(line[0]) <= _WIDTH:
        return line[0]
    return f"{line[1]}{line[2]}: \n{' ' * (len(line[1]) + 2)}{line[3]}"


def _as_dvc_writes(text: str) -> str | None:
    from dvc.utils.serialize import YAMLFileCorruptedError, dumps_yaml, parse_yaml

    try:
        written: str = dumps_yaml(parse_yaml(text, "dvc.lock"))
    except YAMLFileCorruptedError:
        return None
    return written
