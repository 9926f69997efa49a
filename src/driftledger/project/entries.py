"""One setting of one entry in ``params.yaml``, changed where it stands in the text: comments and layout stay."""

from pathlib import Path
from typing import Any

import yaml

from driftledger.core.errors import ConfigError
from driftledger.core.files import load_yaml, write_text
from driftledger.project.catalogue import CatalogueEntry, catalogue
from driftledger.project.presets import end_of, flow, with_lines
from driftledger.project.settings import PARAMS, parse_settings, read_yaml_text


def with_setting(root: Path, section: str, name: str, key: str, value: Any) -> bool:
    """Set what an entry says about ``key``; one that only the catalogue has is copied first.

    Returns:
        Whether anything was to change.

    Raises:
        ConfigError: the settings are not valid with it, or the text cannot be changed; nothing is written then.
    """
    before, _ = read_yaml_text(root / PARAMS)
    content = load_yaml(before)
    entries = content.get(section) or {}
    entry = entries[name] if name in entries else _from_catalogue(section, name)
    expected = content | {section: {**entries, name: {**entry, key: value}}}
    if expected == content:
        return False
    if name in entries:
        text = _set(before, [section, name], key, value)
    elif entries:
        text = _set(before, [section], name, expected[section][name])
    else:
        text = _set(before, [], section, expected[section])
    if _read(text) != expected:  # an alias stands for text elsewhere
        raise ConfigError(
            f"{PARAMS} is written in a way that cannot be changed here; set {key}: {flow(value)} of {section}.{name} "
            "by hand"
        )
    parse_settings(expected, PARAMS, root.absolute())
    write_text(root / PARAMS, text)
    return True


def _from_catalogue(section: str, name: str) -> dict[str, Any]:
    entry = catalogue(section)[name]
    assert isinstance(entry, CatalogueEntry)
    return entry.model_dump(mode="json", exclude_unset=True)


def _read(text: str) -> Any:
    try:
        return load_yaml(text)
    except (yaml.YAMLError, ValueError):
        return None


def _set(text: str, place: list[str], key: str, value: Any) -> str:
    """The text with another value of a key of a mapping, or with one more key at the mapping's end."""
    node: Any = yaml.compose(text, yaml.SafeLoader)
    for step in place:
        node = dict(_pairs(node))[step]
    found = dict(_pairs(node)).get(key)
    if found is not None:
        start: int = found.start_mark.index
        gap = "" if text[start - 1 : start].isspace() else " "
        return text[:start] + gap + flow(value) + text[end_of(text, found) :]
    if node.flow_style:
        end = end_of(text, node.value[-1][1])
        return f"{text[:end]}, {key}: {flow(value)}{text[end:]}"
    return with_lines(text, node, {key: value})


def _pairs(node: Any) -> list[tuple[str, Any]]:
    return [(key.value, value) for key, value in node.value]
