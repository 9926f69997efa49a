"""How much of what others made is read. Each bound stands once, with its reason; what is larger is refused.

They bound what bytes become when they are decoded: a file of a few kilobytes must not take gigabytes.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from PIL import Image

LARGEST_FILE = 2**30
"""Bytes of a file of records, which is read whole: a record has about 1 kB, so that this is a million of them."""
LARGEST_TEXT = 2**28
"""Bytes of a table that a user gives, or of DVC's list of a folder's files; parsed, it takes some ten times that."""
LARGEST_JSON = 2**24
"""Bytes of one JSON value: a line of records, a score. The longest are answers, of some 100 kB."""
DEEPEST = 64
"""Levels of JSON or YAML. Ours have eight; parsers give up, or crash, at some thousand."""
LARGEST_YAML = 2**22
"""Bytes of settings or of a lock. DVC itself takes half a minute a stage over a lock of this size."""
MOST_VALUES = 2**20
"""Values in a YAML file, each counted as often as aliases repeat it: one of LARGEST_YAML without aliases may have that
many."""
MOST_PIXELS = 2**26
"""Of an image that a service or a stranger made: 201 MB as RGB."""
LARGEST_IMAGE = 2**26
"""Bytes of an image file that a service sends."""
LARGEST_ANSWER = 2**24
"""Bytes of a service's answer in words, decoded; one with an image in base64 may have LARGEST_IMAGE * 4 / 3 more."""

TOO_DEEP = f"it is nested deeper than {DEEPEST} levels"


def load_json(data: bytes, most: int = LARGEST_JSON) -> Any:
    """What JSON of at most ``most`` bytes holds.

    Raises:
        ValueError: it is larger, deeper than :data:`DEEPEST`, not UTF-8 or not JSON.
    """
    if len(data) > most:
        raise ValueError(f"it has {len(data):,} bytes, and up to {most:,} are read")
    try:
        value = json.loads(data.decode())
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    level = [value]
    for _ in range(DEEPEST + 1):
        inside = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list)]
        if not inside:
            return value
        level = [each for some in inside for each in some]
    raise ValueError(TOO_DEEP)


@contextmanager
def strangers_pixels() -> Iterator[None]:
    """While it lasts, Pillow opens no image of more than :data:`MOST_PIXELS`, going by its header.

    It raises Pillow's ``DecompressionBombError`` then, wherever the image is opened.
    """
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2  # it warns above that, and refuses twice as many
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before
