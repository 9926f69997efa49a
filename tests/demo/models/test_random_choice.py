"""The control that throws dice, always the same."""

from collections import Counter
from pathlib import Path

import pytest

from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile
from driftledger_demo.models.random_choice import GUESSES, SENTENCE, RandomChoice

TIMES = 2000


def said(text: str, images: int = TIMES) -> list[str]:
    """What it says about so many images, none of which exists."""
    asked = [Conversation.ask(text, ImageFile(Path("/nowhere/at/all.png"), f"{at:064x}")) for at in range(images)]
    return [reply.text for reply in RandomChoice().respond(asked)]


@pytest.mark.parametrize(
    ("text", "faces"),
    [
        ("Which?\nA. a\nB. b\nC. c\nD. d\nE. e", "ABCDE"),
        ("Is it? Please answer yes or no.", ("Yes", "No")),
        ("What is it?", GUESSES),
    ],
)
def test_chances_are_equal(text, faces):
    found = Counter(said(text))
    assert set(found) == set(faces)
    assert all(0.8 < times * len(faces) / TIMES < 1.2 for times in found.values())


def test_it_says_the_same_again_and_another_thing_about_another_question():
    assert said("What is it?", 50) == said("What is it?", 50)
    assert said("What is it?", 50) != said("What was it?", 50)


def test_a_description_is_one_sentence():
    assert said("Describe the image.", 2) == [SENTENCE] * 2


def test_the_registry_knows_it():
    assert provider_class("models", "random_choice") is RandomChoice
