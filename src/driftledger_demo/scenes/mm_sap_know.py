"""MM-SAP, know: questions for which the pixels do not do without knowledge of the world."""

from driftledger_demo.scenes.choices import Asker, Choice, choice
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.knowledge import FLAGS, KINDRED_SIGNS, SIGNS, SYMBOLS, Flag, Sign, Symbol
from driftledger_demo.scenes.scene import Scene

FLAG, SIGN, SYMBOL = "national_flags", "road_signs", "mathematical_symbols"
_ALIKE = 7
"""From how many flags of the most similar colours the wrong ones are chosen."""
_CLASSES = {
    "warning": "a sign that warns of a danger",
    "priority": "a sign about who may go first",
    "prohibitory": "a sign that forbids something or limits it",
    "mandatory": "a sign that says which way to go",
    "information": "a sign that gives information",
}


def _country(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Flag):
        return None
    wrong = [flag.country for flag in _similar(scene.fixture, dice)]
    return choice(FLAG, "Which country does this flag belong to?", scene.fixture.country, wrong)


def _capital_city(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Flag):
        return None
    wrong = [flag.capital for flag in _similar(scene.fixture, dice)]
    return choice(FLAG, "What is the capital of the country whose flag is shown?", scene.fixture.capital, wrong)


def _sign_meaning(scene: Scene, dice: Dice) -> Choice | None:
    sign = scene.fixture
    if not isinstance(sign, Sign):
        return None
    question = "What does the road sign tell drivers?"
    if sign.writing.isdigit():  # or the number alone would give the answer away
        return choice(SIGN, question, sign.meaning, dice.shuffled(_misread_speed(sign.writing)))
    kindred = {name for names in KINDRED_SIGNS for name in names if sign.name in names}
    wrong = [other.meaning for other in SIGNS if other.name not in kindred and not other.writing.isdigit()]
    return choice(SIGN, question, sign.meaning, dice.shuffled(wrong))


def _sign_class(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Sign) or scene.fixture.kind is None:
        return None
    right = _CLASSES[scene.fixture.kind]
    return choice(SIGN, "What kind of road sign is this?", right, dice.shuffled(list(_CLASSES.values())))


def _symbol_name(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Symbol):
        return None
    names = dice.shuffled([symbol.name for symbol in SYMBOLS])
    return choice(SYMBOL, "What is this mathematical symbol called?", scene.fixture.name, names)


def _symbol_meaning(scene: Scene, dice: Dice) -> Choice | None:
    if not isinstance(scene.fixture, Symbol):
        return None
    meanings = dice.shuffled([symbol.meaning for symbol in SYMBOLS])
    return choice(SYMBOL, "What does this mathematical symbol stand for?", scene.fixture.meaning, meanings)


def _similar(flag: Flag, dice: Dice) -> list[Flag]:
    """Other flags of the most similar colours, in any order."""
    others = [other for other in dice.shuffled(FLAGS) if other != flag]
    others.sort(key=lambda other: len({*other.colours} ^ {*flag.colours}))
    return dice.shuffled(others[:_ALIKE])


def _misread_speed(number: str) -> list[str]:
    return [
        f"Do not drive more slowly than {number} km/h.",
        f"Keep {number} metres apart from the vehicle ahead.",
        f"You may park for {number} minutes.",
        f"The next town is {number} km away.",
    ]


ASKERS: tuple[Asker, ...] = (_country, _capital_city, _sign_meaning, _sign_class, _symbol_name, _symbol_meaning)
"""A scene with a flag, a sign or a symbol is asked both questions about it."""
