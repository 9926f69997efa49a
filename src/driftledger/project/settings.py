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
    ValidationError,
    model_validator,
)

from driftledger.benchmarks.settings import Description, Fidelity, GenCeption, Name, Questions, Trac
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.registry import PROVIDERS, provider_class
from driftledger.core.strict import Strict, explain
from driftledger.core.yaml_text import load_yaml
from driftledger.data.datasets.base import DatasetProvider
from driftledger.data.question_sets.base import QuestionProvider

PARAMS = "params.yaml"


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
    """All that are built; each benchmark goes over its own of these."""
    genception: AnySelection
    trac: AnySelection
    """Datasets with labels, a support set and a test set."""
    fidelity: AnySelection
    models: Selection
    generators: Selection
    encoders: Selection
    """They see images: of GenCeption and fidelity."""
    text_encoders: AnySelection
    """They read descriptions: of TRAC. The first is the one that its headline figures are of."""
    descriptions: AnySelection
    """How descriptions are asked for in TRAC. The first is the one that its headline figures are of."""
    question_sets: AnySelection
    judge: Name
    """The model that grades open answers."""
    seed: int = Field(ge=0, lt=2**32)

    @model_validator(mode="after")
    def _are_built(self) -> "Run":
        for benchmark in ("genception", "trac", "fidelity"):
            for name in getattr(self, benchmark):
                if name not in self.datasets:
                    raise ValueError(f"{benchmark} goes over {name!r}, which is not in datasets; add it there")
        both = sorted(set(self.datasets) & set(self.question_sets))
        if both:
            raise ValueError(f"{both[0]!r} is a dataset and a question set, which MLflow cannot tell apart; rename one")
        if self.trac and not (self.text_encoders and self.descriptions):
            raise ValueError("trac needs text_encoders and descriptions; select some, or no dataset for trac")
        return self


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
    trac: Trac
    fidelity: Fidelity
    questions: Questions
    tracking: Tracking
    descriptions: dict[Name, Description]
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
        self._check_known("run.judge", self.run.judge, self.models)
        for name in self.run.text_encoders:
            self._check_known("run.text_encoders", name, self.encoders)
        for name in self.run.descriptions:
            self._check_known("run.descriptions", name, self.descriptions)
        for name, description in self.descriptions.items():
            shown = description.demonstrations
            if shown and shown.encoder:
                self._check_known(f"descriptions.{name}: encoder", shown.encoder, self.encoders)
            if shown and shown.by:
                self._check_known(f"descriptions.{name}: by", shown.by, self.models)
        return self

    @staticmethod
    def _check_known(where: str, name: str, catalogue: Mapping[str, object]) -> None:
        if name not in catalogue:
            raise ValueError(unknown_name(f"{where}:", name, catalogue))

    @model_validator(mode="after")
    def _fidelity_asks_plainly(self) -> "Settings":
        name = self.fidelity.description
        self._check_known("fidelity.description", name, self.descriptions)
        description = self.descriptions[name]
        if description.demonstrations or len(description.lengths) > 1:
            raise ValueError(
                f"fidelity.description: {name!r} has demonstrations or several lengths, and fidelity is about one "
                "description per image; name another"
            )
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

    def description(self, name: str) -> Description:
        """How a catalogue name asks for a description.

        Raises:
            ConfigError: no such name.
        """
        if name not in self.descriptions:
            raise ConfigError(unknown_name(f"{PARAMS}: descriptions:", name, self.descriptions))
        return self.descriptions[name]

    def examples_fingerprint(self, description: str) -> str:
        """What stands behind a description's in-context examples: its encoder, and whoever describes them."""
        shown = self.description(description).demonstrations
        if shown is None:
            return "none"
        encoder = self.encoder(shown.encoder).fingerprint if shown.encoder else None
        return sha256_of([encoder, self.model(shown.by).fingerprint if shown.by else None])

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
    return parse_settings(read_yaml(path), str(path))


def read_yaml(path: Path) -> Any:
    """What a file of settings in the checkout holds, unchecked.

    Raises:
        ConfigError: it is missing, or is not YAML.
    """
    try:
        return load_yaml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; run this in the top folder of the project") from None
    except (yaml.YAMLError, ValueError) as error:
        raise ConfigError(f"{path} is not YAML: {' '.join(str(error).split())}") from None


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
    _check_towers(settings, where)
    return settings


def _check_towers(settings: Settings, where: str) -> None:
    for name in settings.run.encoders:
        if not settings.encoder(name).sees:
            raise ConfigError(f"{where}: run.encoders: {name!r} has no image tower; name it in run.text_encoders")
    for name in settings.run.text_encoders:
        if not settings.encoder(name).reads:
            raise ConfigError(f"{where}: run.text_encoders: {name!r} has no text tower; name it in run.encoders")
    for name in settings.run.descriptions:
        shown = settings.descriptions[name].demonstrations
        if shown is None or shown.encoder is None:
            continue
        encoder = settings.encoder(shown.encoder)
        if not (encoder.sees if shown.choose == "similar_image" else encoder.reads):
            tower = "an image" if shown.choose == "similar_image" else "a text"
            raise ConfigError(
                f"{where}: descriptions.{name}: {shown.choose} needs an encoder with {tower} tower, and "
                f"{shown.encoder!r} has none"
            )
