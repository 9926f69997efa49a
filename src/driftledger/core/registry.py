"""Providers by name, imported when used; optional libraries.

A new provider is one file and one line here; nothing else names it. Installed distributions name
theirs by entry points. A project names its own classes in ``params.yaml``, as
``package.module:Class``. Importing a class runs its code, so only a class that people set is
imported, never one that a record, a card or a lock names.
"""

import re
import sys
import traceback
from collections.abc import Mapping
from functools import cache
from importlib import import_module, metadata
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar

from driftledger.core.errors import (
    ConfigError,
    DriftledgerError,
    MissingExtraError,
    UntrustedCodeError,
    unknown_name,
)
from driftledger.core.strict import Strict
from driftledger.core.text import for_line

OURS: dict[str, dict[str, str]] = {
    "datasets": {
        "image_folder": "driftledger.data.datasets.image_folder:ImageFolder",
        "huggingface": "driftledger.data.hub:HuggingFace",
        "text_folder": "driftledger.data.datasets.texts:TextFolder",
    },
    "models": {
        "human": "driftledger.components.human:Human",
        "predictions": "driftledger.components.predictions:Predictions",
        "openai": "driftledger.components.openai_chat:OpenAIChat",
        "litellm": "driftledger.components.hosted:LiteLLM",
        "transformers": "driftledger.components.transformers:Transformers",
    },
    "generators": {
        "diffusers": "driftledger.components.diffusers:Diffusers",
        "openai_images": "driftledger.components.openai_images:OpenAIImages",
        "huggingface_images": "driftledger.components.hosted:HuggingFaceImages",
    },
    "encoders": {
        "vit": "driftledger.components.encoders:ViT",
        "dinov2": "driftledger.components.encoders:DINOv2",
        "dinov3": "driftledger.components.encoders:DINOv3",
        "timm": "driftledger.components.encoders:Timm",
        "clip": "driftledger.components.encoders:CLIP",
        "metaclip": "driftledger.components.encoders:MetaCLIP",
        "siglip": "driftledger.components.encoders:SigLIP",
        "open_clip": "driftledger.components.encoders:OpenCLIP",
        "sentence": "driftledger.components.encoders:Sentence",
        "inception": "driftledger.components.encoders:Inception",
    },
    "question_sets": {
        "table": "driftledger.data.question_sets.table:QuestionTable",
        "huggingface": "driftledger.data.question_sets.table:HuggingFaceQuestions",
    },
}

_NAMES = {place: name for entries in OURS.values() for name, place in entries.items()}
"""Place of a class of ours → its name."""
PROVIDED_SECTIONS = tuple(OURS)
"""The sections of ``params.yaml`` with entries that name a provider."""
LONGEST = 200
"""Characters of a provider's name or place."""

EXTRAS = {
    **{name: name for name in ("openai", "litellm", "diffusers", "open_clip")},
    **dict.fromkeys(
        ("torch", "torchvision", "transformers", "accelerate", "safetensors"), "torch"
    ),
    **dict.fromkeys(("datasets", "huggingface_hub"), "huggingface"),
    "openpyxl": "xlsx",
    "pypdfium2": "pdf",
    "bitsandbytes": "quantization",
    "sentence_transformers": "sentence",
    "cleanfid": "fid",
}
"""Top-level module of an optional library → the extra of this package that installs it."""


class Provided(Strict):
    """A provider's class, known by a name in the registry or by its place."""

    provider: ClassVar[str]
    """Its name in the registry; without one, ``package.module:Class``."""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if (
            "provider" not in cls.__dict__
        ):  # what it inherits is the name of another class
            place = place_of(cls)
            cls.provider = _NAMES.get(place, place)

    @classmethod
    def is_named(cls, name: str) -> None:
        """Take the name that its module gives it, which a class made of functions needs."""


def place_of(kind: type) -> str:
    """Return the place of a class, by which :func:`import_place` finds it.

    >>> place_of(Provided)
    'driftledger.core.registry:Provided'
    """
    return f"{kind.__module__}:{kind.__qualname__}"


def import_place(place: str, folder: Path | None = None) -> Any:
    """Import what a place names.

    Args:
        place: of installed code, or of a module in ``folder``, which comes last on Python's path:
            it can replace nothing that is installed.

    Raises:
        ConfigError: it is not a place, cannot be imported, or the module has nothing of that name.
    """
    module, _, name = place.partition(":")
    words = f"{module}.{name}".split(".")
    if len(place) > LONGEST or not (
        place.isascii() and all(map(str.isidentifier, words))
    ):
        raise ConfigError(
            f"{place!r:.80} is not the place of a class; write package.module:Class, in letters, "
            "digits, _"
        )
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
    try:
        named: Any = import_module(module)
    except DriftledgerError:
        raise
    except ModuleNotFoundError as error:
        where = f"in {folder} or " if folder is not None else ""
        raise ConfigError(
            f"{module} cannot be imported: {error.name!r} is not {where}installed; install it, or "
            "correct the name"
        ) from None
    except (Exception, SystemExit) as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raised = for_line(
            f"{type(error).__name__}: {error!s:.200} in {last.filename}, line {last.lineno}"
        )
        raise ConfigError(
            f"{module} cannot be imported ({raised}); correct it"
        ) from None
    try:
        named = attrgetter(name)(named)
    except AttributeError:
        where = getattr(named, "__file__", None) or "a package without code"
        raise ConfigError(
            f"{module} ({where}) has no {name}; name one of its classes"
        ) from None
    if isinstance(named, type) and issubclass(named, Provided):
        named.is_named(name)
    return named


@cache
def installed() -> Mapping[str, metadata.EntryPoints]:
    """Return the entry points of installed distributions, by group.

    It is read once, since that opens a file of each; what is installed later is not seen.
    """
    points = metadata.entry_points()
    return {group: points.select(group=group) for group in points.groups}


def providers(section: str) -> Mapping[str, str]:
    """Return the place of every provider of a section, by name.

    Ours win over those of other distributions.
    """
    points = installed().get(f"driftledger.{section}", ())
    return {point.name: point.value for point in points} | OURS[section]


def is_embedded(section: str, provider: str) -> bool:
    """Return True if a provider comes with driftledger, not with another distribution."""
    points = metadata.distribution("driftledger").entry_points
    named = points.select(group=f"driftledger.{section}", name=provider)
    return provider in OURS[section] or bool(named)


def provider_class(
    section: str, provider: str, own: Path | None = None
) -> type[Provided]:
    """Import the class behind ``provider`` of a section.

    Args:
        own: the top folder of a project that may run its own code; without it, a place is imported
            only where an installed distribution names it.

    Raises:
        ConfigError: the provider is unknown, named by two distributions, or cannot be imported.
        UntrustedCodeError: it is a project's own code, which may not be run.
    """
    places = providers(section)
    is_place = ":" in provider
    if is_place and own is None and provider not in places.values():
        raise UntrustedCodeError(
            f"{provider!r:.80} is this checkout's own code, which is not run without --trust"
        )
    if not is_place and provider not in places:
        raise ConfigError(unknown_name(f"{section} provider", provider, places))
    several = {
        point.value
        for point in installed().get(f"driftledger.{section}", ())
        if point.name == provider
    }
    if len(several) > 1 and provider not in OURS[section]:
        raise ConfigError(
            f"{provider!r} is {' and '.join(sorted(several))}; uninstall one, or name it by its "
            "place"
        )
    named: type[Provided] = import_place(
        places.get(provider, provider), own if is_place else None
    )
    return named


def import_extra(module: str) -> Any:
    """Import an optional library, or name the packages to install.

    Raises:
        MissingExtraError: the library is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise not_installed(top) from None


def not_installed(library: str, extra: str | None = None) -> MissingExtraError:
    """Return the error about a missing library, with the packages that pip installs.

    Args:
        extra: of this package, which says what goes with the library; without it, the one of
            :data:`EXTRAS`.
    """
    named = (extra or EXTRAS.get(library, "")).replace("_", "-")
    packages = []
    for requirement in (
        metadata.requires("driftledger") or ()
    ):  # torch==2; extra == 'torch'
        words = re.findall(r"[\w.-]+", requirement)
        if words[-2:] == ["extra", named]:
            packages.append(words[0])
    what = " ".join(packages or [library])
    return MissingExtraError(
        f"the library {library!r} is not installed; run: pip install {what}"
    )
