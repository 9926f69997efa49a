"""The classes behind providers, each checked to be what its section of ``params.yaml`` needs.

A class of somebody's own may lack what the project's classes are held to by tests. So whatever it lacks is said in one
sentence when the settings are read, before any stage runs.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.errors import ConfigError
from driftledger.core.registry import Provided, is_provider, provider_class, provider_place
from driftledger.core.text import for_line
from driftledger.data.datasets.base import DatasetProvider
from driftledger.data.question_sets.base import QuestionProvider
from driftledger.project.catalogue import CatalogueEntry

if TYPE_CHECKING:
    from driftledger.project.settings import Settings

BASES: Mapping[str, type[Provided]] = {
    "datasets": DatasetProvider,
    "models": Model,
    "generators": Generator,
    "encoders": Encoder,
    "question_sets": QuestionProvider,
}
"""What the classes of a section are derived from."""

_NOT_RUN = "it is this checkout's own code, which is not run without --trust"
_FRECHET = re.compile(r"frechet_[a-z0-9_]+")


def checked_class(section: str, provider: str, own: Path | None = None) -> type[Provided]:
    """The class behind a provider, which has all that its section needs.

    Args:
        own: as in :func:`~driftledger.core.registry.provider_class`.

    Raises:
        ConfigError: there is none, it cannot be imported, or it lacks something.
        UntrustedCodeError: it is a project's own code, which may not be run.
    """
    found: Any = provider_class(section, provider, own)
    if lacking := _lacking(section, provider, found):
        raise ConfigError(f"{provider_place(section, provider)} {lacking}")
    cls: type[Provided] = found
    return cls


def _lacking(section: str, provider: str, found: Any) -> str | None:
    """What is wrong with it and what to do, as the end of a sentence."""
    base = BASES[section]
    if not (isinstance(found, type) and issubclass(found, base)):
        return f"is no class derived from {base.__module__}.{base.__name__}; derive it from that{_or_wrap(section)}"
    if missing := sorted(getattr(found, "__abstractmethods__", ())):
        return f"does not implement {', '.join(missing)}; write what {base.__name__} asks for"
    if found.provider not in (provider, provider_place(section, provider)):
        if ":" in found.provider:
            return f"is written elsewhere; name it {found.provider}"
        return f"calls itself {found.provider!r:.80}; leave its provider out"
    if issubclass(found, Component) and not isinstance(getattr(found, "version", None), str):
        return 'has no version; add version: ClassVar[str] = "1" to the class, and raise it with what comes out'
    return _lacking_encoder(provider, found) if issubclass(found, Encoder) else None


def _or_wrap(section: str) -> str:
    wrapped = {"models": "model", "generators": "generator", "encoders": "encoder", "datasets": "dataset"}
    return f", or wrap a function by driftledger.{wrapped[section]}" if section in wrapped else ""


def _lacking_encoder(provider: str, found: type[Encoder]) -> str | None:
    sees, reads = found.encode_images is not Encoder.encode_images, found.encode_texts is not Encoder.encode_texts
    if not (sees or reads):
        return "has no tower; write encode_images, encode_texts or both"
    name = getattr(found, "frechet_name", None)
    if sees and provider != "inception" and not (isinstance(name, str) and _FRECHET.fullmatch(name)):
        return f"has the frechet_name {name!r:.80}; give it one of frechet_ and a-z 0-9 _"
    return None


def class_of_record(section: str, provider: str, settings: "Settings | None") -> type[Provided] | str:
    """The class behind a provider that a record names; or why there is none, as the end of a sentence.

    A record names no code to import: only the registry, and what ``params.yaml`` of a trusted project names, is looked
    through.
    """
    try:
        if is_provider(section, provider):
            return provider_class(section, provider)
        for name, entry in getattr(settings, section, {}).items():
            if isinstance(entry, CatalogueEntry) and entry.provider == provider and settings is not None:
                return _NOT_RUN if settings.own_code is None else settings.provider_class(section, name)
    except ConfigError as error:
        return for_line(str(error))
    return f"there is no provider {for_line(provider)!r:.80} here"
