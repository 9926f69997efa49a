"""Code of somebody who uses driftledger: modules in the project's folder and an installed
distribution."""

from pathlib import Path

ENCODER = """
import driftledger
import numpy as np


@driftledger.encoder
def hues(images):
    small = [np.asarray(image.resize((2, 2)), dtype=np.float32) for image in images]
    return np.stack([pixels.ravel() + 1 for pixels in small])
"""

READER = """
import re

import numpy as np
from driftledger.components.base import Encoder


class Hues(Encoder):
    '''Sees the mean colour of an image, and reads it in a text.'''

    version = "1"

    def encode_images(self, images):
        small = [image.convert("RGB").resize((1, 1)) for image in images]
        return self.apart([np.asarray(pixel).ravel() for pixel in small])

    def encode_texts(self, texts):
        numbers = [re.findall("[0-9]+", text)[:3] for text in texts]
        full = [[*map(float, each), 0.0, 0.0, 0.0][:3] for each in numbers]
        return self.apart([np.array(each) for each in full])

    def apart(self, colours):
        far = np.stack(colours)[:, :, None] - np.linspace(0, 255, 6)
        return np.exp(-(far**2) / 2000).reshape(len(colours), -1).astype("float32")
"""


def write(folder: Path, **modules: str) -> None:
    """Write modules of one file each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text.lstrip(), encoding="utf-8")


def install(site: Path, name: str, version: str, points: dict[str, str]) -> None:
    """Write what an installed distribution leaves beside its modules.

    Args:
        points: ``section name`` of an entry point → the object that it names.
    """
    about = site / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8"
    )
    entries = [
        f"[{section}]\n{entry} = {value}\n"
        for (section, _, entry), value in (
            (key.partition(" "), value) for key, value in points.items()
        )
    ]
    (about / "entry_points.txt").write_text("".join(entries), encoding="utf-8")
