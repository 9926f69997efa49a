"""Scene → plain English, in the words of the shared vocabulary."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from driftledger_demo.cielab import nearest_colours
from driftledger_demo.models.regions.geometry import TILTS, Outline
from driftledger_demo.models.regions.see import Region, SegmentedImage
from driftledger_demo.vocabulary import BACKGROUND, COLOURS, FORMATS, PLACES, ROUND, SIZES, STRETCHES, TILT_STEP

MOST_WORDS = 490
"""The prompt of the GenCeption paper asks for less than 500."""


@dataclass(frozen=True)
class Wording:
    """Which words a describer knows: the more, the finer it tells."""

    colours: tuple[str, ...]
    sizes: tuple[str, ...]
    stretches: tuple[str, ...]
    places: tuple[str, ...]
    measures: bool
    """Sizes, places and tilts in numbers, not words."""


def say(scene: SegmentedImage, wording: Wording) -> str:
    """Describe ``scene`` in less than 500 words, the largest things first."""
    colours = {name: COLOURS[name] for name in wording.colours}
    names = nearest_colours([region.colour for region in scene.regions], colours)
    covered: Counter[str] = Counter()
    for name, region in zip(names, scene.regions, strict=True):
        covered[name] += region.outline.area
    background = covered.most_common(1)[0][0]
    sentences = [f"{_format(scene, wording)} on {_article(background).lower()} {BACKGROUND}."]
    words = len(sentences[0].split())
    for name, region in zip(names, scene.regions, strict=True):
        sentence = _sentence(name, region, wording)
        words += len(sentence.split())
        if words > MOST_WORDS:
            break
        if name != background:
            sentences.append(sentence)
    return " ".join(sentences)


def _format(scene: SegmentedImage, wording: Wording) -> str:
    percent = max(1, min(1000, 100 * scene.width // scene.height))
    if wording.measures:
        return f"A picture {percent}% as wide as tall"
    return f"{_article(_nearest_ratio(percent, FORMATS))} picture"


def _sentence(colour: str, region: Region, wording: Wording) -> str:
    outline = region.outline
    if wording.measures:
        return f"{_article(colour)} {_noun(outline)}, {_measures(outline)}."
    size = _nearest_ratio(max(1, outline.area), {name: SIZES[name] ** 2 // 10 for name in wording.sizes})
    words = (size, _stretch(outline, wording.stretches), colour, _noun(outline))
    return f"{_article(' '.join(filter(None, words)))} {_place(outline, wording.places)}."


def _noun(outline: Outline) -> str:
    even = 10 * outline.length < 12 * outline.breadth
    if outline.boxy:
        return "square" if even else "stripe" if outline.length > 4 * outline.breadth else "rectangle"
    return "circle" if even else ROUND


def _measures(outline: Outline) -> str:
    length, breadth, across, down = (
        (value + 5) // 10 for value in (outline.length, outline.breadth, outline.across, outline.down)
    )
    said = f"{max(1, length)}% by {max(1, breadth)}%, {across}% across and {down}% down"
    if outline.tilt == 0 or _noun(outline) == "circle":
        return said
    return f"{said}, upright" if 2 * outline.tilt == TILTS else f"{said}, tilted {outline.tilt * TILT_STEP} degrees"


def _stretch(outline: Outline, known: Iterable[str]) -> str:
    ratio = 100 * outline.length // max(1, outline.breadth)

    def misfit(name: str) -> int:
        stretch = STRETCHES[name]
        turn = abs(outline.tilt - stretch.tilt) % TILTS
        turn = min(turn, TILTS - turn) if stretch.ratio > 100 and ratio > 120 else 0
        return _ratio(max(1, ratio), stretch.ratio) * (2 + turn)

    return min(known, key=misfit)


def _place(outline: Outline, known: Iterable[str]) -> str:
    def distance(name: str) -> int:
        place = PLACES[name]
        return (10 * place.across - outline.across) ** 2 + (10 * place.down - outline.down) ** 2

    name = min(known, key=distance)
    return f"in the {name}" if name == "centre" else f"at the {name}"


def _nearest_ratio(value: int, table: dict[str, int]) -> str:
    return min(table, key=lambda name: _ratio(value, max(1, table[name])))


def _ratio(one: int, other: int) -> int:
    """The larger of two positive numbers over the smaller, times 1,000."""
    return 1000 * max(one, other) // min(one, other)


def _article(words: str) -> str:
    return f"{'An' if words[0] in 'aeiou' else 'A'} {words}"
