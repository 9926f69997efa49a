"""What the embedded components give on a few inputs, as hashes per component and version.

``python tests/demo/golden/embedded.py`` prints them; with ``--write`` it adds versions that ``embedded.json`` does not
hold yet. A version once written is never overwritten: changed output needs a raised version.
"""

import json
import sys
from collections.abc import Callable
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import numpy as np
import skimage
from PIL import Image, ImageDraw

from driftledger.benchmarks.registry import question_rules
from driftledger.components.base import Component
from driftledger.core.canonical import pretty_json, sha256_bytes, sha256_of
from driftledger.core.types import Conversation, ImageFile
from driftledger_demo.encoders.layout import LayoutEncoder
from driftledger_demo.encoders.tfidf import TfIdf
from driftledger_demo.encoders.words import Words
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.blind import Blind
from driftledger_demo.models.regions import Regions
from driftledger_demo.models.regions.model import Detail
from driftledger_demo.scene_photos.camera import photograph
from driftledger_demo.scene_photos.provider import ScenePhotos
from driftledger_demo.scenes.provider import Protocol

GOLDEN = Path(__file__).with_suffix(".json")
PHOTOS = ("astronaut", "chelsea", "coffee", "coins", "gravel", "microaneurysms")  # PNGs in scikit-image's wheel
PROMPT = "Generate an image that fully and precisely reflects this description: "
DETAILS: tuple[Detail, ...] = ("coarse", "medium", "fine")
PHOTOGRAPHED = 13
"""Scenes: one turn of all themes."""
ASKED = (
    "Which objects are there in the image? Name each with its colour.",
    "What is written on the board?",
    "Which country does this flag belong to?",
    "What does the road sign tell drivers?",
    "What is this mathematical symbol called?",
    "What does the background of the image look like?",
)

Hashes = dict[str, dict[str, dict[str, str]]]


def pictures() -> dict[str, Image.Image]:
    """Photographs, a drawing, noise and a sliver."""
    folder = Path(skimage.__file__).parent / "data"
    shown = {name: Image.open(folder / f"{name}.png").convert("RGB") for name in PHOTOS}
    drawing = Image.new("RGB", (300, 200), (240, 235, 220))
    ImageDraw.Draw(drawing).ellipse((20, 20, 120, 90), fill=(200, 30, 30))
    ImageDraw.Draw(drawing).rectangle((200, 90, 270, 180), fill=(20, 60, 180))
    noise = np.random.default_rng(5).integers(0, 256, (90, 70, 3), dtype=np.uint8)
    return shown | {"drawing": drawing, "noise": Image.fromarray(noise), "sliver": drawing.resize((200, 2))}


@cache
def descriptions() -> dict[str, dict[str, str]]:
    """Detail → picture → text."""
    told: dict[str, dict[str, str]] = {}
    with TemporaryDirectory() as folder:
        for name, picture in pictures().items():
            path = Path(folder) / f"{name}.png"
            picture.save(path)
            conversation = Conversation.ask("Describe the image.", ImageFile(path, ""))
            for detail in DETAILS:
                [reply] = Regions(detail=detail).respond([conversation])
                told.setdefault(detail, {})[name] = reply.text
    return told


def _regions() -> dict[str, str]:
    told = {detail: sha256_of(descriptions()[detail]) for detail in DETAILS}
    return told | {f"{detail}, asked": sha256_of(answers(detail)) for detail in DETAILS}


def answers(detail: Detail) -> list[str]:
    """What a model that knows and refuses says about some photographs of scenes."""
    model, said = Regions(detail=detail, knowledge=True, refuses=True), []
    photos = ScenePhotos(protocol="mm_vet", difficulty=0.5, count=PHOTOGRAPHED)
    with TemporaryDirectory() as folder:
        for question in photos.questions(question_rules(photos)):
            path = Path(folder) / question.image_id
            path.write_bytes(question.read())
            for text in (question.question, *ASKED):
                [reply] = model.respond([Conversation.ask(text, ImageFile(path, ""))])
                said.append(reply.text)
    return said


def _scene_photos() -> dict[str, str]:
    found = {}
    for difficulty in (0.0, 0.5, 1.0):
        files = [photograph(1, number, difficulty) for number in range(PHOTOGRAPHED)]
        found[f"difficulty {difficulty}"] = sha256_of([sha256_bytes(data) for data in files])
        pixels = [Image.open(BytesIO(data)).tobytes() for data in files]
        found[f"difficulty {difficulty}, decoded"] = sha256_of([sha256_bytes(data) for data in pixels])
    for protocol in get_args(Protocol):
        photos = ScenePhotos(protocol=protocol, difficulty=0.5)
        texts = [question.question for question in photos.questions(question_rules(photos))]
        found[protocol] = sha256_of(texts)
    return found


def _blind() -> dict[str, str]:
    return {"any": sha256_of(Blind().respond([Conversation(())])[0].text)}


def _painter() -> dict[str, str]:
    texts = [PROMPT + text for told in descriptions().values() for text in told.values()]
    drawn = [
        one.image
        for size in (64, 256)
        for one in Painter(longest_side=size).generate(texts, [7 * size + index for index in range(len(texts))])
    ]
    return {"descriptions": sha256_of([sha256_bytes(image.tobytes()) for image in drawn if image is not None])}


def _layout() -> dict[str, str]:
    features = LayoutEncoder().encode_images(list(pictures().values()))
    return {"pictures": sha256_bytes(features.astype("<f4").tobytes())}


def _tfidf() -> dict[str, str]:
    """With so few features that a choice among equally frequent words has to be made."""
    corpus = [text for told in descriptions().values() for text in told.values()]
    made = {
        f"runs of {ngrams}": TfIdf(ngrams=ngrams, max_features=100).fitted(corpus).encode_texts([*corpus, ""])
        for ngrams in (1, 2)
    }
    return {name: sha256_bytes(features.astype("<f4").tobytes()) for name, features in made.items()}


def _words() -> dict[str, str]:
    texts = [text for told in descriptions().values() for text in told.values()]
    features = Words().encode_texts([*texts, "Größe: 写真!", ""])
    return {"descriptions": sha256_bytes(features.astype("<f4").tobytes())}


MADE_BY: dict[type[Component] | type[ScenePhotos], Callable[[], dict[str, str]]] = {
    Regions: _regions,
    ScenePhotos: _scene_photos,
    Blind: _blind,
    Painter: _painter,
    LayoutEncoder: _layout,
    TfIdf: _tfidf,
    Words: _words,
}


def current() -> Hashes:
    """Provider → version → case → hash, as the code is now."""
    return {kind.provider: {kind.version: make()} for kind, make in MADE_BY.items()}


def stored() -> Hashes:
    """The same, as it was written down."""
    found: Hashes = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    return found


def write() -> None:
    """Add what is new; refuse to change what a version already stands for."""
    known = stored()
    for provider, versions in current().items():
        for version, hashes in versions.items():
            if known.setdefault(provider, {}).setdefault(version, hashes) != hashes:
                sys.exit(f"{provider} gives something else than its version {version} did; raise its version")
    GOLDEN.write_text(pretty_json(known))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        print(pretty_json(current()), end="")
