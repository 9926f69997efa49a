"""What a watched service is asked, the same each time.

It is small, since it costs money each time, and mixed: questions with one answer show a model that has become worse,
open ones show another temperature, other weights and other habits sooner. Nothing in it may change under one
:data:`VERSION`: answers to another probe are not compared.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from driftledger.collect.call import Ask, Call, Context, Draw
from driftledger.components.base import Component, Generator, Model
from driftledger.core.canonical import sha256_bytes
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, ImageFile, Turn

VERSION = "1"
TIMES = 5
"""How often each is asked at a time."""
MOST_TOKENS = 60
"""Of an answer, so that all of it costs little."""


class Question(NamedTuple):
    """What a model is asked."""

    text: str
    picture: int | None = None
    """Which of :func:`picture` it is shown."""


QUESTIONS = (
    Question("Describe the image in one sentence.", 0),
    Question("Describe the image in one sentence.", 1),
    Question("Describe the image in one sentence.", 2),
    Question("Name three things that this image could stand for.", 0),
    Question("Name three things that this image could stand for.", 2),
    Question("Write two lines of verse about this image.", 1),
    Question("Write two lines of verse about this image.", 2),
    Question("How many shapes are there, and of which colours?", 0),
    Question("How many shapes are there, and of which colours?", 1),
    Question("Give this image a title of three words.", 2),
    Question("Go on with the story: The lighthouse keeper opened the door and"),
    Question("Name an animal, any one, and nothing else."),
    Question("Give a random number from 1 to 100, and nothing else."),
    Question("Write one sentence about rain."),
    Question("Explain in one sentence why bread rises."),
    Question("Invent the name of a village, and nothing else."),
    Question("Translate into French: The lamp is brighter than the moon."),
    Question("What is 17 times 23? Answer with the number."),
    Question("Write a proverb that does not exist yet."),
    Question(
        "From 0.0 (totally wrong) to 1.0 (totally right): how right is the prediction? Answer with the number.\n"
        "Question: Which two numbers are on the sign? Ground truth: 12 and 40. Prediction: It says 12, or 14."
    ),
)
PROMPTS = (
    "A red circle on a white ground.",
    "Two blue squares, one above the other, on a yellow ground.",
    "A lighthouse by the sea at dusk.",
    "A loaf of bread on a wooden table.",
    "A crowded market street in the rain.",
    "Portrait of an old sailor, oil on canvas.",
    "A map of an island that does not exist.",
    "A cat asleep on a green armchair.",
)
"""What a generator draws."""


def picture(number: int) -> Image.Image:
    """One of three, 96 × 96 pixels, of whole numbers alone, so that no drawing library has a part in it."""
    down, across = np.mgrid[:96, :96]
    canvas = np.full((96, 96, 3), 255, dtype=np.uint8)
    if number == 0:
        canvas[(down - 40) ** 2 + (across - 36) ** 2 < 24**2] = (200, 30, 30)
        canvas[56:84, 52:88] = (30, 60, 180)
    elif number == 1:
        canvas[:] = (250, 220, 90)
        canvas[(down // 16 + across // 16) % 2 == 0] = (40, 110, 60)
    else:
        canvas[:60] = (130, 190, 230)
        canvas[60:] = (90, 140, 60)
        canvas[(down > 24) & (down < 72) & (abs(across - 48) * 2 < down - 24)] = (120, 70, 40)
        canvas[(down - 16) ** 2 + (across - 78) ** 2 < 10**2] = (250, 220, 60)
    return Image.fromarray(canvas)


def probe_calls(component: Component, folder: Path) -> list[Call]:
    """Every call of a time, question by question, each :data:`TIMES` times in a row.

    Args:
        folder: where the pictures are put that a model is shown.

    Raises:
        TypeError: it is neither a model nor a generator.
    """
    if isinstance(component, Generator):
        return [
            Draw(component, prompt, time, _context(number, time))
            for number, prompt in enumerate(PROMPTS)
            for time in range(TIMES)
        ]
    if not isinstance(component, Model):
        raise TypeError(f"{component.provider} is neither a model nor a generator")
    pictures = [_written(folder / f"{number}.png", picture(number)) for number in range(3)]
    return [
        Ask(component, "watch", _asked(question, pictures), _context(number, time), time)
        for number, question in enumerate(QUESTIONS)
        for time in range(TIMES)
    ]


def _asked(question: Question, pictures: Sequence[ImageFile]) -> Conversation:
    if question.picture is not None:
        return Conversation.ask(question.text, pictures[question.picture], max_tokens=MOST_TOKENS)
    return Conversation((Turn("user", (question.text,)),), max_tokens=MOST_TOKENS)


def _context(number: int, time: int) -> Context:
    return Context("watch", f"probe {number}", time + 1)


def _written(path: Path, image: Image.Image) -> ImageFile:
    data = png_bytes(image)
    path.write_bytes(data)
    return ImageFile(path, sha256_bytes(data))
