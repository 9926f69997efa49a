"""Checkpoints of real size with random weights, but small vocabularies."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor

from tests.support.cases import cases
from tests.support.checkpoints import diffusion, vision_language

LAYOUTS = {each.pop("model"): each for each in cases(__file__, "large")}
"""Model → part → settings."""


def build_qwen2_5_vl_3b(folder: Path) -> Path:
    vision_language.build(folder, "qwen2_5_vl")
    small = transformers.AutoConfig.from_pretrained(folder).to_dict()
    large = transformers.Qwen2_5_VLConfig().to_dict()
    for part, settings in LAYOUTS["qwen2_5_vl_3b"].items():
        large[part] |= settings
    parts = ((large, small), (large["text_config"], small["text_config"]))
    for settings, own in parts:
        for name, value in own.items():
            if name.endswith("_token_id") or name == "vocab_size":
                settings[name] = value
    config = transformers.Qwen2_5_VLConfig.from_dict(large)
    kind = transformers.Qwen2_5_VLForConditionalGeneration
    model = _on_the_gpu(lambda: kind(config))
    end = config.text_config.eos_token_id
    with torch.no_grad():
        model.get_output_embeddings().weight[end] = 0
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=end, pad_token_id=end
    )
    processor = transformers.AutoProcessor.from_pretrained(folder)
    processor.image_processor = Qwen2VLImageProcessor()
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def build_sdxl(folder: Path) -> Path:
    diffusion.build(folder, "sdxl")
    pipeline = diffusers.DiffusionPipeline.from_pretrained(folder)
    for name, settings in LAYOUTS["sdxl"].items():
        setattr(pipeline, name, _enlarged(getattr(pipeline, name), settings))
    pipeline.save_pretrained(folder)
    return folder


def _enlarged(part: Any, settings: dict[str, Any]) -> Any:
    if isinstance(part, diffusers.ModelMixin):
        return _on_the_gpu(lambda: part.from_config({**part.config, **settings}))
    part.config.update(settings)
    return _on_the_gpu(lambda: type(part)(part.config))


def _on_the_gpu(make: Callable[[], Any]) -> Any:
    """Make a model where drawing its weights takes a second."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            return make().eval()
    finally:
        torch.set_default_dtype(before)
