"""What scenes are said to hold is what their pixels show, and questions are answered by what is seen there."""

import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from io import BytesIO

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from driftledger.data.question_sets.base import SourceQuestion
from driftledger_demo.scenes import facts
from driftledger_demo.scenes.knowledge import COLOURS, PLACES, SHAPES, SIZES
from driftledger_demo.scenes.provider import Protocol
from driftledger_demo.scenes.scene import THEMES, make_scene
from tests.demo.scenes.scenes_reader import Picture, Seen, asked, look

SEEDS = (1, 2)
COUNT = 117

seen_at = cache(lambda seed, number: look(make_scene(seed, number)))


@given(st.integers(0, 2**32 - 1), st.integers(0, 9_999))
@settings(max_examples=60)
def test_what_a_scene_holds_is_what_its_pixels_show(seed: int, number: int) -> None:
    scene = make_scene(seed, number)
    picture = look(scene)
    held = Counter((thing.colour, thing.shape, thing.cell) for thing in scene.things)
    assert Counter((seen.colour, seen.shape, seen.cell) for seen in picture.things) == held
    widths = {thing.cell: SIZES[thing.size] for thing in scene.things}
    assert all(abs(seen.width - widths[seen.cell]) <= 3 for seen in picture.things)
    colours = scene.background.colours
    expected = {
        "plain": colours * 4,
        "halves": (colours[0], colours[-1], colours[0], colours[0]),
        "vertical stripes": (colours[0], colours[0], colours[-1], colours[0]),
        "horizontal stripes": (colours[0], colours[-1], colours[0], colours[-1]),
    }[scene.background.pattern]
    assert tuple(picture.ground) == expected


def test_the_scenes_are_varied() -> None:
    scenes = [make_scene(1, number) for number in range(120)]
    things = [thing for scene in scenes for thing in scene.things]
    assert {thing.shape for thing in things} == set(SHAPES)
    assert {thing.colour for thing in things} == set(COLOURS)
    assert {thing.size for thing in things} == set(SIZES)
    assert {thing.cell for thing in things} == set(range(9))
    assert {len(scene.things) for scene in scenes} == set(range(1, 7))
    assert {scene.theme for scene in scenes} == set(THEMES)
    assert len({scene.background for scene in scenes}) > 10


# --- answers, found by reading the question and looking at the picture --------------------------------------------

NUMBERS = dict(zip(facts.NUMBERS, range(21), strict=True))


def singular(noun: str) -> str:
    return "cross" if noun in ("cross", "crosses") else noun.removesuffix("s")


def matching(picture: Picture, what: str) -> list[Seen]:
    """Things that words such as "large red circles at the top left" or "blue objects" mean."""
    words, _, place = what.partition(" at the ")
    if " in the centre" in words:
        words, place = words.replace(" in the centre", ""), "centre"
    *adjectives, noun = words.split()
    found = [seen for seen in picture.things if singular(noun) in ("object", seen.shape)]
    for adjective in adjectives:
        if adjective in COLOURS:
            found = [seen for seen in found if seen.colour == adjective]
        else:
            found = [seen for seen in found if abs(seen.width - SIZES[adjective]) <= 3]
    return [seen for seen in found if not place or PLACES[seen.cell] == place]


def only(picture: Picture, what: str) -> Seen:
    [found] = matching(picture, what)
    return found


def chosen(question: SourceQuestion, fits: Callable[[str], bool]) -> str:
    """The one option that ``fits``, without its article."""
    bare = {option: re.sub(r"^(an?|the) ", "", option.lower()) for option in question.options[:4]}
    [option] = [option for option, words in bare.items() if fits(words)]
    return option


def extreme(picture: Picture, word: str) -> Seen:
    pick = max if word == "largest" else min
    by_width, by_area = (pick(picture.things, key=key) for key in (lambda seen: seen.width, lambda seen: seen.area))
    assert by_width == by_area
    assert sum(seen.width == by_width.width for seen in picture.things) == 1
    return by_width


def directly(picture: Picture, way: str, what: str) -> Seen:
    step = {"above": -3, "below": 3, "to the left of": -1, "to the right of": 1}[way]
    return next(seen for seen in picture.things if seen.cell == only(picture, what).cell + step)


def outermost(picture: Picture, way: str) -> Seen:
    rank = {
        "furthest to the left": lambda seen: seen.cell % 3,
        "furthest to the right": lambda seen: -(seen.cell % 3),
        "highest up": lambda seen: seen.cell // 3,
        "lowest down": lambda seen: -(seen.cell // 3),
    }[way]
    first, second = sorted(picture.things, key=rank)[:2]
    assert rank(first) < rank(second), "more than one is as far out"
    return first


def lies(one: Seen, way: str, other: Seen) -> bool:
    (down, across), (lower, further) = divmod(one.cell, 3), divmod(other.cell, 3)
    return {"above": down < lower, "below": down > lower}.get(
        way, across < further if way == "to the left of" else across > further
    )


def pattern(picture: Picture) -> str:
    upper, lower, across, down = picture.ground
    if upper != across:
        return "vertical stripes"
    if upper != down:
        return "horizontal stripes"
    return "one plain colour" if upper == lower else "two halves, one above the other"


Answer = Callable[..., object]
RULES: dict[str, dict[str, Answer]] = {
    "mm_sap": {
        r"What shape is the (.+ object) in the image\?": lambda p, q, what: only(p, what).shape,
        r"What shape is the (object .+) of the image\?": lambda p, q, what: only(p, what).shape,
        r"What colour is the ((?!background|upper|lower).+)\?": lambda p, q, what: only(p, what).colour,
        r".*[Hh]ow many (.+) are there in the image\?": lambda p, q, what: str(len(matching(p, what))),
        r"Where in the image is the (.+)\?": lambda p, q, what: PLACES[only(p, what).cell],
        r".*[Ww]hich is the (largest|smallest) object.*": lambda p, q, word: chosen(
            q, lambda name: extreme(p, word) in matching(p, name)
        ),
        r"Which of these objects is in the image\?": lambda p, q: chosen(q, lambda name: bool(matching(p, name))),
        r"Which of these objects is not in .*": lambda p, q: chosen(q, lambda name: not matching(p, name)),
        r"What colour is the background\?": lambda p, q: p.ground[0],
        r"What colour is the (upper|lower) half.*": lambda p, q, half: p.ground[half == "lower"],
        r"What does the background of the image look like\?": lambda p, q: pattern(p),
        r"Which two colours do the stripes.*": lambda p, q: chosen(
            q, lambda pair: set(pair.split(" and ")) == set(p.ground)
        ),
    },
    "mme": {
        r"Is there an? (.+) in the image\?": lambda p, q, what: bool(matching(p, what)),
        r"Apart from the .+, (?:is|are) there exactly (\w+) (\w+) in.*": lambda p, q, n, what: (
            len(matching(p, what)) == NUMBERS[n]
        ),
        r"(?:Is|Are) there exactly (\w+) (\w+) in the.*": lambda p, q, n, what: len(matching(p, what)) == NUMBERS[n],
        r"Is the (.+) (above|below|to the left of|to the right of) the (.+)\?": lambda p, q, one, way, other: lies(
            only(p, one), way, only(p, other)
        ),
        r"Is the ((?!number).+) (\w+)\?": lambda p, q, what, colour: only(p, what).colour == colour,
    },
    "mm_vet": {
        r".*[Ww]hich objects are there in the image\?.*": lambda p, q: {seen.kind for seen in p.things},
        r"What colour is the (.+)\?": lambda p, q, what: {only(p, what).colour},
        r".*[Hh]ow many more (\w+) than (\w+) are there.*": lambda p, q, one, other: {
            str(len(matching(p, one)) - len(matching(p, other)))
        },
        r".*[Ww]hich object is (furthest to the \w+|\w+ \w+) in the image\?.*": lambda p, q, way: {
            outermost(p, way).kind
        },
        r".*[Hh]ow many corners do all (\w+) in.*": lambda p, q, what: {
            str(len(matching(p, what)) * (3 if what == "triangles" else 4))
        },
        r"Describe in full sentences where in the image the (.+) and the (.+) are\.": lambda p, q, *both: {
            part for what in both for part in (what, PLACES[only(p, what).cell])
        },
        r"Write a caption .*": lambda p, q: {seen.kind for seen in p.things} | {p.ground[0]},
        r"What is directly (.+) the (\w+ \w+)\?": lambda p, q, way, what: {directly(p, way, what).kind},
    },
}
LEAST = {"mm_sap": 200, "mme": 250, "mm_vet": 45}


@pytest.mark.parametrize("protocol", sorted(RULES))
def test_answers_are_what_is_seen(protocol: Protocol) -> None:
    followed: Counter[str] = Counter()
    for seed in SEEDS:
        for question in asked(protocol, COUNT, seed):
            if question.subset in ("know", "beyond"):
                continue
            picture = seen_at(seed, int(question.image_id))
            text = question.question.removesuffix(" Please answer yes or no.")
            for pattern, answer in RULES[protocol].items():
                found = re.fullmatch(pattern, text)
                if found and not re.search(r"the (flag|road sign|sheet of paper|board)\?", text):
                    assert as_told(protocol, answer(picture, question, *found.groups())) == as_asked(question), text
                    followed[pattern] += 1
                    break
    assert followed.keys() == RULES[protocol].keys()
    assert followed.total() >= LEAST[protocol]


def as_told(protocol: str, answer: object) -> object:
    if protocol == "mme":
        return {True: "yes", False: "no"}[bool(answer)]
    return str(answer).lower() if protocol == "mm_sap" else answer


def as_asked(question: SourceQuestion) -> object:
    said = question.answer or ""
    if question.capabilities:
        return {said.split("<OR>")[0]} if "<OR>" in said else set(said.split("<AND>"))
    return said.lower()


def test_an_image_is_the_same_pixels_through_the_provider() -> None:
    question = next(asked("mme", 1))
    image = Image.open(BytesIO(question.read()))
    assert (image.format, image.mode, image.size) == ("PNG", "RGB", (240, 240))
    assert len(np.unique(np.asarray(image).reshape(-1, 3), axis=0)) <= 6
