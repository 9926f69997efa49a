"""A first look at a model in one process: GenCeption over a few images, without a project, DVC or MLflow.

It drives what ``dvc repro`` drives, so that the same images, seed and components give the same numbers; what it does
not do is to version anything.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeVar, cast

from PIL import Image
from pydantic import ValidationError

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.traces import traces
from driftledger.benchmarks.collecting import Collecting, write_collected
from driftledger.benchmarks.genception.settings import GenCeptionScoring, GenCeptionSettings
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.errors import ConfigError, CoverageError, LedgerError, first_few, unknown_name
from driftledger.core.files import load_yaml
from driftledger.core.registry import provider_class
from driftledger.core.strict import explain
from driftledger.core.text import figure, for_html, for_line
from driftledger.data.datasets.base import DatasetProvider, reached
from driftledger.data.datasets.build import build
from driftledger.data.datasets.decode import FORMATS
from driftledger.data.datasets.image_folder import ImageFolder, safe_id
from driftledger.data.records import DatasetCard, read_samples
from driftledger.notebook.shown import ChainLine, Chains
from driftledger.project.asking import ask
from driftledger.project.catalogue import CatalogueEntry, catalogue
from driftledger.project.scaffold import SECTION, brought

if TYPE_CHECKING:
    import pandas as pd

C = TypeVar("C", bound=Component)

SPEC = "genception"

GivenImages: TypeAlias = "str | Path | DatasetProvider | Iterable[str | Path | Image.Image]"
"""A folder, any other source of a dataset, or a list of files and of Pillow's images."""


class Estimate(NamedTuple):
    """A mean over images, and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return figure(self.value, 3, (self.low, self.high))


@dataclass(frozen=True, repr=False)
class FirstLook:
    """What came of a few images; its pictures lie in a temporary folder, which goes when it does."""

    score: Score
    rows: list[Row]
    _folders: Mapping[str, Path]
    _kept: "TemporaryDirectory[str]" = field(compare=False)

    @property
    def iterations(self) -> int:
        """T."""
        return int(self.score.inputs.settings["iterations"])

    @property
    def gc(self) -> Estimate:
        """GC@T: the mean over the images of a category, then over categories, with its interval over images."""
        key = f"gc_at_{self.iterations}"
        interval = self.score.interval(key)
        assert interval is not None  # which every GC@T has
        return Estimate(self.score.metrics[key], *interval)

    @property
    def table(self) -> "pd.DataFrame":
        """A row per image: ``sample``, ``s(1)`` … ``s(T)``, the cosine between the encoder's views of the original and
        of iteration t, ``GC@T``, and the ``outcome`` that its chain ended with; NaN where a chain did not get there."""
        import pandas as pd

        def told(row: Row) -> dict[str, object]:
            nan, similarities = float("nan"), row.values["similarity"]
            values = {f"s({t})": nan if value is None else value for t, value in enumerate(similarities, 1)}
            last = row.values["gc"][-1]
            gc = {f"GC@{self.iterations}": nan if last is None else last}
            return {"sample": row.unit, **values, **gc, "outcome": str(row.outcome)}

        return pd.DataFrame([told(row) for row in self.rows])

    def chains(self, sample: str | None = None) -> Chains:
        """An image, its redrawings, descriptions and similarities side by side.

        Args:
            sample: as ``table`` has it; without it the one that has kept the least.

        Raises:
            LedgerError: there is no such sample.
        """
        by_name = {row.unit: row for row in self.rows}
        name = self._worst if sample is None else sample
        if name not in by_name:
            raise LedgerError(unknown_name("sample", name, by_name))
        [trace] = traces(
            self._folders["chain"], self._folders["dataset"], benchmark(SPEC), self.score, [by_name[name]], "chain", ""
        )
        line = ChainLine.of(self.score.model, self.score.keys["generator"], {self.score.keys["encoder"]: trace})
        [original] = [each.image.path for each in read_samples(self._folders["dataset"]) if each.id == name]
        return Chains(name, original, [line])

    @property
    def _worst(self) -> str:
        whole = [(row.values["gc"][-1], row.unit) for row in self.rows if row.values["gc"][-1] is not None]
        return min(whole)[1]

    def __repr__(self) -> str:
        return "\n".join([self._head, *(f"to know: {each}" for each in self._to_know), repr(self.table)])

    def _repr_html_(self) -> str:
        flags = "".join(f"<div>to know: {for_html(each)}</div>" for each in self._to_know)
        table = self.table.to_html(index=False, float_format="{:.3f}".format)
        return f"<div><b>{for_html(self._head)}</b></div>{flags}{table}{self.chains()._repr_html_()}"

    @property
    def _head(self) -> str:
        names, score = " · ".join(self.score.keys[key] for key in ("model", "generator", "encoder")), self.score
        return f"{names}: GC@{self.iterations} {self.gc} over {score.scored} of {score.total} images"

    @property
    def _to_know(self) -> list[str]:
        return [for_line(flag) for flag in self.score.flags]


def evaluate(
    *,
    model: "str | Model | type[Model]",
    generator: "str | Generator | type[Generator]",
    encoder: "str | Encoder | type[Encoder]",
    images: GivenImages,
    iterations: int = 5,
    seed: int = 1,
    name: str | None = None,
) -> FirstLook:
    """Describe and redraw each image ``iterations`` times, and say how much of it is left: a first look.

    Model, generator and encoder are names of the catalogue, components, or what ``driftledger.model(function)`` and its
    like give. Nothing is kept but what is returned; a project keeps calls, versions and where each number comes from.

    >>> from PIL import Image
    >>> images = [Image.new("RGB", (64, 48), colour) for colour in ("red", "navy")]
    >>> look = evaluate(model="blind", generator="painter", encoder="layout", images=images, iterations=2)
    >>> list(look.table.columns)
    ['sample', 's(1)', 's(2)', 'GC@2', 'outcome']

    Args:
        images: a folder, of which a subfolder is a category; a list of files and of Pillow's images; or a dataset
            provider.
        iterations: T, at most 100.
        seed: what the generator's seeds are derived from, with the name, the sample and t.
        name: what the images are called; without it as their folder, or ``images``.

    Raises:
        ConfigError: a name is unknown, a component is of another kind, or the images are not there.
        DataError: an image cannot be read.
        CoverageError: no chain reached T.
        ServiceError: a service refuses.
    """
    if not 1 <= iterations <= 100:
        raise ConfigError(f"iterations is {iterations}; set it to 1 to 100")
    settings = GenCeptionSettings.model_validate(load_yaml(brought(SPEC, SECTION))[SPEC])
    asked = ChainRequest(
        iterations=iterations,
        describe_prompt=settings.describe_prompt,
        max_tokens=None,
        generate_prompt=settings.generate_prompt,
        seed=seed,
    )
    chosen = {
        "model": _component("model", model, Model),  # type: ignore[type-abstract]  # of which it is to be one
        "generator": _component("generator", generator, Generator),  # type: ignore[type-abstract]
        "encoder": _component("encoder", encoder, Encoder),
    }
    called = {"model": model, "generator": generator, "encoder": encoder}
    keys = {"dataset": _named(name, images)}
    keys |= {role: each if isinstance(each, str) else _name_of(chosen[role]) for role, each in called.items()}
    looks = cast(Encoder, chosen["encoder"])
    if not looks.sees:
        raise ConfigError(f"the encoder {keys['encoder']} has no image tower; name one that sees images")
    kept = TemporaryDirectory(prefix="driftledger-")
    try:
        folder = Path(kept.name)
        _build_images(keys["dataset"], images, folder)
        folders = {"dataset": folder / keys["dataset"], "chain": folder / "chains"}
        spec, drawn = benchmark(SPEC), {key: keys[key] for key in ("dataset", "model", "generator")}
        asks = {role: (keys[role], chosen[role]) for role in ("model", "generator")}
        collecting = Collecting(spec, drawn, folders["dataset"], asks, asked.model_dump(mode="json"))
        with CallStore(folder / "calls") as store:
            collected = ask(collecting, store)
        ends = {each.unit: each for each in collected}.values()
        if not any(end.image is not None and end.step == iterations for end in ends):
            lost = [f"{e.unit}: {e.outcome} at t={e.step}, {e.error or 'no reason given'}" for e in ends]
            raise CoverageError(
                f"no chain reached t={iterations} ({first_few(lost)}); correct that, or lower iterations"
            )
        write_collected(folders["chain"], collecting, collected)
        scoring = GenCeptionScoring(iterations=iterations, confidence=settings.confidence, seed=seed)
        scored = spec.score(ToScore(keys, folders, scoring, 0.0, {"encoder": looks}))
    except BaseException:
        kept.cleanup()
        raise
    finally:
        for each in chosen.values():
            each.release()
    return FirstLook(scored.score, scored.rows, folders, kept)


def _build_images(name: str, images: GivenImages, folder: Path) -> DatasetCard:
    """Write the dataset called ``name`` below ``folder``, as the stage of a project does.

    Raises:
        ConfigError: a file is missing, or nothing is given.
        DataError: one of them is not an image of a format that is read.
    """
    if isinstance(images, DatasetProvider):
        return build(name, images, folder / name)
    if isinstance(images, str | Path):
        return build(name, ImageFolder(path=Path(images)), folder / name)
    given = folder / "given"
    given.mkdir()
    names = list[str]()
    for number, image in enumerate(images, 1):
        if isinstance(image, Image.Image):
            names.append(f"image_{number:03}.png")
            image.save(given / names[-1])
        elif isinstance(image, str | Path):
            file = reached(Path(image), Path.is_file, "is no file", "images to files that are here", "the image ")
            twice = file.stem.casefold() in {Path(each).stem.casefold() for each in names}
            names.append(f"{file.stem}_{number:03}{file.suffix}" if twice else file.name)
            shutil.copyfile(file, given / names[-1])
        else:
            raise ConfigError(f"images holds {type(image).__name__}; name files, or give images of Pillow's")
    if not names:
        raise ConfigError("images is an empty list; name a folder, files or images of Pillow's")
    card = build(name, ImageFolder(path=given), folder / name)
    ids = {sample.id for sample in read_samples(folder / name)}
    if unread := [each for each in names if safe_id(each) not in ids]:
        raise ConfigError(f"images: {first_few(unread)} is no image of a format that is read ({', '.join(FORMATS)})")
    return card


def _component(role: str, given: "str | Component | type[Component]", kind: type[C]) -> C:
    """The component that is meant.

    Raises:
        ConfigError: it is unknown, of another kind, or its settings are wrong.
    """
    try:
        made: object = given
        if isinstance(given, str):
            known = catalogue(section := f"{role}s")
            if given not in known:
                raise ConfigError(unknown_name(f"catalogue: {section}:", given, known))
            entry = cast(CatalogueEntry, known[given])
            made = provider_class(section, entry.provider).model_validate(entry.settings())
        elif isinstance(given, type):
            made = given()
    except ValidationError as error:
        raise ConfigError(explain(error, role)) from None
    if not isinstance(made, kind):
        said = f"the {made.kind} {made.provider}" if isinstance(made, Component) else type(made).__name__
        raise ConfigError(
            f"{role} is {said}; name a {role} of the catalogue, or give a component or a wrapped function"
        )
    return made


def _named(name: str | None, images: GivenImages) -> str:
    if name is None:
        return _as_name(Path(images).absolute().name if isinstance(images, str | Path) else "images", "images")
    if _as_name(name, "") != name:
        raise ConfigError(f"name is {name!r:.100}; use a-z 0-9 _ and begin with a letter")
    return name


def _name_of(component: Component) -> str:
    return _as_name(component.provider.rpartition(":")[2], component.kind)


def _as_name(text: str, otherwise: str) -> str:
    """``text`` as a name that a score's keys may have."""
    name = re.sub(r"[^a-z0-9_]+", "_", text.casefold()).strip("_")[:64]
    return name if re.match("[a-z]", name) else otherwise
