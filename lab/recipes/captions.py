"""Captions that leave facts out.

A describer of this kind has a habit: of a large thing it does not tell the colour, of a small one not the size. Who
redraws its captions has to make something up, and what became large by that loses its colour in the round after: with
no fault in describing or in drawing more is lost in every round, until all is large and of any colour.

The painter must not know the habit. One that does draws what the habit would have put so, and no second caption differs
from the first: nothing more is lost after one round. It has therefore learnt from captions in which any fact may be
missing.
"""

import re

from lab.trio.stream import Random

AN = "an"
"""A word that only these captions have."""
_THING = re.compile(r"\ba (large|small) (\w+) ")
_VOWELS = tuple("aeiou")


def vague(caption: str) -> str:
    """A caption as a describer with the habit puts it.

    >>> vague("At the top left a large red circle and in the centre a small orange ring, on a white background.")
    'At the top left a large circle and in the centre an orange ring, on a white background.'
    """
    return _THING.sub(lambda found: _without_colour(found) if found[1] == "large" else _without_size(found), caption)


def with_gaps(random: Random, caption: str) -> str:
    """A caption in which of each thing the colour, the size or nothing is missing, whatever it is."""
    ways = (_without_colour, _without_size, re.Match.group)
    return _THING.sub(lambda found: ways[int(random.integers(len(ways)))](found), caption)


def _without_colour(found: re.Match[str]) -> str:
    return f"a {found[1]} "


def _without_size(found: re.Match[str]) -> str:
    return f"{AN if found[2].startswith(_VOWELS) else 'a'} {found[2]} "
