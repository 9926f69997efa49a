"""For notebooks: a first look at a model without a project, and the scores, rows, chains and answers of a project.

Opening a project only reads stored files: it calls no component and no MLflow.
"""

import base64
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from PIL import Image
from pydantic import ValidationError

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.collecting import StageInputs, write_collected
from driftledger.benchmarks.descriptions import Description
from driftledger.benchmarks.registry import benchmark as benchmark_of
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.benchmarks.traces import Shot, Trace
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError, StoreError, unknown_name
from driftledger.core.files import load_yaml, read_bytes, read_jsonl
from driftledger.core.paths import Combination
from driftledger.core.registry import provider_class
from driftledger.core.strict import explain
from driftledger.core.text import figure, for_html, for_line, for_terminal, shortened
from driftledger.core.types import Outcome
from driftledger.data.build import build
from driftledger.data.datasets.base import PILLOW_LIMIT, DatasetProvider, reached
from driftledger.data.datasets.decode import decode
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.ledger.answers import data_of
from driftledger.ledger.audit import Sources, find_run, resolve_target
from driftledger.ledger.compare import compare
from driftledger.ledger.lineage import read_all_evidence, read_lineage
from driftledger.ledger.lock import read_lock
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.published import read_published
from driftledger.project.catalogue import CatalogueEntry, catalogue, name_of
from driftledger.project.presets import section_text
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS
from driftledger.reports.scores import selected_score
from driftledger.reports.site.thumbnails import thumbnail

if TYPE_CHECKING:
    import pandas as pd

GivenImages: TypeAlias = "str | Path | DatasetProvider | Iterable[str | Path | Image.Image]"
"""A folder, any other source of a dataset, or a list of files and Pillow images."""

_LONGEST = 1_000
"""Characters of a description in a page, at most."""
_SIDE = 160
"""Pixels of the longer side of a picture, at most."""


@dataclass(frozen=True, repr=False, eq=False)
class Chains:
    """One sample's chains. In a notebook they show their pictures, side by side."""

    sample: str
    table: "pd.DataFrame"
    """A row per run and step: ``model``, ``generator``, ``encoder``, ``step``, the ``similarity`` to the original, the
    ``description``, the ``outcome``, and the path of the ``image``."""

    def __repr__(self) -> str:
        return f"{for_line(self.sample)}\n{self.table.drop(columns='image').to_string(index=False, max_colwidth=60)}"

    def _repr_html_(self) -> str:
        import pandas as pd

        def cell(row: "pd.Series[Any]") -> str:
            parts = [f"{row.similarity:.3f}"] if pd.notna(row.similarity) else []
            if row.image is not None:
                data = base64.b64encode(thumbnail(row.image, _SIDE)).decode()
                parts.append(f'<img src="data:image/webp;base64,{data}">')
            texts = [row.description, "" if row.outcome == Outcome.OK else row.outcome]
            return "<br>".join([*parts, *(for_html(shortened(text, _LONGEST)) for text in texts if text)])

        shown = self.table.assign(shown=self.table.apply(cell, axis=1))
        names = ["model", "generator", "encoder"]
        wide = shown.pivot_table("shown", names, "step", aggfunc="first", sort=False)
        with pd.option_context("display.max_colwidth", None):
            return f"<b>{for_html(for_line(self.sample))}</b>{wide.to_html(escape=False, na_rep='')}"


def chain_steps(score: Score, trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield the rows of a chain in the table of :class:`Chains`: the original, then each iteration of each repeat."""
    names = {key: score.keys[key] for key in ("model", "generator", "encoder")}
    empty = {"similarity": float("nan"), "description": "", "outcome": str(Outcome.OK), "image": None}
    rows = {trace.start: {**names, "step": trace.start, **empty, "image": cast(Shot, trace.inputs["image"]).file}}
    for step in trace.steps:
        name = ", ".join(filter(None, (step.again, step.column)))
        row = rows.setdefault(name, {**names, "step": name, **empty})
        for value in step.outputs.values():
            if isinstance(value, float):
                row["similarity"] = value
            elif isinstance(value, Shot):
                row["image"] = value.file
            elif isinstance(value, str):
                row["description"] = for_terminal(value)
        if step.outcome is not Outcome.OK:
            row["outcome"] = for_line(": ".join(filter(None, (step.outcome, step.error))))
    yield from rows.values()


class OpenedProject:
    """The project with a ``params.yaml`` in a folder. Its files are read at each question, so that changes are seen."""

    def __init__(self, path: str | os.PathLike[str] = ".", *, trust: bool = False) -> None:
        """Open it.

        Args:
            trust: the checkout is your own: its links and its DVC cache are followed, and its own code may be run.

        Raises:
            ConfigError: ``params.yaml`` is missing or wrong.
        """
        self.path = Path(path).expanduser().absolute()
        if not (self.path / PARAMS).is_file():
            raise ConfigError(f"{self.path} has no {PARAMS}; open the top folder of a project")
        self._project = Project(self.path, own_code=trust)
        assert self._project.settings  # which are checked when they are read

    @property
    def runs(self) -> "pd.DataFrame":
        """A row per selected combination: its names, how many ``scores`` it has and how many are ``selected``, whether
        it is ``published`` as it is now, and the start of its ``fingerprint``, empty where scores are missing."""
        import pandas as pd

        published, rows = {each.fingerprint for each in read_published(self.path)}, []
        for combination in self._project.combinations:
            try:
                fingerprint = read_all_evidence(self.path, self._project.selected, [combination])[0].fingerprint
            except DriftledgerError:
                fingerprint = ""
            scores = [each for each in self._project.selected if combination.shows(each[1])]
            stored = sum(map(self._is_stored, scores))
            rows.append((*combination, stored, len(scores), fingerprint in published, fingerprint[:12]))
        columns = [*Combination._fields, "scores", "selected", "published", "fingerprint"]
        return pd.DataFrame(rows, columns=columns)

    def scores(self, benchmark: str | None = None) -> "pd.DataFrame":
        """The selected scores that exist, of one benchmark or all: a row per score and metric.

        ``metric`` is the key in the score file and ``title`` its name for people; ``low`` and ``high`` are the ends of
        the interval, NaN without one. For a table as in a paper,
        ``scores(benchmark).pivot(index="model", columns="title", values="value")``.

        Raises:
            ConfigError: the benchmark does not exist.
            StoreError: no score exists, or one was computed with other settings than ``params.yaml`` has now.
        """
        import pandas as pd

        rows = []
        for spec, keys in self._stored(benchmark):
            score = selected_score(self._project, spec, keys)
            headlines = spec.headlines(score)
            for metric in spec.metrics:
                for key in spec.keys_of(metric, score):
                    low, high = score.interval(key) or (float("nan"), float("nan"))
                    row = {**_names(score), "metric": key, "title": metric.named(key), "value": score.metrics[key]}
                    row |= {"low": low, "high": high, "unit": metric.unit, "higher_is_better": metric.higher_is_better}
                    rows.append({**row, "headline": key in headlines, "coverage": score.coverage})
        return pd.DataFrame(rows)

    def rows(self, benchmark: str) -> "pd.DataFrame":
        """The rows of a benchmark's scores: one per sample, question or pair, called ``unit``.

        A value over several iterations, orders or gradings has a numbered column for each, ``similarity_1``. Errors as
        in :meth:`scores`.
        """
        import pandas as pd

        scores = [(selected_score(self._project, spec, keys), spec, keys) for spec, keys in self._stored(benchmark)]
        pairs = [(score, row) for score, spec, keys in scores for row in self._rows(spec, keys)]
        several = {key for _, row in pairs for key, values in row.values.items() if len(values) > 1}
        cells = []
        for score, row in pairs:
            names = {**_names(score), "unit": row.unit, "group": row.group, "cluster": row.cluster}
            values = {
                f"{key}_{number}" if key in several else key: float("nan") if value is None else value
                for key, some in row.values.items()
                for number, value in enumerate(some, 1)
            }
            cells.append(row.extra | names | {"outcome": str(row.outcome)} | values)
        return pd.DataFrame(cells)

    def chains(self, sample: str) -> Chains:
        """GenCeption's chains of a sample, by every run: the original, each redrawing, descriptions and similarities.

        Raises:
            LedgerError: the sample has no chain, or ``dvc.lock`` does not have its score.
            StoreError: no score exists.
        """
        import pandas as pd

        lock, units, steps = read_lock(self.path), dict[str, None](), list[dict[str, Any]]()
        for spec, keys in self._stored("genception"):
            rows = self._rows(spec, keys)
            units |= dict.fromkeys(row.unit for row in rows)
            if mine := [row for row in rows if row.unit == sample]:
                lineage = read_lineage(Workspace(self.path), lock, spec, keys)
                for trace in spec.traces(lineage.places(self.path), lineage.score, mine):
                    steps += chain_steps(lineage.score, trace)
        if not steps:
            nearest = ", ".join(get_close_matches(sample, units, cutoff=0))
            raise LedgerError(f"no chain of sample {for_line(sample)!r:.200}; nearest: {for_line(nearest)}")
        return Chains(sample, pd.DataFrame(steps))

    def audit(self, target: str) -> dict[str, Any]:
        """Where a run, a score file, an image or one number (``RUN:METRIC``) comes from, as ``audit --json``.

        Raises:
            LedgerError: nothing has that name.
        """
        return data_of(resolve_target(Sources(self._project), target))

    def compare(self, a: str, b: str, *, anyway: bool = False) -> "pd.DataFrame":
        """Compare two runs over what both were measured on: a row per metric; as ``driftledger compare``.

        The columns are ``benchmark``, ``on`` and those of the metrics in its JSON: the values ``a`` and ``b``, their
        ``difference`` over the units that both have, its interval from ``low`` to ``high``, the number of these units,
        ``common``, the ``verdict`` in words and others.

        Args:
            anyway: rank also what is not comparable; the ``verdict`` says so otherwise.

        Raises:
            LedgerError: a run does not exist, or the two have nothing in common.
        """
        import pandas as pd

        sources = Sources(self._project)
        compared = compare(find_run(sources, a), find_run(sources, b), sources.contents, anyway=anyway)
        return pd.json_normalize(compared.to_dict()["pairs"], "metrics", ["benchmark", "on"])

    def _stored(self, name: str | None) -> list[tuple[Benchmark, Mapping[str, str]]]:
        """The benchmark and the keys of each stored score, of one benchmark or of all."""
        wanted = None if name is None else benchmark_of(name)
        scores = [each for each in self._project.selected if wanted in (None, each[0]) and self._is_stored(each)]
        if not scores:
            of = f" of {name}" if name else ""
            raise StoreError(f"{self.path} has no score{of} that params.yaml selects; run 'dvc repro' or 'dvc pull'")
        return scores

    def _is_stored(self, score: tuple[Benchmark, Mapping[str, str]]) -> bool:
        return (self.path / score[0].scores.at(score[1]) / SCORE).is_file()

    def _rows(self, spec: Benchmark, keys: Mapping[str, str]) -> list[Row]:
        return read_jsonl(self.path / spec.scores.at(keys) / ROWS, Row)


def _names(score: Score) -> dict[str, str | None]:
    """The names that identify a score; None where its benchmark has no such key."""
    encoder = score.keys.get("encoder") or score.keys.get("text_encoder")
    names: dict[str, str | None] = {"benchmark": score.benchmark, "on": score.on, "model": score.model}
    generator, description = score.keys.get("generator"), score.keys.get("description")
    return {**names, "generator": generator, "encoder": encoder, "description": description}


class Estimate(NamedTuple):
    """A mean over images, and the ends of its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return figure(self.value, 3, (self.low, self.high))


@dataclass(frozen=True, repr=False)
class FirstLook:
    """What came of a few images; its pictures lie in a temporary folder, which is removed with it."""

    score: Score
    rows: list[Row]
    iterations: int
    """T."""
    _folders: Mapping[str, Path]
    _kept: "TemporaryDirectory[str]" = field(compare=False)

    @property
    def gc(self) -> Estimate:
        """GC@T: the mean over the images of a category, then over categories, with its interval over images."""
        key = f"gc_at_{self.iterations}"
        return Estimate(self.score.metrics[key], *(self.score.interval(key) or ()))

    @property
    def table(self) -> "pd.DataFrame":
        """A row per image: ``sample``, ``s(1)`` … ``s(T)``, the cosine between the encoder's views of the original and
        of iteration t, ``GC@T``, and the ``outcome`` that its chain ended with; NaN where a chain did not get there."""
        import pandas as pd

        titles = [*(f"s({t})" for t in range(1, self.iterations + 1)), f"GC@{self.iterations}"]
        numbers = [(*row.values["similarity"], row.values["gc"][-1]) for row in self.rows]
        table = pd.DataFrame(numbers, columns=titles, dtype=float)
        table.insert(0, "sample", [row.unit for row in self.rows])
        return table.assign(outcome=[str(row.outcome) for row in self.rows])

    def chains(self, sample: str | None = None) -> Chains:
        """An image, its redrawings, descriptions and similarities side by side.

        Args:
            sample: as ``table`` has it; without it the one with the lowest GC@T.

        Raises:
            LedgerError: the sample does not exist.
        """
        import pandas as pd

        by_name, table = {row.unit: row for row in self.rows}, self.table
        name = table.sort_values(f"GC@{self.iterations}")["sample"].iloc[0] if sample is None else sample
        if name not in by_name:
            raise LedgerError(unknown_name("sample", name, by_name))
        traces = benchmark_of("genception").traces(self._folders, self.score, [by_name[name]])
        return Chains(name, pd.DataFrame([step for trace in traces for step in chain_steps(self.score, trace)]))

    def __repr__(self) -> str:
        names, score = " · ".join(self.score.keys[key] for key in ("model", "generator", "encoder")), self.score
        head = f"{names}: GC@{self.iterations} {self.gc} over {score.scored} of {score.total} images"
        return "\n".join([head, *(f"to know: {for_line(flag)}" for flag in score.flags), repr(self.table)])

    def _repr_html_(self) -> str:
        return f"<pre>{for_html(repr(self))}</pre>{self.chains()._repr_html_()}"


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
    like give. The same images, name, seed and components give the same numbers as in a project. Nothing is kept but
    what is returned; a project keeps calls, versions and where each number comes from.

    >>> from PIL import Image
    >>> images = [Image.new("RGB", (64, 48), colour) for colour in ("red", "navy")]
    >>> look = evaluate(model="blind", generator="painter", encoder="layout", images=images, iterations=2)
    >>> list(look.table.columns)
    ['sample', 's(1)', 's(2)', 'GC@2', 'outcome']

    Args:
        images: a folder, in which a subfolder is a category; a list of files and Pillow images; or a dataset provider.
        iterations: T, at most 100.
        seed: what the generator's seeds are derived from, with the name, the sample and t.
        name: what the images are called; without it as their folder, or ``images``.

    Raises:
        ConfigError: a name is unknown, a component is of another kind, or an image is missing.
        DataError: an image cannot be read.
        CoverageError: no chain reached T.
        ServiceError: a service refuses.
    """
    from driftledger.project.asking import ask  # which loads components

    spec = benchmark_of("genception")
    try:
        settings = load_yaml(section_text(spec.name))[spec.name] | {"iterations": iterations, "text_encoder": None}
        section = spec.settings.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(explain(error, "evaluate")) from None
    components, keys = dict[str, Component](), dict[str, str]()
    for role, given in (("model", model), ("generator", generator), ("encoder", encoder)):
        components[role] = _component(role, given)
        keys[role] = given if isinstance(given, str) else name_of(components[role].provider.rpartition(":")[2])
    looker = cast(Encoder, components["encoder"])
    if not looker.sees:
        raise ConfigError(f"the encoder {keys['encoder']} has no image tower; name one that sees images")
    if name is None:
        name = name_of(Path(images).absolute().name) if isinstance(images, str | Path) else "images"
    elif name_of(name) != name:
        raise ConfigError(f"name is {name!r:.100}; use a-z 0-9 _ and begin with a letter")
    kept = TemporaryDirectory(prefix="driftledger-")
    folders = {"dataset": Path(kept.name) / name, "chain": Path(kept.name) / "chains"}
    inputs = StageInputs(
        keys={"dataset": name, "model": keys["model"], "generator": keys["generator"]},
        section=section,
        seed=seed,
        folders=folders,
        model=lambda _: cast(Model, components["model"]),
        generator=lambda _: cast(Generator, components["generator"]),
        encoder=lambda _: looker,
        description=dict[str, Description]().__getitem__,
    )
    try:
        build(name, _source(images, Path(kept.name) / "given"), folders["dataset"])
        collecting = spec.collecting(inputs)
        with CallStore(Path(kept.name) / "calls") as store:
            collected = ask(collecting, store)
        write_collected(folders["chain"], collecting, collected)
        scoring = spec.scoring_of(section, seed)
        score, rows = spec.score(ToScore({"dataset": name, **keys}, folders, scoring, 0.0, {"encoder": looker}))
    except BaseException:
        kept.cleanup()
        raise
    finally:
        for component in components.values():
            component.release()
    return FirstLook(score, rows, iterations, folders, kept)


def _source(images: GivenImages, folder: Path) -> DatasetProvider:
    """Return the source of these images as a dataset; single ones are put into ``folder``.

    Raises:
        ConfigError: a file is missing, or nothing is given.
        DataError: a file is not an image of a format that is read.
    """
    if isinstance(images, DatasetProvider):
        return images
    if isinstance(images, str | Path):
        return ImageFolder(path=Path(images))
    folder.mkdir()
    for number, image in enumerate(images, 1):
        name = f"image_{number:03}"
        if not isinstance(image, Image.Image):
            file = reached(Path(image), "file", "images to files that are here", "the image ")
            name, (image, _) = file.stem, decode(read_bytes(file), str(file), PILLOW_LIMIT)
        image.save(folder / f"{f'{name}_{number:03}' if (folder / f'{name}.png').exists() else name}.png")
    if not any(folder.iterdir()):
        raise ConfigError("images is an empty list; give a folder, files or Pillow images")
    return ImageFolder(path=folder)


def _component(role: str, given: "str | Component | type[Component]") -> Component:
    """Return the component that a name, a class or the component itself means.

    Raises:
        ConfigError: it is unknown or of another kind.
    """
    component: object = given() if isinstance(given, type) else given
    if isinstance(given, str):
        entries = catalogue(f"{role}s")
        if given not in entries:
            raise ConfigError(unknown_name(role, given, entries))
        entry = cast(CatalogueEntry, entries[given])
        component = provider_class(f"{role}s", entry.provider).model_validate(entry.model_extra)
    if not isinstance(component, Component) or component.kind != role:
        what = component.provider if isinstance(component, Component) else type(component).__name__
        raise ConfigError(f"{what} is not a {role}; give a {role}'s name in the catalogue, a component or a function")
    return component
