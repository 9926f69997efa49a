import hashlib
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from driftledger.data.datasets.base import choose

LABELS = st.lists(st.sampled_from("abcd"), max_size=40)
SPLITS: st.SearchStrategy[Literal["support", "test"]] = st.sampled_from(["support", "test"])
ROWS = [(number, "cat" if number % 3 else "dog") for number in range(300)]


def test_what_is_chosen_is_written_in_the_hashes() -> None:
    """As somebody would repeat it with what is written down and nothing of ours."""
    hashes = {number: hashlib.sha256(f'[7,"support",{number}]'.encode()).hexdigest() for number in range(9)}
    expected = set(sorted(range(9), key=hashes.__getitem__)[:4])
    assert choose(7, "support", [(number, "cat") for number in range(9)], 4) == expected


def test_a_choice_that_no_machine_and_no_release_may_change() -> None:
    assert sorted(choose(0, "support", ROWS, 3)) == [57, 124, 135, 141, 154, 172]
    assert sorted(choose(0, "test", [(f"test/{number}.png", "cat") for number in range(20)], 2)) == [
        "test/10.png",
        "test/14.png",
    ]


def test_seeds_and_sets_choose_apart() -> None:
    first = choose(0, "support", ROWS, 5)
    assert choose(1, "support", ROWS, 5) != first
    assert choose(0, "test", ROWS, 5) != first


@given(LABELS, st.integers(1, 5), st.integers(0, 3), SPLITS)
def test_each_label_keeps_as_many_as_are_asked_for_or_all(
    labels: list[str], most: int, seed: int, split: Literal["support", "test"]
) -> None:
    kept = choose(seed, split, enumerate(labels), most)
    assert {label: sum(labels[key] == label for key in kept) for label in labels} == {
        label: min(most, labels.count(label)) for label in labels
    }


@given(LABELS, st.integers(1, 5), st.randoms(use_true_random=False))
def test_a_labels_choice_hangs_on_its_own_rows_alone(labels: list[str], most: int, random: object) -> None:
    rows = list(enumerate(labels))
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    kept = choose(0, "test", rows, most)
    assert choose(0, "test", shuffled, most) == kept
    without = [(key, label) for key, label in rows if label != "a"]
    assert choose(0, "test", without, most) == {key for key in kept if labels[key] != "a"}


@given(LABELS, st.integers(1, 5))
def test_more_of_each_label_only_adds(labels: list[str], most: int) -> None:
    rows = list(enumerate(labels))
    assert choose(0, "support", rows, most) <= choose(0, "support", rows, most + 1)
