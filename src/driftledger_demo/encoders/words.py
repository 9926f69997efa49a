"""The embedded text encoder that knows what words mean: the mean of static embeddings, the same bits everywhere.

The embeddings stand in wordllama's wheel (MIT), 32,000 tokens × 256 numbers in float16, trained from a language model's
own. The two files are read directly, and none of that library's code runs: its ``load`` looks for the tokenizer in
another folder than the wheel's and would download it.
"""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from driftledger.components.base import Encoder, library_versions
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Float32, Float64, PromptUsage
from driftledger_demo.installed import installed_path

_WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"


def in_wheel(file: str) -> Path:
    """Return the path of a file of wordllama's wheel."""
    return installed_path("wordllama", file)


class Words(Encoder):
    """Which meanings a text is made of: the mean of its tokens' embeddings, so that word order tells it nothing."""

    provider: ClassVar[str] = "words"
    version: ClassVar[str] = "1"

    def identity(self) -> dict[str, Any]:
        weights = {path.name: sha256_file(path) for path in map(in_wheel, (_WEIGHTS, _TOKENIZER))}
        return {"weights": weights, "licence": "MIT"} | library_versions("tokenizers")

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        """n×256; all zero for a text without a token.

        A float16 is a whole multiple of 2⁻²⁴, so that sums of fewer than 2²⁵ of them are exact in float64, in whatever
        order they are taken.
        """
        return np.stack([self._mean(ids) for ids in self._tokens(texts)]).astype(np.float32)

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        """All of every text: there is no limit."""
        return [PromptUsage(len(ids), len(ids)) for ids in self._tokens(texts)]

    def release(self) -> None:
        """Let go of the embeddings, 16 MB, and of the tokenizer."""
        for loaded in ("_embeddings", "_tokenizer"):
            self.__dict__.pop(loaded, None)

    def _mean(self, ids: Sequence[int]) -> Float64:
        mean: Float64 = self._embeddings[list(ids)].astype(np.float64).sum(axis=0) / max(1, len(ids))
        return mean

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """A special token spelled out in a text is read as its characters, a lone surrogate as a question mark."""
        well_formed = [text.encode("utf-8", "replace").decode() for text in texts]
        return [each.ids for each in self._tokenizer.encode_batch(well_formed, add_special_tokens=False)]

    @cached_property
    def _embeddings(self) -> Any:
        from safetensors.numpy import load_file

        return load_file(in_wheel(_WEIGHTS))["embedding.weight"]

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(in_wheel(_TOKENIZER)))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        return tokenizer
