"""The embedded text encoder that knows what words mean: the mean of static embeddings.

The embeddings are in wordllama's wheel (MIT), 32,000 tokens × 256 numbers in float16, trained from
a language model's own. The two files are read directly, and none of that library's code runs: its
``load`` looks for the tokenizer in another folder than the wheel's and would download it.
"""

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from driftledger.components.base import Encoder, library_versions
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Float32, Float64, PromptUsage
from driftledger_demo.installed import EXTRA, installed_path, lacking

_WEIGHTS = "wordllama/weights/l2_supercat_256.safetensors"
_TOKENIZER = "wordllama/tokenizers/l2_supercat_tokenizer_config.json"
_in_wheel = partial(installed_path, "wordllama")


class Words(Encoder):
    """The meanings in a text: the mean of its tokens' embeddings, whatever their order."""

    provider: ClassVar[str] = "words"
    version: ClassVar[str] = "1"
    extra: ClassVar[str] = EXTRA

    def identity(self) -> dict[str, Any]:
        weights = {}
        for file in (_WEIGHTS, _TOKENIZER):
            path = _in_wheel(file)
            weights[path.name] = sha256_file(path)
        libraries = library_versions("tokenizers", extra=EXTRA)
        return {"weights": weights, "licence": "MIT"} | libraries

    def readiness(self) -> tuple[list[str], list[str]]:
        return lacking("wordllama", "safetensors", "tokenizers"), []

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        """Return n×256, the same bits everywhere; all zero for a text without a token.

        A float16 is a whole multiple of 2⁻²⁴, so that sums of fewer than 2²⁵ of them are exact in
        float64, in any order.
        """
        means = [self._mean(ids) for ids in self._tokens(texts)]
        return np.stack(means).astype(np.float32)

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        """Count the tokens of every text: there is no limit."""
        return [PromptUsage(len(ids), len(ids)) for ids in self._tokens(texts)]

    def release(self) -> None:
        """Free the embeddings, 16 MB, and the tokenizer."""
        self.__dict__.pop("_embeddings", None)
        self.__dict__.pop("_tokenizer", None)

    def _mean(self, ids: Sequence[int]) -> Float64:
        total = self._embeddings[list(ids)].astype(np.float64).sum(axis=0)
        return np.asarray(total / max(1, len(ids)))

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the tokens of each text; a lone surrogate is read as a question mark.

        A special token spelled out in a text is read as its characters.
        """
        well_formed = [text.encode("utf-8", "replace").decode() for text in texts]
        encodings = self._tokenizer.encode_batch(well_formed, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    @cached_property
    def _embeddings(self) -> Any:
        from safetensors.numpy import load_file

        return load_file(_in_wheel(_WEIGHTS))["embedding.weight"]

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(_in_wheel(_TOKENIZER)))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        tokenizer.encode_special_tokens = True
        return tokenizer
