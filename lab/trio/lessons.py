"""What the describer is taught: an image, what is asked about it, and the answer.

Arrangements are described, and scenes are asked about: the same kinds of questions as in the
shipped question sets, about other scenes, which ``python -m lab.scenes lessons`` draws.
Nothing here looks at how an answer will be scored.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks.base.questions import rendered
from driftledger_demo.datasets.arrangements.grammar import (
    GROUNDS,
    INKS,
    PLACES,
    SHAPES,
    SIZES,
    Arrangement,
    Thing,
)
from lab.trio.cells import Looks
from lab.trio.stream import Random, arrangements, images, worn

SCENE_SIZES = ("small", "medium-sized", "large")
SCENE_COLOURS = (
    "red",
    "orange",
    "yellow",
    "green",
    "blue",
    "purple",
    "pink",
    "brown",
    "black",
    "grey",
    "white",
)
SCENE_SHAPES = (
    "circle",
    "square",
    "triangle",
    "diamond",
    "star",
    "cross",
    "ring",
    "heart",
)
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
    """Batches of descriptions and of questions, about the scenes in a folder."""

    def __init__(self, prompts: Prompts, folder: Path) -> None:
        self._prompts = prompts
        self._scenes: NDArray[np.uint8] = np.load(folder / "images.npy")
        self._asked: list[list[Choices | Plain]] = []
        self._looks: list[tuple[Looks, frozenset[int]]] = []
        for line in (folder / "scenes.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            choices = [
                Choices(question, tuple(options), right)
                for question, options, right in row["choices"]
            ]
            self._asked.append([*choices, *(Plain(*one) for one in row["plain"])])
            things = {
                int(cell): (size, colour, shape)
                for cell, (size, colour, shape) in row["things"].items()
            }
            self._looks.append((things, frozenset(row["taken"])))

    @property
    def words(self) -> list[str]:
        """Every word of prompts, captions, questions and answers, in the order of the alphabet."""
        texts = [*self._prompts.describe, self._prompts.choice]
        for asked in self._asked:
            for one in asked:
                texts += [
                    one.question,
                    *(one.options if isinstance(one, Choices) else [one.answer]),
                ]
        return sorted(words_of(texts) | words_of_captions())

    def descriptions(self, random: Random, count: int) -> Asked:
        """Arrangements and their captions, all asked for in the same one of the ways."""
        some = arrangements(random, count)
        way = self._prompts.describe[int(random.integers(len(self._prompts.describe)))]
        return Asked(
            worn(random, images(some)), [way] * count, [one.caption for one in some]
        )

    def questions(
        self, random: Random, count: int, kind: type[Choices] | type[Plain]
    ) -> Asked:
        """Questions of one kind about scenes, options in a random order."""
        numbers = random.integers(len(self._scenes), size=count).tolist()
        said = [
            self._ask(
                random, [one for one in self._asked[number] if isinstance(one, kind)]
            )
            for number in numbers
        ]
        return Asked(
            self._scenes[numbers],
            [question for question, _ in said],
            [answer for _, answer in said],
        )

    def looks(
        self, random: Random, count: int
    ) -> tuple[NDArray[np.uint8], list[tuple[Looks, frozenset[int]]]]:
        """Scenes, what is in their cells, and the cells that something other than a thing takes
        up."""
        numbers = random.integers(len(self._scenes), size=count).tolist()
        return self._scenes[numbers], [self._looks[number] for number in numbers]

    def _ask(self, random: Random, asked: Sequence[Choices | Plain]) -> tuple[str, str]:
        """Of options there are two up to all; the answer is the right one's text, which is easier
        than its letter."""
        one = asked[int(random.integers(len(asked)))]
        if isinstance(one, Plain):
            return one.question, one.answer
        wrong = [option for option in one.options if option != one.right]
        shown = [
            one.right,
            *random.permutation(wrong)[: random.integers(1, len(wrong) + 1)].tolist(),
        ]
        options = random.permutation(shown).tolist()
        return rendered(self._prompts.choice, one.question, options), one.right


def words_of(texts: Iterable[str]) -> set[str]:
    """Every word of some texts, as it is written."""
    return {word for text in texts for word in _WORD.findall(text)}


def words_of_captions() -> set[str]:
    """Every word that a caption may hold."""
    things = [
        Thing(*attributes)
        for attributes in product(range(len(PLACES)), SIZES, INKS, SHAPES)
    ]
    pairs = zip(things, reversed(things), cycle(GROUNDS), strict=False)
    return words_of(
        Arrangement(ground, (one, other)).caption for one, other, ground in pairs
    )
