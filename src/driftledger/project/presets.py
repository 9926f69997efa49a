"""``params.yaml`` written by us: the first one, and published protocols laid over it. Comments of
the user's stay.

Presets come with the package; a project may have its own in ``presets/``, which win over those of
the same name.
"""

import io
from collections.abc import Mapping
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.registry import (
    benchmark,
    benchmark_names,
    section_text,
    shipped_section,
)
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_yaml, write_text
from driftledger.core.text import changes
from driftledger.project.settings import PARAMS, Settings, parse_settings, read_yaml

OWN = Path(str(files("driftledger")))
Chosen = Mapping[str, Mapping[str, Mapping[str, Any] | None]]
"""Section → name → the entry to write, None for one of the catalogue's."""
NOTHING: Chosen = {}


def presets(root: Path) -> dict[str, Path]:
    """Every preset that a project can select, by name."""
    return {
        path.stem: path
        for folder in (OWN, root)
        for path in sorted((folder / "presets").glob("*.yaml"))
    }


def presets_in_words(root: Path) -> dict[str, str]:
    """Return the comment that each preset begins with: what it is, and what it needs."""
    words = {}
    for name, path in presets(root).items():
        lines = path.read_text(encoding="utf-8").splitlines()
        comment = takewhile(lambda line: line.startswith("#"), lines)
        words[name] = " ".join(line.lstrip("# ") for line in comment)
    return words


def read_preset(root: Path, name: str) -> Json:
    """Read what a preset sets, by section.

    Raises:
        ConfigError: the preset is unknown.
    """
    paths = presets(root)
    if name not in paths:
        raise ConfigError(unknown_name("preset", name, paths))
    preset: Json = read_yaml(paths[name])
    return preset


def with_preset(root: Path, name: str) -> tuple[str, Settings]:
    """Return the text of ``params.yaml`` with the preset laid over it, and its settings; nothing is
    written.

    Raises:
        ConfigError: the preset is unknown, or the settings would not be valid.
    """
    preset = read_preset(root, name)
    params = root / PARAMS
    if not isinstance(content := read_yaml(params), dict):
        raise ConfigError(f"{params} holds no sections; 'driftledger init' writes it")
    # what another preset has set, and this one does not, is set back
    for path in presets(root).values():
        for section, values in read_yaml(path).items():
            for key in (
                values.keys() - preset.get(section, {}).keys()
                if section in benchmark_names()
                else ()
            ):
                if (content.get(section) or {}).get(key) == values[key]:
                    preset.setdefault(section, {})[key] = shipped_section(section)[key]
    return _laid_over(root, params.read_text(encoding="utf-8"), preset, f"the preset {name}")


def apply_preset(root: Path, name: str) -> list[str]:
    """Lay the preset over ``params.yaml`` and say what it changed, one line each; errors as in
    :func:`with_preset`."""
    before = read_yaml(root / PARAMS)
    (text, _) = with_preset(root, name)
    after = load_yaml(text)
    differing = [*changes(before, after)]
    if differing:
        write_text(root / PARAMS, text)
    return [
        f"{each.key}: added" if each.key in after.keys() - before else str(each)
        for each in differing
    ]


def first_params(root: Path, preset: str, data: Mapping[str, Any], chosen: Chosen = NOTHING) -> str:
    """Write the text of a project's first ``params.yaml``: a preset, over other data if given.

    Args:
        data: entries of ``datasets`` in place of the preset's, and of ``question_sets``; with
            questions alone, nothing is described or drawn.
        chosen: what is selected in place of the preset's components.

    Raises:
        ConfigError: the preset is unknown, or selects something that is missing or cannot
            understand the rest.
    """
    laid = read_preset(root, preset)
    run = laid["run"]
    if "datasets" in data:
        ours = [
            "datasets",
            *(name for name in benchmark_names() if benchmark(name).data is DATASET),
        ]
        run |= {name: [*data["datasets"]] for name in ours if run.get(name)}
    elif data:
        kept = run["models"]
        run |= {key: [] for key, names in run.items() if isinstance(names, list)}
        run |= {"models": kept, "judge": None}
    for name, entry in data.get("question_sets", {}).items():
        asking = benchmark(entry["protocol"])
        run |= {"question_sets": [*run["question_sets"], name], asking.name: [name]}
        if asking.collects.judged:
            run["judge"] = "gpt_4_1_judge"
    run |= {section: [*entries] for section, entries in chosen.items()}
    text = (OWN / "templates" / PARAMS).read_text(encoding="utf-8")
    return _laid_over(root, text, laid, f"the preset {preset}", {**data, **chosen})[0]


def with_entry(root: Path, section: str, name: str, entry: Json | None, *, only: bool) -> str:
    """Return the text of ``params.yaml`` with one more entry, selected beside the others or alone.

    Raises:
        ConfigError: another entry has that name, or the selection would not be valid.
    """
    content = read_yaml(root / PARAMS)
    text = (root / PARAMS).read_text(encoding="utf-8")
    if entry is not None and (content.get(section) or {}).get(name, entry) != entry:
        raise ConfigError(
            f"{PARAMS} has another entry {section}.{name}; rename that, or change it there"
        )
    others = [] if only else [each for each in content["run"][section] if each != name]
    return _laid_over(
        root, text, {"run": {section: [*others, name]}}, name, {section: {name: entry}}
    )[0]


def _laid_over(
    root: Path, text: str, preset: Mapping[str, Any], what: str, entries: Chosen = NOTHING
) -> tuple[str, Settings]:
    """Set what a preset sets, and add entries in block style, in which an address needs no quotes;
    comments stay.

    Sections of benchmarks that nothing is selected for are left out, as are optional settings that
    the preset sets to null. Errors call the change ``what``.
    """
    yaml = YAML()
    written = io.StringIO()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(
        type(None), lambda own, _: own.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    content = yaml.load(text)
    if not isinstance(run := content.get("run"), dict):
        raise ConfigError(f"{PARAMS} has no section 'run'; add it")
    for name in benchmark_names():
        if preset.get("run", {}).get(name, run.get(name)) and name not in content:
            content[name] = yaml.load(section_text(name))[name]
            content.yaml_set_comment_before_after_key(name, before="\n")
    for section, values in preset.items():
        fields = benchmark(section).settings.model_fields if section in benchmark_names() else {}
        for key, value in values.items() if section in content else ():
            if value is None and key in fields and not fields[key].is_required():
                content[section].pop(key, None)
            elif key not in content[section] or content[section][key] != value:
                if isinstance(value, list | dict):  # on one line
                    value = CommentedSeq(value) if isinstance(value, list) else CommentedMap(value)
                    value.fa.set_flow_style()
                content[section][key] = value
    for section, named in entries.items():
        for name, entry in named.items():
            if entry is not None and name not in (content.get(section) or {}):
                if not content.get(section):
                    content[section] = CommentedMap()
                    content.yaml_set_comment_before_after_key(section, before="\n")
                content[section][name] = CommentedMap(entry)
    yaml.dump(content, written)
    text = written.getvalue()
    return text, parse_settings(load_yaml(text), f"{PARAMS} with {what}", root.absolute())
