"""Places of images in a question, such as ``<image 2>``.

A number in another spelling (``<image_2>``, ``[Image 2]``, ``{img2}``) is a place, too. What only
looks like one is refused, since a model would be sent the letters. Without brackets, or as
``[image]``, ``<img src="a.png">`` and ``List<Image>``, it is an ordinary word.
"""

import re
from collections.abc import Sequence

from driftledger.core.errors import DataError
from driftledger.core.types import Medium
from driftledger.data.question_sets.base import SourceQuestion

_WORD = "(?:image|img|picture|photo)"
PLACE = re.compile(
    r"(?-i:<image>|<\|image\|>)"
    rf"|(?:<\|?|(?<![a-z0-9_^\\$!])[\[{{]{{1,2}}) *{_WORD}[\s_#-]*([0-9]{{1,4}}) *[|\]}}]?[>\]}}]",
    re.IGNORECASE,
)
_UNREAD = re.compile(
    # <Image>, <img>, <image one>, <|image_pad|>, but neither List<Image> nor <imgproc.h>
    r"(?<![a-z0-9])(?:<|＜|〈|&lt;)(?! )[\w\s|/.:#-]{0,30}(?<![a-z])(?:image|img)"
    r"(?:s|here|pad|token|holder)?(?![a-z])[\w\s|/.,:#-]{0,40}"
    # <image id="2">, but not <img src="2.png">
    r"(?:(?:id|index|number)=[\"']?\d+[\"' /]*)?(?:>|＞|〉|&gt;)"
    # [image no. 2], 【image 2】, {image: 2}, but not N_{img1}
    rf"|(?<![_^])[\[{{【] *{_WORD}[^\[\]{{}}【】\n]{{0,8}}?\d[^\[\]{{}}【】\na-z]{{0,8}}[\]}}】]"
    # {image}, but not \text{image}
    r"|(?<![a-z0-9_^\\$])\{ *(?:image|img)s? *\}",
    re.IGNORECASE,
)
"""Text that looks like a place and is none."""


def numbered(question: SourceQuestion, images: int) -> list[str]:
    """Return a question and its options with their images numbered in place.

    The first image has ``<image 1>`` in its place, and so on.

    Without places, they are unchanged.

    Raises:
        DataError: not every image has a place, a place has no image, or something looks like one.
    """
    texts = [question.question, *question.options]
    all_text = "\n".join(texts)
    places = {}
    for position, number in enumerate(question.numbers or range(1, images + 1), 1):
        places[number] = f"<image {position}>"
    numbers = [int(number or -1) for number in PLACE.findall(all_text)]
    if numbers == [-1] * images:
        numbers = [*places]
    if numbers and {*numbers} != {*places}:
        valid = ", ".join(f"<image {number}>" for number in places)
        raise DataError(
            f"{question.name} has {images} image{'s' if images > 1 else ''}, but the places in its "
            f"text are for others (write <image> for each, or {valid})"
        )
    if unread := _UNREAD.search(PLACE.sub(" ", all_text)):
        raise DataError(
            f"{question.name} has {unread[0]!r:.80}, which is not a place of an image (write "
            "<image> or <image 1> for a place, and a word without brackets)"
        )
    order = iter(numbers)
    return [PLACE.sub(lambda _: places[next(order)], text) for text in texts]


def with_images(text: str, images: Sequence[Medium]) -> tuple[str | Medium, ...]:
    """Return a text with images in its numbered places; the others are in front.

    Blank pieces of text are left out, since services refuse them.

    >>> with_images("What? <image 9>", ["one"]), with_images("Is <image 2> <image 1>?", ["a", "b"])
    (('one', 'What? ', '<image 9>'), ('Is ', 'b', 'a', '?'))
    """
    by_place = {f"<image {number}>": image for number, image in enumerate(images, 1)}
    front = [image for place, image in by_place.items() if place not in text]
    pieces = filter(str.strip, re.split(r"(<image [0-9]+>)", text))
    return (*front, *(by_place.get(piece, piece) for piece in pieces))
