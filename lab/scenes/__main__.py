"""Draw the question sets that the demonstration ships: ``python -m lab.scenes [FOLDER]``.

``python -m lab.scenes lessons FOLDER`` draws what the trio's describer is taught about scenes: ``images.npy``, as small
as it sees them, and ``scenes.jsonl``, with the questions about each, their answers, and what is in its cells.

The scenes are a function of a seed and a number, and so are their photographs and the words of their questions. What
is drawn twice has the same bytes, with the versions of Pillow and matplotlib that requirements.txt pins.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from driftledger.core.images import png_bytes
from lab.scenes import mm_sap, mm_vet, mme
from lab.scenes.camera import photograph
from lab.scenes.dice import Dice
from lab.scenes.drawing import draw
from lab.scenes.mm_sap import SapQuestion
from lab.scenes.mm_vet import Open
from lab.scenes.mme import YesNo
from lab.scenes.scene import Scene, make_scene
from lab.scenes.wording import reworded
from lab.trio import lessons as taught

FOLDER = Path(__file__).parents[2] / "src" / "driftledger_demo" / "data"
COUNT, SEED, LESSONS = 120, 1, 12_000

_ASK: dict[str, Callable[[Scene, int], Iterable[SapQuestion | Open | YesNo]]] = {
    "mm_sap": mm_sap.questions,
    "mm_vet": mm_vet.questions,
    "mme": mme.questions,
}


def write(folder: Path) -> None:
    """Write both sets: an image per scene, and a file of questions per protocol."""
    scenes = [make_scene(SEED, number) for number in range(COUNT)]
    for kind in ("drawings", "photographs"):
        images = folder / kind / "images"
        images.mkdir(parents=True, exist_ok=True)
        photographed = kind == "photographs"
        suffix = "jpg" if photographed else "png"
        for scene in scenes:
            data = photograph(SEED, scene.number) if photographed else png_bytes(draw(scene))
            (images / f"{scene.number:04d}.{suffix}").write_bytes(data)
        for protocol, ask in _ASK.items():
            lines = []
            for scene in scenes:
                for place, asked in enumerate(ask(scene, SEED), start=1):
                    identity, fields = f"{scene.number:04d}-{place}", asked._asdict()
                    if photographed:
                        dice = Dice("wording", protocol, SEED, identity)
                        fields["question"] = reworded(asked.question, dice)
                    row = {"id": identity, "image": f"{scene.number:04d}.{suffix}", "theme": scene.theme, **fields}
                    lines.append(json.dumps({key: value for key, value in row.items() if value}, sort_keys=True))
            (folder / kind / f"{protocol}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_lessons(folder: Path) -> None:
    """Write what is taught about scenes of another seed."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "images.npy", np.stack([taught._small(number) for number in range(LESSONS)]))
    lines = []
    for number in range(LESSONS):
        scene, asked = make_scene(taught._SEED, number), taught._questions(number)
        row = {
            "choices": [one for one in asked if isinstance(one, taught.Choices)],
            "plain": [one for one in asked if isinstance(one, taught.Plain)],
            "things": {thing.cell: [thing.size, thing.colour, thing.shape] for thing in scene.things},
            "taken": sorted(scene.block.cells) if scene.block else [],
        }
        lines.append(json.dumps(row) + "\n")
    (folder / "scenes.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:2] == ["lessons"]:
        write_lessons(Path(sys.argv[2]))
    else:
        write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
