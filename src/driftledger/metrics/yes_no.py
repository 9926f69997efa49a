"""MME's measure of an image with two questions.

Source: Fu et al. 2023, "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language
Models", section 2.2.
"""

from collections.abc import Sequence

from driftledger.metrics.exact import exact_mean


def image_score(right: Sequence[float | None]) -> float | None:
    """Return 100·(accuracy + accuracy+) of an image, in [0, 200]; higher is better.

    The mean over the images of a category is the category's score.

    Args:
        right: for both questions, 1 for a right answer and 0 for a wrong one; None for an answer
            that is not in the denominators, with which the image has no score.

    Raises:
        ValueError: there are not two questions.

    >>> image_score([1, 1]), image_score([1, 0]), image_score([1, None])
    (200.0, 50.0, None)
    """
    first, second = right
    if first is None or second is None:
        return None
    return 100 * (exact_mean([first, second]) + first * second)
