"""One individual of a species → pixels, in whole numbers throughout, so that they are the same on every processor.

What a species does not settle is the individual's own: where it sits and on what, which way it looks, how large it
is, and its shade.
"""

import numpy as np
from PIL import Image

from driftledger.core.types import Split
from driftledger.demo.choices import Key, between, roll
from driftledger.demo.datasets.beetles.anatomy import SPRITE, Part, sprite
from driftledger.demo.datasets.beetles.grounds import RGB, SIDE, ground
from driftledger.demo.datasets.beetles.species import COLOURS, Species

_FINE = 3
"""Each pixel is the mean of this many squared; a beetle is drawn in fine pixels."""
_DARK: RGB = (26, 22, 22)


def draw(species: Species, split: Split, number: int) -> Image.Image:
    """The individual ``number`` of a species in one of the splits: RGB, 128×128 pixels.

    >>> from driftledger.demo.datasets.beetles.species import SPECIES
    >>> draw(SPECIES[0], "test", 0) == draw(SPECIES[0], "test", 0) != draw(SPECIES[0], "support", 0)
    True
    """
    key = ("beetles", species.name, split, number)
    canvas = Image.fromarray(ground(key)).resize((SIDE * _FINE,) * 2, Image.Resampling.NEAREST)
    parts = np.rot90(sprite(species, between(88, 100, *key, "size")), roll(4, *key, "quarter turns"))
    beetle = Image.fromarray(parts)
    beetle.putpalette(_palette(species, key))
    across, down = (roll(SIDE * _FINE - SPRITE + 1, *key, axis) for axis in ("across", "down"))
    canvas.paste(beetle.convert("RGB"), (across, down), Image.fromarray(parts > 0))
    return canvas.reduce(_FINE)


def _palette(species: Species, key: Key) -> list[int]:
    """Red, green and blue of each part in turn, after those of no part."""
    shade = between(92, 108, *key, "shade")
    wings, head = _toned(COLOURS[species.wings], shade), _toned(COLOURS[species.head], shade)
    colours: dict[Part, RGB] = {
        Part.LIMB: _DARK,
        Part.RIM: _toned(wings, 55),
        Part.WING: wings,
        Part.SHINE: _lighter(wings),
        Part.MARK: _toned(COLOURS[species.marks], shade) if species.marks else wings,
        Part.HEAD: head,
        Part.NECK_RIM: _toned(head, 70),
        Part.EYE: _DARK,
    }
    return [0, 0, 0, *(channel for part in Part for channel in colours[part])]


def _toned(colour: RGB, percent: int) -> RGB:
    red, green, blue = (min(255, channel * percent // 100) for channel in colour)
    return red, green, blue


def _lighter(colour: RGB) -> RGB:
    red, green, blue = (channel + (255 - channel) // 10 for channel in colour)
    return red, green, blue
