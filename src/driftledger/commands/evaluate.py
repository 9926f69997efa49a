"""``driftledger.evaluate``: models in one process, no project."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

from PIL import Image
from pydantic import PrivateAttr

from driftledger.benchmarks.base.stage import QUESTION_SET
from driftledger.benchmarks.registry import FIRST, shipped_section
from driftledger.benchmarks.registry import benchmark as benchmark_of
from driftledger.collect.features import release_all
from driftledger.collect.plan import PlannedCalls
from driftledger.commands.collect import collect
from driftledger.commands.plan import require_readiness
from driftledger.commands.stages import data, score
from driftledger.components.base import Component
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import ConfigError
from driftledger.core.media import PILLOW_LIMIT, png_bytes
from driftledger.core.registry import Provided
from driftledger.core.text import for_html, for_line, say
from driftledger.data.datasets.base import DatasetProvider
from driftledger.data.datasets.decode import decode
from driftledger.data.datasets.given import read_given, stem_of
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.question_sets.base import QuestionProvider
from driftledger.notebook import Chains, OpenedProject
from driftledger.project.catalogue import BASES, catalogue, name_of, selectable
from driftledger.project.presets import OWN, read_preset
from driftledger.project.project import Project, calls_folder
from driftledger.project.resolve import resolve
from driftledger.project.settings import PARAMS, parse_settings, read_yaml
from driftledger.reports.scores import selected_score
from driftledger.scoring.roles import flags_of

if TYPE_CHECKING:
    import pandas as pd

GivenImages: TypeAlias = (
    str
    | Path
    | Mapping[str, Any]
    | DatasetProvider
    | Iterable[str | Path | bytes | Image.Image]
)
"""A folder; a dataset's name, entry or provider; or a list of what
:func:`~driftledger.data.datasets.given.read_given` reads."""
GivenComponent: TypeAlias = str | Path | Mapping[str, Any] | Component | type[Component]
"""A name of the catalogue, ``provider/model``, a folder, an entry as ``params.yaml`` has it, or the
thing itself."""


class _GivenImages(ImageFolder):
    """A folder of images that Python passed, with notes on how each was read."""

    provider = ImageFolder.provider

    _noted: dict[str, list[str]] = PrivateAttr(default_factory=dict)

    def decode(self, data: bytes, name: str) -> tuple[Image.Image, list[str]]:
        image, notes = decode(data, name, self.max_pixels)
        return image, [*self._noted.get(name, ()), *notes]


class FirstLook(OpenedProject):
    """Results for a few images or questions, from a project in a temporary folder.

    The folder is removed with this object.

    It has no ``dvc.lock``, so that ``audit`` and ``compare`` need a project.
    """

    def __init__(
        self, project: Project, benchmark: str, kept: "TemporaryDirectory[str]"
    ) -> None:
        self.path = project.root
        self._read = project
        self.benchmark = benchmark
        self._kept = kept

    @property
    def _project(self) -> Project:
        return self._read  # its settings were given, in no file

    @property
    def table(self) -> "pd.DataFrame":
        """A row per model: its headline numbers; :meth:`scores` has all, with their intervals."""
        scores = self.scores(self.benchmark)
        return scores[scores.headline].pivot_table(
            "value", "model", "title", sort=False
        )

    def chains(self, sample: str | None = None) -> Chains:
        """Return the chains of a sample, as a project does.

        Without a sample, it is the one for which the first model has the lowest GC@T.
        """
        if sample is None:
            spec, keys = self._stored(FIRST)[0]
            rows = self._rows(spec, keys)
            last = {row.unit: row.values[spec.metrics.first.name][-1] for row in rows}
            sample = min(last, key=lambda unit: (last[unit] is None, last[unit] or 0.0))
        return super().chains(sample)

    def __repr__(self) -> str:
        heads = []
        notes = dict[str, None]()
        for spec, keys in self._stored(None):
            score = selected_score(self._project, spec, keys)
            name = f"{score.model} (control)" if score.is_control else score.model
            heads.append(
                f"{name}: {score.scored} of {score.total} in {score.on} are scored"
            )
            for flag in flags_of(spec.metrics, score):
                notes[f"to know: {for_line(flag)}"] = None
        numbers = self.scores(self.benchmark).query("headline")
        cell_of = "{0.value:.3f} [{0.low:.3f}, {0.high:.3f}]".format
        cells = [cell_of(number) for number in numbers.itertuples()]
        numbers["cell"] = [number.removesuffix(" [nan, nan]") for number in cells]
        table = numbers.pivot_table(
            "cell", "model", "title", aggfunc="first", sort=False
        )
        return "\n".join([table.to_string(), *heads, *notes])

    def _repr_html_(self) -> str:
        chains = self.chains()._repr_html_() if self.benchmark == FIRST else ""
        return f"<pre>{for_html(repr(self))}</pre>{chains}"


def evaluate(
    models: GivenComponent | Sequence[GivenComponent],
    images: GivenImages | None = None,
    *,
    generator: GivenComponent | None = None,
    encoder: GivenComponent | None = None,
    questions: str | Mapping[str, Any] | QuestionProvider | None = None,
    benchmark: str = FIRST,
    judge: GivenComponent | None = None,
    text_encoder: GivenComponent | None = None,
    description: str = "features",
    store: str | Path | None = None,
    seed: int = 1,
    **settings: Any,
) -> FirstLook:
    """Evaluate models by a benchmark, in this process and without a project: a first look.

    The same images, folder name, seed and components give the same numbers as in a project.
    Finished calls are kept, so that the same cell makes none the second time. A project keeps
    versions, too, and where each number comes from. Before the first call to a service, standard
    error says how many there will be, and their price.

    >>> from PIL import Image
    >>> images = [Image.new("RGB", (64, 48), colour) for colour in ("red", "navy")]
    >>> look = evaluate(["regions_coarse", "blind"], images, iterations=2)
    >>> look.table.index.tolist()
    ['regions_coarse', 'blind']

    Args:
        models: one or several.
        images: a folder, in which a subfolder is a category; a dataset's name, entry or provider;
            or a list of files, pages as ``report.pdf#3``, bytes, Pillow images and arrays.
        generator: what draws; without it, like without ``encoder``, that of the demonstration,
            which only understands the embedded describers.
        questions: of MM-SAP, MM-Vet and MME: a question set's name, entry or provider.
        judge: the model that grades answers, which MM-Vet needs.
        text_encoder: what compares descriptions, which TRAC needs; without it, the embedded one.
        description: the catalogue's name of how TRAC asks for one.
        store: the folder for finished calls and features; without it ``DRIFTLEDGER_STORE``, or else
            one in the user's cache folder. While another process makes calls with it, this one
            waits. Code of your own is known as this process read it: restart the kernel after a
            change. A function of a notebook is asked again whenever it is made again.
        seed: what the generator's seeds are derived from, with the folder's name (or ``images``),
            the sample and t.
        settings: of the benchmark's section in ``params.yaml``, such as ``iterations``.

    Raises:
        ConfigError: a name is unknown, a component is of another kind or cannot understand another,
            or an image is missing.
        DataError: an image cannot be read.
        CoverageError: nothing could be scored.
        ServiceError: a service refuses.
    """
    spec = benchmark_of(benchmark)
    passed = dict[tuple[str, str], Any]()
    raw = read_yaml(OWN / "templates" / PARAMS)
    section = shipped_section(benchmark) | {"min_coverage": 0.0} | spec.first_look
    raw[benchmark] = section | settings
    select = partial(_select, raw, passed)
    embedded = read_preset(OWN, "default")
    readers = []
    if "text_encoder" in spec.scores.keys:
        reader = text_encoder or embedded[FIRST]["text_encoder"]
        readers = [select("encoders", reader)]
    several = [models]
    if isinstance(models, Sequence) and not isinstance(models, str):
        several = [*models]
    raw["run"] |= {
        "models": [select("models", each) for each in several],
        "generators": [
            select("generators", generator or embedded["run"]["generators"][0])
        ],
        "encoders": [select("encoders", encoder or embedded["run"]["encoders"][0])],
        "text_encoders": readers,
        "descriptions": [description],
        "judge": judge and select("models", judge),
        "seed": seed,
    }
    folder = TemporaryDirectory(prefix="driftledger-")
    project = Project(Path(folder.name), own_code=True)
    raw["store"] = calls_folder(store)
    try:
        kind = "datasets"
        if spec.data is QUESTION_SET:
            kind = "question_sets"
            chosen = select(kind, questions)
        else:
            chosen = _select_images(select, images, project.root / "given")
        raw["run"][kind] = raw["run"][benchmark] = [chosen]
        settings_given = parse_settings(raw, "evaluate", Path.cwd(), passed)
        project = replace(project, given=settings_given)
        _collect_and_score(project)
    except BaseException:
        folder.cleanup()
        raise
    finally:
        release_all(project.components.values())
    return FirstLook(project, benchmark, folder)


def _collect_and_score(project: Project) -> None:
    """Build the data, say the price, make the missing calls, and score.

    Raises:
        CoverageError: nothing could be scored.
    """
    with redirect_stdout(StringIO()):
        resolve(project)
        data(project)
    _say_the_price(require_readiness(project).values())
    collect(project)
    unscored = []
    for model in project.settings.run.models:
        unscored += score(project, model)
    if len(unscored) == len(project.selected):
        raise unscored[0]


def _say_the_price(planned: Iterable[PlannedCalls]) -> None:
    """Print how many calls of services are to be made, and what they cost."""
    to_make = unpriced = 0
    likely_cost = most_cost = 0.0
    for calls in planned:
        if isinstance(calls.component, RemoteComponent):
            to_make += calls.to_make
            likely_cost += calls.likely_cost or 0.0
            most_cost += calls.most_cost or 0.0
            if calls.most_cost is None:
                unpriced += calls.to_make
    if to_make:
        price = f"likely {likely_cost:,.2f}, at most {most_cost:,.2f} dollars"
        if unpriced:
            price += f" without the {unpriced:,} whose price is not known"
        say(f"driftledger: {to_make:,} calls of services to make, {price}")


def _select(
    raw: dict[str, Any],
    passed: dict[tuple[str, str], Any],
    section: str,
    choice: Any,
    name: str = "",
) -> str:
    """Write the entry of an argument into ``raw``, and return its name.

    A component or provider itself is kept in ``passed``.

    Raises:
        ConfigError: it is unknown or of another kind.
    """
    if isinstance(choice, type):
        choice = choice()
    if isinstance(choice, Path):
        choice = str(choice)
    if isinstance(choice, str):
        name, entry = selectable(section, choice)
    elif isinstance(choice, Mapping):
        entry = dict(choice)
    elif isinstance(choice, BASES[section]):
        entry = {
            "provider": choice.provider,
            **choice.model_dump(include={"model", "path"}),
        }
    else:
        what = (
            choice.provider if isinstance(choice, Provided) else type(choice).__name__
        )
        raise ConfigError(
            f"{what} is not a {section[:-1].replace('_', ' ')}; give a name of the catalogue, "
            "PROVIDER/MODEL, an entry, a component or a function"
        )
    if entry is None:
        return name
    provider = str(entry.get("provider")).rpartition(":")[2]
    what = entry.get("model") or entry.get("path") or provider
    name = name or name_of(Path(what).name)
    entries = raw.setdefault(section, {})
    while name in entries:
        name += "_2"
    entries[name] = entry
    if not isinstance(choice, str | Mapping):
        passed[section, name] = choice
    return name


def _select_images(
    select: Callable[..., str], images: GivenImages | None, folder: Path
) -> str:
    """Write the entry of images by ``select``, and return its name; errors as :func:`_source`."""
    name = "images"
    is_entry = isinstance(images, Mapping)
    if isinstance(images, str | Path):
        name = name_of(Path(images).absolute().name)
    if isinstance(images, str) and not Path(images).is_dir():
        is_entry = images in catalogue("datasets")
    source: Any = images
    if not is_entry:
        source = _source([] if images is None else images, folder)
    return select("datasets", source, name)


def _source(images: GivenImages, folder: Path) -> DatasetProvider:
    """Return the provider of these images; single ones are written into ``folder``.

    Raises:
        ConfigError: a file is missing, or nothing is given.
        DataError: a file is not an image of a format that is read.
    """
    if isinstance(images, DatasetProvider):
        return images
    if isinstance(images, str | Path):
        return ImageFolder(path=Path(images))
    folder.mkdir()
    noted = {}
    several = [images] if isinstance(images, bytes | Image.Image) else images
    for number, single in enumerate(several, 1):
        setting = "images to files that are here"
        image, notes = read_given(single, f"image {number}", setting, PILLOW_LIMIT)
        name = stem_of(single) or f"image_{number:03}"
        while (folder / f"{name}.png").exists():
            name += f"_{number:03}"
        (folder / f"{name}.png").write_bytes(png_bytes(image))
        noted[f"{name}.png"] = notes
    if not noted:
        raise ConfigError(
            "images is an empty list; give a folder, files or Pillow images"
        )
    dataset = _GivenImages(path=folder)
    dataset._noted.update(noted)
    return dataset
