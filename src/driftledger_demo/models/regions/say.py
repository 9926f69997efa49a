"""Scene → plain English, in the words of the shared vocabulary."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from driftledger_demo.cielab import nearest_colours
from driftledger_demo.models.regions.geometry import TILTS, Outline
from driftledger_demo.models.regions.see import SegmentedImage
from driftledger_demo.vocabulary import (
    BACKGROUND,
    FORMATS,
    PLACES,
    RGB,
    ROUND,
    SIZES,
    STRETCHES,
    TILT_STEP,
)

MOST_WORDS = 490
"""The prompt of the GenCeption paper asks for less than 500."""


@dataclass(frozen=True)
class Dials:
    """A level of detail: how much a describer sees, and which words it knows."""

    regions: int
    colours: dict[str, RGB]
    sizes: Iterable[str]
    stretches: Iterable[str]
    places: Iterable[str]
    measures: bool
    """It tells numbers in place of words for sizes, forms and places."""


def say(scene: SegmentedImage, dials: Dials) -> str:
    """Describe ``scene`` in less than 500 words, the largest things first."""
    names = nearest_colours(scene.colours, dials.colours)
    regions = list(zip(names, scene.outlines, strict=True))
    covered: Counter[str] = Counter()
    for colour, outline in regions:
        covered[colour] += outline.area
    [(background, _)] = covered.most_common(1)
    picture = _format(100 * scene.width // scene.height, dials)
    sentences = [f"{picture} on {_article(background).lower()} {BACKGROUND}."]
    words = len(sentences[0].split())
    for colour, outline in regions:
        sentence = _sentence(colour, outline, dials)
        words += len(sentence.split())
        if words > MOST_WORDS:
            break
        if colour != background:
            sentences.append(sentence)
    return " ".join(sentences)


def _format(percent: int, dials: Dials) -> str:
    ratio = max(1, min(1000, percent))
    if dials.measures:
        return f"A picture {ratio}% as wide as tall"
    name = _nearest_ratio(ratio, FORMATS)
    return f"{_article(name)} picture"


def _sentence(colour: str, outline: Outline, dials: Dials) -> str:
    noun = _noun(outline)
    if dials.measures:
        return f"{_article(colour)} {noun}, {_measures(outline, noun)}."
    areas = {name: SIZES[name] ** 2 // 10 for name in dials.sizes}
    size = _nearest_ratio(outline.area, areas)
    stretch = _stretch(outline, dials.stretches)
    words = " ".join(filter(None, (size, stretch, colour, noun)))
    return f"{_article(words)} {_place(outline, dials.places)}."


def _noun(outline: Outline) -> str:
    even = 10 * outline.length < 12 * outline.breadth
    if not outline.boxy:
        return "circle" if even else ROUND
    if even:
        return "square"
    return "stripe" if outline.length > 4 * outline.breadth else "rectangle"


def _measures(outline: Outline, noun: str) -> str:
    promille = (outline.length, outline.breadth, outline.across, outline.down)
    length, breadth, across, down = ((value + 5) // 10 for value in promille)
    measures = (
        f"{max(1, length)}% by {max(1, breadth)}%, {across}% across and {down}% down"
    )
    if outline.tilt == 0 or noun == "circle":
        return measures
    if 2 * outline.tilt == TILTS:
        return f"{measures}, upright"
    return f"{measures}, tilted {outline.tilt * TILT_STEP} degrees"


def _stretch(outline: Outline, known: Iterable[str]) -> str:
    ratio = 100 * outline.length // max(1, outline.breadth)

    def misfit(name: str) -> int:
        stretch = STRETCHES[name]
        turn = 0
        if stretch.ratio > 100 and ratio > 120:
            turn = abs(outline.tilt - stretch.tilt)
        return _ratio(ratio, stretch.ratio) * (2 + min(turn, TILTS - turn))

    return min(known, key=misfit)


def _place(outline: Outline, known: Iterable[str]) -> str:
    def distance(name: str) -> int:
        place = PLACES[name]
        across = 10 * place.across - outline.across
        down = 10 * place.down - outline.down
        return across**2 + down**2

    name = min(known, key=distance)
    return f"in the {name}" if name == "centre" else f"at the {name}"


def _nearest_ratio(value: int, table: dict[str, int]) -> str:
    return min(table, key=lambda name: _ratio(value, table[name]))


def _ratio(one: int, other: int) -> int:
    """Return the ratio of the larger number to the smaller, times 1,000; both are 1 or more."""
    return 1000 * max(one, other) // max(1, min(one, other))


def _article(words: str) -> str:
    article = "An" if words[0] in "aeiou" else "A"
    return f"{article} {words}"
