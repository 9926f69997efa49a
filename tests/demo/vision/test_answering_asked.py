"""What a conversation asks is read from its words alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.core.types import Conversation, Turn
from driftledger_demo.vision.parse_question import ParsedQuestion, asked
from tests.conftest import REPOSITORY
from tests.support.params import default_params


def ask(text: str) -> ParsedQuestion | None:
    return asked(Conversation((Turn("user", (text,)),)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Which?\nA. a cat\nB. a dog\nAnswer.", ParsedQuestion("choice", "Which?", ("a cat", "a dog"))),
        ("Which?\n\nA. one\nB. two\nC. A. three", ParsedQuestion("choice", "Which?", ("one", "two", "A. three"))),
        ("Is it red? Please answer yes or no.", ParsedQuestion("yes_no", "Is it red?")),
        ("Is it red?\nPlease answer Yes or No", ParsedQuestion("yes_no", "Is it red?")),
        ("What is it?\nAnswer in one word.", ParsedQuestion("open", "What is it?")),
        ("Which one? Name its colour.", ParsedQuestion("open", "Which one? Name its colour.")),
        ("What is it?\nA. no second option", ParsedQuestion("open", "What is it?")),
        ("Write a sentence about it.", ParsedQuestion("open", "Write a sentence about it.")),
        ("Describe the image.", None),
        ("", None),
    ],
)
def test_kinds(text, expected):
    assert ask(text) == expected


def test_the_prompts_of_genception_want_a_description():
    import yaml

    params = default_params()
    prompts = [params["genception"]["describe_prompt"]]
    for path in (REPOSITORY / "presets").glob("*.yaml"):
        preset = yaml.safe_load(path.read_text(encoding="utf-8"))
        prompts += (
            [preset["genception"]["describe_prompt"]] if "describe_prompt" in preset.get("genception", {}) else []
        )
    assert [ask(prompt) for prompt in prompts] == [None] * len(prompts)


def test_refusals_among_the_options():
    question = ask("Who?\nA. Anna\nB. The image does not show this.\nC. I cannot tell from this image.")
    assert question is not None
    assert question.refusals == [1, 2]


def test_no_turn_asks_nothing():
    assert asked(Conversation(())) is None


@given(st.text())
def test_any_text_can_be_read(text):
    question = ask(text)
    assert question is None or question.kind in ("choice", "yes_no", "open")
