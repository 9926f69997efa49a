"""The pixels of the embedded labelled datasets, as one hash per version.

``python tests/demo/golden/labelled.py`` prints them; with ``--write`` it adds versions that ``labelled.json`` does not
hold yet. A version once written is never overwritten: other pixels need a raised version. ``--sheet FILE`` draws three
beetles of every species into one picture, to be looked at.
"""

import json
import sys
from io import BytesIO
from pathlib import Path

from PIL import Image

from driftledger.core.canonical import pretty_json, sha256_bytes, sha256_of
from driftledger.data.datasets.base import DatasetProvider
from driftledger.demo.datasets.beetles.drawing import draw
from driftledger.demo.datasets.beetles.grounds import SIDE
from driftledger.demo.datasets.beetles.provider import Beetles
from driftledger.demo.datasets.beetles.species import SPECIES
from driftledger.demo.datasets.digits import Digits

GOLDEN = Path(__file__).with_suffix(".json")

Hashes = dict[str, dict[str, str]]


def current() -> Hashes:
    """Provider → version → hash of the default set, as the code is now."""
    return {made.provider: {made.version: pixels(made)} for made in (Digits(), Beetles())}


def pixels(dataset: DatasetProvider) -> str:
    """A hash over every sample's id, label, split and pixels."""
    return sha256_of(
        [
            [item.id, item.label, item.split, sha256_bytes(Image.open(BytesIO(item.read())).tobytes())]
            for item in dataset.items()
        ]
    )


def sheet(each: int = 3, columns: int = 4) -> Image.Image:
    """The first individuals of every species side by side."""
    step = SIDE + 2
    paper = Image.new("RGB", (columns * each * step, -(-len(SPECIES) // columns) * step))
    for place, species in enumerate(SPECIES):
        row, column = divmod(place, columns)
        for number in range(each):
            paper.paste(draw(species, "support", number), ((column * each + number) * step, row * step))
    return paper


def write() -> None:
    """Add what is new; refuse to change what a version already stands for."""
    known = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    for provider, versions in current().items():
        for version, digest in versions.items():
            if known.setdefault(provider, {}).setdefault(version, digest) != digest:
                sys.exit(f"{provider} is something else than its version {version} was; raise its version")
    GOLDEN.write_text(pretty_json(known))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write"]:
            write()
        case ["--sheet", file]:
            sheet().save(file)
        case _:
            print(pretty_json(current()), end="")
