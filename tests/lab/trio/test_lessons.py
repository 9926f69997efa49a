"""What the describer is taught is true, and is nothing that it is evaluated on."""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from driftledger.benchmarks._questions.parsing.choice import parse_choice
from driftledger.benchmarks._questions.runner import rendered
from driftledger.demo.datasets.arrangements.grammar import GROUNDS, INKS, SHAPES, SIZES
from driftledger.demo.datasets.arrangements.measuring import measure
from driftledger.demo.models.rubric import grade
from driftledger.demo.scenes import mm_sap, mm_vet, mme
from driftledger.demo.scenes.drawing import draw
from driftledger.demo.scenes.mm_sap import SapQuestion
from driftledger.demo.scenes.provider import Scenes
from driftledger.demo.scenes.scene import make_scene
from lab.trio import lessons as module
from lab.trio.lessons import Asked, Choices, Lessons, Plain, Prompts, words_of, words_of_captions
from lab.trio.settings import choice_prompt, load_trio
from lab.trio.stream import random_for
from tests.conftest import REPOSITORY
from tests.support.params import default_settings

SEED, SCENES = module._SEED, 26
PROMPTS = Prompts(("Describe it.", "What is there?"), "{question}\n{options}\nOne letter.")

seeds = st.integers(0, 2**32 - 1)


@cache
def lessons() -> Lessons:
    return Lessons(PROMPTS, SCENES)


@cache
def pictures() -> dict[bytes, int]:
    """Pixels of a scene at the size that the describer sees → its number."""
    small = [draw(make_scene(SEED, number)).resize((64, 64), Image.Resampling.BICUBIC) for number in range(SCENES)]
    return {picture.tobytes(): number for number, picture in enumerate(small)}


@cache
def to_choose(number: int) -> dict[str, SapQuestion]:
    """Question → all that is known of it."""
    return {one.question: one for one in mm_sap.questions(make_scene(SEED, number), SEED)}


class Said(NamedTuple):
    """A lesson: about which scene, what is asked, and the answer."""

    scene: int
    question: str
    answer: str


def each(asked: Asked) -> Iterator[Said]:
    for pixels, question, answer in zip(*asked, strict=True):
        yield Said(pictures()[pixels.tobytes()], question, answer)


# --- descriptions -----------------------------------------------------------------------------------------------------


@given(seeds)
@settings(max_examples=20)
def test_a_description_is_the_caption_of_what_is_shown(seed: int) -> None:
    asked = lessons().descriptions(random_for(seed, 1), 6)
    shown = [measure(pixels) for pixels in asked.images]
    assert asked.answers == [one.caption for one in shown]
    assert not any(one.held_out for one in shown)
    assert asked.questions in [[way] * 6 for way in PROMPTS.describe]


def test_each_way_to_ask_for_a_description_comes() -> None:
    asked = [lessons().descriptions(random_for(1, step), 1).questions[0] for step in range(20)]
    assert set(asked) == set(PROMPTS.describe)


# --- questions --------------------------------------------------------------------------------------------------------


def chosen(said: Said) -> tuple[SapQuestion, list[str], int]:
    """What is known of the question, the options shown, and the one that grading reads in the answer."""
    question, *lines = said.question.split("\n")
    assert lines.pop() == "One letter."
    assert [line[:3] for line in lines] == [f"{letter}. " for letter in "ABCDE"[: len(lines)]]
    one, options = to_choose(said.scene)[question], [line[3:] for line in lines]
    choice = parse_choice(said.answer, options, options.index(one.refusal) if one.refusal in options else 0)
    assert choice.value is not None
    return one, options, choice.value


@given(seeds)
@settings(max_examples=30)
def test_the_answer_to_a_choice_is_the_right_option(seed: int) -> None:
    for said in each(lessons().questions(random_for(seed, 1), 8, Choices)):
        one, options, option = chosen(said)
        assert set(options) <= set(one.options)
        assert 2 <= len(set(options)) == len(options)
        assert options[option] == (one.refusal if one.answer is None else one.answer)
        assert (options[option] == one.refusal) == (one.subset == "beyond")


def test_neither_place_nor_number_of_options_gives_the_answer_away() -> None:
    asked = [chosen(said) for said in each(lessons().questions(random_for(0), 1500, Choices))]
    assert {one.subset for one, _, _ in asked} == {"basic", "know", "beyond"}
    assert {len(options) for _, options, _ in asked} == {2, 3, 4, 5}
    for count in (2, 5):
        places = [option for _, options, option in asked if len(options) == count]
        shares = np.bincount(places, minlength=count) / len(places)
        assert shares == pytest.approx(1 / count, abs=0.08)
    orders = {tuple(options) for _, options, _ in asked if len(options) == 5}
    assert len(orders) > 2 * len({frozenset(order) for order in orders})


def test_a_question_is_put_as_evaluation_puts_it() -> None:
    prompt = choice_prompt(default_settings())
    for said in each(Lessons(Prompts(["Describe it."], prompt), SCENES).questions(random_for(3), 20, Choices)):
        found = [one for one in to_choose(said.scene).values() if one.question in said.question]
        options = re.findall(r"^[A-E]\. (.+)$", said.question, re.MULTILINE)
        assert said.question in [rendered(prompt, one.question, options) for one in found]


def true_answers(number: int, question: str, answer: str) -> list[bool]:
    """By each set that has such a question about the scene, whether the answer is right."""
    scene = make_scene(SEED, number)
    chosen = to_choose(number).get(question)
    return [
        *([answer == (chosen.answer or chosen.refusal)] if chosen else []),
        *(answer.lower() == one.answer for one in mme.questions(scene, SEED) if one.question == question),
        *(grade(one.answer, answer) == 10 for one in mm_vet.questions(scene, SEED) if one.question == question),
    ]


def test_free_answers_are_right() -> None:
    """Those to MM-Vet's questions by the judge that takes their ground truths at their word."""
    asked = [*each(lessons().questions(random_for(5), 600, Plain))]
    wrong = [said for said in asked if not any(true_answers(*said))]
    assert wrong == []
    assert {"Yes", "No"} < {said.answer for said in asked}
    assert not [said for said in asked if "<" in said.answer]
    assert len({said.scene for said in asked}) == SCENES


def test_every_open_question_has_an_answer_that_earns_all() -> None:
    for number in range(130):
        for one in mm_vet.questions(make_scene(SEED, number), SEED):
            assert grade(one.answer, module._said(one.answer)) == 10


# --- what it is not ---------------------------------------------------------------------------------------------------


def test_no_scene_is_one_of_the_question_sets() -> None:
    known = default_settings()
    sets = [known.question_set(name) for name in known.run.question_sets]
    assert len(sets) == 3
    assert SEED not in {one.seed for one in sets if isinstance(one, Scenes)}


def test_scenes_of_training_are_drawn_unlike_those_of_evaluation() -> None:
    count = min(load_trio(REPOSITORY).scenes, 60)
    trained, asked = ({draw(make_scene(seed, number)).tobytes() for number in range(count)} for seed in (SEED, 1))
    assert not trained & asked


@pytest.mark.parametrize("kind", [Choices, Plain])
def test_a_batch_is_a_function_of_the_random_numbers(kind: type[Choices] | type[Plain]) -> None:
    one, same, other = (lessons().questions(random_for(*key), 9, kind) for key in ((1, 2), (1, 2), (1, 3)))
    assert one[1:] == same[1:] != other[1:]
    assert np.array_equal(one.images, same.images)
    assert (one.images.shape, one.images.dtype) == ((9, 64, 64, 3), np.uint8)


# --- words ------------------------------------------------------------------------------------------------------------


def test_every_word_of_a_lesson_is_in_the_vocabulary() -> None:
    words = lessons().words
    assert words == sorted(set(words))
    batches = [lessons().descriptions(random_for(1), 40)]
    batches += [lessons().questions(random_for(1), 200, kind) for kind in (Choices, Plain)]
    for batch in batches:
        assert words_of([*batch.questions, *batch.answers]) - {*"ABCDE"} <= {*words}


def test_words_are_letters_alone() -> None:
    assert words_of(["A red-ish ring_2, 40 %: don't", "Größe\n"]) == {"A", "red", "ish", "ring", "don", "t", "Größe"}


def test_every_word_that_a_caption_may_hold_is_known() -> None:
    said = {*INKS, *SHAPES, *SIZES, *(word for ground in GROUNDS for word in ground.split())}
    rest = {"a", "and", "on", "in", "at", "the", "top", "bottom", "left", "right", "centre", "background"}
    first = {"On", "In", "At"}
    assert words_of_captions() == said | rest | first
