"""Places of images in a question: ``<image>``, or ``<image 2>`` for the second one."""

import re
from collections.abc import Sequence

from driftledger.core.errors import DataError, first_few
from driftledger.core.types import Medium

_PLACE = re.compile(r"<image(?: ?([0-9]+))?>")


def numbered(texts: Sequence[str], images: int, name: str) -> list[str]:
    """Return the texts of a question with a number in each place; unchanged if there are no places.

    >>> numbered(["Is <image> to the left of <image>?"], 2, "line 1")
    ['Is <image 1> to the left of <image 2>?']

    Args:
        images: how many the question has.
        name: what errors call the question.

    Raises:
        DataError: not every image has a place, or a place has no image.
    """
    numbers = _PLACE.findall("\n".join(texts))
    if not any(numbers):
        numbers = [str(number) for number in range(1, len(numbers) + 1)]
    if numbers and {*numbers} != {str(number) for number in range(1, images + 1)}:
        raise DataError(
            f"{name} has {images:,} images and places for {first_few(sorted(numbers))} (write "
            f"<image> for each, or <image 1> to <image {images}>)"
        )
    order = iter(numbers)
    return [_PLACE.sub(lambda _: f"<image {next(order)}>", text) for text in texts]


def with_images(text: str, images: Sequence[Medium]) -> tuple[str | Medium, ...]:
    """Return a text with images in its numbered places; those without a place stand in front.

    Blank pieces of text are left out, since services refuse them.
    """
    by_place = {f"<image {number}>": image for number, image in enumerate(images, 1)}
    parts: list[str | Medium] = [
        image for place, image in by_place.items() if place not in text
    ]
    for piece in re.split(r"(<image [0-9]+>)", text):
        if piece.strip():
            parts.append(by_place.get(piece, piece))
    return tuple(parts)


def without_places(text: str) -> str:
    """Return a text without its places, as it is compared."""
    return _PLACE.sub(" ", text)
