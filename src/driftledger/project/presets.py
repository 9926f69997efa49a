"""Published protocols as selections: a preset is laid over ``params.yaml``, which is otherwise untouched.

Presets come with the package; a project may have its own in ``presets/``, which win over those of the same name.
A value is replaced where it stands in the text. A YAML library that writes the whole file anew keeps its comments, but
not its layout, and one preset could then not undo another.
"""

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import write_text
from driftledger.core.yaml_text import load_yaml
from driftledger.project.settings import PARAMS, Settings, parse_settings, read_yaml_text


class _Change(NamedTuple):
    start: int
    end: int
    value: str
    said: str


def presets(root: Path) -> dict[str, Path]:
    """Every preset that a project can select, by name."""
    folders = Path(str(files("driftledger"))) / "presets", root / "presets"
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def presets_in_words(root: Path) -> list[tuple[str, str]]:
    """Every preset with the first sentence of the comment that it begins with."""
    found = []
    for name, path in presets(root).items():
        comment = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
        words = " ".join(line.lstrip("# ") for line in comment)
        found.append((name, re.split(r"\. (?=[A-Z])", words)[0].rstrip(".")))
    return found


def apply_preset(root: Path, name: str) -> list[str]:
    """Lay the preset over ``params.yaml`` and say what it changed, one line each.

    Raises:
        ConfigError: no such preset, or the settings would not be valid with it; nothing is written then.
    """
    params, (text, preset, changes) = root / PARAMS, _read(root, name)
    if not changes:
        return []
    text = _changed(text, changes)
    parse_settings(load_yaml(text), _title(name))
    if _changes(text, preset):  # an alias stands for text elsewhere
        raise ConfigError(f"{params} is written in a way that presets cannot change; select by hand what {name} does")
    write_text(params, text)
    return [change.said for change in changes]


def preset_settings(root: Path, name: str) -> Settings:
    """The settings as they would be with the preset; nothing is written. Errors as in :func:`apply_preset`."""
    text, _, changes = _read(root, name)
    return parse_settings(load_yaml(_changed(text, changes)), _title(name))


def _title(name: str) -> str:
    return f"{PARAMS} with the preset {name}"


def _read(root: Path, name: str) -> tuple[str, dict[str, Any], list[_Change]]:
    """``params.yaml`` as it is written, what the preset wants of it, and what that changes."""
    known = presets(root)
    if name not in known:
        raise ConfigError(unknown_name("preset", name, known))
    preset = load_yaml(known[name].read_text(encoding="utf-8"))
    text, _ = read_yaml_text(root / PARAMS)
    return text, preset, _changes(text, preset)


def _changed(text: str, changes: Sequence[_Change]) -> str:
    for change in sorted(changes, reverse=True):
        text = text[: change.start] + change.value + text[change.end :]
    return text


def _changes(text: str, preset: dict[str, Any]) -> list[_Change]:
    return list(_below(text, yaml.compose(text, yaml.SafeLoader), load_yaml(text), preset, ""))


def _below(text: str, node: Any, old: Any, preset: dict[str, Any], place: str) -> Iterator[_Change]:
    nodes = {key.value: value for key, value in node.value} if isinstance(old, dict) else {}
    for key, value in preset.items():
        where = f"{place}.{key}" if place else str(key)
        if key not in nodes:
            raise ConfigError(f"{PARAMS} has no {where!r}, which the preset sets; add it there")
        if isinstance(value, dict) and isinstance(old[key], dict):
            yield from _below(text, nodes[key], old[key], value, where)
        elif old[key] != value:
            said = f"{where}: {_flow(old[key])} → {_flow(value)}"
            yield _Change(nodes[key].start_mark.index, _end(text, nodes[key]), _flow(value), said)


def _end(text: str, node: Any) -> int:
    """Where the node's own text ends; YAML's marks count the comments behind a block to it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    start: int = node.start_mark.index
    return start + len(text[start : node.end_mark.index].rstrip())


def _flow(value: Any) -> str:
    return str(yaml.safe_dump([value], default_flow_style=True, width=2**31, allow_unicode=True)).strip()[1:-1]
