"""Are the things that a text asks for in an image, and still there after several generations? GenEval's rules, and MGG.

Sources: Ghosh, Hajishirzi, Schmidt, "GenEval: An Object-Focused Framework for Evaluating Text-to-Image Alignment",
whose ``evaluation/evaluate_images.py`` (djghosh13/geneval on GitHub at 16f1681) has these rules; Mollah et al., "The
Telephone Game", arXiv 2509.04438, multi-generation GenEval, counted as its ``semantic-drift/mgg.py`` (4f1d253) does.
That file asks OWLv2 for *a photo of a red car*, where GenEval has a detector find cars and CLIP name colours; takes
offsets in pixels without dividing by their length; and stops after four prompts. Here GenEval's rules hold for every
prompt, and who calls says what things were found.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from driftledger.metrics._checks import check_same_lengths
from driftledger.metrics.exact import exact_mean

POSITION_THRESHOLD = 0.1
"""Of the two things' sizes: an offset less than that is none."""

RELATIONS = ("left of", "right of", "above", "below")


class Box(NamedTuple):
    """Corners, in any unit, x to the right and y down."""

    left: float
    top: float
    right: float
    bottom: float


class Thing(NamedTuple):
    """What a detector found."""

    kind: str
    box: Box
    color: str | None = None


class Wanted(NamedTuple):
    """A clause of what a text asks for: so many things of a kind, of a colour, on one side of an earlier clause's."""

    kind: str
    number: int = 1
    color: str | None = None
    position: tuple[str, int] | None = None
    """One of :data:`RELATIONS`, and the place of the clause that it is relative to."""


class Check(NamedTuple):
    """MGG over prompts and generations."""

    by_generation: tuple[float, ...]
    """Share of prompts whose image has all that was asked for."""
    overall: float
    """Share over all generations: every image counts once."""
    by_tag: Mapping[str, float]
    """Kind of prompt → its share over all generations."""


def relative_position(a: Box, b: Box) -> frozenset[str]:
    """Where ``a`` is, seen from ``b``: two of :data:`RELATIONS` at most, none where they overlap too far to say.

    Each offset of the centres loses a tenth of the two widths, or heights; what is left over the distance of the
    centres must be more than a half.

    >>> sorted(relative_position(Box(0, 0, 10, 10), Box(30, 28, 40, 38)))
    ['above', 'left of']
    """
    offsets = ((a.left + a.right - b.left - b.right) / 2, (a.top + a.bottom - b.top - b.bottom) / 2)
    sizes = (abs(a.right - a.left) + abs(b.right - b.left), abs(a.bottom - a.top) + abs(b.bottom - b.top))
    revised = [
        math.copysign(max(abs(offset) - POSITION_THRESHOLD * size, 0.0), offset)
        for offset, size in zip(offsets, sizes, strict=True)
    ]
    if all(abs(each) < 1e-3 for each in revised):
        return frozenset()
    distance = math.sqrt(offsets[0] ** 2 + offsets[1] ** 2)
    dx, dy = (each / distance for each in revised)
    said = zip(RELATIONS, (dx < -0.5, dx > 0.5, dy < -0.5, dy > 0.5), strict=True)
    return frozenset(name for name, holds in said if holds)


def has_all(things: Sequence[Thing], include: Sequence[Wanted], exclude: Sequence[Wanted] = ()) -> bool:
    """Whether an image has what a text asks for, by GenEval's rules.

    Of each kind, the first ``number`` things that were found are looked at, so that the surest come first; all of them
    must have the colour, and each must stand on the given side of each thing of the earlier clause. More things of a
    kind do no harm, unless ``exclude`` says from how many on.

    Raises:
        ValueError: a clause counts less than one, or is placed relative to no earlier one or by no known relation.

    >>> found = [Thing("square", Box(0, 0, 4, 4), "red"), Thing("ring", Box(20, 0, 24, 4), "blue")]
    >>> has_all(found, [Wanted("square", color="red"), Wanted("ring", position=("right of", 0))])
    True
    >>> has_all(found, [Wanted("square", number=2)]), has_all(found, [Wanted("ring", color="red")])
    (False, False)
    >>> has_all(found, [Wanted("square")], [Wanted("square", number=1)])
    False
    """
    matched: list[Sequence[Thing] | None] = []
    for place, clause in enumerate(include):
        _check(clause, place)
        some = [thing for thing in things if thing.kind == clause.kind][: clause.number]
        fits = len(some) == clause.number and all(clause.color in (None, thing.color) for thing in some)
        if fits and clause.position is not None:
            relation, target = clause.position
            others = matched[target]
            fits = others is not None and all(
                relation in relative_position(one.box, other.box) for one in some for other in others
            )
        matched.append(some if fits else None)
    for place, clause in enumerate(exclude):
        _check(clause._replace(position=None), place)
    too_many = any(sum(thing.kind == clause.kind for thing in things) >= clause.number for clause in exclude)
    return None not in matched and not too_many


def multi_generation_check(correct: Sequence[Sequence[bool]], tags: Sequence[str]) -> Check:
    """MGG: how many of n prompts' images are right, at each of G generations and over all.

    ``correct`` has a row per prompt and a column per generation that drew, in order; ``tags`` the kind of each prompt.

    Raises:
        ValueError: there are no prompts or generations, or rows or lengths differ.

    >>> multi_generation_check([[True, True], [True, False]], ["counting", "colors"])
    Check(by_generation=(1.0, 0.5), overall=0.75, by_tag={'counting': 1.0, 'colors': 0.5})
    """
    check_same_lengths(correct=correct, tags=tags)
    lengths = {len(row) for row in correct}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(f"every prompt needs an image of every generation, but there are {sorted(lengths)}")
    each = [[float(right) for right in row] for row in correct]
    by_tag = {
        tag: exact_mean([value for row, other in zip(each, tags, strict=True) if other == tag for value in row])
        for tag in dict.fromkeys(tags)
    }
    by_generation = tuple(exact_mean(column) for column in zip(*each, strict=True))
    return Check(by_generation, exact_mean([value for row in each for value in row]), by_tag)


def _check(clause: Wanted, place: int) -> None:
    if clause.number < 1:
        raise ValueError(f"clause {place} asks for {clause.number} of {clause.kind}, but must for one at least")
    if clause.position is not None:
        relation, target = clause.position
        if relation not in RELATIONS or not 0 <= target < place:
            raise ValueError(f"clause {place} is placed {relation!r} of clause {target}, no earlier one")
