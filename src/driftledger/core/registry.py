"""Provider name → class, imported only when it is used.

A new provider is one file and one line here; nothing else names it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from driftledger.core.errors import ConfigError, MissingExtraError, unknown_name

if TYPE_CHECKING:
    from pydantic import BaseModel

PROVIDERS: dict[str, dict[str, str]] = {
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
        "blind": "driftledger.demo.models.blind:Blind",
        "always_refuse": "driftledger.demo.models.always_refuse:AlwaysRefuse",
        "random_choice": "driftledger.demo.models.random_choice:RandomChoice",
        "rubric": "driftledger.demo.models.rubric:Rubric",
        "human": "driftledger.components.models.human:Human",
        "openai": "driftledger.components.models.openai_chat:OpenAIChat",
        "transformers": "driftledger.components.models.transformers:Transformers",
    },
    "generators": {
        "painter": "driftledger.demo.generators.painter:Painter",
        "diffusers": "driftledger.components.generators.diffusers:Diffusers",
        "openai_images": "driftledger.components.generators.openai_images:OpenAIImages",
    },
    "encoders": {
        "layout": "driftledger.demo.encoders.layout:Layout",
        "tfidf": "driftledger.demo.encoders.tfidf:TfIdf",
        "vit": "driftledger.components.encoders.vit:ViT",
        "dinov2": "driftledger.components.encoders.dinov2:DINOv2",
        "clip": "driftledger.components.encoders.clip:CLIP",
        "open_clip": "driftledger.components.encoders.open_clip:OpenCLIP",
        "sentence": "driftledger.components.encoders.sentence:Sentence",
        "inception": "driftledger.components.encoders.inception:Inception",
    },
    "question_sets": {
        "scenes": "driftledger.demo.scenes.provider:Scenes",
        "table": "driftledger.data.question_sets.table:Table",
        "huggingface": "driftledger.data.question_sets.huggingface:HuggingFaceQuestions",
    },
}

EXTRAS = {
    "datasets": "huggingface",
    "huggingface_hub": "huggingface",
    "safetensors": "torch",
    "openai": "openai",
    "torch": "torch",
    "torchvision": "torch",
    "transformers": "torch",
    "accelerate": "torch",
    "bitsandbytes": "quantization",
    "diffusers": "diffusers",
    "open_clip": "open_clip",
    "sentence_transformers": "sentence",
    "cleanfid": "fid",
}
"""Top-level module of an optional library → the extra of this package that installs it."""


def provider_class(section: str, provider: str) -> "type[BaseModel]":
    """Import the class behind ``provider`` in one of the sections of :data:`PROVIDERS`.

    Raises:
        ConfigError: no such provider.
    """
    table = PROVIDERS[section]
    if provider not in table:
        raise ConfigError(unknown_name(f"{section} provider", provider, table))
    module, _, name = table[provider].partition(":")
    found: type[BaseModel] = getattr(import_module(module), name)
    return found


def import_extra(module: str) -> Any:
    """Import an optional library, or say in one sentence which extra installs it.

    Raises:
        MissingExtraError: the library is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise MissingExtraError(
            f"the library {top!r} is not installed; run: pip install 'driftledger[{EXTRAS[top]}]'"
        ) from None
