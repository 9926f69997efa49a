"""MM-Vet: open questions about shapes, flags, signs and symbols."""

from driftledger_demo.scenes import facts
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.knowledge import SAID, Flag, Sign, Symbol
from driftledger_demo.scenes.open_questions import Asker, Open, all_of, any_of, named, number, open_question
from driftledger_demo.scenes.scene import Scene, Theme

_CORNERS = {"triangle": 3, "square": 4, "diamond": 4}
_WAYS = {"left": "furthest to the left", "right": "furthest to the right", "top": "highest up", "bottom": "lowest down"}
_STEPS = {"directly to the right of": 1, "directly to the left of": -1, "directly below": 3, "directly above": -3}


def _all_things(scene: Scene, dice: Dice) -> Open | None:
    question = facts.aside(scene, "Which objects are there in the image? Name each with its colour.")
    return open_question("rec", question, all_of(map(facts.kind, scene.things)))


def _colour_of(scene: Scene, dice: Dice) -> Open | None:
    alone = [thing for thing in scene.things if facts.count(scene, thing.shape) == 1]
    if not alone:
        return None
    thing = dice.choice(alone)
    return open_question("rec", f"What colour is the {thing.shape}?", thing.colour)


def _outermost(scene: Scene, dice: Dice) -> Open | None:
    found = facts.outermost(scene)
    if not found:
        return None
    way = dice.choice(list(found))
    question = facts.aside(scene, f"Which object is {_WAYS[way]} in the image? Name its colour and shape.")
    return open_question("rec spat", question, facts.kind(found[way]))


def _neighbour(scene: Scene, dice: Dice) -> Open | None:
    by_cell = {thing.cell: thing for thing in scene.things}
    pairs = [
        (thing, way, by_cell[thing.cell + step])
        for thing in facts.once(scene)
        for way, step in _STEPS.items()
        if thing.cell + step in by_cell and (abs(step) == 3 or thing.cell // 3 == (thing.cell + step) // 3)
    ]
    if not pairs:
        return None
    thing, way, other = dice.choice(pairs)
    return open_question("rec spat", f"What is {way} the {facts.kind(thing)}?", facts.kind(other))


def _difference(scene: Scene, dice: Dice) -> Open | None:
    counts = [(facts.count(scene, shape), facts.plural(shape)) for shape in dice.shuffled(facts.shapes_of(scene))]
    (most, many), (least, few) = max(counts), min(counts)
    if most == least:
        return None
    question = facts.aside(scene, f"How many more {many} than {few} are there in the image?")
    return open_question("rec math", question, number(most - least))


def _corners(scene: Scene, dice: Dice) -> Open | None:
    shapes = [shape for shape in facts.shapes_of(scene) if shape in _CORNERS]
    if not shapes:
        return None
    shape = dice.choice(shapes)
    question = facts.aside(scene, f"How many corners do all {facts.plural(shape)} in the image have together?")
    return open_question("rec know math", question, number(_CORNERS[shape] * facts.count(scene, shape)))


def _caption(scene: Scene, dice: Dice) -> Open | None:
    if scene.background.pattern != "plain":
        return None
    question = "Write a caption of one sentence that tells what is in the image and how its background looks."
    parts = [*map(facts.kind, scene.things), scene.background.colours[0]]
    return open_question("rec gen", question, all_of(parts))


def _layout(scene: Scene, dice: Dice) -> Open | None:
    things = facts.once(scene)[:2]
    if len(things) < 2:
        return None
    names = " and the ".join(map(facts.kind, things))
    question = f"Describe in full sentences where in the image the {names} are."
    return open_question(
        "rec gen spat", question, all_of(part for one in things for part in (facts.kind(one), one.place))
    )


def _country(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Flag):
        return None
    return open_question("rec know", "Which country's flag is in the image?", named(scene.fixture.country))


def _capital_city(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Flag):
        return None
    question = "What is the capital of the country whose flag is in the image?"
    return open_question("rec know", question, named(scene.fixture.capital))


def _flag_described(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Flag):
        return None
    name = scene.fixture.country.removeprefix("the ")
    question = "Describe the flag in a sentence that names its colours and the country it belongs to."
    return open_question("rec know gen", question, all_of([name, *scene.fixture.colours]))


def _corner(scene: Scene, dice: Dice) -> Open | None:
    if scene.block is None or scene.block.columns != 2:
        return None
    right = f"{('top', 'bottom')[scene.block.row]} {('left', 'right')[scene.block.column]}"
    question = f"In which corner of the image is the {facts.fixture_name(scene)}?"
    if isinstance(scene.fixture, Flag):
        question = "Which country's flag is in the image, and in which corner is it?"
        return open_question("rec know spat", question, all_of([scene.fixture.country.removeprefix("the "), right]))
    return open_question("rec spat", question, right)


def _meaning(scene: Scene, dice: Dice) -> Open | None:
    words = _words(scene)
    if not words:
        return None
    if isinstance(scene.fixture, Sign):
        return open_question(_needs(scene.fixture), "What does the road sign tell drivers?", any_of(words))
    return open_question("rec know", "What does the mathematical symbol in the image stand for?", any_of(words))


def _explained(scene: Scene, dice: Dice) -> Open | None:
    words = _words(scene)
    if not words:
        return None
    if isinstance(scene.fixture, Sign):
        question = "Explain to a learner driver, in one full sentence, what the road sign means."
        return open_question(f"{_needs(scene.fixture)} gen", question, any_of(words))
    question = "Explain to a pupil, in one full sentence, what the mathematical symbol means."
    return open_question("rec know gen", question, any_of(words))


def _drive(scene: Scene, dice: Dice) -> Open | None:
    sign, hours = scene.fixture, dice.between(2, 5)
    if not isinstance(sign, Sign) or not sign.writing.isdigit():
        return None
    question = (
        f"How many kilometres does a car go in {facts.NUMBERS[hours]} hours "
        "at the highest speed that the road sign allows?"
    )
    return open_question("ocr know math", question, str(hours * int(sign.writing)))


def _sign_letters(scene: Scene, dice: Dice) -> Open | None:
    sign = scene.fixture
    if not isinstance(sign, Sign) or not sign.writing.isalnum():
        return None
    return open_question("ocr", "What is written on the road sign?", sign.writing)


def _applied(scene: Scene, dice: Dice) -> Open | None:
    if not isinstance(scene.fixture, Symbol):
        return None
    root, factor = dice.between(3, 9), dice.between(2, 9)
    asked = {
        "√": (f"What is the result if {root * root} stands under the symbol?", number(root)),
        "÷": (f"What is the result if {root * factor} stands before the symbol and {factor} after it?", number(root)),
        "±": (f"Which two results are there if {root + 9} stands before the symbol and {factor} after it?", ""),
    }.get(scene.fixture.character)
    if asked is None:
        return None
    question, answer = asked
    both = all_of([str(root + 9 - factor), str(root + 9 + factor)])
    return open_question("rec know math", question, answer or both)


def _needs(sign: Sign) -> str:
    return "ocr know" if sign.writing.isdigit() else "rec know"


def _words(scene: Scene) -> tuple[str, ...]:
    if isinstance(scene.fixture, Sign):
        return SAID.get(scene.fixture.name, (scene.fixture.writing,))
    return SAID[scene.fixture.character] if isinstance(scene.fixture, Symbol) else ()


ASKERS: dict[Theme, tuple[Asker, ...]] = {
    "shapes": (_all_things, _outermost, _difference, _layout, _corners, _caption, _neighbour, _colour_of),
    "flag": (_country, _flag_described, _capital_city, _corner),
    "sign": (_drive, _sign_letters, _meaning, _explained, _corner),
    "symbol": (_applied, _meaning, _explained, _corner),
}
"""In the order in which they take turns, per theme."""
