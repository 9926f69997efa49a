"""``params.yaml`` written by us: the first one, and published protocols laid over it. Comments of the user's stay.

Presets come with the package; a project may have its own in ``presets/``, which win over those of the same name.
"""

import io
import unicodedata
from collections.abc import Mapping
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.registry import benchmark, benchmark_names
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_yaml, write_text
from driftledger.core.text import changes
from driftledger.project.settings import PARAMS, Settings, parse_settings, read_yaml

OWN = Path(str(files("driftledger")))


def presets(root: Path) -> dict[str, Path]:
    """Every preset that a project can select, by name."""
    return {path.stem: path for folder in (OWN, root) for path in sorted((folder / "presets").glob("*.yaml"))}


def presets_in_words(root: Path) -> dict[str, str]:
    """The comment that each preset begins with: what it is, and what it needs."""
    texts = {name: path.read_text(encoding="utf-8") for name, path in presets(root).items()}
    return {
        name: " ".join(line.lstrip("# ") for line in takewhile(lambda line: line.startswith("#"), text.splitlines()))
        for name, text in texts.items()
    }


def read_preset(root: Path, name: str) -> dict[str, Any]:
    """Read what a preset sets, by section.

    Raises:
        ConfigError: the preset is unknown.
    """
    paths = presets(root)
    if name not in paths:
        raise ConfigError(unknown_name("preset", name, paths))
    preset: dict[str, Any] = read_yaml(paths[name])
    return preset


def apply_preset(root: Path, name: str) -> list[str]:
    """Lay the preset over ``params.yaml`` and say what it changed; errors as in :func:`read_preset` and
    :func:`change_params`."""
    return change_params(root, read_preset(root, name), f"the preset {name}")


def change_params(root: Path, wanted: Mapping[str, Any], what: str) -> list[str]:
    """Set values of ``params.yaml``, and say what that changed, one line each.

    Args:
        wanted: section → key → value; the sections of benchmarks that it selects are added.
        what: sets them, in words.

    Raises:
        ConfigError: the settings would not be valid; nothing is written then.
    """
    before, text = read_yaml(root / PARAMS), _changed(root, wanted)
    after = load_yaml(text)
    parse_settings(after, f"{PARAMS} with {what}", root.absolute())
    differing = [*changes(before, after)]
    if differing:
        write_text(root / PARAMS, text)
    return [f"{each.key}: added" if each.key in after.keys() - before else str(each) for each in differing]


def preset_settings(root: Path, name: str) -> Settings:
    """Return the settings as they would be with the preset; nothing is written. Errors as in :func:`apply_preset`."""
    return parse_settings(load_yaml(_changed(root, read_preset(root, name))), f"{PARAMS} with the preset {name}", root)


def _changed(root: Path, wanted: Mapping[str, Any]) -> str:
    if not isinstance(read_yaml(root / PARAMS), dict):
        raise ConfigError(f"{root / PARAMS} holds no sections; 'driftledger init' writes it")
    content = _yaml().load((root / PARAMS).read_text(encoding="utf-8"))
    if not isinstance(content.get("run"), dict):
        raise ConfigError(f"{PARAMS} has no section 'run'; add it")
    _lay_over(content, wanted)
    return _dumped(content)


def first_params(root: Path, preset: str, images: Mapping[str, str]) -> str:
    """Write the text of a project's first ``params.yaml``: a preset's selection, over folders of images if there are
    some.

    Args:
        images: name of a dataset → the path of its folder.

    Raises:
        ConfigError: the preset is unknown, or selects something that is missing.
    """
    laid = read_preset(root, preset)
    if images:
        ours = ["datasets", *(name for name in benchmark_names() if benchmark(name).data is DATASET)]
        laid["run"] |= {name: [*images] for name in ours if laid["run"].get(name)}
    content = _yaml().load((OWN / "templates" / PARAMS).read_text(encoding="utf-8"))
    _lay_over(content, laid)
    if images:
        content["datasets"] = CommentedMap()
        content.yaml_set_comment_before_after_key("datasets", before="\n")
        for name, path in images.items():
            content["datasets"][name] = CommentedMap(provider="image_folder", path=path)
            content["datasets"][name].yaml_add_eol_comment("subfolders are categories", "path", column=0)
    text = _dumped(content)
    parse_settings(load_yaml(text), f"{PARAMS} with the preset {preset}")
    return text


def section_text(name: str) -> str:
    """Return a benchmark's section of ``params.yaml`` as it comes: a file in the benchmark's folder."""
    package = type(benchmark(name)).__module__.rpartition(".")[0]
    return (files(package) / "settings.yaml").read_text(encoding="utf-8")


def name_of(folder: str) -> str:
    """Name the dataset that a folder of this name becomes.

    >>> [name_of(folder) for folder in ("My Photos (2024)", "2024", "Fotos für Anna", "...")]
    ['my_photos_2024', 'images_2024', 'fotos_fur_anna', 'my_images']
    """
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode().lower()
    name = "_".join("".join(c if c.isalnum() else " " for c in plain).split())
    if not name:
        return "my_images"
    is_text = load_yaml(name) == name  # and no number, date, truth or nothing
    return (name if is_text and not name[:1].isdigit() else f"images_{name}")[:64]


def _lay_over(content: CommentedMap, preset: Mapping[str, Any]) -> None:
    """Set what a preset sets; sections of benchmarks that nothing is selected for stay out."""
    run = content["run"]
    for name in benchmark_names():
        if preset.get("run", {}).get(name, run.get(name)) and name not in content:
            content[name] = _yaml().load(section_text(name))[name]
            content.yaml_set_comment_before_after_key(name, before="\n")
    for section, values in preset.items():
        for key, value in values.items() if section in content else ():
            if key not in content[section] or content[section][key] != value:
                if isinstance(value, list | dict):  # on one line
                    value = CommentedSeq(value) if isinstance(value, list) else CommentedMap(value)
                    value.fa.set_flow_style()
                content[section][key] = value
                comments = content[section].ca.items.get(key)
                if comments and len(comments) > 2 and comments[2]:
                    comments[2].column = 0  # one blank behind the value, however long it is now


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes, yaml.width = True, 4096
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.representer.add_representer(type(None), lambda own, _: own.represent_scalar("tag:yaml.org,2002:null", "null"))
    return yaml


def _dumped(content: CommentedMap) -> str:
    text = io.StringIO()
    _yaml().dump(content, text)
    return text.getvalue()
