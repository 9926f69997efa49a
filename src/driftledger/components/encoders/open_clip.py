"""CLIP as open_clip loads it: the models of LAION, DataComp and others, images and texts in one space."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from PIL import Image
from pydantic import Field, model_validator

from driftledger.components.base import Encoder
from driftledger.components.checkpoints.component import CheckpointComponent, quietly
from driftledger.components.checkpoints.source import Source
from driftledger.components.encoders.towers import (
    Tower,
    as_features,
    as_readings,
    forward_pass,
    local_folder,
    well_formed,
)
from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32, PromptUsage

_SAFE = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors")
"""What open_clip takes before anything else in a folder."""
_PICKLED = ("*.bin", "*.pth")
_SETTINGS = ("*.json", "*.txt", "*.model")
_PRECISION = {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}
_LONGEST_WORD = 1000
"""Letters. The time that open_clip's tokenizer takes grows with their square: 7 s for a word of 20,000."""


class OpenCLIP(CheckpointComponent, Encoder):
    """A CLIP of open_clip: the projected features of both towers, not normalised, with its own preprocessing.

    ``path`` is a folder with ``open_clip_config.json``, or a repository of the hub with one. With ``architecture`` and
    ``weights`` it needs no configuration, and images are prepared as for OpenAI's CLIP.

    Texts are plain text: a special token spelled out in one is read as the characters it is spelled with. What is
    past the text tower's limit is not read; :meth:`read_texts` tells.
    """

    provider: ClassVar[str] = "open_clip"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_open_clip"
    libraries: ClassVar[tuple[str, ...]] = (
        "torch",
        "torchvision",
        "pillow",
        "open_clip_torch",
        "timm",  # some image towers
        "transformers",  # some text towers and tokenizers
    )
    extra: ClassVar[str] = "open_clip"

    architecture: str | None = Field(default=None, pattern=r"^[\w.+-]+$")
    """One of open_clip's own, such as ``ViT-B-32``; weights of OpenAI need those that end in ``-quickgelu``."""
    weights: str | None = Field(default=None, pattern=r"^[\w.+-]+$")
    """The file in the folder that holds the weights of ``architecture``."""

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.architecture is None) != (self.weights is None):
            raise ValueError("architecture and weights belong together; set both, or none for open_clip_config.json")
        return self

    def load(self, source: Source) -> Tower:
        open_clip = import_extra("open_clip")
        with quietly():
            folder = local_folder(source, [*_SETTINGS, *self._weight_files])
            self._refuse_pickles(folder)
            file = str(folder / self.weights) if self.weights else None
            name = self.architecture or f"local-dir:{folder}"
            model, process = open_clip.create_model_from_pretrained(
                name, file, precision=_PRECISION[self.dtype], device=self.torch_device
            )
            tokenizer = None if self._tokenizer_elsewhere(open_clip) else plain(open_clip.get_tokenizer(name))
            return Tower(model.eval(), process, tokenizer)

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        torch, tower = import_extra("torch"), self.loaded
        with forward_pass(self.path, images):
            pixels = torch.stack([tower.process(image.convert("RGB")) for image in images])
            return as_features(
                tower.model.encode_image(pixels.to(self.torch_device, self.torch_dtype), normalize=False)
            )

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        model, tokenizer = self.loaded.model, self._tokenizer
        with forward_pass(self.path, texts):
            tokens = tokenizer(well_formed(texts)).to(self.torch_device)
            return as_features(model.encode_text(tokens, normalize=False))

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        tokenizer = self._tokenizer
        content = [len(_content(tokenizer, text)) for text in well_formed(texts)]
        return as_readings(content, tokenizer.context_length - _special(tokenizer))

    @property
    def _weight_files(self) -> tuple[str, ...]:
        """What is fetched from the hub; its repositories hold the same weights in formats of other libraries too."""
        if self.weights is not None:
            return (self.weights,)
        return (*_SAFE, "open_clip_pytorch_model.bin") if self.allow_pickle else _SAFE

    def _refuse_pickles(self, folder: Path) -> None:
        """open_clip itself decides what it loads from a folder, and takes a pickle where one is all it knows."""
        if self.allow_pickle:
            return
        if self.weights is not None:
            pickled = [] if self.weights.endswith(".safetensors") else [self.weights]
        elif any((folder / name).is_file() for name in _SAFE):
            pickled = []
        else:
            pickled = [file.name for pattern in _PICKLED for file in folder.glob(pattern)]
        if pickled:
            raise ConfigError(
                f"{self.path!r:.200} would be loaded from {pickled[0]!r:.100}, which can run code; save it as "
                f"{_SAFE[0]}, or set allow_pickle if you trust it"
            )

    def _tokenizer_elsewhere(self, open_clip: Any) -> bool:
        if self.architecture is None:
            return False
        text = (open_clip.get_model_config(self.architecture) or {}).get("text_cfg", {})
        return "hf_tokenizer_name" in text or "siglip" in self.architecture.lower()

    @property
    def _tokenizer(self) -> Any:
        if self.loaded.tokenizer is None:
            raise ConfigError(
                f"open_clip fetches the tokenizer of {self.architecture!r} from the network, at no fixed version; to "
                "read texts, set no architecture and give a folder with open_clip_config.json and the tokenizer"
            )
        return self.loaded.tokenizer


def plain(tokenizer: Any) -> Any:
    """The tokenizer, made to read a special token in a text as the characters it is spelled with."""
    if getattr(tokenizer, "reduction_fn", None) is not None:
        raise ValueError("its tokenizer drops words at random (reduction_mask)")
    inner = _inner(tokenizer)
    if inner is not None:
        inner.split_special_tokens = True
        return tokenizer
    special = re.compile("|".join(re.escape(tokenizer.decoder[token]) for token in tokenizer.all_special_ids))
    clean: Callable[[str], str] = tokenizer.clean_fn  # which can make special tokens: of &lt;end_of_text&gt;

    def clean_plain(text: str) -> str:
        text = special.sub(lambda found: f"{found[0][:1]} {found[0][1:]}", clean(text))
        return re.sub(rf"\S{{{_LONGEST_WORD}}}", r"\g<0> ", text)

    tokenizer.clean_fn = clean_plain
    return tokenizer


def _inner(tokenizer: Any) -> Any:
    """The tokenizer of transformers inside; None in open_clip's own."""
    return getattr(tokenizer, "tokenizer", None)


def _content(tokenizer: Any, text: str) -> Sequence[int]:
    inner = _inner(tokenizer)
    if inner is None:
        ids: Sequence[int] = tokenizer.encode(text)
    else:
        ids = inner(tokenizer.clean_fn(text), add_special_tokens=False, verbose=False).input_ids
    return ids


def _special(tokenizer: Any) -> int:
    """How many of the places that the tower reads are not the text's."""
    inner = _inner(tokenizer)
    if inner is None:
        return 2
    return 3 if tokenizer.tokenizer_mode == "clips" else int(inner.num_special_tokens_to_add())
