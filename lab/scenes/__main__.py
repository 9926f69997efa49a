"""Draw the question sets that the demonstration ships: ``python -m lab.scenes [FOLDER]``.

The scenes are a function of a seed and a number, and so are their photographs and the words of their questions. What
is drawn twice has the same bytes, with the versions of Pillow and matplotlib that requirements.txt pins.
"""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

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

FOLDER = Path(__file__).parents[2] / "src" / "driftledger_demo" / "data"
COUNT, SEED = 120, 1

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


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
