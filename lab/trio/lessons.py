"""What the describer is taught: an image, what is asked about it, and the answer.

Arrangements are described, and the scenes of the embedded question sets are asked about: the same kinds of questions as
in those sets, about scenes of another seed. Nothing here looks at how an answer will be scored.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.benchmarks._questions.collect import rendered
from driftledger_demo.datasets.arrangements.grammar import (
    GROUNDS,
    INKS,
    PLACES,
    SHAPES,
    SIDE,
    SIZES,
    Arrangement,
    Thing,
)
from lab.scenes import mm_sap, mm_vet, mme
from lab.scenes.drawing import draw
from lab.scenes.mm_sap import SapQuestion
from lab.scenes.scene import make_scene
from lab.trio.cells import Looks
from lab.trio.stream import Random, arrangements, images, worn

_SEED = 2
"""Of the scenes that are asked about; the question sets of params.yaml have 1."""
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Prompts:
    """As params.yaml has them, for what evaluation asks is what is to be understood."""

    describe: Sequence[str]
    """Ways to ask for a description."""
    choice: str
    """With ``{question}`` and ``{options}``."""


class Asked(NamedTuple):
    """Images, N×H×W×3 in sRGB, with the text that asks about each and the right answer."""

    images: NDArray[np.uint8]
    questions: list[str]
    answers: list[str]


class Choices(NamedTuple):
    """A multiple-choice question whose options are yet to be ordered; ``right`` is one of them."""

    question: str
    options: tuple[str, ...]
    right: str


class Plain(NamedTuple):
    question: str
    answer: str


class Lessons:
    """Batches of descriptions and of questions. ``scenes`` of them are drawn once, and asked about again and again."""

    def __init__(self, prompts: Prompts, scenes: int) -> None:
        self._prompts = prompts
        self._scenes = np.stack([_small(number) for number in range(scenes)])
        self._asked = [_questions(number) for number in range(scenes)]

    @property
    def words(self) -> list[str]:
        """Every word of prompts, captions, questions and answers, in the order of the alphabet."""
        texts = [*self._prompts.describe, self._prompts.choice]
        for asked in self._asked:
            for one in asked:
                texts += [one.question, *(one.options if isinstance(one, Choices) else [one.answer])]
        return sorted(words_of(texts) | words_of_captions())

    def descriptions(self, random: Random, count: int) -> Asked:
        """Arrangements and their captions, all asked for in the same one of the ways."""
        some = arrangements(random, count)
        way = self._prompts.describe[int(random.integers(len(self._prompts.describe)))]
        return Asked(worn(random, images(some)), [way] * count, [one.caption for one in some])

    def questions(self, random: Random, count: int, kind: type[Choices] | type[Plain]) -> Asked:
        """Questions of one kind about scenes, options in a random order."""
        numbers = random.integers(len(self._scenes), size=count).tolist()
        said = [self._ask(random, [one for one in self._asked[number] if isinstance(one, kind)]) for number in numbers]
        return Asked(self._scenes[numbers], [question for question, _ in said], [answer for _, answer in said])

    def looks(self, random: Random, count: int) -> tuple[NDArray[np.uint8], list[tuple[Looks, frozenset[int]]]]:
        """Scenes, what is in their cells, and the cells that something other than a thing takes up."""
        numbers = random.integers(len(self._scenes), size=count).tolist()
        scenes = [make_scene(_SEED, number) for number in numbers]
        found: list[tuple[Looks, frozenset[int]]] = [
            (
                {thing.cell: (thing.size, thing.colour, thing.shape) for thing in scene.things},
                scene.block.cells if scene.block else frozenset(),
            )
            for scene in scenes
        ]
        return self._scenes[numbers], found

    def _ask(self, random: Random, asked: Sequence[Choices | Plain]) -> tuple[str, str]:
        """Of options there are two up to all; the answer is the right one's text, which is easier than its letter."""
        one = asked[int(random.integers(len(asked)))]
        if isinstance(one, Plain):
            return one.question, one.answer
        wrong = [option for option in one.options if option != one.right]
        shown = [one.right, *random.permutation(wrong)[: random.integers(1, len(wrong) + 1)].tolist()]
        options = random.permutation(shown).tolist()
        return rendered(self._prompts.choice, one.question, options), one.right


def _small(number: int) -> NDArray[np.uint8]:
    """A scene at the size that the describer sees, as its image processor shrinks it."""
    return np.asarray(draw(make_scene(_SEED, number)).resize((SIDE, SIDE), Image.Resampling.BICUBIC))


def _questions(number: int) -> list[Choices | Plain]:
    """About a scene: to choose among options, and to answer freely, where those of choices are answers too."""
    scene = make_scene(_SEED, number)
    choices = [_choices(one) for one in mm_sap.questions(scene, _SEED)]
    return [
        *choices,
        *(Plain(one.question, one.right) for one in choices),
        *(Plain(one.question, one.answer.capitalize()) for one in mme.questions(scene, _SEED)),
        *(Plain(one.question, _said(one.answer)) for one in mm_vet.questions(scene, _SEED)),
    ]


def _choices(asked: SapQuestion) -> Choices:
    return Choices(asked.question, asked.options, asked.refusal if asked.answer is None else asked.answer)


def _said(truth: str) -> str:
    """A ground truth as an answer: all that <AND> joins, the first of what <OR> joins."""
    return ", ".join(_first(part) for part in truth.split("<AND>"))


def _first(alternatives: str) -> str:
    return alternatives.split("<OR>")[0]


def words_of(texts: Iterable[str]) -> set[str]:
    """Every word of some texts, as it is written."""
    return {word for text in texts for word in _WORD.findall(text)}


def words_of_captions() -> set[str]:
    """Every word that a caption may hold."""
    things = [Thing(*attributes) for attributes in product(range(len(PLACES)), SIZES, INKS, SHAPES)]
    pairs = zip(things, reversed(things), cycle(GROUNDS), strict=False)
    return words_of(Arrangement(ground, (one, other)).caption for one, other, ground in pairs)
