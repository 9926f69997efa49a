"""The stream that everything is trained on: nothing that is held out, and all of it a function of the key."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftledger_demo.datasets.arrangements.grammar import GROUNDS, INKS, SHAPES, SIZES
from lab.trio.stream import arrangements, images, random_for, worn
from lab.validity.faultless import measure

seeds = st.integers(0, 2**32 - 1)


@given(seeds, st.integers(0, 64), st.booleans())
def test_what_is_held_out_never_comes_to_training(seed: int, count: int, held_out: bool) -> None:
    some = arrangements(random_for(seed, 1), count, held_out=held_out)
    assert [one.held_out for one in some] == [held_out] * count


def test_by_default_it_is_for_training() -> None:
    assert not any(one.held_out for one in arrangements(random_for(1), 1000))


def test_arrangements_are_of_the_grammar_and_of_all_of_it() -> None:
    some = arrangements(random_for(0), 600)
    things = [thing for one in some for thing in one.things]
    assert {len(one.things) for one in some} == {1, 2, 3}
    assert all(one.cell < other.cell for each in some for one, other in pairwise(each.things))
    assert {thing.cell for thing in things} == set(range(9))
    assert {thing.size for thing in things} == set(SIZES)
    assert {thing.colour for thing in things} == set(INKS)
    assert {thing.shape for thing in things} == set(SHAPES)
    assert {one.ground for one in some} == set(GROUNDS)


def test_no_attribute_is_rarer_than_another() -> None:
    some = arrangements(random_for(0), 3000)
    things = [thing for one in some for thing in one.things]
    for values, share in (
        ([len(one.things) for one in some], 1 / 3),
        ([one.ground for one in some], 1 / 5),
        ([thing.cell for thing in things], 1 / 9),
        ([thing.colour for thing in things], 1 / 8),
        ([thing.shape for thing in things], 1 / 6),
        ([thing.size for thing in things], 1 / 2),
    ):
        _, counts = np.unique(values, return_counts=True)
        assert counts / len(values) == pytest.approx(share, rel=0.15)


@given(st.tuples(seeds, st.integers(0, 10_000)), st.tuples(seeds, st.integers(0, 10_000)))
@settings(max_examples=30)
def test_a_key_gives_the_same_stream_and_another_key_another(one: tuple[int, int], other: tuple[int, int]) -> None:
    def drawn(key: tuple[int, int]) -> bytes:
        random = random_for(*key)
        return worn(random, images(arrangements(random, 4))).tobytes()

    assert drawn(one) == drawn(one)
    assert (drawn(one) == drawn(other)) == (one == other)


@given(seeds, st.integers(1, 5))
@settings(max_examples=30)
def test_worn_images_keep_their_shape_and_what_they_show(seed: int, count: int) -> None:
    random = random_for(seed)
    some = arrangements(random, count)
    sharp = images(some)
    before = sharp.copy()
    made = worn(random, sharp)
    assert (made.shape, made.dtype) == (sharp.shape, np.uint8) == ((count, 64, 64, 3), np.uint8)
    assert np.array_equal(sharp, before)
    assert [measure(pixels) for pixels in made] == some


def test_plain_images_get_noise_alone_of_a_different_amount_each() -> None:
    off = worn(random_for(7), np.full((40, 64, 64, 3), 128, dtype=np.uint8)).astype(int) - 128
    deviations = off.std(axis=(1, 2, 3))
    assert deviations.min() < 1
    assert 11 < deviations.max() < 12.5
    assert abs(off.mean()) < 0.1


@pytest.mark.parametrize("level", [0, 255])
def test_what_would_leave_the_range_stays_at_its_end(level: int) -> None:
    made = worn(random_for(7), np.full((40, 64, 64, 3), level, dtype=np.uint8)).astype(int)
    assert np.abs(made - level).max() <= 6 * 12
    assert np.median(made) == level


def test_an_edge_is_blurred_by_up_to_one_pixel() -> None:
    edge = np.zeros((200, 8, 8, 3), dtype=np.uint8)
    edge[:, :, 4:] = 240
    columns = worn(random_for(3), edge).mean(axis=(1, 3))
    middle = columns[:, 4] - columns[:, 3]
    assert middle.max() > 220
    assert middle.min() < 140  # 1 2 1 leaves half of the step
    assert np.median(columns[:, 5]) > 225
