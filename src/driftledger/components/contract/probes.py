"""What components are asked when they are checked: a few ordinary things, and a few that few think of.

All of it is drawn and written here, the same on every machine, so that a check can be repeated.
"""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from driftledger.core.canonical import sha256_bytes
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, ImageFile, Subject, Turn

PICTURES = (
    ("navy", "gold", "ellipse"),
    ("white", "crimson", "rectangle"),
    ("olive", "black", "ellipse"),
    ("lightblue", "purple", "rectangle"),
)
"""Ground, colour of the one thing, and its shape."""

TEXTS = (
    "A golden circle on a dark blue ground, a little left of the middle.",
    "A red rectangle on a white background. It fills most of the picture.",
    "Two black birds sit on a green roof, and it rains.",
    "What stands written above the purple door?",
)
QUESTIONS = (
    "Describe the image in one sentence.",
    "Which colour is the ground?\nA. red\nB. white\nC. I cannot tell\nAnswer with the letter.",
    "Is there a circle in the image? Please answer yes or no.",
)
GRADE = (
    "Grade the prediction from 0.0 to 1.0.\n\n"
    "Question | Ground truth | Prediction | Correctness\n--- | --- | --- | ---\n"
    "x | 1 | 1 | 1.0\n\nWhat is shown? | a bird | It is a bird. | "
)
"""As a judge is asked: a text without an image."""

LONG_TEXT = "A red circle beside a small blue square. " * 500
UNWRITABLE = "half a \ud800 character, \x00 and \x1b[31m"
"""A lone surrogate, which no encoding holds, and control characters."""
ODD_MODES = ("L", "RGBA", "P")


def picture(number: int) -> Image.Image:
    """One of :data:`PICTURES`, 64 × 48 pixels."""
    ground, colour, shape = PICTURES[number]
    image = Image.new("RGB", (64, 48), ground)
    pen = ImageDraw.Draw(image)
    box = (8 + 4 * number, 6, 40 + 4 * number, 38)
    (pen.ellipse if shape == "ellipse" else pen.rectangle)(box, fill=colour)
    return image


def pictures() -> list[Image.Image]:
    return [picture(number) for number in range(len(PICTURES))]


def odd_shapes() -> dict[str, Image.Image]:
    """Name → an image that is hard to cut into patches."""
    return {
        "an image of 1 × 1 pixel": Image.new("RGB", (1, 1), "white"),
        "an image of 2 × 600 pixels": Image.new("RGB", (2, 600), "teal"),
    }


def odd_modes() -> dict[str, Image.Image]:
    """Name → an image that is not RGB, as only somebody else's code hands over."""
    return {f"an image of mode {mode}": picture(0).convert(mode) for mode in ODD_MODES}


def written(folder: Path, image: Image.Image) -> ImageFile:
    """The image as a file in ``folder``, as a dataset holds one."""
    png = png_bytes(image)
    digest = sha256_bytes(png)
    path = folder / f"{digest}.png"
    path.write_bytes(png)
    return ImageFile(path, digest)


def conversations(folder: Path) -> list[Conversation]:
    """One for each way in which a benchmark asks: a description, a choice, yes or no, a grade."""
    about = [Subject(f"probe-{number}", 1) for number in range(len(QUESTIONS) + 1)]
    images = [written(folder, image) for image in pictures()]
    shown = zip(QUESTIONS, images, about, strict=False)
    asked = [Conversation.ask(text, image, subject) for text, image, subject in shown]
    return [*asked, Conversation((Turn("user", (GRADE,)),), about[-1])]


def odd_conversations(folder: Path) -> dict[str, Sequence[Conversation]]:
    """Name → conversations that a model must answer, or refuse in a sentence."""
    plain, about = written(folder, picture(0)), Subject("probe-odd", 1)
    texts = {"an empty text": "", "a very long text": LONG_TEXT, "a text that cannot be written": UNWRITABLE}
    asked = {name: [Conversation.ask(text, plain, about)] for name, text in texts.items()}
    asked |= {
        name: [Conversation.ask(QUESTIONS[0], written(folder, image), about)] for name, image in odd_shapes().items()
    }
    return {
        "no conversation": [],
        **asked,
        "a text without an image": [Conversation((Turn("user", (QUESTIONS[0],)),), about)],
        "room for one token": [Conversation.ask(QUESTIONS[0], plain, about, max_tokens=1)],
    }
