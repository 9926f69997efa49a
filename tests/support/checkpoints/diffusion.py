"""Text-to-image pipelines of 32 × 32 pixels, as ``tests/cases/support/checkpoints`` describes
them: U-Nets with one and two text encoders, and diffusion transformers."""

from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers

from tests.support.cases import cases
from tests.support.checkpoints.text import chat_tokenizer, clip_tokenizer, t5_tokenizer
from tests.support.checkpoints.weights import PARTS, randomise, seeded

SIDE = 32
WIDTH = 32
"""Of the text encoders."""
CONTRAST = 0.5
"""Of the decoder's last weights: few pixels are black or white."""
PIPELINES = {each["kind"]: each for each in cases(__file__, "pipelines")}
"""Kind → the pipeline's class, and its parts: what makes each, and with which settings."""


def build(folder: Path, kind: str, seed: int = 0) -> Path:
    """Save the pipeline of a kind."""
    parts = {
        name: each
        for name, each in PIPELINES[kind].items()
        if name not in ("kind", "says")
    }
    pipeline = getattr(diffusers, parts.pop("pipeline"))
    with seeded(seed):
        made = {name: _made(each) for name, each in parts.items()}
        pipeline(**made).save_pretrained(folder)
    return folder


def _made(part: Any) -> Any:
    """Make a part by a function here, or of a class of diffusers; a value is itself."""
    if not isinstance(part, dict):
        return part
    settings = {name: value for name, value in part.items() if name != "make"}
    if part["make"] in MAKERS:
        return MAKERS[part["make"]](**settings)
    made = getattr(diffusers, part["make"])(**settings)
    return randomise(made) if isinstance(made, torch.nn.Module) else made


def _chat_tokens() -> Any:
    """A language model's tokenizer, with a chat template."""
    tokens = chat_tokenizer("<|im_end|>", ["<|im_start|>"])
    tokens.chat_template = (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] "
        "}}<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
    )
    return tokens


def _language(kind: str, **more: Any) -> Any:
    model = getattr(transformers, kind)
    settings = PARTS["language"] | {"vocab_size": len(_chat_tokens())} | more
    return randomise(model(model.config_class(**settings)))


def _seeing() -> Any:
    parts = PARTS["seeing"]
    text = transformers.Qwen3Config(**PARTS["language"], vocab_size=len(_chat_tokens()))
    both = transformers.Qwen2_5_VLConfig(
        text_config=text.to_dict() | parts["text_config"],
        vision_config=parts["vision_config"],
    )
    return randomise(transformers.Qwen2_5_VLForConditionalGeneration(both))


def _t5() -> Any:
    config = transformers.T5Config(**PARTS["t5"], vocab_size=len(t5_tokenizer()))
    return randomise(transformers.T5EncoderModel(config))


def _clip_text(kind: str, **more: Any) -> Any:
    tokens = clip_tokenizer()
    special = {name: getattr(tokens, name) for name in SPECIAL}
    settings = PARTS["clip_text"] | {"vocab_size": len(tokens)} | special | more
    return randomise(
        getattr(transformers, kind)(transformers.CLIPTextConfig(**settings))
    )


def _vae(kind: str = "AutoencoderKL", **more: Any) -> Any:
    model = randomise(getattr(diffusers, kind)(**PARTS["vae"], **more))
    if kind == "AutoencoderKL":
        model.decoder.conv_out.weight.data *= CONTRAST
    return model


def _unet(**more: Any) -> Any:
    return randomise(diffusers.UNet2DConditionModel(**PARTS["unet"], **more))


SPECIAL = ("bos_token_id", "eos_token_id", "pad_token_id")
MAKERS = {
    "chat_tokens": _chat_tokens,
    "clip": _clip_text,
    "clip_tokens": clip_tokenizer,
    "language": _language,
    "seeing": _seeing,
    "t5": _t5,
    "t5_tokens": t5_tokenizer,
    "unet": _unet,
    "vae": _vae,
}
