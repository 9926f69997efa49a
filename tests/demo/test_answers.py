"""What the describer answers, from hand-drawn pictures and from the shipped photographs."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from driftledger.components.base import Model
from driftledger.core.types import Conversation, ImageFile, Turn
from driftledger_demo.models.regions import Regions
from driftledger_demo.vision.question import CANNOT, ParsedQuestion, asked, plain, without_manners

FINE = Regions(detail="fine", knowledge=True, refuses=True)

Ask = Callable[[Model, str], str]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ask about a red circle at the top left and a blue square at the bottom right of a white picture."""
    image = Image.new("RGB", (300, 300), (252, 252, 252))
    ImageDraw.Draw(image).ellipse((20, 20, 70, 70), fill=(215, 30, 40))
    ImageDraw.Draw(image).rectangle((220, 220, 290, 290), fill=(30, 70, 200))
    image.save(tmp_path / "drawn.png")

    def answer(model: Model, text: str) -> str:
        [reply] = model.respond([Conversation.ask(text, ImageFile(tmp_path / "drawn.png", ""))])
        return reply.text

    return answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What colour is the circle?", "red"),
        ("What shape is the object at the bottom right of the image?", "square"),
        ("Where in the image is the red circle?", "top left"),
        ("How many objects are there in the image?", "2"),
        ("How many red objects are there in the image?", "1"),
        ("Tell me: Which colour does the circle have?", "red"),
        ("Is there a square in the image? Please answer yes or no.", "Yes"),
        ("Is there a heart in the image? Please answer yes or no.", "No"),
        ("Is the red circle above the blue square? Please answer yes or no.", "Yes"),
        ("Is the circle blue? Please answer yes or no.", "No"),
        ("What colour is the hat of the woman in the image?", CANNOT),
        ("What is behind the red circle?", CANNOT),
        ("Which is the largest object in the image?\nA. The red circle\nB. The blue square\nC. I do not know.", "B"),
        ("Who drew the circle?\nA. Anna\nB. The image does not show this.\nC. Tom", "B"),
        ("Who drew the circle?\nA. Anna\nB. Tom", CANNOT),
    ],
)
def test_answers(ask: Ask, question: str, answer: str) -> None:
    assert ask(FINE, question) == answer


def test_without_refusing_it_guesses_or_describes(ask: Ask) -> None:
    eager = FINE.model_copy(update={"refuses": False})
    assert ask(eager, "Who drew it?\nA. I do not know.\nB. Anna\nC. Tom") == "B"
    assert ask(eager, "Who drew it?") == ask(eager, "Describe the image.") == ask(FINE, "Describe the image.")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which?\nA. a cat\nB. a dog\nAnswer.", ParsedQuestion("choice", "Which?", ("a cat", "a dog"))),
        ("Which?\n\nA. one\nB. two\nC. A. three", ParsedQuestion("choice", "Which?", ("one", "two", "A. three"))),
        ("Is it red?\nPlease answer Yes or No", ParsedQuestion("yes_no", "Is it red?")),
        ("What is it?\nAnswer in one word.", ParsedQuestion("open", "What is it?")),
        ("What is it?\nA. no second option", ParsedQuestion("open", "What is it?")),
        ("Write a sentence about it.", ParsedQuestion("open", "Write a sentence about it.")),
        ("What are the main elements in this image, and how do they interact or relate to each other?", None),
        ("Describe the image.", None),
        ("", None),
    ],
)
def test_what_is_asked(text: str, expected: ParsedQuestion | None) -> None:
    assert asked(Conversation((Turn("user", (text,)),))) == expected


def test_other_words_for_a_question() -> None:
    assert plain(without_manners("Please look closely. Which country has this flag?")) == (
        "Which country does this flag belong to?"
    )
