"""The embedded text encoder: TF-IDF, as in Appendix B of the TRAC paper.

Its numbers are the same bits on every processor. Counts are whole numbers. The one logarithm, of
each word's rarity, is taken in decimal arithmetic, which is rounded correctly and not by a
processor; sums of squares are rounded once (:func:`math.fsum`), and what remains is single
products, quotients and square roots, which IEEE 754 rounds correctly everywhere.
"""

import math
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal
from functools import cache
from typing import ClassVar

import numpy as np
from pydantic import Field, PrivateAttr

from driftledger.components.base import Encoder
from driftledger.core.errors import DataError
from driftledger.core.types import Float32, PromptUsage

WORD = r"\w+(?:(?<=\d)[.,]\d+)*(?:(?<=\d)%)?"
"""A word: letters and digits, with what belongs to a number.

scikit-learn's own pattern drops what has one character. In a description that is the 3 of
"3 wheels" and the letter on a sign, and what it leaves of "26%" and "2.5" is 26 and nothing. A
hyphen parts words, since "dark-red" and "dark red" say the same.
"""

_WORD = re.compile(WORD)
_DIGITS = Context(prec=30)


class TfIdf(Encoder):
    """The words that a text holds; a word weighs more if fewer texts of a corpus hold it.

    It reads texts only once :meth:`fitted` has shown it a corpus. That is no setting: every fitted
    one has the fingerprint of its settings, and whoever stores its features names the corpus.
    """

    provider: ClassVar[str] = "tfidf"
    version: ClassVar[str] = "1"

    ngrams: int = Field(default=1, ge=1, le=5)
    """The longest run of words that counts as one thing; shorter ones count too."""
    max_features: int = Field(default=10_000, ge=1, le=1_000_000)
    """Most words and runs that are known: the corpus's most frequent ones, and of equally frequent
    ones the first by code points. A text takes four bytes for each."""

    _weights: dict[str, float] | None = PrivateAttr(default=None)
    """Each word or run that is known, in the order of the columns → its weight."""

    def fitted(self, texts: Sequence[str]) -> "TfIdf":
        """Return an encoder of the same settings that knows the words of ``texts``.

        A word that df of n texts hold weighs ln((1 + n) / (1 + df)) + 1: scikit-learn's default.

        Raises:
            DataError: no text holds a word.
        """
        if not any(map(_WORD.search, texts)):
            raise DataError(
                f"tfidf learns which words are rare from a corpus, and of its {len(texts)} texts "
                "none holds a word; look at the descriptions of the support set"
            )
        total: Counter[str] = Counter()
        holding: Counter[str] = Counter()
        for text in texts:
            counts = self._counts(text)
            total.update(counts)
            holding.update(counts.keys())
        frequent = sorted(total, key=lambda run: (-total[run], run))[
            : self.max_features
        ]
        encoder = self.model_copy()
        encoder._weights = {}
        for run in sorted(frequent):
            encoder._weights[run] = _rarity(len(texts), holding[run])
        return encoder

    def _counts(self, text: str) -> Counter[str]:
        words = _WORD.findall(text.lower())
        counts: Counter[str] = Counter()
        for length in range(1, self.ngrams + 1):
            for start in range(len(words) - length + 1):
                counts[" ".join(words[start : start + length])] += 1
        return counts

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        """Return rows of length 1, n×d for d known words; zero where a text holds none of them.

        Raises:
            ValueError: this encoder is not :meth:`fitted`.
        """
        known = self._weights
        if known is None:
            raise ValueError(
                "tfidf knows no words yet: encode with what fitted(texts) returns"
            )
        columns = {run: column for column, run in enumerate(known)}
        features = np.zeros((len(texts), len(columns)), np.float32)
        for row, text in zip(features, texts, strict=True):
            counts = self._counts(text)
            weights = {run: counts[run] * known[run] for run in counts if run in known}
            squares = [weight * weight for weight in weights.values()]
            length = math.sqrt(math.fsum(squares))
            for run, weight in weights.items():
                row[columns[run]] = weight / length
        return features

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        """Count the words of every text: there is no limit."""
        counts = [len(_WORD.findall(text)) for text in texts]
        return [PromptUsage(count, count) for count in counts]


@cache
def _rarity(texts: int, holding: int) -> float:
    ratio = _DIGITS.divide(Decimal(1 + texts), Decimal(1 + holding))
    return float(_DIGITS.add(_DIGITS.ln(ratio), Decimal(1)))
