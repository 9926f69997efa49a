"""Provider name → class, imported only when it is used.

A new provider is one file and one line here; nothing else names it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from driftledger.core.errors import ConfigError, unknown_name

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
        "regions_reading": "driftledger.demo.models.regions_reading:RegionsReading",
        "blind": "driftledger.demo.models.blind:Blind",
        "always_refuse": "driftledger.demo.models.always_refuse:AlwaysRefuse",
        "random_choice": "driftledger.demo.models.random_choice:RandomChoice",
        "rubric": "driftledger.demo.models.rubric:Rubric",
        "human": "driftledger.components.models.human:Human",
        "predictions": "driftledger.components.models.predictions.model:Predictions",
        "openai": "driftledger.components.models.openai_chat:OpenAIChat",
        "transformers": "driftledger.components.models.transformers:Transformers",
        "vllm": "driftledger.components.models.vllm:VLLM",
    },
    "generators": {
        "painter": "driftledger.demo.generators.painter:Painter",
        "diffusers": "driftledger.components.generators.diffusers:Diffusers",
        "openai_images": "driftledger.components.generators.openai_images:OpenAIImages",
    },
    "encoders": {
        "layout": "driftledger.demo.encoders.layout:LayoutEncoder",
        "tfidf": "driftledger.demo.encoders.tfidf:TfIdf",
        "words": "driftledger.demo.encoders.words:Words",
        "vit": "driftledger.components.encoders.class_token:ViT",
        "dinov2": "driftledger.components.encoders.class_token:DINOv2",
        "clip": "driftledger.components.encoders.clip:CLIP",
        "open_clip": "driftledger.components.encoders.open_clip:OpenCLIP",
        "sentence": "driftledger.components.encoders.sentence:Sentence",
        "inception": "driftledger.components.encoders.inception:Inception",
    },
    "question_sets": {
        "scenes": "driftledger.demo.scenes.provider:Scenes",
        "scene_photos": "driftledger.demo.scene_photos.provider:ScenePhotos",
        "table": "driftledger.data.question_sets.table:QuestionTable",
        "huggingface": "driftledger.data.question_sets.huggingface:HuggingFaceQuestions",
    },
}


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
