"""Scene → one MM-Vet question: open, and taking up to four of the six capabilities together."""

from driftledger_demo.scenes import mm_vet_read, mm_vet_seen
from driftledger_demo.scenes.dice import Dice
from driftledger_demo.scenes.open_questions import Open
from driftledger_demo.scenes.scene import Scene

# every theme has one that always finds an answer
_ASKERS = mm_vet_seen.ASKERS | mm_vet_read.ASKERS


def questions(scene: Scene, seed: int) -> tuple[Open]:
    """The first question that the scene has an answer for; those of its theme take turns to be first."""
    askers = _ASKERS[scene.theme]
    turn = scene.turn % len(askers)
    rotated = (*askers[turn:], *askers[:turn])
    asked = (asker(scene, Dice("mm_vet", asker.__name__, seed, scene.number)) for asker in rotated)
    return (next(found for found in asked if found is not None),)
