"""``params.yaml`` → frozen, validated settings. Defaults live in that file and nowhere else."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, cast

import yaml
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from driftledger.components import Component, Encoder, Generator, Model
from driftledger.datasets.base import DatasetProvider
from driftledger.errors import ConfigError, unknown_name
from driftledger.question_sets.base import QuestionProvider
from driftledger.registry import PROVIDERS, provider_class
from driftledger.strict import Strict, explain

PARAMS = "params.yaml"

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""A catalogue name. It becomes a folder, an MLflow metric and, joined to others by ``-``, a DVC stage."""


def _no_duplicates(names: tuple[str, ...]) -> tuple[str, ...]:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{twice[0]!r} is selected twice")
    return names


AnySelection = Annotated[tuple[Name, ...], AfterValidator(_no_duplicates)]
Selection = Annotated[AnySelection, Field(min_length=1)]


class Run(Strict):
    """Which catalogue entries are evaluated, in every combination."""

    datasets: Selection
    models: Selection
    generators: Selection
    encoders: Selection
    question_sets: AnySelection
    """None, where only GenCeption is wanted."""
    judge: Name
    """The model that grades open answers."""
    seed: int = Field(ge=0, lt=2**32)


class Bootstrap(Strict):
    """Percentile bootstrap over samples."""

    resamples: int = Field(ge=100, le=1_000_000)
    confidence: float = Field(gt=0.5, lt=1.0)


class GenCeption(Strict):
    """Settings of the GenCeption protocol."""

    iterations: int = Field(ge=1, le=100)
    describe_prompt: str = Field(min_length=1)
    generate_prompt: str
    min_coverage: float = Field(ge=0.0, le=1.0)
    bootstrap: Bootstrap

    @model_validator(mode="after")
    def _has_place(self) -> "GenCeption":
        if self.generate_prompt.count("{description}") != 1:
            raise ValueError("generate_prompt must hold the placeholder {description} exactly once")
        return self


class Questions(Strict):
    """Settings of the question benchmarks: MM-SAP, MM-Vet and MME."""

    permutations: int = Field(ge=1, le=120)
    choice_prompt: str
    open_prompt: str
    yes_no_prompt: str
    grade_prompt: str
    gradings: int = Field(ge=1, le=100)
    count_free_refusals: bool
    min_coverage: float = Field(ge=0.0, le=1.0)
    bootstrap: Bootstrap

    @model_validator(mode="after")
    def _have_places(self) -> "Questions":
        places = {
            "choice_prompt": ("{question}", "{options}"),
            "open_prompt": ("{question}",),
            "yes_no_prompt": ("{question}",),
            "grade_prompt": ("{question}", "{truth}", "{prediction}"),
        }
        for name, wanted in places.items():
            for place in wanted:
                if getattr(self, name).count(place) != 1:
                    raise ValueError(f"{name} must hold the placeholder {place} exactly once")
        return self

    def prompt_for(self, protocol: str) -> str:
        """The prompt of a benchmark's questions."""
        return {"mm_sap": self.choice_prompt, "mm_vet": self.open_prompt, "mme": self.yes_no_prompt}[protocol]

    def variants_of(self, protocol: str) -> int:
        """How often each question is asked: once per permutation of its options, where it has any."""
        return self.permutations if protocol == "mm_sap" else 1


class Tracking(Strict):
    """Where runs are shown. ``MLFLOW_TRACKING_URI`` overrides ``uri``."""

    uri: str = Field(min_length=1)
    experiment: str = Field(min_length=1, max_length=200)


DVC_IGNORES = ("size", "nfiles")
"""DVC 3.67 leaves keys of these names out when it looks a stage up among past runs, wherever they stand, so that a
changed value would bring back the outputs of the old one. Components are not concerned: stages depend on their
fingerprints."""


class Entry(BaseModel):
    """A catalogue entry: a provider and whatever settings that provider knows."""

    model_config = ConfigDict(frozen=True, extra="allow")

    provider: str

    def settings(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from (str(key), *_keys(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)


Catalogue = dict[Name, Entry]


class Settings(Strict):
    """All of ``params.yaml``."""

    run: Run
    genception: GenCeption
    questions: Questions
    tracking: Tracking
    datasets: Catalogue
    models: Catalogue
    generators: Catalogue
    encoders: Catalogue
    question_sets: Catalogue

    @model_validator(mode="after")
    def _dvc_sees_every_key(self) -> "Settings":
        for section in ("datasets", "question_sets"):
            for name, entry in getattr(self, section).items():
                for key in _keys(entry.settings()):
                    if key in DVC_IGNORES:
                        raise ValueError(
                            f"{section}.{name}: a setting must not be called {key!r}: DVC would not see its changes"
                        )
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> "Settings":
        for section, providers in PROVIDERS.items():
            catalogue: Catalogue = getattr(self, section)
            for name, entry in catalogue.items():
                if entry.provider not in providers:
                    raise ValueError(unknown_name(f"{section}.{name}: provider", entry.provider, providers))
            for name in getattr(self.run, section):
                if name not in catalogue:
                    raise ValueError(unknown_name(f"run.{section}:", name, catalogue))
        if self.run.judge not in self.models:
            raise ValueError(unknown_name("run.judge:", self.run.judge, self.models))
        return self

    def dataset(self, name: str) -> DatasetProvider:
        """The dataset provider behind a catalogue name.

        Raises:
            ConfigError: no such name, or its settings are wrong.
        """
        return cast(DatasetProvider, self._build("datasets", name))

    def model(self, name: str) -> Model:
        """The model behind a catalogue name; errors as in :meth:`dataset`."""
        return cast(Model, self._build("models", name))

    def generator(self, name: str) -> Generator:
        """The generator behind a catalogue name; errors as in :meth:`dataset`."""
        return cast(Generator, self._build("generators", name))

    def encoder(self, name: str) -> Encoder:
        """The encoder behind a catalogue name; errors as in :meth:`dataset`."""
        return cast(Encoder, self._build("encoders", name))

    @property
    def needs_judge(self) -> bool:
        """Whether a selected question set has open questions."""
        return any(self.question_set(name).protocol == "mm_vet" for name in self.run.question_sets)

    def question_set(self, name: str) -> QuestionProvider:
        """The question set provider behind a catalogue name; errors as in :meth:`dataset`."""
        return cast(QuestionProvider, self._build("question_sets", name))

    def _build(self, section: str, name: str) -> Component | DatasetProvider | QuestionProvider:
        catalogue: Mapping[str, Entry] = getattr(self, section)
        if name not in catalogue:
            raise ConfigError(unknown_name(f"{PARAMS}: {section}:", name, catalogue))
        entry = catalogue[name]
        cls = provider_class(section, entry.provider)
        try:
            return cast(Component | DatasetProvider | QuestionProvider, cls.model_validate(entry.settings()))
        except ValidationError as error:
            raise ConfigError(explain(error, f"{PARAMS}: {section}.{name}")) from None


def load_settings(path: Path = Path(PARAMS)) -> Settings:
    """Read and check ``params.yaml``, the selected entries' own settings included.

    Raises:
        ConfigError: it is missing, is not YAML, or something in it is unknown or out of bounds.
    """
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; run this in the top folder of the project") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None
    return parse_settings(raw, str(path))


def parse_settings(raw: Any, where: str) -> Settings:
    """Check what ``params.yaml`` holds, the selected entries' own settings included; errors name it ``where``.

    Raises:
        ConfigError: something in it is unknown or out of bounds.
    """
    try:
        settings = Settings.model_validate(raw)
    except ValidationError as error:
        raise ConfigError(explain(error, where)) from None
    for section in PROVIDERS:
        for name in getattr(settings.run, section):
            settings._build(section, name)
    for name in settings.run.encoders:
        if not settings.encoder(name).sees:
            raise ConfigError(f"{where}: run.encoders: {name!r} has no image tower, and GenCeption compares images")
    return settings
