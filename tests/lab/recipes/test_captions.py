"""What captions leave out, and who says them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.core.canonical import sha256_file
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, ImageFile
from driftledger.demo.datasets.arrangements.drawing import draw
from driftledger.demo.datasets.arrangements.grammar import GROUNDS, INKS, PLACES, SHAPES, SIZES, Arrangement, Thing
from lab.recipes.captions import vague, with_gaps
from lab.recipes.telling import VaguelyFaultless
from lab.trio.stream import random_for

things = st.builds(
    Thing,
    st.integers(0, len(PLACES) - 1),
    st.sampled_from(list(SIZES)),
    st.sampled_from(list(INKS)),
    st.sampled_from(SHAPES),
)
arranged = st.builds(
    Arrangement,
    st.sampled_from(list(GROUNDS)),
    st.lists(things, min_size=1, max_size=3, unique_by=lambda thing: thing.cell).map(
        lambda some: tuple(sorted(some, key=lambda thing: thing.cell))
    ),
)


@given(arranged)
def test_of_each_thing_one_fact_is_left_out_and_all_else_is_told(one: Arrangement) -> None:
    expected = one.caption
    for thing in one.things:
        article = "an" if thing.colour == "orange" else "a"
        told = f"a large {thing.shape}" if thing.size == "large" else f"{article} {thing.colour} {thing.shape}"
        expected = expected.replace(thing.words, told)
    assert vague(one.caption) == expected
    assert "small" not in vague(one.caption)


@given(arranged, st.integers(0, 99))
def test_what_is_missing_does_not_tell_what_was_there(one: Arrangement, seed: int) -> None:
    """Which fact is missing follows from chance and never from the facts, and the rest is told as ever."""
    other = Arrangement(one.ground, tuple(thing._replace(size="small", colour="orange") for thing in one.things))
    said, told = (with_gaps(random_for(seed), each.caption) for each in (one, other))
    ground = f", on a {one.ground} background."
    assert said.endswith(ground)
    assert told.endswith(ground)
    said, told = said.removesuffix(ground), told.removesuffix(ground)
    assert all(thing.shape in said and thing.shape in told for thing in one.things)
    words = [("large" in said or "small" in said), any(colour in said.split() for colour in INKS)]
    assert words == ["small" in told, "orange" in told.split()]


def test_who_makes_no_mistake_tells_no_more(tmp_path: Path) -> None:
    one = Arrangement("white", (Thing(0, "large", "red", "circle"), Thing(4, "small", "orange", "ring")))
    file = tmp_path / "one.png"
    from PIL import Image

    file.write_bytes(png_bytes(Image.fromarray(draw(one))))
    asked = Conversation.ask("What is there?", ImageFile(file, sha256_file(file)))
    [said] = VaguelyFaultless().respond([asked])
    assert said.text == "At the top left a large circle and in the centre an orange ring, on a white background."


@pytest.mark.parametrize("caption", ["", "A small town.", "a large", "On a pink background a larger red circle."])
def test_other_texts_are_no_mistake(caption: str) -> None:
    assert isinstance(vague(caption), str)
