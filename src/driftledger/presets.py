"""Published protocols as selections: ``presets/<name>.yaml`` laid over ``params.yaml``, whose comments stay."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from ruamel.yaml import YAML

from driftledger.config import PARAMS, parse_settings
from driftledger.errors import ConfigError, unknown_name
from driftledger.records import write_text


def preset_names(folder: Path) -> list[str]:
    """The presets in ``folder``."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def apply_preset(root: Path, name: str) -> list[str]:
    """Lay the preset over ``params.yaml`` and say what it changed, one line each.

    Raises:
        ConfigError: no such preset, or the settings would not be valid with it; nothing is written then.
    """
    folder, params = root / "presets", root / PARAMS
    if name not in preset_names(folder):
        raise ConfigError(unknown_name("preset", name, preset_names(folder)))
    editor = YAML()
    editor.preserve_quotes = True
    editor.width = 120
    try:
        content = editor.load(params.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{params} is missing; run this in the top folder of the project") from None
    changes = list(_lay_over(content, yaml.safe_load((folder / f"{name}.yaml").read_text(encoding="utf-8")), ""))
    text = io.StringIO()
    editor.dump(content, text)
    parse_settings(yaml.safe_load(text.getvalue()), f"{PARAMS} with the preset {name}")
    if changes:
        write_text(params, text.getvalue())
    return changes


def _lay_over(content: Any, preset: dict[str, Any], place: str) -> Iterator[str]:
    for key, value in preset.items():
        where = f"{place}.{key}" if place else str(key)
        old = content.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            yield from _lay_over(old, value, where)
        elif old != value:
            content[key] = value
            yield f"{where}: {old} → {value}" if old is not None else f"{where}: {value}"
