"""What can be said about a scene: the one place where questions of every protocol look their answers up.

Things are the shapes that stand free. Whatever is on a flag, a sign or a board is none of them, and a question that
might be misread says so (:func:`aside`).
"""

from collections.abc import Sequence

from lab.scenes.boards import Board
from lab.scenes.drawing import area
from lab.scenes.knowledge import COLOURS, LOOKALIKES, SHAPES, Flag, Sign
from lab.scenes.scene import Scene, SceneThing, shapes_on

NUMBERS: tuple[str, ...] = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty"),
)
_LARGER = 130
"""A thing is larger than another if its width and its area are this many percent of the other's, or more."""


def fixture_name(scene: Scene) -> str | None:
    """What stands beside the things, as a noun."""
    if scene.fixture is None:
        return None
    if isinstance(scene.fixture, Flag):
        return "flag"
    if isinstance(scene.fixture, Sign):
        return "road sign"
    return "board" if isinstance(scene.fixture, Board) else "sheet of paper"


def aside(scene: Scene, question: str) -> str:
    """``question``, set off from what is on the flag, sign or board.

    >>> from lab.scenes.scene import make_scene
    >>> aside(make_scene(1, 0), "How many circles are there?")
    'How many circles are there?'
    >>> aside(make_scene(1, 1), "How many circles are there?")
    'Apart from the flag, how many circles are there?'
    """
    name = fixture_name(scene)
    return f"Apart from the {name}, {question[0].lower()}{question[1:]}" if name else question


def with_article(words: str) -> str:
    """``words`` behind "a" or "an"."""
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def at(place: str) -> str:
    """Where ``place`` is, as an adverbial: at the top left, in the centre."""
    return f"in the {place}" if place == "centre" else f"at the {place}"


def kind(thing: SceneThing) -> str:
    """Colour and shape: red circle."""
    return f"{thing.colour} {thing.shape}"


def count(scene: Scene, shape: str | None = None, colour: str | None = None) -> int:
    """How many things have that shape and that colour."""
    return sum(shape in (None, thing.shape) and colour in (None, thing.colour) for thing in scene.things)


def shapes_of(scene: Scene) -> list[str]:
    """Shapes that are there, each once, in reading order."""
    return list(dict.fromkeys(thing.shape for thing in scene.things))


def colours_of(scene: Scene) -> list[str]:
    """Colours of things, each once, in reading order."""
    return list(dict.fromkeys(thing.colour for thing in scene.things))


def absent_shapes(scene: Scene) -> list[str]:
    """Shapes that nobody would say are there, on a flag or a sign neither."""
    there = {*shapes_of(scene), *(LOOKALIKES.get(shape) for shape in shapes_of(scene)), *shapes_on(scene.fixture)}
    return [shape for shape in SHAPES if shape not in there]


def absent_kinds(scene: Scene) -> list[str]:
    """Colour and shape of what is not there, of shapes and colours that are each there or not."""
    there = {kind(thing) for thing in scene.things}
    like = {f"{thing.colour} {LOOKALIKES.get(thing.shape)}" for thing in scene.things}
    shapes = [shape for shape in SHAPES if shape not in shapes_on(scene.fixture)]
    kinds = (f"{colour} {shape}" for shape in shapes for colour in COLOURS)
    return [name for name in kinds if name not in there | like]


def nearby_kinds(scene: Scene) -> list[str]:
    """The absent kinds that share a colour or a shape with what is there: the plausible ones."""
    shapes, colours = shapes_of(scene), colours_of(scene)
    return [name for name in absent_kinds(scene) if name.split()[0] in colours or name.split()[1] in shapes]


def once(scene: Scene) -> list[SceneThing]:
    """Things of which there is only one by colour and shape."""
    return [thing for thing in scene.things if count(scene, thing.shape, thing.colour) == 1]


def called(scene: Scene, thing: SceneThing) -> str:
    """The shortest name that means ``thing`` only: red circle, small red circle, red circle at the top left."""
    alike = [other for other in scene.things if kind(other) == kind(thing)]
    if len(alike) == 1:
        return kind(thing)
    if sum(other.size == thing.size for other in alike) == 1:
        return f"{thing.size} {kind(thing)}"
    return f"{kind(thing)} {at(thing.place)}"


def largest(scene: Scene) -> SceneThing | None:
    """The thing that is larger than every other by width and by area, if there is one."""
    return next((thing for thing in scene.things if _larger(thing, _others(scene, thing))), None)


def smallest(scene: Scene) -> SceneThing | None:
    """The thing that every other is larger than by width and by area, if there is one."""
    things = scene.things
    return next((thing for thing in things if all(_larger(one, [thing]) for one in _others(scene, thing))), None)


def outermost(scene: Scene) -> dict[str, SceneThing]:
    """Direction (left, right, top, bottom) → the one thing that is furthest there, where just one is."""
    found = {}
    for direction, sign, line in (
        ("left", 1, "column"),
        ("right", -1, "column"),
        ("top", 1, "row"),
        ("bottom", -1, "row"),
    ):
        ranks = [sign * getattr(thing, line) for thing in scene.things]
        if len(ranks) > 1 and ranks.count(min(ranks)) == 1:
            found[direction] = scene.things[ranks.index(min(ranks))]
    return found


def _others(scene: Scene, thing: SceneThing) -> list[SceneThing]:
    return [other for other in scene.things if other is not thing]


def _larger(thing: SceneThing, others: Sequence[SceneThing]) -> bool:
    return bool(others) and all(
        100 * thing.extent >= _LARGER * other.extent and 100 * area(thing) >= _LARGER * area(other) for other in others
    )
