"""The ``params.yaml`` that ``driftledger init`` writes: what was asked for, and nothing else."""

import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.registry import benchmark, benchmark_names
from driftledger.core.yaml_text import load_yaml
from driftledger.project.presets import flow, laid_over, read_preset
from driftledger.project.scaffold import SECTION, brought
from driftledger.project.settings import PARAMS, parse_settings

_LONGEST_NAME = 64
_NAMELESS = "my_images"
_HEAD = """\
# What a user decides. `run` selects by name, and what is new is evaluated. A name that stands in no section at the end
# is looked up in the catalogue that comes with driftledger; an entry here wins over one there of the same name.

"""
_TRACKING = """\
tracking:
  uri: sqlite:///mlflow.db # MLFLOW_TRACKING_URI overrides it
  experiment: driftledger
  traces: 6 # units of each score that a run shows step by step: the worst, the best, and some between; or all, or none
"""
_SAID = {
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


class FirstParams(NamedTuple):
    """What a project begins with."""

    text: str
    benchmarks: tuple[str, ...]
    """Those whose pipelines its settings are for."""


def first_params(root: Path, preset: str, images: Images | None, *, minimal: bool) -> FirstParams:
    """The selection of a preset, over the images where there are some.

    Args:
        root: of the project.
        minimal: whether there are only the pipelines of what is selected.

    Raises:
        ConfigError: there is no such preset, or it selects what is not there.
    """
    laid = read_preset(root, preset)
    run: dict[str, Any] = dict(laid["run"])
    if images is not None:
        ours = [name for name in benchmark_names() if benchmark(name).data is DATASET]
        run |= {name: [images.name] for name in ("datasets", *ours) if run.get(name)}
    selected = tuple(name for name in benchmark_names() if run.get(name))
    names = selected if minimal else benchmark_names()
    parts = [
        _run(run, selected, names, minimal=minimal),
        *(brought(name, SECTION) for name in selected),
        _TRACKING,
        *([] if images is None else [_entry(images)]),
    ]
    changes = {section: values for section, values in laid.items() if section in selected}
    text = laid_over(_HEAD + "\n".join(parts), changes)
    parse_settings(load_yaml(text), f"{PARAMS} with the preset {preset}")
    return FirstParams(text, names)


def name_of(folder: str) -> str:
    """What a dataset is called that a folder of this name becomes.

    >>> [name_of(folder) for folder in ("My Photos (2024)", "2024", "Fotos für Anna", "...")]
    ['my_photos_2024', 'images_2024', 'fotos_fur_anna', 'my_images']
    """
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode().lower()
    name = "_".join("".join(c if c.isalnum() else " " for c in plain).split())
    if not name:
        return _NAMELESS
    is_text = load_yaml(name) == name  # and no number, date, truth or nothing
    return (name if is_text and not name[:1].isdigit() else f"images_{name}")[:_LONGEST_NAME]


def _run(run: Mapping[str, Any], selected: Sequence[str], names: Sequence[str], *, minimal: bool) -> str:
    lists = ("models", "generators", "encoders", "text_encoders", "descriptions")
    keys = ["datasets", "question_sets", *names, *(key for key in lists if run.get(key) or not minimal)]
    values = {key: run.get(key, []) for key in keys}
    if any(benchmark(name).judged for name in selected):
        values["judge"] = run["judge"]
    values["seed"] = 1
    said = {key: f" # {_SAID[key]}" if key in _SAID else "" for key in values}
    return "run:\n" + "".join(f"  {key}: {flow(value)}{said[key]}\n" for key, value in values.items())


def _entry(images: Images) -> str:
    entry = f"{{ provider: image_folder, path: {flow(images.path)} }}"
    return f"datasets:\n  {images.name}: {entry} # subfolders are categories\n"
