"""CLIP as transformers loads it: images and texts in one space."""

from collections.abc import Sequence
from typing import Any, ClassVar

from driftledger.components.checkpoints.component import quietly
from driftledger.components.checkpoints.source import Source
from driftledger.components.encoders.towers import (
    Tower,
    TransformersEncoder,
    as_features,
    as_readings,
    forward_pass,
    well_formed,
)
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32, PromptUsage


class CLIP(TransformersEncoder):
    """A CLIP of transformers: the projected features of both towers, not normalised.

    Texts are plain text: a special token spelled out in one is read as the characters it is spelled with. What is
    past the text tower's limit is not read; :meth:`read_texts` tells.
    """

    provider: ClassVar[str] = "clip"
    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_clip"
    libraries: ClassVar[tuple[str, ...]] = (*TransformersEncoder.libraries, "tokenizers")
    model_types: ClassVar[tuple[str, ...]] = ("clip",)

    def load(self, source: Source) -> Tower:
        tower = super().load(source)
        with quietly():
            tokenizer = import_extra("transformers").AutoTokenizer.from_pretrained(
                source.location, split_special_tokens=True, padding_side="right", **self.hub_arguments
            )
            _check_end(tokenizer("a").input_ids, tower.model.config.text_config.eos_token_id)
        return tower._replace(tokenizer=tokenizer)

    def look(self, model: Any, pixels: Any) -> Any:
        return model.get_image_features(pixel_values=pixels).pooler_output

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        model, tokenizer = self.loaded.model, self.loaded.tokenizer
        with forward_pass(self.path, texts):
            tokens = tokenizer(
                well_formed(texts), padding=True, truncation=True, max_length=self._limit, return_tensors="pt"
            ).to(self.torch_device)
            read = model.get_text_features(input_ids=tokens.input_ids, attention_mask=tokens.attention_mask)
            return as_features(read.pooler_output)

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        tokenizer = self.loaded.tokenizer
        content = [
            len(tokenizer(text, add_special_tokens=False, verbose=False).input_ids) for text in well_formed(texts)
        ]
        return as_readings(content, self._limit - tokenizer.num_special_tokens_to_add())

    @property
    def _limit(self) -> int:
        """Tokens with those that begin and end a text."""
        tower = self.loaded
        return int(min(tower.tokenizer.model_max_length, tower.model.config.text_config.max_position_embeddings))


def _check_end(ids: list[int], end: int) -> None:
    """The model takes a text's features at its end token; where it finds none, all texts would be the same."""
    if end == 2:  # in old configurations, whatever the end token is; transformers then takes the highest
        end = max(ids)
    if ids[-1] != end or end in ids[:-1]:
        raise ValueError(f"its tokenizer does not end a text with the model's end token ({end})")
