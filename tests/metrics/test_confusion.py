import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from driftledger.metrics.confusion import ConfusedPair, confused_pairs

CASES = json.loads((Path(__file__).parents[1] / "cases/confusion.json").read_bytes())

classes = st.sampled_from("abcde")
samples = st.lists(st.tuples(classes, st.one_of(st.none(), classes)), min_size=1, max_size=60)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    found = confused_pairs(case["labels"], case["predicted"])
    assert [[*pair, pair.rate] for pair in found] == case["expected"]
    assert all(pair.confused == pair.first_as_second + pair.second_as_first for pair in found)


@given(samples)
def test_it_agrees_with_scikit_learn(drawn):
    labels, predicted = zip(*drawn, strict=True)
    names = [*"abcde", "nothing"]
    matrix = confusion_matrix(labels, [said or "nothing" for said in predicted], labels=names)
    expected = {
        ConfusedPair(names[a], names[b], matrix[a, b], matrix[b, a], matrix[[a, b]].sum())
        for a in range(5)
        for b in range(a + 1, 5)
        if matrix[a, b] + matrix[b, a]
    }
    assert set(confused_pairs(labels, predicted)) == expected


@given(samples, st.randoms())
def test_the_order_of_the_samples_does_not_matter(drawn, random):
    shuffled = random.sample(drawn, len(drawn))
    assert confused_pairs(*zip(*shuffled, strict=True)) == confused_pairs(*zip(*drawn, strict=True))


@given(samples)
def test_the_worst_comes_first(drawn):
    found = confused_pairs(*zip(*drawn, strict=True))
    keys = [(-pair.rate, -pair.confused, pair.first, pair.second) for pair in found]
    assert keys == sorted(keys)
    assert all(0 < pair.rate <= 1 and pair.first < pair.second for pair in found)


def test_it_says_what_is_wrong():
    with pytest.raises(ValueError, match="labels are empty"):
        confused_pairs([], [])
    with pytest.raises(ValueError, match="2 of labels, 1 of predicted"):
        confused_pairs(["a", "b"], ["a"])
