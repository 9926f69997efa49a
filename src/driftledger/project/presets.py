"""``params.yaml`` written by us: the first one, and published protocols laid over it. Comments of the user's stay.

Presets come with the package; a project may have its own in ``presets/``, which win over those of the same name.
"""

import io
import re
import unicodedata
from collections.abc import Mapping
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq

from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.registry import benchmark, benchmark_names
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_yaml, write_text
from driftledger.project.scaffold import SECTION, brought
from driftledger.project.settings import PARAMS, Settings, parse_settings, read_yaml

_HEAD = """\
# What a user decides. `run` selects by name, and what is new is evaluated. A name that stands in no section at the end
# is looked up in the catalogue that comes with driftledger ('driftledger models' lists it); an entry here wins over one
# there of the same name. Any service with OpenAI's interface is a model:
#
# models:
#   my_model:
#     provider: openai
#     model: gpt-4.1
#     base_url: https://api.openai.com/v1 # the key is read from OPENAI_API_KEY, or from what api_key_env names

run: {}
tracking:
  uri: sqlite:///mlflow.db # MLFLOW_TRACKING_URI overrides it
  experiment: driftledger
  traces: 6 # units of each score that a run shows step by step: the worst, the best, and some between; or all, or none
"""
_COMMENTS = {
    "datasets": "all that are built; each benchmark goes over its own of them",
    "question_sets": "likewise",
    "encoders": "that see images",
    "text_encoders": "that read descriptions",
    "descriptions": "how descriptions are asked for",
    "judge": "the model that grades open answers",
}
"""Comments behind what is selected."""


class Images(NamedTuple):
    """A folder of images that becomes a dataset."""

    name: str
    path: str
    """As the dataset's settings have it."""


class PresetInWords(NamedTuple):
    """The comment that a preset begins with."""

    name: str
    what: str
    """Its first sentence."""
    needs: str
    """What must be installed or downloaded, and what of it is retired; empty where it says nothing."""


def presets(root: Path) -> dict[str, Path]:
    """Every preset that a project can select, by name."""
    folders = Path(str(files("driftledger"))) / "presets", root / "presets"
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def presets_in_words(root: Path) -> list[PresetInWords]:
    """Describe every preset; nothing is planned, for which data would have to be there."""
    described = []
    for name, path in presets(root).items():
        comment = takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
        what, _, rest = " ".join(line.lstrip("# ") for line in comment).partition("Needs: ")
        sentences = [
            [each.rstrip(".") for each in re.split(r"(?<=\.) (?=[A-Z])", part.strip())] for part in (what, rest)
        ]
        needs = [each for number, each in enumerate(sentences[1]) if number == 0 or "retired" in each]
        described.append(PresetInWords(name, sentences[0][0], ". ".join(needs)))
    return described


def read_preset(root: Path, name: str) -> dict[str, Any]:
    """Read what a preset sets, by section.

    Raises:
        ConfigError: there is no such preset.
    """
    known = presets(root)
    if name not in known:
        raise ConfigError(unknown_name("preset", name, known))
    preset: dict[str, Any] = read_yaml(known[name])
    return preset


def apply_preset(root: Path, name: str) -> list[str]:
    """Lay the preset over ``params.yaml`` and say what it changed, one line each.

    Raises:
        ConfigError: no such preset, or the settings would not be valid with it; nothing is written then.
    """
    content, _, changed = _with_preset(root, name)
    if changed:
        write_text(root / PARAMS, _dumped(content))
    return changed


def preset_settings(root: Path, name: str) -> Settings:
    """Return the settings as they would be with the preset; nothing is written. Errors as in :func:`apply_preset`."""
    return _with_preset(root, name)[1]


def _with_preset(root: Path, name: str) -> tuple[CommentedMap, Settings, list[str]]:
    preset = read_preset(root, name)
    content = _loaded(root / PARAMS)
    changed = _lay_over(content, preset)
    return content, _checked(_dumped(content), name, root.absolute()), changed


def first_params(root: Path, preset: str, images: Images | None, *, minimal: bool) -> str:
    """Write the text of a project's first ``params.yaml``: a preset's selection, over the images where there are some.

    Args:
        root: of the project.
        minimal: whether it names only the benchmarks that are selected.

    Raises:
        ConfigError: there is no such preset, or it selects what is not there.
    """
    laid = read_preset(root, preset)
    wanted: dict[str, Any] = dict(laid["run"])
    if images is not None:
        ours = [name for name in benchmark_names() if benchmark(name).data is DATASET]
        wanted |= {name: [images.name] for name in ("datasets", *ours) if wanted.get(name)}
    selected = [name for name in benchmark_names() if wanted.get(name)]
    content = _yaml().load(_HEAD)
    run = content["run"] = CommentedMap()
    content.yaml_set_comment_before_after_key("tracking", before="\n")
    lists = ("models", "generators", "encoders", "text_encoders", "descriptions")
    optional = [key for key in lists if wanted.get(key) or not minimal]
    for key in ("datasets", "question_sets", *(selected if minimal else benchmark_names()), *optional):
        run[key] = _flow(wanted.get(key, []))
    if any(benchmark(name).judged for name in selected):
        run["judge"] = wanted["judge"]
    run["seed"] = 1
    for key in run:
        if key in _COMMENTS:
            run.yaml_add_eol_comment(_COMMENTS[key], key, column=0)
    _lay_over(content, {"run": {}} | {section: laid[section] for section in laid if section in selected})
    if images is not None:
        content["datasets"] = CommentedMap({images.name: CommentedMap(provider="image_folder", path=images.path)})
        content.yaml_set_comment_before_after_key("datasets", before="\n")
        content["datasets"][images.name].yaml_add_eol_comment("subfolders are categories", "path", column=0)
    text = _dumped(content)
    _checked(text, preset, None)
    return text


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


def _lay_over(content: CommentedMap, preset: Mapping[str, Any]) -> list[str]:
    """Set what a preset sets, add what its selection needs, and say what changed.

    Sections of benchmarks that nothing is selected for stay out, as do keys of ``run`` that would be empty.
    """
    run, changed = content.get("run"), list[str]()
    if not isinstance(run, dict):
        raise ConfigError(f"{PARAMS} has no section 'run', which the preset changes; add it")
    over = {name: preset.get("run", {}).get(name, run.get(name)) for name in benchmark_names()}
    for name in benchmark_names():
        if over[name] and name not in content:
            content[name] = _yaml().load(brought(name, SECTION))[name]
            content.yaml_set_comment_before_after_key(name, before="\n")
            changed.append(f"{name}: added")
    judged = any(over[name] and benchmark(name).judged for name in benchmark_names())
    for section, values in preset.items():
        if section not in content and section in benchmark_names():
            continue
        for key, value in values.items():
            where = f"{section}.{key}"
            known: Any = content.get(section)
            known = known if isinstance(known, CommentedMap) else CommentedMap()
            if section == "run" and key not in known:
                if not value or (key == "judge" and not judged):
                    continue
            elif key not in known:
                raise ConfigError(f"{PARAMS} has no {where!r}, which the preset sets; add it there")
            elif known[key] == value:
                continue
            before = f"{canonical_json(known[key])} → " if key in known else "added: "
            changed.append(f"{where}: {before}{canonical_json(value)}")
            known[key] = _flow(value)
            comments = known.ca.items.get(key)
            if comments and len(comments) > 2 and comments[2]:
                comments[2].column = 0  # one blank behind the value, however long it is now
    return changed


def _checked(text: str, preset: str, own_code: Path | None) -> Settings:
    return parse_settings(load_yaml(text), f"{PARAMS} with the preset {preset}", own_code)


def _loaded(path: Path) -> CommentedMap:
    """Read ``params.yaml`` with its comments; errors as in :func:`~driftledger.project.settings.read_yaml`."""
    if not isinstance(read_yaml(path), dict):
        raise ConfigError(f"{path} holds no sections; 'driftledger init' writes it")
    content: CommentedMap = _yaml().load(path.read_text(encoding="utf-8"))
    return content


def _yaml() -> YAML:
    made = YAML()
    made.preserve_quotes, made.width = True, 4096
    made.indent(mapping=2, sequence=4, offset=2)
    made.representer.add_representer(type(None), lambda own, _: own.represent_scalar("tag:yaml.org,2002:null", "null"))
    return made


def _dumped(content: CommentedMap) -> str:
    text = io.StringIO()
    _yaml().dump(content, text)
    return text.getvalue()


def _flow(value: Any) -> Any:
    """A list or mapping that is written on one line."""
    if not isinstance(value, list | dict):
        return value
    made = CommentedSeq(value) if isinstance(value, list) else CommentedMap(value)
    made.fa.set_flow_style()
    return made
