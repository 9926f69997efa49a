"""What MM-Vet's questions share: the capabilities they take, and answers in the notation of its ground truth."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.facts import NUMBERS
from driftledger_demo.scenes.knowledge import ALSO_CALLED
from driftledger_demo.scenes.scene import Scene

CAPABILITIES: tuple[str, ...] = ("rec", "ocr", "know", "gen", "spat", "math")
"""Recognition, OCR, knowledge, language generation, spatial awareness and maths; in this order in every question."""


class Open(NamedTuple):
    """A question to be answered freely. ``answer`` is one text, or several joined by <AND> or by <OR>, never both."""

    question: str
    answer: str
    capabilities: tuple[str, ...]


Asker = Callable[[Scene, Dice], Open | None]
"""Asks about a scene, or gives None where the scene has nothing of the kind."""


def open_question(capabilities: str, question: str, answer: str) -> Open:
    """``capabilities`` as words, in the order of :data:`CAPABILITIES`."""
    return Open(question, answer, tuple(capabilities.split()))


def all_of(parts: Iterable[str]) -> str:
    """A ground truth of which all parts must be said.

    >>> all_of(["red circle", "blue star", "red circle"])
    'red circle<AND>blue star'
    """
    return "<AND>".join(dict.fromkeys(parts))


def any_of(parts: Iterable[str]) -> str:
    """A ground truth of which any one part must be said."""
    return "<OR>".join(dict.fromkeys(parts))


def number(value: int) -> str:
    """A number in digits or, up to twenty, in words.

    >>> number(12), number(31)
    ('12<OR>twelve', '31')
    """
    return any_of([str(value), *NUMBERS[value : value + 1]])


def named(place: str) -> str:
    """The names of a country or a capital.

    >>> named("the Netherlands"), named("Oslo")
    ('Netherlands<OR>Holland', 'Oslo')
    """
    return any_of([place.removeprefix("the "), ALSO_CALLED.get(place, place.removeprefix("the "))])
