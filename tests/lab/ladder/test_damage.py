"""Descriptions are read and said again to the letter, and a dose hits what it should."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.demo.datasets.arrangements.choosing import of_count
from driftledger.demo.generators.reading import read as painted
from lab.ladder.damage import FILLER, FILLERS, KINDS, damaged
from lab.ladder.told import Captions, Regions, Wording

CAPTIONS = [next(of_count(things, seed)).caption for things in (1, 2, 3) for seed in range(5)]
ACCOUNT = (
    "A picture 150% as wide as tall on a dark grey background. A light greyish orange ellipse, 40% by 20%, 30% across "
    "and 70% down, tilted 15 degrees. A red circle, 10% by 10%, 50% across and 50% down. An azure stripe, 9% by 2%, "
    "80% across and 12% down, upright. A nearly white square, 5% by 5%, 20% across and 90% down."
)
SPOKEN: list[tuple[Wording, str]] = [(Captions(), CAPTIONS[-1]), (Regions(), ACCOUNT)]
TEXTS = [*((Captions(), each) for each in CAPTIONS), (Regions(), ACCOUNT)]


@pytest.mark.parametrize(("wording", "text"), TEXTS)
def test_what_is_read_is_said_again_to_the_letter(wording: Wording, text: str) -> None:
    told = wording.read(text)
    assert told is not None
    assert wording.say(told) == text


@pytest.mark.parametrize("text", ["", "This is a photograph.", "A dog, on a white background.", "A red circle."])
def test_what_speaks_otherwise_is_left_as_it_is(text: str) -> None:
    for wording in (Captions(), Regions()):
        assert wording.read(text) is None
        assert damaged("drop", 1.0, text, wording) == text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("wording", "text"), SPOKEN)
def test_no_dose_is_no_damage_and_the_same_dose_is_the_same(kind: str, wording: Wording, text: str) -> None:
    assert damaged(kind, 0.0, text, wording) == text
    assert damaged(kind, 1.0, text, wording) == damaged(kind, 1.0, text, wording) != text


@pytest.mark.parametrize("dose", [-0.1, 1.1])
def test_a_dose_is_a_share(dose: float) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        damaged("drop", dose, ACCOUNT, Regions())


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_larger_dose_drops_what_a_smaller_one_does(one: float, other: float) -> None:
    for wording, text in SPOKEN:
        less, more = (wording.read(damaged("drop", dose, text, wording)) for dose in sorted((one, other)))
        if less is not None and more is not None:
            assert {str(thing) for thing in more.things} <= {str(thing) for thing in less.things}


def test_nothing_is_left_of_what_is_dropped_whole() -> None:
    assert damaged("drop", 1.0, ACCOUNT, Regions()) == "A picture 150% as wide as tall on a dark grey background."
    assert damaged("drop", 1.0, CAPTIONS[-1], Captions()).startswith("Nothing, on a ")


def test_every_fact_is_wrong_at_the_whole_dose() -> None:
    for wording, text in SPOKEN:
        before, after = wording.read(text), wording.read(damaged("wrong", 1.0, text, wording))
        assert before is not None
        assert after is not None
        for one, other in zip(before.things, after.things, strict=True):
            assert all(one[fact] != other[fact] for fact in one if fact != "tilt")


def test_colours_are_exchanged_and_none_is_lost() -> None:
    for wording, text in SPOKEN:
        before, after = wording.read(text), wording.read(damaged("swap", 1.0, text, wording))
        assert before is not None
        assert after is not None
        assert Counter(t["colour"] for t in before.things) == Counter(t["colour"] for t in after.things)
        assert [t["shape"] for t in before.things] == [t["shape"] for t in after.things]
        assert before != after


def test_of_one_thing_no_colour_can_be_exchanged() -> None:
    assert damaged("swap", 1.0, CAPTIONS[0], Captions()) == CAPTIONS[0]


def test_negated_things_are_said_not_to_be_there() -> None:
    assert damaged("deny", 1.0, ACCOUNT, Regions()).count("There is no ") == 4
    assert damaged("deny", 1.0, CAPTIONS[-1], Captions()).lower().count(" no ") == 3


def test_shuffling_keeps_every_word() -> None:
    for wording, text in SPOKEN:
        shuffled = damaged("shuffle", 1.0, text, wording)
        assert Counter(shuffled.split()) == Counter(text.split())


@pytest.mark.parametrize("kind", ["order", "paraphrase"])
def test_what_is_kept_reads_the_same_to_the_painter(kind: str) -> None:
    before, after = painted(ACCOUNT), painted(damaged(kind, 1.0, ACCOUNT, Regions()))
    assert (before.ratio, before.background) == (after.ratio, after.background)
    assert Counter(before.shapes) == Counter(after.shapes)


def test_fillers_stand_at_one_end_and_tell_nothing() -> None:
    longer = " ".join([FILLER] * FILLERS)
    assert damaged("before", 1.0, ACCOUNT, Regions()) == f"{longer} {ACCOUNT}"
    assert damaged("behind", 0.5, ACCOUNT, Regions()) == f"{ACCOUNT} {' '.join([FILLER] * (FILLERS // 2))}"
    assert painted(longer).shapes == []


def test_synonyms_are_put_word_for_word() -> None:
    said = damaged("synonyms", 1.0, ACCOUNT, Regions())
    assert "A red disc, 10% by 10%" in said
    assert "circle" not in said
    assert len(said.split()) == len(ACCOUNT.split())
