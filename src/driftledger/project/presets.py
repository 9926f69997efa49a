"""Write ``params.yaml``, and lay published protocols over it.

Comments of the user stay.

Presets come with the package; a project may have its own in ``presets/``, which win over those of
the same name. A preset's section ``run`` is all that is selected then; its other sections
hold what differs from the default.
"""

import io
from collections.abc import Mapping
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from driftledger.benchmarks.base.stage import DATASET
from driftledger.benchmarks.registry import (
    benchmark,
    benchmark_names,
    section_text,
    shipped_section,
)
from driftledger.components.service import RemoteComponent
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_yaml, write_text
from driftledger.core.text import changes
from driftledger.project.settings import (
    PARAMS,
    Settings,
    parse_settings,
    read_params,
    read_yaml,
)

OWN = Path(str(files("driftledger")))
_TEMPLATE = OWN / "templates" / PARAMS
Chosen = Mapping[str, Mapping[str, Mapping[str, Any] | None]]
"""Section → name → the entry to write, None for one of the catalogue's."""
NOTHING: Chosen = {}
ENCODER = "qwen_3_vl_embedding_2b"
ON_ENCODER = (
    f"{ENCODER} reads whole descriptions; without a GPU, 100 images and two models take it about "
    "half an hour. 'driftledger add encoder siglip_2 --only' is quicker, but reads 64 tokens, "
    "which ranks short descriptions only: ask for these by self_retrieval.describe_prompt"
)
"""The encoder of a first project, which sees and reads; and what to know of it."""


def presets(root: Path) -> dict[str, Path]:
    """Return every preset that a project can select, by name."""
    paths = {}
    for folder in (OWN, root):
        for path in sorted((folder / "presets").glob("*.yaml")):
            paths[path.stem] = path
    return paths


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


def control() -> str:
    """Return the name of the embedded model that never looks, which the first preset ends with."""
    name: str = read_preset(OWN, "start")["run"]["models"][-1]
    return name


def with_preset(root: Path, name: str) -> tuple[str, Settings]:
    """Return ``params.yaml`` with a preset laid over it, and its settings.

    Nothing is written.

    Raises:
        ConfigError: the preset is unknown, or the settings would not be valid.
    """
    preset = read_preset(root, name)
    content = _read_params(root)
    if selected := preset.get("run"):
        # a preset selects nothing but what it names
        unselected = read_yaml(_TEMPLATE)["run"]
        for key in content["run"].keys() - {"seed"}:
            selected.setdefault(key, unselected.get(key, []))
    # what another preset has set, and this one does not, is set back
    for path in presets(root).values():
        for section, values in read_yaml(path).items():
            if section not in benchmark_names():
                continue
            now = content.get(section) or {}
            wanted = preset.setdefault(section, {})
            for key, value in values.items():
                if key not in wanted and now.get(key) == value:
                    wanted[key] = shipped_section(section).get(key)
    return laid_over(root, preset, f"the preset {name}")


def apply_preset(root: Path, name: str) -> list[str]:
    """Lay a preset over ``params.yaml``, and list what it changed, one line each.

    Errors are those of :func:`with_preset`.
    """
    before = read_params(root)
    (text, _) = with_preset(root, name)
    after = load_yaml(text)
    differing = [*changes(before, after)]
    if differing:
        write_text(root / PARAMS, text)
    added = after.keys() - before
    lines = []
    for change in differing:
        lines.append(f"{change.key}: added" if change.key in added else str(change))
    return lines


def first_params(
    root: Path, preset: str | None, data: Mapping[str, Any], chosen: Chosen = NOTHING
) -> str:
    """Return the text of a project's first ``params.yaml``: a preset over its data.

    Args:
        preset: None is ``start``, of which chosen components keep the benchmarks that fit them.
        data: entries of ``datasets`` in place of the preset's, and of ``question_sets``; with
            questions alone, nothing is described or drawn.
        chosen: what is selected in place of the preset's components.

    Raises:
        ConfigError: the preset is unknown, or selects something that is missing or cannot
            understand the rest.
    """
    settings = read_preset(root, preset or "start")
    run = settings["run"]
    if "datasets" in data:
        over_datasets = [
            name for name in benchmark_names() if benchmark(name).data is DATASET
        ]
        for key in ("datasets", *over_datasets):
            if run.get(key):
                run[key] = [*data["datasets"]]
    elif data:
        # the embedded describers have answers to the shipped questions alone
        run = {"models": [control()], "judge": None}
        settings["run"] = run
    for name, entry in data.get("question_sets", {}).items():
        asking = benchmark(entry["protocol"])
        run["question_sets"] = [*run.get("question_sets", []), name]
        run[asking.name] = [name]
        if asking.collects.judged:
            run["judge"] = "gpt_4_1_judge"
    for section, entries in chosen.items():
        run[section] = [*entries]
    if chosen and run.get("self_retrieval"):
        _fit(root, settings, chosen, preset)
    what = f"the preset {preset or 'start'}"
    return laid_over(root, settings, what, {**data, **chosen}, _TEMPLATE)[0]


def _fit(root: Path, settings: Json, chosen: Chosen, preset: str | None) -> None:
    """Leave what fits the choice; self-retrieval goes over the encoders that read.

    Without a named preset, models without a generator have self-retrieval and a control, and
    iterations are as many as the generator's price allows.

    Errors are those of :func:`_retrieve`.
    """
    run = settings["run"]
    if preset is None and "models" in chosen:
        if "encoders" not in chosen:
            run["encoders"] = [ENCODER]
        if "generators" not in chosen:
            run |= {"generators": [], "genception": [], "fidelity": []}
            run["models"] = [*dict.fromkeys([*run["models"], control()])]
    parts = {key: run[key] for key in ("models", "generators", "encoders")}
    built, reading = _built(root, parts, chosen, _TEMPLATE)
    _retrieve(settings, reading, run["datasets"], draws=bool(run["generators"]))
    if preset is None:
        settings["genception"] = _chains(built)


def _built(
    root: Path, run: Json, entries: Chosen, template: Path | None = None
) -> tuple[Settings, list[str]]:
    """Return settings with these components and no self-retrieval, and the encoders that read."""
    parts = {"run": {**run, "self_retrieval": []}}
    _, settings = laid_over(root, parts, "this selection", entries, template)
    encoders = settings.run.encoders
    return settings, [
        name for name in encoders if settings.build("encoders", name).reads
    ]


def _retrieve(
    settings: Json, reading: list[str], images: list[str], *, draws: bool
) -> None:
    """Select self-retrieval over the encoders that read; nothing if there is none.

    Raises:
        ConfigError: there is none, and no generator draws.
    """
    run = settings["run"]
    if not (reading or draws):
        raise ConfigError(
            f"{', '.join(run['encoders'])} cannot read descriptions, and without a generator "
            f"nothing else is compared; name an encoder that reads, such as {ENCODER}, or a "
            "generator"
        )
    run["self_retrieval"] = images if reading else []
    is_part = 0 < len(reading) < len(run["encoders"])
    settings["self_retrieval"] = {"encoders": reading if is_part else None}


def _chains(settings: Settings) -> Json:
    """Return GenCeption's settings: one iteration if a generator is paid by the picture."""
    for name in settings.run.generators:
        if isinstance(settings.build("generators", name), RemoteComponent):
            return {"iterations": 1}
    return {}


def with_entry(
    root: Path, section: str, name: str, entry: Json | None, *, only: bool
) -> str:
    """Return ``params.yaml`` with one more entry, selected with the others or alone.

    Beside self-retrieval, the first generator selects GenCeption over the same images. An encoder
    that does not read is left out of self-retrieval.

    Raises:
        ConfigError: another entry has that name, or the selection would not be valid.
    """
    content = _read_params(root)
    entries = content.get(section) or {}
    if entry is not None and entries.get(name, entry) != entry:
        raise ConfigError(
            f"{PARAMS} has another entry {section}.{name}; rename that, or change it there"
        )
    names = [name]
    if not only:
        selected_now = content["run"].get(section, [])
        others = [other for other in selected_now if other != name]
        names = [*others, name]
    selected: Json = {"run": {section: names}}
    written = {section: {name: entry}}
    images = content["run"].get("self_retrieval")
    if images and section != "models":
        settings, reading = _built(root, selected["run"], written)
        if section == "encoders":
            listed = (content.get("self_retrieval") or {}).get("encoders") or names
            kept = [other for other in reading if other in (*listed, name)]
            _retrieve(selected, kept, images, draws=bool(settings.run.generators))
        elif not content["run"].get(section):
            selected["run"]["genception"] = images
            if content.get("genception") is None:
                selected["genception"] = _chains(settings)
    return laid_over(root, selected, name, written)[0]


def _read_params(root: Path) -> Json:
    """Read ``params.yaml``, which must have a selection."""
    content = read_params(root)
    if not isinstance(content, dict):
        raise ConfigError(
            f"{root / PARAMS} holds no sections; 'driftledger init' writes it"
        )
    if not isinstance(content.get("run"), dict):
        raise ConfigError(f"{PARAMS} has no section 'run'; add it")
    return content


def laid_over(
    root: Path,
    preset: Mapping[str, Any],
    what: str,
    entries: Chosen = NOTHING,
    template: Path | None = None,
) -> tuple[str, Settings]:
    """Return ``params.yaml`` or a template with a preset's values, and its settings.

    Nothing is written.

    Entries are added in block style, in which an address needs no quotes; comments stay. Of an
    existing entry, only ``as_of`` is set.

    Sections of unused benchmarks are left out, and so are optional settings that the preset sets
    to null. Errors call the change ``what``.

    Raises:
        ConfigError: the settings would not be valid, or an existing entry has an anchor.
    """
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(
        type(None),
        lambda representer, _: representer.represent_scalar(
            "tag:yaml.org,2002:null", "null"
        ),
    )
    content = yaml.load((template or root / PARAMS).read_text(encoding="utf-8"))
    run = content["run"] | preset.get("run", {})
    for name in benchmark_names() if preset else ():
        if run.get(name) and content.get(name) is None:
            _add_section(content, name, yaml.load(section_text(name))[name])
    for section, values in preset.items():
        if content.get(section) is not None:
            _set_values(content[section], section, values)
    for section, named in entries.items():
        for name, entry in named.items():
            if entry is None:
                continue
            if not content.get(section):
                _add_section(content, section, CommentedMap())
            written = content[section].setdefault(name, CommentedMap(entry))
            if "as_of" not in entry:
                continue
            if written.anchor.value:
                raise ConfigError(
                    f"{PARAMS}: {section}.{name} is shared with other entries, by the anchor "
                    f"&{written.anchor.value}; write each out"
                )
            if "as_of" not in written:
                # comments that follow an entry belong to its last line
                written.insert(0, "as_of", entry["as_of"])
            written["as_of"] = entry["as_of"]
    output = io.StringIO()
    yaml.dump(content, output)
    text = output.getvalue()
    settings = parse_settings(load_yaml(text), f"{PARAMS} with {what}", root.absolute())
    return text, settings


def _add_section(content: CommentedMap, section: str, values: CommentedMap) -> None:
    content[section] = values
    content.yaml_set_comment_before_after_key(section, before="\n")


def _set_values(content: CommentedMap, section: str, values: Json) -> None:
    """Set settings of a section of ``params.yaml``, each list or mapping on one line."""
    optional = set()
    if section in benchmark_names():
        for name, field in benchmark(section).settings.model_fields.items():
            if not field.is_required():
                optional.add(name)
    for key, value in values.items():
        if value is None and key in optional:
            content.pop(key, None)
        elif key not in content or content[key] != value:
            if isinstance(value, list):
                value = CommentedSeq(value)
                value.fa.set_flow_style()
            elif isinstance(value, dict):
                value = CommentedMap(value)
                value.fa.set_flow_style()
            content[key] = value
