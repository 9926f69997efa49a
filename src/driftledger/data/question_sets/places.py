"""Places of images in a question: ``<image>``, or ``<image 2>`` for the second one."""

import re
from collections.abc import Sequence
from itertools import count

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
    places = _PLACE.findall("\n".join(texts))
    order = count(1)

    def number(place: re.Match[str]) -> str:
        return f"<image {place[1] or next(order)}>"

    written = [_PLACE.sub(number, text) for text in texts]
    found = {*_PLACE.findall("\n".join(written))}
    is_mixed = "" in places and any(places)
    if is_mixed or (places and found != {*map(str, range(1, images + 1))}):
        raise DataError(
            f"{name} has {images:,} images and places for {first_few(sorted(found))} (write "
            f"<image> for each, or <image 1> to <image {images}>)"
        )
    return written


def with_images(text: str, images: Sequence[Medium]) -> tuple[str | Medium, ...]:
    """Return a text with images in its numbered places; those without a place stand in front.

    Blank pieces of text are left out, since services refuse them.
    """
    numbers = {str(number): image for number, image in enumerate(images, 1)}
    front = [
        image for number, image in numbers.items() if f"<image {number}>" not in text
    ]
    pieces: list[str | Medium] = []
    for piece in re.split(rf"(<image (?:{'|'.join(numbers)})>)", text):
        image = numbers.get(piece[7:-1]) if piece.startswith("<image ") else None
        if image is not None or piece.strip():
            pieces.append(image or piece)
    return (*front, *pieces)


def without_places(text: str) -> str:
    """Return a text without its places, as it is compared."""
    return _PLACE.sub(" ", text)
