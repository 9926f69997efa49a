"""What the embedded question sets hold, as hashes per version: the pixels of some images, and every question.

``python tests/demo/golden/scenes.py`` prints them; with ``--write`` it adds a version that ``scenes.json`` does not
hold yet. A version once written is never overwritten: other pixels or words need a raised version. ``--sheet FILE``
draws the first scenes into one picture, to be looked at.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

from PIL import Image

from driftledger.benchmarks.registry import question_rules
from driftledger.core.canonical import pretty_json, sha256_bytes, sha256_of
from driftledger_demo.scenes.drawing import draw
from driftledger_demo.scenes.provider import Protocol, Scenes
from driftledger_demo.scenes.scene import SIDE, make_scene

GOLDEN = Path(__file__).with_suffix(".json")
SHOWN = 13
"""Images that are hashed: one turn of all themes."""

Hashes = dict[str, dict[str, str]]


def current() -> dict[str, Hashes]:
    """Version → images and questions → which → hash, as the code is now."""
    images = {f"{number:04d}": sha256_bytes(draw(make_scene(1, number)).tobytes()) for number in range(SHOWN)}
    questions = {protocol: sha256_of(asked(protocol)) for protocol in get_args(Protocol)}
    return {Scenes.version: {"images": images, "questions": questions}}


def asked(protocol: Protocol) -> list[dict[str, Any]]:
    """All that a question holds but its image."""
    found = []
    scenes = Scenes(protocol=protocol)
    for question in scenes.questions(question_rules(scenes)):
        fields = asdict(question)
        del fields["read"]
        found.append(fields)
    return found


def sheet(scenes: int = 65, columns: int = 13) -> Image.Image:
    """The first scenes of seed 1 side by side."""
    paper = Image.new("RGB", (columns * (SIDE + 8), -(-scenes // columns) * (SIDE + 8)), (255, 0, 255))
    for number in range(scenes):
        row, column = divmod(number, columns)
        paper.paste(draw(make_scene(1, number)), (column * (SIDE + 8) + 4, row * (SIDE + 8) + 4))
    return paper


def write() -> None:
    """Add what is new; refuse to change what a version already stands for."""
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    for version, hashes in current().items():
        if known.setdefault(version, hashes) != hashes:
            sys.exit(f"scenes are something else than in version {version}; raise the version of Scenes")
    GOLDEN.write_text(pretty_json(known))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write"]:
            write()
        case ["--sheet", file]:
            sheet().save(file)
        case _:
            print(pretty_json(current()), end="")
