"""Published protocols as selections: a preset is laid over ``params.yaml``, which is otherwise untouched.

Presets come with the package; a project may have its own in ``presets/``, which win over those of the same name.
A value is replaced where it stands in the text, and what a benchmark needs that was not selected before is added. A
YAML library that writes the whole file anew keeps its comments, but not its layout, and one preset could then not undo
another.
"""

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark, benchmark_names, benchmarks
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_yaml, write_text
from driftledger.project.catalogue import CatalogueEntry, catalogue
from driftledger.project.scaffold import SECTION, brought
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


class PresetInWords(NamedTuple):
    """What a preset says of itself in the comment that it begins with, and who would be paid."""

    name: str
    what: str
    """Its first sentence."""
    needs: str
    """What has to be there, and what of it is retired; empty where it says nothing."""
    costs: str


def presets_in_words(root: Path) -> list[PresetInWords]:
    """Every preset for people; nothing is planned, for which data would have to be there."""
    found = []
    for name, path in presets(root).items():
        text = path.read_text(encoding="utf-8")
        comment = takewhile(lambda line: line.startswith("#"), text.splitlines())
        what, _, rest = " ".join(line.lstrip("# ") for line in comment).partition("Needs: ")
        needs = [each for number, each in enumerate(_sentences(rest)) if number == 0 or "retired" in each]
        try:
            costs = _costs(load_yaml(text))
        except (yaml.YAMLError, AttributeError, TypeError, ValueError):  # what is wrong with it is told who selects it
            costs = ""
        found.append(PresetInWords(name, _sentences(what)[0], ". ".join(needs), costs))
    return found


def _sentences(text: str) -> list[str]:
    return [each.strip().rstrip(".") for each in re.split(r"(?<=\.) (?=[A-Z])", text.strip())]


def _costs(preset: dict[str, Any]) -> str:
    """Who is paid, by the prices in the catalogue: for images drawn how much at most, for words by how many there
    are."""
    run = preset.get("run", {})
    models = [*run.get("models", []), *([run["judge"]] if "judge" in run else [])]
    by_token = [name for name in models if _prices("models", name)]
    drawn = 100 * len(run.get("models", [])) * sum(_drawn(preset, spec) for spec in benchmarks() if run.get(spec.name))
    told = []
    for name in run.get("generators", []):
        prices = _prices("generators", name)
        if prices and drawn:
            price = f"at most {drawn * prices['image']:,.0f} for" if "image" in prices else "by token, for"
            told.append(f"{name}: {price} {drawn:,} drawings of 100 images")
    told += [f"{', '.join(by_token)}: by token"] if by_token else []
    return f"{'; '.join(told)}; 'driftledger plan' counts it" if told else "nothing, by the prices in the catalogue"


def _drawn(preset: dict[str, Any], spec: Benchmark) -> int:
    """How many images a generator draws of one, for each model."""
    stages = [stage for stage in spec.collects if "generator" in stage.keys]
    section = preset.get(spec.name, {})
    return sum(section.get("iterations", 1) if "iterations" in stage.settings else 1 for stage in stages)


def _prices(section: str, name: str) -> dict[str, float]:
    entry = catalogue(section).get(name)
    prices: dict[str, float] = entry.settings().get("prices", {}) if isinstance(entry, CatalogueEntry) else {}
    return prices


def apply_preset(root: Path, name: str) -> list[str]:
    """Lay the preset over ``params.yaml`` and say what it changed, one line each.

    Raises:
        ConfigError: no such preset, or the settings would not be valid with it; nothing is written then.
    """
    params, preset = root / PARAMS, read_preset(root, name)
    before, _ = read_yaml_text(params)
    text, preset, added = _with_sections(before, preset)
    changes = _changes(text, preset)
    text = _changed(text, changes)
    if text == before:
        return []
    parse_settings(load_yaml(text), _title(name), root.absolute())
    if _changes(text, preset):  # an alias stands for text elsewhere
        raise ConfigError(f"{params} is written in a way that presets cannot change; select by hand what {name} does")
    write_text(params, text)
    return [*added, *(change.said for change in changes)]


def preset_settings(root: Path, name: str) -> Settings:
    """The settings as they would be with the preset; nothing is written. Errors as in :func:`apply_preset`."""
    text, _ = read_yaml_text(root / PARAMS)
    return parse_settings(load_yaml(laid_over(text, read_preset(root, name))), _title(name), root.absolute())


def laid_over(text: str, preset: dict[str, Any]) -> str:
    """A ``params.yaml`` of this text with what a preset sets; errors as in :func:`apply_preset`."""
    text, preset, _ = _with_sections(text, preset)
    return _changed(text, _changes(text, preset))


def read_preset(root: Path, name: str) -> dict[str, Any]:
    """What a preset sets, by section.

    Raises:
        ConfigError: there is no such preset.
    """
    known = presets(root)
    if name not in known:
        raise ConfigError(unknown_name("preset", name, known))
    preset: dict[str, Any] = load_yaml(known[name].read_text(encoding="utf-8"))
    return preset


def _title(name: str) -> str:
    return f"{PARAMS} with the preset {name}"


def _with_sections(text: str, preset: dict[str, Any]) -> tuple[str, dict[str, Any], list[str]]:
    """The text with the sections and the keys of ``run`` that it lacks for what the preset selects, the preset without
    what nothing of that needs, and what was added."""
    content = load_yaml(text)
    content = content if isinstance(content, dict) else {}
    run = preset.get("run", {})
    over = {name: run.get(name, (content.get("run") or {}).get(name)) for name in benchmark_names()}
    lacking = [name for name in benchmark_names() if name not in content]
    new = [name for name in lacking if over[name]]
    text += "".join(f"\n{brought(name, SECTION)}" for name in new)
    preset = {section: values for section, values in preset.items() if section not in lacking or section in new}
    if not isinstance(content.get("run"), dict):
        return text, preset, [f"{name}: added" for name in new]
    judged = any(over[name] and benchmark(name).judged for name in benchmark_names())
    absent = {key: value for key, value in run.items() if key not in content["run"]}
    keys = {key: value for key, value in absent.items() if value and (judged or key != "judge")}
    if keys:
        text = _with_keys(text, keys)
    if run:
        preset["run"] = {key: value for key, value in run.items() if key not in absent or key in keys}
    return text, preset, [f"{name}: added" for name in (*new, *(f"run.{key}" for key in keys))]


def _with_keys(text: str, keys: dict[str, Any]) -> str:
    """The text with further keys at the end of ``run``."""
    composed: Any = yaml.compose(text, yaml.SafeLoader)
    node = next(value for key, value in composed.value if key.value == "run")
    if node.flow_style:
        raise ConfigError(f"{PARAMS}: 'run' stands in braces, where presets add nothing; give each of its keys a line")
    return with_lines(text, node, keys)


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
            said = f"{where}: {flow(old[key])} → {flow(value)}"
            yield _Change(nodes[key].start_mark.index, end_of(text, nodes[key]), flow(value), said)


def end_of(text: str, node: Any) -> int:
    """Where the node's own text ends; YAML's marks count the comments behind a block to it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return end_of(text, last[1] if isinstance(last, tuple) else last)
    start: int = node.start_mark.index
    return start + len(text[start : node.end_mark.index].rstrip())


def with_lines(text: str, node: Any, keys: dict[str, Any]) -> str:
    """The text with further keys, a line each, at the end of a mapping in block style."""
    end = text.find("\n", end_of(text, node)) + 1 or len(text)
    indent = " " * node.start_mark.column
    lines = "".join(f"{indent}{key}: {flow(value)}\n" for key, value in keys.items())
    return text[:end] + ("" if text[:end].endswith("\n") else "\n") + lines + text[end:]


def flow(value: Any) -> str:
    """A value as it stands on one line of YAML."""
    return str(yaml.safe_dump([value], default_flow_style=True, width=2**31, allow_unicode=True)).strip()[1:-1]
