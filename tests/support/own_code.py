"""Code that is not driftledger's: modules in a project's top folder, or in a distribution."""

from pathlib import Path
from textwrap import dedent

MODEL = '''
from typing import ClassVar

from driftledger.components.base import Model
from driftledger.core.types import Result


class MyModel(Model):
    """Says how bright the image is."""

    version: ClassVar[str] = "1"
    words: str = "bright"

    def respond(self, conversations):
        return [Result(f"A {self.words} image of {self._light(each)}.") for each in conversations]

    def _light(self, conversation):
        return conversation.last_medium.open().convert("L").resize((1, 1)).getpixel((0, 0))
'''

GENERATOR = '''
from typing import ClassVar

from PIL import Image

from driftledger.components.base import Generator
from driftledger.core.types import Result


class Plain(Generator):
    """A plain image whose colour is how long the description is."""

    provider: ClassVar[str] = "plain_colour"
    version: ClassVar[str] = "1"

    def generate(self, prompts, seeds):
        return [Result(image=self._image(prompt)) for prompt in prompts]

    def _image(self, prompt):
        return Image.new("RGB", (32, 32), (len(prompt) % 256, 90, 10))
'''


def write_module(folder: Path, name: str, text: str) -> Path:
    """Write a module of one file."""
    path = folder / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).lstrip(), encoding="utf-8")
    return path
