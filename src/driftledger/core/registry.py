"""Provider name → class, imported only when it is used.

A new provider is one file and one line here; nothing else names it. Installed distributions name theirs by entry
points, and a project names its own by their places, ``package.module:Class``, in ``params.yaml``.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint
from pathlib import Path
from types import MappingProxyType

from driftledger.core.distributions import entry_points
from driftledger.core.errors import ConfigError, UntrustedCodeError, unknown_name
from driftledger.core.places import Provided, import_place, is_place

OURS: dict[str, dict[str, str]] = {
    "datasets": {
        "photos": "driftledger.demo.datasets.photos:Photos",
        "digits": "driftledger.demo.datasets.digits:Digits",
        "beetles": "driftledger.demo.datasets.beetles.provider:Beetles",
        "arrangements": "driftledger.demo.datasets.arrangements.provider:Arrangements",
        "image_folder": "driftledger.data.datasets.image_folder:ImageFolder",
        "huggingface": "driftledger.data.datasets.huggingface:HuggingFace",
    },
    "models": {
        "regions": "driftledger.demo.models.regions:Regions",
        "regions_reading": "driftledger.demo.models.regions_reading:RegionsReading",
        "blind": "driftledger.demo.models.blind:Blind",
        "always_refuse": "driftledger.demo.models.always_refuse:AlwaysRefuse",
        "random_choice": "driftledger.demo.models.random_choice:RandomChoice",
        "faultless": "driftledger.demo.models.faultless:Faultless",
        "rubric": "driftledger.demo.models.rubric:Rubric",
        "human": "driftledger.components.human:Human",
        "predictions": "driftledger.components.predictions:Predictions",
        "openai": "driftledger.components.openai:OpenAIChat",
        "transformers": "driftledger.components.transformers:Transformers",
        "vllm": "driftledger.components.vllm:VLLM",
    },
    "generators": {
        "painter": "driftledger.demo.generators.painter:Painter",
        "diffusers": "driftledger.components.diffusers:Diffusers",
        "openai_images": "driftledger.components.openai:OpenAIImages",
    },
    "encoders": {
        "layout": "driftledger.demo.encoders.layout:LayoutEncoder",
        "tfidf": "driftledger.demo.encoders.tfidf:TfIdf",
        "words": "driftledger.demo.encoders.words:Words",
        "vit": "driftledger.components.encoders:ViT",
        "dinov2": "driftledger.components.encoders:DINOv2",
        "clip": "driftledger.components.encoders:CLIP",
        "open_clip": "driftledger.components.encoders:OpenCLIP",
        "dreamsim": "driftledger.components.encoders:DreamSim",
        "sentence": "driftledger.components.encoders:Sentence",
        "inception": "driftledger.components.encoders:Inception",
    },
    "question_sets": {
        "scenes": "driftledger.demo.scenes.provider:Scenes",
        "scene_photos": "driftledger.demo.scene_photos.provider:ScenePhotos",
        "table": "driftledger.data.question_sets.table:QuestionTable",
        "huggingface": "driftledger.data.question_sets.huggingface:HuggingFaceQuestions",
    },
}


PROVIDED_SECTIONS = tuple(OURS)
"""The sections of ``params.yaml`` whose entries have providers."""

GROUP = "driftledger.{section}"
"""Of the entry points by which an installed distribution names its providers for a section."""

EMBEDDED = "driftledger.demo."
"""How the places of embedded components and data begin."""


def providers(section: str) -> Mapping[str, str]:
    """Every provider of a section by its name, with the place of its class: ours first, then those of installed
    distributions."""
    return MappingProxyType({name: found[0].value for name, found in _installed(section).items()} | OURS[section])


def is_embedded(kind: type[Provided]) -> bool:
    """Whether a class is one of those that come with us for demonstration: free, on the CPU, downloading nothing, and
    the same in any company within a batch."""
    return kind.__module__.startswith(EMBEDDED)


def provider_place(section: str, provider: str) -> str:
    """The place of the class behind a provider, ``package.module:Class``; nothing is imported to find out.

    Raises:
        ConfigError: there is no such provider, or two distributions have one of that name.
    """
    if is_place(provider):
        return provider
    if provider in OURS[section]:
        return OURS[section][provider]
    found = _installed(section).get(provider, ())
    if not found:
        raise ConfigError(unknown_name(f"{section} provider", provider, providers(section)))
    if len({each.value for each in found}) > 1:
        of = " and ".join(sorted(each.dist.name if each.dist else each.value for each in found))
        raise ConfigError(
            f"{section} provider {provider!r} is offered by {of}; uninstall one, or name it by its place, "
            f"{found[0].value} or {found[1].value}"
        )
    return found[0].value


def is_provider(section: str, provider: str) -> bool:
    """Whether ours or an installed distribution's provider has this name, or its class this place."""
    if provider in OURS[section]:
        return True
    return any(provider in (name, each.value) for name, found in _installed(section).items() for each in found)


def provider_class(section: str, provider: str, own: Path | None = None) -> type[Provided]:
    """Import the class behind ``provider`` of a section.

    Args:
        own: the top folder of the project whose own code may be run; without it, a place is imported only where an
            installed distribution names it.

    Raises:
        ConfigError: there is no such provider, or it cannot be imported.
        UntrustedCodeError: it is a project's own code, which may not be run.
    """
    if is_place(provider) and own is None and not is_provider(section, provider):
        raise UntrustedCodeError(f"{provider!r:.80} is this checkout's own code, which is not run without --trust")
    found: type[Provided] = import_place(provider_place(section, provider), own if is_place(provider) else None)
    return found


def same_provider(section: str, one: str, other: str) -> bool:
    """Whether two providers are one: by name, or by the place that a name stands for."""

    def known(provider: str) -> set[str]:
        return {provider, providers(section).get(provider, provider)}

    return bool(known(one) & known(other))


@cache
def _installed(section: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for each in entry_points(GROUP.format(section=section)):
        found[each.name] = (*found.get(each.name, ()), each)
    return found
