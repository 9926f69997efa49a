"""Consistency: the support of one text's sentences by other texts about the same thing.

Sources: Sun et al., "CrossCheckGPT: Universal Hallucination Ranking for Multimodal Foundation
Models", for the idea; Manakul et al., "SelfCheckGPT: Zero-Resource Black-Box Hallucination
Detection for Generative Large Language Models", for the formula of its variant with BERTScore,
which a cosine replaces here. Passages are of other systems.
"""

from collections.abc import Sequence

import numpy as np

from driftledger.core.types import Float32, Float64
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.neighbours import nearest


def support(sentences: Float32, passages: Sequence[Float32]) -> Float64:
    """Return how well passages support each sentence.

    It is the mean over passages of the sentence's largest cosine with a sentence of the passage.
    ``sentences`` is n×d, each of ``passages`` m×d with its own m; the answer is n values in [−1,
    1], higher is better supported. Raises ValueError without any passage, or something is empty,
    not finite or of another shape.

    >>> claims = np.array([[1, 0], [0, 1]], dtype=np.float32)
    >>> passages = np.array([[1, 0]], np.float32), np.array([[3, 4], [0, 2]], np.float32)
    >>> support(claims, passages)
    array([0.8, 0.5])
    """
    if not passages:
        raise ValueError("there must be at least one passage")
    best = []
    for passage in passages:
        _, similarities = nearest(passage, sentences, 1)
        best.append(similarities[:, 0])
    return np.array([exact_mean(row) for row in np.transpose(best)])
