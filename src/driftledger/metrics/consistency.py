"""How far other texts about the same thing support the sentences of one text.

Sources: Sun et al., "CrossCheckGPT: Universal Hallucination Ranking for Multimodal Foundation Models", for the idea
that independent systems are unlikely to make up the same; Manakul et al., "SelfCheckGPT: Zero-Resource Black-Box
Hallucination Detection for Generative Large Language Models", for the formula of its variant with BERTScore: the best
match within a passage, averaged over passages. Here a cosine replaces BERTScore, and passages are of other systems.
"""

from collections.abc import Sequence

import numpy as np

from driftledger.core.types import Float32, Float64
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.neighbours import nearest


def support(sentences: Float32, passages: Sequence[Float32]) -> Float64:
    """Return, for each sentence, the mean over passages of its largest cosine with a sentence of the passage.

    ``sentences`` is n×d, and each of ``passages`` m×d with an m of its own. The answer is n values in [−1, 1], higher
    is better supported; a row of zeros, which the encoder knows nothing of, has 0. Cosines have 9 decimals.

    Raises:
        ValueError: there is no passage, or something is empty, not finite or of another shape than the rest.

    >>> claims = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> support(claims, [np.array([[1, 0]], dtype=np.float32), np.array([[3, 4], [0, 2]], dtype=np.float32)])
    array([0.8, 0.5])
    """
    if not passages:
        raise ValueError("there is no passage to support anything")
    best = np.stack([nearest(passage, sentences, 1).similarities[:, 0] for passage in passages], axis=1)
    return np.array([exact_mean(row) for row in best.tolist()])
