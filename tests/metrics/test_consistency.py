"""The support of sentences by passages: by hand, against numpy, and what must hold of any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftledger.core.types import Float32
from driftledger.metrics.consistency import support

components = st.floats(-100, 100, width=32).filter(lambda x: x == 0 or abs(x) > 1e-3)


def matrices(rows: int) -> st.SearchStrategy[Float32]:
    of_a_row = hnp.arrays(np.float32, 3, elements=components).filter(np.any)
    return st.lists(of_a_row, min_size=1, max_size=rows).map(np.stack)


def test_the_best_match_of_each_passage_is_averaged() -> None:
    said = np.array([[3, 4], [0, 1], [0, 0]], dtype=np.float32)
    one, other = np.array([[1, 0], [0, 2]], dtype=np.float32), np.array([[-5, 0]], dtype=np.float32)
    # [3 4]: max(0.6, 0.8) and −0.6; [0 1]: max(0, 1) and 0; nothing is known of [0 0]
    assert support(said, [one, other]).tolist() == pytest.approx([0.1, 0.5, 0.0], abs=1e-9)


@given(matrices(4), st.lists(matrices(4), min_size=1, max_size=3))
def test_numpy_gives_the_same(said: Float32, passages: list[Float32]) -> None:
    def unit(rows: Float32) -> Float32:
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    expected = np.mean([(unit(said) @ unit(passage).T).max(axis=1) for passage in passages], axis=0)
    np.testing.assert_allclose(support(said, passages), expected, rtol=0, atol=1e-5)


@given(matrices(4), st.integers(1, 3))
def test_what_all_say_word_for_word_has_full_support(said: Float32, others: int) -> None:
    assert support(said, [said[::-1]] * others).tolist() == [1.0] * len(said)


def test_nothing_supports_nothing() -> None:
    with pytest.raises(ValueError, match="no passage"):
        support(np.ones((1, 2), np.float32), [])
