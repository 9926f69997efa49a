"""Entries that come with the package, and their classes.

A user's class may lack what tests demand of ours. Whatever it lacks is one sentence when the
settings are read, before any stage runs.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, StringConstraints

from driftledger.benchmarks.base.descriptions import Description
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import load_json, load_yaml, read_regular
from driftledger.core.registry import (
    LONGEST,
    PROVIDED_SECTIONS,
    Provided,
    provider_class,
    providers,
)
from driftledger.core.strict import Name, Strict
from driftledger.core.text import for_line
from driftledger.data.datasets.base import DatasetProvider
from driftledger.data.question_sets.base import QuestionProvider

DESCRIPTIONS = "descriptions"
SECTIONS = (*PROVIDED_SECTIONS, DESCRIPTIONS)
"""Sections of ``params.yaml`` with entries; the catalogue has a file for each."""

BASES: Mapping[str, type[Provided]] = {
    "datasets": DatasetProvider,
    "models": Model,
    "generators": Generator,
    "encoders": Encoder,
    "question_sets": QuestionProvider,
}
"""The base classes of a section's classes."""


class About(Strict):
    """Facts about an entry that are not settings. They change no result."""

    checked: date
    """The day on which somebody last checked these facts."""
    source: str = Field(max_length=300)
    """Where its price or its size is published."""
    memory: PositiveFloat | None = None
    """Memory that the weights take as the entry loads them, in GB of 10⁹ bytes."""


class CatalogueEntry(BaseModel):
    """A catalogue entry: a provider and whatever settings that provider knows."""

    model_config = ConfigDict(frozen=True, extra="allow")

    provider: str = Field(max_length=LONGEST)
    about: About | None = None
    retired: date | None = None
    """The day from which its service refuses it; like ``about``, not a setting."""

    @property
    def written(self) -> Json:
        """The provider and the settings, as they stand in ``params.yaml``."""
        return self.model_dump(
            mode="json", exclude_unset=True, exclude={"about", "retired"}
        )


@cache
def shipped(name: str) -> Any:
    """Read a file of the catalogue, unchecked: a section's entries, or ``correlation``."""
    return load_yaml((files("driftledger") / "catalogue" / f"{name}.yaml").read_bytes())


@cache
def catalogue(section: str) -> Mapping[str, CatalogueEntry | Description]:
    """Return the entries of a section that come with the package, by name."""
    kind: type[CatalogueEntry | Description] = (
        Description if section == DESCRIPTIONS else CatalogueEntry
    )
    return {
        name: kind.model_validate(entry) for name, entry in shipped(section).items()
    }


class CorrelationSettings(Strict):
    """The section ``correlation``: comparison of our metrics with leaderboards of others."""

    models: dict[
        str,
        dict[
            Name, Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
        ],
    ]
    """Leaderboard, a file of leaderboards without ``.csv`` → our catalogue name → the name there.
    """
    confidence: float = Field(gt=0.5, lt=1.0)
    """Of intervals."""


def selectable(
    section: str,
    choice: str,
    base_url: str | None = None,
    key: str | None = None,
    entries: Mapping[str, Any] | None = None,
) -> tuple[str, Any]:
    """Return the name and the entry of something that a user selects.

    The entry is None if ``entries`` have it.

    Args:
        choice: a name of ``entries``, ``provider/model``, a folder with a checkpoint, or
            ``package.module:Class``.
        base_url: where the service is, if it is not the provider's own.
        key: the environment variable with its key; None for a server that needs none.
        entries: known entries by name; without them, the catalogue's.

    Raises:
        ConfigError: it is nothing of these.
    """
    provider, _, rest = choice.partition("/")
    folder = Path(choice).expanduser()
    valid = providers(section)
    service = {"base_url": base_url, "api_key_env": key} if base_url else {}
    known: Any = entries or catalogue(section)
    if choice in known:
        written = known[choice].written
        is_service = (
            "base_url" in provider_class(section, written["provider"]).model_fields
        )
        return choice, written | service if service and is_service else None
    if section == "generators" and provider == "openai":
        provider = "openai_images"
    if folder.is_dir():
        entry: dict[str, Any] = {
            "provider": _provider_of(section, folder),
            "path": choice,
        }
    elif ":" in choice and "/" not in choice:
        entry = {"provider": choice}
    elif rest and provider in valid:
        fields = provider_class(section, provider).model_fields
        entry = {"provider": provider, "model" if "model" in fields else "path": rest}
        if "revision" in fields:
            entry |= {"revision": "main"}
        if "dtype" in fields and section != "encoders":
            entry |= {"dtype": "bfloat16"}
        if "base_url" in fields:
            entry |= service
    else:
        unknown = unknown_name(section[:-1], choice[:200], known)
        raise ConfigError(
            f"{unknown}; or a folder, or PROVIDER/MODEL with one of the providers "
            f"{', '.join(sorted(valid))}"
        )
    last = rest or choice.rpartition(":")[2]
    return name_of(Path(last).name), entry


def _provider_of(section: str, folder: Path) -> str:
    """Return the provider that loads a checkpoint in a folder."""
    if section in ("models", "generators"):
        return "transformers" if section == "models" else "diffusers"
    if (folder / "modules.json").is_file():
        return "sentence"
    with suppress(OSError, ValueError):
        kind = load_json(read_regular(folder / "config.json"))["model_type"]
        for provider in providers(section):
            if kind in getattr(provider_class(section, provider), "model_types", ()):
                return provider
    return "open_clip"


def name_of(text: str) -> str:
    """Turn the name of a folder or a model into a name for ``params.yaml``.

    >>> [*map(name_of, ("My Photos (2024)", "2024", "Fotos für Anna", "...", "Qwen3-VL-8B"))]
    ['my_photos_2024', 'images_2024', 'fotos_fur_anna', 'my_images', 'qwen3_vl_8b']
    """
    plain = (
        unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    )
    name = "_".join(re.findall("[a-z0-9]+", plain))
    if not name:
        return "my_images"
    is_text = load_yaml(name) == name  # and no number, date, truth or nothing
    if name[0].isdigit() or not is_text:
        name = f"images_{name}"
    return name[:64]


def checked_class(
    section: str, provider: str, own: Path | None = None
) -> type[Provided]:
    """Return the class behind a provider, after checking that it lacks nothing.

    Args:
        own: as in :func:`~driftledger.core.registry.provider_class`.

    Raises:
        ConfigError: it is unknown, cannot be imported, or lacks something.
        UntrustedCodeError: it is a project's own code, which may not be run.
    """
    cls = provider_class(section, provider, own)
    base = BASES[section]
    lacks = ""
    if not (isinstance(cls, type) and issubclass(cls, base)):
        wrap = ""
        if section not in ("datasets", "question_sets"):
            wrap = f", or wrap a function by driftledger.{section[:-1]}"
        lacks = f"is not derived from {base.__module__}.{base.__name__}; derive it from that{wrap}"
    elif missing := sorted(getattr(cls, "__abstractmethods__", ())):
        lacks = f"does not implement {', '.join(missing)}; write what {base.__name__} asks for"
    elif issubclass(cls, Component) and not isinstance(
        getattr(cls, "version", None), str
    ):
        lacks = (
            'has no version; add version: ClassVar[str] = "1" to the class, and change it when '
            "its outputs change"
        )
    if lacks:
        raise ConfigError(f"{provider} {lacks}")
    return cls


def class_of_record(
    section: str, provider: str, own: Path | None, named: Collection[str]
) -> type[Provided] | str:
    """Return the class behind a provider that a record names, or why it is missing.

    A record names no code to import: only the registry is looked through, and what the project's
    settings name.

    Args:
        own: the project's folder, as in :func:`~driftledger.core.registry.provider_class`.
        named: the providers that entries of ``params.yaml`` name.
    """
    places = providers(section)
    try:
        if provider in places or provider in places.values():
            return provider_class(section, provider)
        if provider in named:
            return checked_class(section, provider, own)
    except ConfigError as error:
        return for_line(str(error))
    return f"the provider {for_line(provider)!r:.80} is unknown here"
