"""The control that declines everything."""

from pathlib import Path

import pytest

from driftledger.benchmarks._questions.parsing.refusal import is_refusal
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile
from driftledger_demo.models.always_refuse import AlwaysRefuse

CANNOT = "I cannot determine this from the image."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Which?\nA. a cat\nB. I do not know the answer.\nC. a dog", "B"),
        ("Which?\nA. a cat\nB. a dog", CANNOT),
        ("Is it a cat? Please answer yes or no.", CANNOT),
        ("What is it?", CANNOT),
        ("Describe the image.", CANNOT),
    ],
)
def test_it_never_answers_and_never_looks(text, said):
    [reply] = AlwaysRefuse().respond([Conversation.ask(text, ImageFile(Path("/nowhere/at/all.png"), "0" * 64))])
    assert reply.text == said


def test_what_it_says_is_read_as_a_refusal():
    assert is_refusal(CANNOT)


def test_the_registry_knows_it():
    assert provider_class("models", "always_refuse") is AlwaysRefuse
