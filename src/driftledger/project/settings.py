"""``params.yaml`` → frozen, validated settings.

Each registered benchmark has a list in ``run``, and a section of its own; without it, the one
that it comes with holds.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, PrivateAttr, ValidationError, create_model
from ruamel.yaml import YAML

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.descriptions import Description
from driftledger.benchmarks.base.settings import EntryOf, OfSelected, Section
from driftledger.benchmarks.base.stage import DATASET, Stage
from driftledger.benchmarks.registry import (
    benchmark,
    benchmark_names,
    question_rules,
    shipped_section,
)
from driftledger.components.base import Encoder, Model
from driftledger.core.errors import ConfigError, UntrustedCodeError, unknown_name
from driftledger.core.files import LARGEST_YAML, load_yaml, read_regular, reading
from driftledger.core.paths import Keys
from driftledger.core.registry import PROVIDED_SECTIONS
from driftledger.core.strict import Name, Strict, mistakes
from driftledger.data.question_sets.base import QuestionProvider
from driftledger.project.catalogue import (
    DESCRIPTIONS,
    CatalogueEntry,
    CorrelationSettings,
    catalogue,
    checked_class,
    shipped,
)

PARAMS = "params.yaml"


def _no_duplicates(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in sorted(names):
        if names.count(name) > 1:
            raise ValueError(f"{name!r} is selected twice")
    return names


AnySelection = Annotated[tuple[Name, ...], AfterValidator(_no_duplicates)]
Entries = dict[Name, CatalogueEntry]
Given = Mapping[tuple[str, str], Any]
"""Section and name → a component or the provider of data."""


class RunSettings(Strict):
    """The entries that are evaluated, in every combination.

    Each benchmark may have a list of what it goes over.
    """

    datasets: AnySelection = ()
    """All datasets to build; each benchmark goes over its own list of them."""
    question_sets: AnySelection = ()
    models: Annotated[AnySelection, Field(min_length=1)]
    generators: AnySelection = ()
    encoders: AnySelection = ()
    """Encoders of images."""
    text_encoders: AnySelection = ()
    """Encoders of descriptions; headline figures use the first."""
    descriptions: AnySelection = ()
    """Ways to ask for a description; headline figures use the first."""
    judge: Name | None = None
    """The model that grades open answers."""
    seed: int = Field(ge=0, lt=2**32)


class Tracking(Strict):
    """The place where runs are shown. ``MLFLOW_TRACKING_URI`` overrides ``uri``."""

    uri: str = Field(min_length=1)
    artifacts: str | None = Field(default=None, min_length=1)
    """The folder for files of a new experiment, if ``uri`` is a database that all clones address
    themselves: a server knows its own, and a SQLite file has them beside it.
    ``MLFLOW_DEFAULT_ARTIFACT_ROOT`` overrides it."""
    experiment: str = Field(min_length=1, max_length=200)
    traces: Literal["all", "none"] | Annotated[int, Field(ge=1)]
    """How many units of each score a run shows step by step."""


class Settings(Strict):
    """All of ``params.yaml``; names without an entry are looked up in the catalogue."""

    run: RunSettings
    tracking: Tracking
    store: str | None = Field(default=None, min_length=1)
    """The folder for finished calls in place of ``.driftledger``; ``DRIFTLEDGER_STORE`` overrides
    it."""
    correlation: CorrelationSettings = Field(
        default_factory=lambda: CorrelationSettings.model_validate(
            shipped("correlation")
        )
    )
    """By default, the catalogue's models on the leaderboards that come with it."""
    descriptions: dict[Name, Description] = Field(default_factory=dict)
    datasets: Entries = Field(default_factory=dict)
    models: Entries = Field(default_factory=dict)
    generators: Entries = Field(default_factory=dict)
    encoders: Entries = Field(default_factory=dict)
    question_sets: Entries = Field(default_factory=dict)
    _own_code: Path | None = PrivateAttr(default=None)
    _given: Given = PrivateAttr(default_factory=dict)

    @property
    def own_code(self) -> Path | None:
        """The project's top folder, if its own classes may be imported.

        If it is None, entries that name such classes are not checked.
        """
        return self._own_code

    @property
    def given(self) -> Given:
        """Components and providers passed from Python, such as functions of a notebook."""
        return self._given

    @property
    def benchmarks(self) -> tuple[Benchmark, ...]:
        """The benchmarks with at least one dataset or question set selected."""
        selected = [name for name in benchmark_names() if getattr(self.run, name)]
        return tuple(map(benchmark, selected))

    @property
    def judge(self) -> str | None:
        """The name of the judge; None if no selected benchmark needs one.

        Raises:
            ConfigError: one is needed, and ``run.judge`` is not set.
        """
        if not any(spec.collects.judged for spec in self.benchmarks):
            return None
        if self.run.judge is None:
            raise ConfigError(
                f"{PARAMS}: run.judge names no model; name the one that grades open answers"
            )
        return self.run.judge

    def keys_of(
        self, spec: Benchmark, stage: Stage | None = None, model: str | None = None
    ) -> list[Keys]:
        """Return the keys of every folder that a stage writes, in the order of ``run:``.

        Args:
            stage: of the benchmark; without it the one that scores.
            model: only its folders.
        """
        choices = {}
        for key in (stage or spec.scores).keys:
            choices[key] = self.names(spec, key)
        if model:
            choices["model"] = (model,)
        combinations = product(*choices.values())
        return [dict(zip(choices, names, strict=True)) for names in combinations]

    def names(self, spec: Benchmark, key: str) -> tuple[str, ...]:
        """Return the selected names for a key of a benchmark's stages.

        They are those that its section lists. Otherwise ``dataset`` and ``question_set`` have the
        benchmark's list in ``run``; ``model``, ``generator`` and the like, what is selected for
        all.
        """
        names = getattr(self.section(spec.name), f"{key}s", None)
        if names is None:
            names = getattr(self.run, spec.name if key in spec.data.keys else f"{key}s")
        return tuple(names)

    def section(self, benchmark_name: str) -> Section:
        """Return the settings of a benchmark."""
        section: Section | None = getattr(self, benchmark_name)
        return _shipped_section(benchmark_name) if section is None else section

    def entries(self, section: str) -> dict[str, Any]:
        """Return a section's entries by name; ``params.yaml`` wins over the catalogue."""
        return {**catalogue(section), **getattr(self, section)}

    def entry(self, section: str, name: str) -> Any:
        """Return the entry of that name: a :class:`Description` or a :class:`CatalogueEntry`.

        Raises:
            ConfigError: the name is unknown.
        """
        if name not in (entries := self.entries(section)):
            raise ConfigError(unknown_name(f"{PARAMS}: {section}:", name, entries))
        return entries[name]

    def named(self, section: str) -> tuple[str, ...]:
        """Return the names of a section's entries that take part, each once."""
        names: list[str | None] = [*getattr(self.run, section)]
        if section == "encoders":
            names += self.run.text_encoders
        if section == "models":
            names.append(self.judge)
        for _, entry, name in self.references():
            if entry.section == section:
                names.append(name)
        if section in ("encoders", "models"):
            for name in self.named(DESCRIPTIONS):
                if examples := self.description(name).demonstrations:
                    names.append(
                        examples.encoder if section == "encoders" else examples.by
                    )
        return tuple(dict.fromkeys(name for name in names if name is not None))

    def references(self) -> Iterator[tuple[str, EntryOf, str]]:
        """Yield each setting of a benchmark that names an entry, its mark, and the name."""
        for spec in self.benchmarks:
            for key, entry, names in self.section(spec.name).marks(EntryOf):
                for name in names:
                    yield f"{spec.name}.{key}", entry, name

    def description(self, name: str) -> Description:
        """Return the description of that name; errors as in :meth:`entry`."""
        description: Description = self.entry(DESCRIPTIONS, name)
        return description

    def build(self, section: str, name: str) -> Any:
        """Make the component or the source of data that an entry describes.

        Raises:
            ConfigError: the name is unknown, its class lacks something, or its settings are wrong.
            UntrustedCodeError: it is the project's own code, which may not be run.
        """
        entry = self.entry(section, name)
        where = f"{PARAMS}: {section}.{name}"
        if (section, name) in self._given:
            return self._given[section, name]
        try:
            provided = checked_class(section, entry.provider, self.own_code)
            return provided.model_validate(entry.model_extra)
        except ValidationError as error:
            raise ConfigError(
                *(f"{where}: {mistake}" for mistake in mistakes(error))
            ) from None
        except ConfigError as error:
            error.args = (f"{where}: {error}",)
            raise


@cache
def _shipped_section(name: str) -> Section:
    return benchmark(name).settings.model_validate(shipped_section(name))


@cache
def _settings_class(names: tuple[str, ...]) -> type[Settings]:
    """Return :class:`Settings` with a list in ``run`` and a section per benchmark."""
    known = {
        *dir(Settings),
        *Settings.model_fields,
        *dir(RunSettings),
        *RunSettings.model_fields,
    }
    for name in names:
        if name in known:
            raise ConfigError(
                f"a benchmark cannot be called {name!r}, which has a meaning in {PARAMS}; rename it"
            )
    lists: dict[str, Any] = dict.fromkeys(names, (AnySelection, ()))
    run = create_model("RunSettings", __base__=RunSettings, **lists)
    sections = dict[str, Any]()
    for name in names:
        sections[name] = (benchmark(name).settings | None, None)
    return create_model("Settings", __base__=Settings, run=(run, ...), **sections)


def load_settings(path: Path = Path(PARAMS), *, own_code: bool = False) -> Settings:
    """Read and check ``params.yaml`` and the settings of selected entries.

    Args:
        own_code: whether classes in the file's folder may be imported.

    Raises:
        ConfigError: as of :func:`read_params`; or something in it is unknown or out of bounds.
    """
    folder = path.absolute().parent
    within = None if own_code else folder
    content = read_params(folder, within=within)
    text = partial(read_regular, path, LARGEST_YAML, within=within)
    return parse_settings(content, str(path), folder if own_code else None, text=text)


def read_params(root: Path, *, within: Path | None = None) -> Any:
    """Read the settings of a project, unchecked.

    Args:
        within: as of :func:`~driftledger.core.files.read_regular`.

    Raises:
        ConfigError: they are missing or not YAML, or a version before 1.0 made the project, which
            the first line of its pipeline says.
    """
    with suppress(OSError, ValueError):
        pipeline = read_regular(root / "dvc.yaml", LARGEST_YAML, within=within)
        if written := re.match(rb"# Written by driftledger (0\.[0-9.]+)", pipeline):
            raise ConfigError(
                f"driftledger {written[1].decode()} made this project, and its files are not read "
                "here; docs/troubleshooting.md, 'A project of 0.2', says how to bring it up to date"
            )
    return read_yaml(root / PARAMS, within=within)


def read_yaml(path: Path, *, within: Path | None = None) -> Any:
    """Read a file of settings in the checkout, unchecked.

    Args:
        within: as of :func:`~driftledger.core.files.read_regular`.

    Raises:
        ConfigError: it is missing, or is not YAML.
    """
    missing = "run this in a project, or 'driftledger init' first"
    with reading(path, ConfigError, missing=missing, unread=": {}"):
        data = read_regular(path, LARGEST_YAML, within=within)
    try:
        content = load_yaml(data.decode())
        json.dumps(content)
    except TypeError as error:
        raise ConfigError(
            f"{path} holds a value that DVC cannot store ({error}); put a date into quotes"
        ) from None
    except ValueError as error:
        raise ConfigError(f"{path} is not YAML: {error}") from None
    return content


def parse_settings(
    raw: Any,
    where: str,
    own_code: Path | None = None,
    given: Given | None = None,
    text: Callable[[], bytes] = bytes,
) -> Settings:
    """Check the content of ``params.yaml`` and the settings of selected entries.

    Errors name it ``where``.

    Args:
        given: components and providers to use in place of entries.
        own_code: the folder with modules that may be imported; None leaves entries that name some
            unchecked.
        text: reads the file, to find the lines of errors.

    Raises:
        ConfigError: something in it is unknown or out of bounds; with a sentence for each mistake.
    """
    try:
        settings = _settings_class(benchmark_names()).model_validate(raw)
        settings._own_code = own_code
        settings._given = given or {}
        sentences = [*_selection(settings), *_components(settings)]
    except ValidationError as error:
        sentences = mistakes(error)
    except ConfigError as error:
        sentences = [*error.args]
    if sentences:
        content = YAML().load(text())
        raise ConfigError(
            *(_placed(where, content, sentence) for sentence in sentences)
        )
    return settings


def _placed(where: str, content: Any, sentence: str) -> str:
    """Put the file and the line in front of a sentence that begins with a setting.

    The result is ``x, line 3: run.seed: …``.
    """
    sentence = sentence.removeprefix(f"{PARAMS}: ")
    line = ""
    with suppress(AttributeError, KeyError, TypeError):  # it goes on with another word
        for word in re.findall(r"[\w/-]+", sentence.replace("setting '", "")):
            line = f", line {content.lc.key(word)[0] + 1}"
            content = content[word]
    return f"{where}{line}: {sentence}"


def _selection(settings: Settings) -> Iterator[str]:
    """Report datasets selected without effect and missing selections."""
    run = settings.run
    protocols = {}
    if both := sorted({*run.datasets} & {*run.question_sets}):
        which = f"{both[0]!r} is a dataset and a question set"
        yield f"run: {which}, which MLflow cannot tell apart; rename one"
    for name in run.question_sets:
        if isinstance(
            provider := _built(settings, [], "question_sets", name), QuestionProvider
        ):
            try:
                question_rules(provider)
            except ConfigError as error:
                yield f"question_sets.{name}: {error}"
            protocols[name] = provider.protocol
    for spec in settings.benchmarks:
        selected = getattr(run, spec.name)
        built = "datasets" if spec.data is DATASET else "question_sets"
        for name in selected:
            if name not in getattr(run, built):
                yield f"run: {spec.name} goes over {name!r}, which is not in {built}; add it there"
            other = protocols.get(name, spec.name)
            if other != spec.name:
                questions = f"{name!r}, with questions for {other}"
                yield f"run.{spec.name} goes over {questions}; name it in run.{other}"
        empty = [key for key in spec.scores.keys if not settings.names(spec, key)]
        if empty:
            needed = " and ".join(f"run.{key}s" for key in empty)
            yield f"{spec.name} needs {needed}; select some, or nothing in run.{spec.name}"
        for key, mark, names in settings.section(spec.name).marks(OfSelected):
            of = mark.key or spec.name
            if len({*names}) < len(names):
                yield f"{spec.name}.{key} names something twice; remove one of the two"
            for name in names:
                if name not in getattr(run, of):
                    yield (
                        f"{spec.name}.{key}: {name!r} is not in run.{of}; select it, or remove it"
                    )
    for where, entry, name in settings.references():
        if entry.must == "ask once":
            description = settings.description(name)
            if description.demonstrations or len(description.lengths) > 1:
                what = f"{name!r} has demonstrations or several lengths"
                yield f"{where}: {what}; name one that asks once per image"


_ANY_MODEL = {
    "generators": "gpt_image_2 or sdxl",
    "encoders": "dinov2 or siglip_2",
    "models": "gpt_4_1_judge",
}
"""Entries of the catalogue that work for every model, by section."""

Build = Callable[[str, str], Any]
"""Makes a component or source of data; None if it is wrong or may not be run."""


def _components(settings: Settings) -> Iterator[str]:
    """Report components that cannot do their work."""
    wrong = list[str]()
    built = cache(partial(_built, settings, wrong))
    for section in PROVIDED_SECTIONS:
        for name in settings.named(section):
            built(section, name)
    yield from wrong
    yield from missing_towers(settings, built)
    yield from _not_understood(settings, built)


def missing_towers(settings: Settings, built: Build) -> Iterator[str]:
    """Report encoders that cannot encode what they are selected for."""
    run = settings.run
    towers = []
    media = [getattr(built("datasets", name), "medium", None) for name in run.datasets]
    for name in () if "text" in media else run.encoders:  # or as _other_media says
        towers.append(("image", name, "run.encoders", "name it in run.text_encoders"))
    for name in run.text_encoders:
        towers.append(("text", name, "run.text_encoders", "name it in run.encoders"))
    for spec in settings.benchmarks:
        for name in settings.names(spec, "encoder") if spec.encoders_read else ():
            remedy = f"name in {spec.name}.encoders those that read"
            towers.append(("text", name, "run.encoders", remedy))
    for where, entry, name in settings.references():
        if entry.must == "read":
            towers.append(("text", name, where, "name another, or set null"))
    for name in run.descriptions:
        examples = settings.description(name).demonstrations
        if examples and examples.encoder:
            kind = "image" if examples.choose == "similar_image" else "text"
            remedy = f"{examples.choose} needs one; name another"
            towers.append((kind, examples.encoder, f"descriptions.{name}", remedy))
    for kind, name, where, remedy in towers:
        encoder: Encoder | None = built("encoders", name)
        if encoder is not None and not (
            encoder.looks if kind == "image" else encoder.reads
        ):
            yield f"{where}: {name!r} has no {kind} tower; {remedy}"
    yield from _other_media(settings, built)


def _other_media(settings: Settings, built: Build) -> Iterator[str]:
    """Report datasets of texts that a benchmark cannot use, and encoders of the other medium."""
    for spec in settings.benchmarks:
        for on in getattr(settings.run, spec.name) if spec.data is DATASET else ():
            dataset = built("datasets", on)
            has_texts = dataset is not None and dataset.medium == "text"
            if has_texts and not spec.takes_texts:
                yield (
                    f"run.{spec.name}: {on!r} is a dataset of texts, which {spec.title} has no use "
                    "for; take it out"
                )
            for name in _asked(settings, spec).get("encoders", ()):
                encoder: Encoder | None = built("encoders", name)
                if encoder is None or (encoder.reads if has_texts else encoder.looks):
                    continue
                takes, needed = ("image", "text") if has_texts else ("text", "image")
                yield (
                    f"run.encoders: {name!r} takes {takes}s, and run.{spec.name} goes over {on!r}, "
                    f"a dataset of {needed}s; select encoders for {needed}s, or take {on!r} out"
                )


def _asked(settings: Settings, spec: Benchmark) -> dict[str, tuple[str, ...]]:
    """Return the selected components that a benchmark uses, by section."""
    sections = {}
    for stage in spec.stages[1:]:
        for key in stage.keys:
            if f"{key}s" in _ANY_MODEL:
                sections[f"{key}s"] = settings.names(spec, key)
    return sections


def _not_understood(settings: Settings, built: Build) -> Iterator[str]:
    """Report components that only understand certain models, with others selected."""
    readers = dict[tuple[str, str, str], None]()
    for spec in settings.benchmarks:
        for section, names in _asked(settings, spec).items():
            if section != "models":
                for name in names:
                    readers[section, f"run.{section}", name] = None
    if judge := settings.judge:
        readers["models", "run.judge", judge] = None
    for (section, where, name), model in product(readers, settings.run.models):
        reader = built(section, name)
        speaker = built("models", model)
        if (
            speaker is None
            or reader is None
            or reader.understands is None
            or speaker.is_control
        ):
            continue
        bases = [base for base in type(speaker).__mro__ if issubclass(base, Model)]
        is_understood = any(base.provider in reader.understands for base in bases)
        if not is_understood and reader.provider not in speaker.understood_by:
            yield (
                f"{where}: {name!r} only works for models of "
                f"{', '.join(sorted(reader.understands))}, and run.models has {model!r}, of "
                f"{speaker.provider}; select {_ANY_MODEL[section]}, or another entry for every "
                f"model; or set understood_by: [{reader.provider}] in models.{model} if it does"
            )


def _built(settings: Settings, wrong: list[str], section: str, name: str) -> Any:
    """Make what an entry describes; None if it is wrong or may not be run.

    What is wrong is added to ``wrong``.
    """
    try:
        return settings.build(section, name)
    except UntrustedCodeError:
        pass
    except ConfigError as error:
        wrong += error.args
    return None
