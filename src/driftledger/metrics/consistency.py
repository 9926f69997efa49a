"""How far the sentences of one text are borne out by what others say of the same thing.

Sources: Sun et al., "CrossCheckGPT: Universal Hallucination Ranking for Multimodal Foundation Models", whose idea is
that independent systems are unlikely to make up the same; Manakul et al., "SelfCheckGPT: Zero-Resource Black-Box
Hallucination Detection for Generative Large Language Models", whose variant with BERTScore gives the formula: the best
match within a passage, averaged over passages. Here a cosine takes BERTScore's place, and passages are of other
systems.
"""

from collections.abc import Sequence

import numpy as np

from driftledger.core.types import Float32, Float64
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.neighbours import nearest


def support(sentences: Float32, passages: Sequence[Float32]) -> Float64:
    """The support of each sentence: the mean over passages of its largest cosine with a sentence of the passage.

    ``sentences`` is n×d, and each of ``passages`` m×d with an m of its own. The answer is n values in [−1, 1], higher
    is better supported; a row of zeros, of which nothing is known, has 0. Cosines are rounded to 9 decimals, so that it
    is the same on every processor.

    Raises:
        ValueError: there is no passage, or something is empty, not finite or of another shape than the rest.

    >>> said = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> support(said, [np.array([[1, 0]], dtype=np.float32), np.array([[3, 4], [0, 2]], dtype=np.float32)])
    array([0.8, 0.5])
    """
    if not passages:
        raise ValueError("there is no passage to support anything")
    best = np.stack([nearest(passage, sentences, 1).similarities[:, 0] for passage in passages], axis=1)
    return np.array([exact_mean(row) for row in best.tolist()])
