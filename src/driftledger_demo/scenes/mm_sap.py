"""Scene → MM-SAP questions: what the pixels answer, what takes knowledge as well, and what nothing answers."""

from collections.abc import Iterator
from typing import NamedTuple

from driftledger_demo.scenes import mm_sap_basic, mm_sap_know
from driftledger_demo.scenes.choices import Choice
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.mm_sap_beyond import GROUPS, beyond
from driftledger_demo.scenes.scene import Scene

REFUSALS: tuple[str, ...] = (
    "It cannot be determined from the image.",
    "The image does not show this.",
    "I cannot tell from this image.",
    "There is not enough information in the image.",
    "I do not know the answer.",
)
"""Wordings of the fifth option; which one a question gets has nothing to do with its subset."""

_BASIC = 2
"""Basic questions about a scene without a flag, sign or symbol; others get one, and two of knowledge."""


class SapQuestion(NamedTuple):
    """A question of MM-SAP: four options of which at most one is right, and the refusal behind them."""

    subset: str
    subtask: str
    question: str
    options: tuple[str, ...]
    answer: str | None
    refusal: str


def questions(scene: Scene, seed: int) -> Iterator[SapQuestion]:
    """The questions about one scene; those of one subset are of different subtasks, or of different kinds."""
    known = _known(scene, seed)
    basic = _basic(scene, seed, 1 if known else _BASIC)
    group = GROUPS[scene.number % len(GROUPS)]
    unknown = beyond(scene, group, Dice("beyond", seed, scene.number))
    asked = [*(("basic", one) for one in basic), *(("know", one) for one in known), ("beyond", unknown)]
    for place, (subset, one) in enumerate(asked):
        yield _with_refusal(subset, one, Dice("options", seed, scene.number, place))


def _basic(scene: Scene, seed: int, most: int) -> list[Choice]:
    """Writing if there is some, then what the scene has an answer for; the subtasks take turns to be first."""
    turn = scene.number % len(mm_sap_basic.ASKERS)
    askers = [mm_sap_basic.text, *mm_sap_basic.ASKERS[turn:], *mm_sap_basic.ASKERS[:turn]]
    asked = (asker(scene, Dice("basic", asker.__name__, seed, scene.number)) for asker in askers)
    return [one for one in asked if one is not None][:most]


def _known(scene: Scene, seed: int) -> list[Choice]:
    asked = (asker(scene, Dice("know", asker.__name__, seed, scene.number)) for asker in mm_sap_know.ASKERS)
    return [one for one in asked if one is not None]


def _with_refusal(subset: str, one: Choice, dice: Dice) -> SapQuestion:
    refusal = dice.choice(REFUSALS)
    normal = dice.shuffled([*one.wrong, one.right] if one.right is not None else one.wrong)
    return SapQuestion(subset, one.subtask, one.question, (*normal, refusal), one.right, refusal)
