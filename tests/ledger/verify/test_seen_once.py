"""Within one verification equal batches are seen once, and others are not taken for them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from driftledger.ledger.verify.seen_once import SeenOnce


def counting(made: list[float]) -> Callable[[], NDArray[np.float32]]:
    def make() -> NDArray[np.float32]:
        made.append(1.0)
        return np.array([[float(len(made))]], np.float32)

    return make


def test_a_batch_is_seen_once() -> None:
    made: list[float] = []
    seen = SeenOnce()
    first = seen.get("encoder", "images", ["a", "b"], counting(made))
    first[:] = 7  # whoever works on what was handed out changes nothing for others
    assert seen.get("encoder", "images", ("a", "b"), counting(made)).tolist() == [[1.0]]
    assert len(made) == 1


def test_other_batches_encoders_and_senses_are_others() -> None:
    made: list[float] = []
    seen = SeenOnce()
    seen.get("encoder", "images", ["a", "b"], counting(made))
    seen.get("encoder", "images", ["b", "a"], counting(made))
    seen.get("encoder", "images", ["a"], counting(made))
    seen.get("another", "images", ["a", "b"], counting(made))
    seen.get("encoder", "texts", ["a", "b"], counting(made))
    assert len(made) == 5


def test_an_image_without_a_hash_is_seen_each_time() -> None:
    made: list[float] = []
    seen = SeenOnce()
    for _ in range(2):
        seen.get("encoder", "images", ["a", ""], counting(made))
    assert len(made) == 2
