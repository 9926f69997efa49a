"""The control never looks."""

from pathlib import Path

import pytest

from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile
from driftledger_demo.models.blind import Blind


def test_it_never_opens_the_image():
    missing = ImageFile(Path("/nowhere/at/all.png"), "0" * 64)
    replies = Blind().respond([Conversation.ask("Describe the image.", missing), Conversation(())])
    assert [reply.text for reply in replies] == ["This is a photograph."] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Which?\nA. I do not know.\nB. a dog", "A"),
        ("Is it a cat? Please answer yes or no.", "yes"),
        ("What is it?", "This is a photograph."),
    ],
)
def test_its_answers_are_always_the_same(text, said):
    [reply] = Blind().respond([Conversation.ask(text, ImageFile(Path("/nowhere/at/all.png"), "0" * 64))])
    assert reply.text == said


def test_the_registry_knows_it():
    assert provider_class("models", "blind") is Blind
