"""For notebooks: a first look at a model without a project, and the scores, rows, chains and answers of a project.

Opening a project reads stored files alone: no component is called, and no MLflow is asked but one that the environment
names. What is shown in a notebook is inert HTML.
"""

import base64
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

from PIL import Image
from pydantic import ValidationError
from rich.console import RenderableType

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.collecting import StageInputs, write_collected
from driftledger.benchmarks.descriptions import Description
from driftledger.benchmarks.registry import benchmark as specification
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score
from driftledger.benchmarks.scoring import ToScore
from driftledger.benchmarks.traces import Shot, Shown, Trace
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError, StoreError, first_few, unknown_name
from driftledger.core.files import load_yaml, read_jsonl
from driftledger.core.paths import Combination
from driftledger.core.registry import provider_class
from driftledger.core.strict import explain
from driftledger.core.terminal import show
from driftledger.core.text import as_many, figure, for_html, for_line
from driftledger.core.types import Outcome
from driftledger.data.build import build
from driftledger.data.datasets.base import DatasetProvider, reached
from driftledger.data.datasets.decode import FORMATS
from driftledger.data.datasets.image_folder import ImageFolder, safe_id
from driftledger.data.records import read_samples
from driftledger.ledger import answers
from driftledger.ledger.audit import Sources, find_run, resolve_target
from driftledger.ledger.compare import Comparison, as_table, compare
from driftledger.ledger.lineage import read_all_evidence, read_lineage
from driftledger.ledger.lock import read_lock
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.published import read_published
from driftledger.project.catalogue import CatalogueEntry, catalogue
from driftledger.project.presets import name_of, section_text
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS
from driftledger.reports.scores import selected_score
from driftledger.reports.site.thumbnails import thumbnail

if TYPE_CHECKING:
    import pandas as pd

GivenImages: TypeAlias = "str | Path | DatasetProvider | Iterable[str | Path | Image.Image]"
"""A folder, any other source of a dataset, or a list of files and of Pillow's images."""

SCORES = (
    *("benchmark", "on", "model", "generator", "encoder", "description"),
    *("metric", "title", "value", "low", "high", "unit", "higher_is_better", "headline", "coverage"),
)
"""Columns of a table of scores."""
_WIDTH, _LINE, _LONGEST = 100, 88, 1_000
"""Columns of an answer's text; characters of a description in a line of text, and in a page."""
_SIDE = 160
"""Pixels of a picture's longer side, at most."""
_CELL = f'style="vertical-align: top; text-align: left; min-width: {_SIDE}px; max-width: {_SIDE + 60}px"'
_TEXT = 'style="max-height: 12em; overflow-y: auto; white-space: pre-wrap; font-size: smaller"'


@dataclass(frozen=True, repr=False)
class Answer:
    """An answer of the ledger: its text is what the command of the same name prints, ``data`` is what is behind it."""

    tree: RenderableType
    data: dict[str, Any]

    def __repr__(self) -> str:
        text = io.StringIO()
        show(self.tree, text, _WIDTH)
        return text.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{for_html(repr(self))}</pre>"


@dataclass(frozen=True, repr=False)
class Compared(Answer):
    """Two runs, metric by metric, with paired intervals over what both were measured on."""

    comparison: Comparison

    @property
    def table(self) -> "pd.DataFrame":
        """A row per metric: ``benchmark``, ``on``, ``metric``, both values ``a`` and ``b``, B's less A's over the units
        that both have as ``difference``, its interval from ``low`` to ``high``, how many units these are, ``common``,
        and the ``verdict`` in words."""
        import pandas as pd

        columns = ["metric", "a", "b", "difference", "low", "high", "common", "verdict"]
        rows = [
            (pair.benchmark, pair.on, *(getattr(each, name) for name in columns))
            for pair in self.comparison.pairs
            for each in pair.metrics
        ]
        return pd.DataFrame(rows, columns=["benchmark", "on", *columns])


class ChainLine(NamedTuple):
    """The chain of one run."""

    title: str
    """The model."""
    through: str
    """The generator and the encoder."""
    trace: Trace

    def iterations(self) -> Iterator[tuple[str, Mapping[str, Shown], str]]:
        """Yield each iteration's title, what came of it, and what ended the chain there; further repeats follow."""
        steps = dict[str, tuple[dict[str, Shown], list[str]]]()
        for step in self.trace.steps:
            title = f"{step.again}, {step.column}" if step.again else step.column
            gave, trouble = steps.setdefault(title, ({}, []))
            gave |= step.gave
            trouble += [] if step.outcome is Outcome.OK else [": ".join(filter(None, (step.outcome, step.error)))]
        return ((title, gave, "; ".join(trouble)) for title, (gave, trouble) in steps.items())


@dataclass(frozen=True, repr=False)
class Chains:
    """One sample's chains, a line per run. In a notebook it shows itself with pictures, which are in the page."""

    sample: str
    lines: Sequence[ChainLine]

    def __repr__(self) -> str:
        texts = [for_line(self.sample)]
        for line in self.lines:
            texts.append(f"  {for_line(line.title)} · {for_line(line.through)}{_values(line.trace.values, ': ')}")
            for title, gave, trouble in line.iterations():
                text = as_many([trouble or str(gave.get("description") or "nothing was said")], _LINE)
                texts.append(f"    {title}{_values(gave, ', ')}: {text}")
        return "\n".join(texts)

    def _repr_html_(self) -> str:
        rows = ""
        for line in self.lines:
            head = "".join(
                f"<div>{for_html(for_line(text))}</div>"
                for text in (line.title, line.through, _values(line.trace.values))
            )
            cells = [self._cell(line.trace.start, line.trace.asked, ""), *(self._cell(*e) for e in line.iterations())]
            rows += f"<tr><th {_CELL}>{head}</th>{''.join(cells)}</tr>"
        return f'<div style="overflow-x: auto"><b>{for_html(for_line(self.sample))}</b><table>{rows}</table></div>'

    def _cell(self, title: str, shown: Mapping[str, Shown], trouble: str) -> str:
        parts = [f"<div>{for_html(title + _values(shown, ', '))}</div>"]
        for shot in shown.values():
            if isinstance(shot, Shot):
                data, alt = thumbnail(shot.file, _SIDE), for_html(for_line(f"{self.sample}: {title}"))
                parts.append(f'<img src="data:image/webp;base64,{base64.b64encode(data).decode()}" alt="{alt}">')
        parts += [f"<div><b>{for_html(trouble[:_LONGEST])}</b></div>"] if trouble else []
        text = str(shown.get("description") or "")
        more = f" … ({len(text) - _LONGEST} more characters)" if len(text) > _LONGEST else ""
        return f"<td {_CELL}>{''.join(parts)}<div {_TEXT}>{for_html(text[:_LONGEST] + more)}</div></td>"


def _values(values: Mapping[str, Shown], joint: str = "") -> str:
    """The fractions among these, with their titles."""
    text = ", ".join(for_line(f"{title} {value:.3f}") for title, value in values.items() if isinstance(value, float))
    return f"{joint}{text}" if text else ""


def open_project(path: str | os.PathLike[str] = ".", *, trust: bool = False) -> "OpenedProject":
    """Open the project whose ``params.yaml`` is in the folder ``path``.

    What is asked of it is answered from the files that ``dvc repro`` or ``dvc pull`` left there.

    Args:
        trust: the checkout is your own: its links and its DVC cache are followed, and its own code may be run.

    Raises:
        ConfigError: there is no ``params.yaml``, or something in it is wrong.
    """
    root = Path(path).expanduser().absolute()
    if not (root / PARAMS).is_file():
        raise ConfigError(f"{root} holds no {PARAMS}; open the top folder of a project")
    project = Project(root, own_code=trust)
    assert project.settings  # which are checked when they are read
    return OpenedProject(project)


class OpenedProject:
    """A project whose files are read when they are asked for, so that what ``dvc repro`` has changed since is seen."""

    def __init__(self, project: Project) -> None:
        self._project, self.path = project, project.root

    def __repr__(self) -> str:
        runs, selected = len(self._project.combinations), self._project.selected
        stored = len(list(filter(self._is_stored, selected)))
        return f"<project {self.path}: {runs} runs, {stored} of {len(selected)} scores>"

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
            stored = len(list(filter(self._is_stored, scores)))
            rows.append((*combination, stored, len(scores), fingerprint in published, fingerprint[:12]))
        columns = [*Combination._fields, "scores", "selected", "published", "fingerprint"]
        return pd.DataFrame(rows, columns=columns)

    def scores(self, benchmark: str | None = None) -> "pd.DataFrame":
        """The selected scores that exist: a row per score and metric, with the columns of :data:`SCORES`.

        ``metric`` is the key in the score file and ``title`` what people call it; ``low`` and ``high`` are the ends of
        the interval, NaN where there is none. For a table as in a paper,
        ``scores(benchmark).pivot(index="model", columns="title", values="value")``.

        Raises:
            ConfigError: there is no such benchmark.
            StoreError: no score exists, or one was computed with other settings than ``params.yaml`` has now.
        """
        import pandas as pd

        rows = []
        for spec, score in self._scores(benchmark):
            headlines = spec.headlines(score)
            for metric in spec.metrics:
                for key in spec.keys_of(metric, score):
                    numbers = (score.metrics[key], *(score.interval(key) or (None, None)))
                    facts = (metric.unit, metric.higher_is_better, key in headlines, score.coverage)
                    rows.append((*_about(score).values(), key, metric.named(key), *numbers, *facts))
        frame = pd.DataFrame(rows, columns=list(SCORES))
        return frame.astype({"value": float, "low": float, "high": float, "coverage": float})

    def rows(self, benchmark: str, **of: str) -> "pd.DataFrame":
        """What each sample, question or pair is worth: a row for each of them, ``unit``, in each score of a benchmark.

        ``on``, ``model``, ``generator``, ``encoder`` or ``description`` narrow the scores down. A value over several
        steps, orders or gradings has a numbered column for each, ``similarity_1``. Errors as in :meth:`scores`.
        """
        import pandas as pd

        scores = [(spec, score) for spec, score in self._scores(benchmark) if of.items() <= _about(score).items()]
        if not scores:
            names = ", ".join(f"{key} {name!r}" for key, name in of.items())
            raise StoreError(f"{benchmark} has no score here with {names}; scores({benchmark!r}) tells which there are")
        scored = [(score, self._rows(spec, score.keys)) for spec, score in scores]
        several = {key for _, rows in scored for row in rows for key, values in row.values.items() if len(values) > 1}
        return pd.DataFrame([_cells(score, row, several) for score, rows in scored for row in rows])

    def chains(self, sample: str, benchmark: str = "genception") -> Chains:
        """What became of a sample: the original, every redrawing, descriptions and similarities, a line per run.

        Raises:
            ConfigError: there is no such benchmark.
            LedgerError: no chain is of that sample, or ``dvc.lock`` does not have its score.
            StoreError: no score exists.
        """
        lock, units, lines = read_lock(self.path), dict[str, None](), list[ChainLine]()
        for spec, keys in self._stored(benchmark):
            rows = self._rows(spec, keys)
            units |= dict.fromkeys(row.unit for row in rows)
            if mine := [row for row in rows if row.unit == sample and "generator" in keys]:
                lineage = read_lineage(Workspace(self.path), lock, spec, keys)
                lines += _lines(spec, lineage.places(self.path), lineage.score, mine)
        if not lines:
            nearest = ", ".join(get_close_matches(sample, units, cutoff=0))
            raise LedgerError(f"no chain here is of sample {for_line(sample)!r:.200}; nearest: {for_line(nearest)}")
        return Chains(sample, lines)

    def audit(self, target: str) -> Answer:
        """Where a run, a score file, an image or one number, ``RUN:METRIC``, comes from; as ``driftledger audit``.

        Raises:
            LedgerError: nothing has that name.
        """
        found = resolve_target(Sources(self._project), target)
        return Answer(answers.as_answer(found), json.loads(json.dumps(answers.data_of(found))))

    def compare(self, a: str, b: str, *, anyway: bool = False) -> Compared:
        """Two runs, metric by metric, with paired intervals over what both were measured on; as ``driftledger
        compare``.

        Args:
            anyway: rank also what is not comparable; what argues against it is listed all the same.

        Raises:
            LedgerError: there is no such run, or both have nothing in common.
        """
        sources = Sources(self._project)
        compared = compare(find_run(sources, a), find_run(sources, b), sources.contents, anyway=anyway)
        return Compared(as_table(compared), json.loads(json.dumps(compared.to_dict())), compared)

    def _stored(self, name: str | None) -> list[tuple[Benchmark, Mapping[str, str]]]:
        """The benchmark and the keys of each stored score, of one benchmark or of all."""
        wanted = None if name is None else specification(name)
        scores = [each for each in self._project.selected if wanted in (None, each[0]) and self._is_stored(each)]
        if not scores:
            of = f" of {name}" if name else ""
            raise StoreError(f"{self.path} has no score{of} that params.yaml selects; run 'dvc repro' or 'dvc pull'")
        return scores

    def _scores(self, name: str | None) -> Iterator[tuple[Benchmark, Score]]:
        return ((spec, selected_score(self._project, spec, keys)) for spec, keys in self._stored(name))

    def _is_stored(self, score: tuple[Benchmark, Mapping[str, str]]) -> bool:
        return (self.path / score[0].scores.at(score[1]) / SCORE).is_file()

    def _rows(self, spec: Benchmark, keys: Mapping[str, str]) -> list[Row]:
        return read_jsonl(self.path / spec.scores.at(keys) / ROWS, Row)


def _lines(spec: Benchmark, folders: Mapping[str, Path], score: Score, rows: Sequence[Row]) -> list[ChainLine]:
    through = f"{score.keys['generator']} · {score.keys['encoder']}"
    return [ChainLine(score.model, through, trace) for trace in spec.traces(folders, score, rows)]


def _about(score: Score) -> dict[str, str | None]:
    """What a score is of; None where a benchmark has no such key."""
    keys = score.keys
    return {
        "benchmark": score.benchmark,
        "on": score.on,
        "model": score.model,
        "generator": keys.get("generator"),
        "encoder": keys.get("encoder") or keys.get("text_encoder"),
        "description": keys.get("description"),
    }


def _cells(score: Score, row: Row, several: set[str]) -> dict[str, Any]:
    cells: dict[str, Any] = {**_about(score), "unit": row.unit, "group": row.group, "cluster": row.cluster}
    cells["outcome"] = str(row.outcome)
    for key, values in row.values.items():
        names = [f"{key}_{number}" if key in several else key for number in range(1, len(values) + 1)]
        cells |= {name: float("nan") if value is None else value for name, value in zip(names, values, strict=True)}
    return cells | {key: value for key, value in row.extra.items() if key not in cells}


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
            sample: as ``table`` has it; without it the one that has kept the least.

        Raises:
            LedgerError: there is no such sample.
        """
        by_name = {row.unit: row for row in self.rows}
        kept = [(gc, row.unit) for row in self.rows if (gc := row.values["gc"][-1]) is not None]
        name = min(kept)[1] if sample is None else sample
        if name not in by_name:
            raise LedgerError(unknown_name("sample", name, by_name))
        return Chains(name, _lines(specification("genception"), self._folders, self.score, [by_name[name]]))

    def __repr__(self) -> str:
        return "\n".join([*self._head(), repr(self.table)])

    def _repr_html_(self) -> str:
        head = "".join(f"<div>{for_html(each)}</div>" for each in self._head())
        table = self.table.to_html(index=False, float_format="{:.3f}".format)
        return f"{head}{table}{self.chains()._repr_html_()}"

    def _head(self) -> list[str]:
        names, score = " · ".join(self.score.keys[key] for key in ("model", "generator", "encoder")), self.score
        head = f"{names}: GC@{self.iterations} {self.gc} over {score.scored} of {score.total} images"
        return [head, *(f"to know: {for_line(flag)}" for flag in score.flags)]


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
    from driftledger.project.asking import ask  # which loads components

    spec = specification("genception")
    changed = {"iterations": iterations, "text_encoder": None}
    try:
        section = spec.settings.model_validate(load_yaml(section_text(spec.name))[spec.name] | changed)
    except ValidationError as error:
        raise ConfigError(explain(error, "evaluate")) from None
    describer = cast(Model, _component("model", model))
    drawer = cast(Generator, _component("generator", generator))
    looker = cast(Encoder, _component("encoder", encoder))
    if name is None:
        name = name_of(Path(images).absolute().name) if isinstance(images, str | Path) else "images"
    elif name_of(name) != name:
        raise ConfigError(f"name is {name!r:.100}; use a-z 0-9 _ and begin with a letter")
    keys = {"dataset": name}
    for given, component in ((model, describer), (generator, drawer), (encoder, looker)):
        keys[component.kind] = given if isinstance(given, str) else name_of(component.provider.rpartition(":")[2])
    if not looker.sees:
        raise ConfigError(f"the encoder {keys['encoder']} has no image tower; name one that sees images")
    kept = TemporaryDirectory(prefix="driftledger-")
    folders = {"dataset": Path(kept.name) / name, "chain": Path(kept.name) / "chains"}
    inputs = StageInputs(
        keys={key: keys[key] for key in ("dataset", "model", "generator")},
        section=section,
        seed=seed,
        folders=folders,
        model=lambda _: describer,
        generator=lambda _: drawer,
        encoder=lambda _: looker,
        description=dict[str, Description]().__getitem__,
    )
    try:
        _build_images(images, folders["dataset"])
        collecting = spec.collecting(inputs)
        with CallStore(Path(kept.name) / "calls") as store:
            collected = ask(collecting, store)
        write_collected(folders["chain"], collecting, collected)
        scoring = spec.scoring_of(section, seed)
        score, rows = spec.score(ToScore(keys, folders, scoring, 0.0, {"encoder": looker}))
    except BaseException:
        kept.cleanup()
        raise
    finally:
        for each in (describer, drawer, looker):
            each.release()
    return FirstLook(score, rows, iterations, folders, kept)


def _build_images(images: GivenImages, folder: Path) -> None:
    """Write the dataset of these images, as the stage of a project does.

    Raises:
        ConfigError: a file is missing, or nothing is given.
        DataError: one of them is not an image of a format that is read.
    """
    if isinstance(images, DatasetProvider | str | Path):
        source = images if isinstance(images, DatasetProvider) else ImageFolder(path=Path(images))
        build(folder.name, source, folder)
        return
    given, names = folder.with_name("given"), list[str]()
    given.mkdir()
    for number, image in enumerate(images, 1):
        if isinstance(image, Image.Image):
            names.append(f"image_{number:03}.png")
            image.save(given / names[-1])
        elif isinstance(image, str | Path):
            file = reached(Path(image), "file", "images to files that are here", "the image ")
            twice = file.stem.casefold() in {Path(each).stem.casefold() for each in names}
            names.append(f"{file.stem}_{number:03}{file.suffix}" if twice else file.name)
            shutil.copyfile(file, given / names[-1])
        else:
            raise ConfigError(f"images holds {type(image).__name__}; name files, or give images of Pillow's")
    if not names:
        raise ConfigError("images is an empty list; name a folder, files or images of Pillow's")
    build(folder.name, ImageFolder(path=given), folder)
    ids = {sample.id for sample in read_samples(folder)}
    if unread := [each for each in names if safe_id(each) not in ids]:
        raise ConfigError(f"images: unsupported format: {first_few(unread)} (supported: {', '.join(FORMATS)})")


def _component(role: str, given: "str | Component | type[Component]") -> Component:
    """Return the component that is meant.

    Raises:
        ConfigError: it is unknown, of another kind, or its settings are wrong.
    """
    component: object = given
    try:
        if isinstance(given, str):
            entries = catalogue(f"{role}s")
            if given not in entries:
                raise ConfigError(unknown_name(role, given, entries))
            entry = cast(CatalogueEntry, entries[given])
            component = provider_class(f"{role}s", entry.provider).model_validate(entry.model_extra)
        elif isinstance(given, type):
            component = given()
    except ValidationError as error:
        raise ConfigError(explain(error, role)) from None
    if not isinstance(component, Component) or component.kind != role:
        what = component.provider if isinstance(component, Component) else type(component).__name__
        raise ConfigError(f"{what} is no {role}; give a {role}'s name in the catalogue, a component or a function")
    return component
