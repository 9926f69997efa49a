"""Places of images in a question: ``<image>``, or ``<image 2>`` for the second one."""

import re
from collections.abc import Sequence

from driftledger.core.errors import DataError
from driftledger.core.types import Medium
from driftledger.data.question_sets.base import SourceQuestion

PLACE = re.compile(r"<image ?([0-9]*)>")


def numbered(question: SourceQuestion, images: int) -> list[str]:
    """Return a question and its options with a number in each place of its list of images.

    Without places, or a list, they are unchanged.

    Raises:
        DataError: not every image has a place, or a place has no image.
    """
    texts = [question.question, *question.options]
    numbers = PLACE.findall("\n".join(texts))
    if not images or not numbers:
        return texts
    known = [str(number) for number in range(1, images + 1)]
    if numbers == [""] * images:
        numbers = known
    if {*numbers} != {*known}:
        raise DataError(
            f"{question.name} has {images} images, and its text has other places (write "
            f"<image> for each, or <image 1> to <image {images}>)"
        )
    order = iter(numbers)
    return [PLACE.sub(lambda _: f"<image {next(order)}>", text) for text in texts]


def with_images(text: str, images: Sequence[Medium]) -> tuple[str | Medium, ...]:
    """Return a text with images in its numbered places; those without a place stand in front.

    Blank pieces of text are left out, since services refuse them.

    >>> with_images("What? <image 9>", ["one"]), with_images("Is <image 2> <image 1>?", ["a", "b"])
    (('one', 'What? ', '<image 9>'), ('Is ', 'b', 'a', '?'))
    """
    by_place: dict[str, str | Medium] = {
        f"<image {number}>": image for number, image in enumerate(images, 1)
    }
    front = [image for place, image in by_place.items() if place not in text]
    pieces = filter(str.strip, re.split(r"(<image [0-9]+>)", text))
    return (*front, *(by_place.get(piece, piece) for piece in pieces))
