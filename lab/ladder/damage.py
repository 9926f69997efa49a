"""What is done to a description, and how much of it: five kinds lose and five keep, each by a dose from 0 to 1.

A larger dose damages what a smaller one does and more, so that within a description loss only grows.
"""

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from lab.ladder.told import COLOUR, Told, Wording

FILLER = "Everything that can be seen is told here with care."
"""It tells of nothing."""
FILLERS = 8
"""How often it is said at the full dose."""


class Damage(NamedTuple):
    """A kind of damage."""

    title: str
    loses: bool
    """Whether a reader of the text knows less of the image, the more of it is done."""
    do: Callable[[Wording, Told, float, Random], str]
    says: str
    """What is done, in a phrase."""
    least: int = 1
    """How many things it takes: of fewer nothing is changed."""


def _dropped(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    gone = _some(told, dose, dice)
    return wording.say(told._replace(things=tuple(t for n, t in enumerate(told.things) if n not in gone)))


def _wrong(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    things = [dict(thing) for thing in told.things]
    facts = [(thing, fact) for thing in things for fact in thing]
    instead = [wording.another(fact, thing[fact], dice) for thing, fact in facts]  # whatever the dose, the same
    order = dice.sample(range(len(facts)), len(facts))
    for place in order[: round(dose * len(facts))]:
        thing, fact = facts[place]
        thing[fact] = instead[place]
    return wording.say(told._replace(things=tuple(things)))


def _swapped(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    """Each of the chosen takes the colour of the next one that is chosen; of one alone nothing can be exchanged."""
    chosen = _in_order(told, dose, dice)
    things = [dict(thing) for thing in told.things]
    for one, other in zip(chosen, [*chosen[1:], *chosen[:1]], strict=True):
        things[one][COLOUR] = told.things[other][COLOUR]
    return wording.say(told._replace(things=tuple(things)))


def _denied(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    return wording.say(told, denied=_some(told, dose, dice))


def _shuffled(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    words = wording.say(told).split()
    chosen = dice.sample(range(len(words)), len(words))[: round(dose * len(words))]
    moved = sorted(chosen)
    dice.shuffle(chosen)
    shuffled = list(words)
    for place, source in zip(moved, chosen, strict=True):
        shuffled[place] = words[source]
    return " ".join(shuffled)


def _reordered(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    """The chosen are told after all others, the last of them first."""
    chosen = _in_order(told, dose, dice)
    order = [n for n in range(len(told.things)) if n not in chosen] + sorted(chosen, reverse=True)
    return wording.say(told._replace(things=tuple(told.things[n] for n in order)))


def _turned(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    return wording.say(told, turned=_some(told, dose, dice))


def _synonyms(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    return wording.with_synonyms(wording.say(told), dose, dice)


def _before(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    return " ".join([FILLER] * round(dose * FILLERS) + [wording.say(told)])


def _behind(wording: Wording, told: Told, dose: float, dice: Random) -> str:
    return " ".join([wording.say(told)] + [FILLER] * round(dose * FILLERS))


KINDS: Mapping[str, Damage] = {
    "drop": Damage("facts dropped", True, _dropped, "a share of the things is not told of"),
    "wrong": Damage("facts wrong", True, _wrong, "a share of the facts is told wrongly"),
    "swap": Damage("colours swapped", True, _swapped, "a share of the things exchange their colours", least=2),
    "deny": Damage("negated", True, _denied, "a share of the things is said not to be there"),
    "shuffle": Damage("words shuffled", True, _shuffled, "a share of the words change places"),
    "order": Damage("another order", False, _reordered, "a share of the things is told of last"),
    "paraphrase": Damage("paraphrased", False, _turned, "a share of the sentences is turned round, in known words"),
    "synonyms": Damage("synonyms", False, _synonyms, "a share of the words is replaced by others that mean the same"),
    "behind": Damage("longer at the end", False, _behind, f"up to {FILLERS} sentences that tell nothing follow"),
    "before": Damage("longer at the start", False, _before, f"up to {FILLERS} sentences that tell nothing come first"),
}
"""Name → what it is."""


def damaged(kind: str, dose: float, text: str, wording: Wording) -> str:
    """``text`` after a dose of a kind; a text that ``wording`` cannot read is left as it is.

    What is hit is a function of the kind and the text, and nothing else.

    Raises:
        ValueError: the dose is not within 0 … 1.
    """
    if not 0 <= dose <= 1:
        raise ValueError(f"a dose is from 0 to 1, but is {dose}")
    told = wording.read(text)
    if told is None or dose == 0:
        return text
    return KINDS[kind].do(wording, told, dose, Random(f"{kind}\n{text}"))


def _in_order(told: Told, dose: float, dice: Random) -> list[int]:
    """A share of the things, by their places, in the order in which they are chosen."""
    return dice.sample(range(len(told.things)), len(told.things))[: round(dose * len(told.things))]


def _some(told: Told, dose: float, dice: Random) -> frozenset[int]:
    return frozenset(_in_order(told, dose, dice))
