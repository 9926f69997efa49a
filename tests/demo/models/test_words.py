"""The embedded models' length limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Outcome, Reply, Turn
from driftledger_demo.models.always_refuse import AlwaysRefuse
from driftledger_demo.models.blind import Blind
from driftledger_demo.models.random_choice import RandomChoice
from driftledger_demo.models.rubric import Rubric
from driftledger_demo.models.words import at_most

texts = st.text(st.sampled_from("ab. \n\t\u00a0写"))


@pytest.mark.parametrize(
    ("text", "most", "said", "outcome"),
    [
        ("A red circle.", None, "A red circle.", Outcome.OK),
        ("A red circle.", 3, "A red circle.", Outcome.OK),
        ("A red circle. ", 3, "A red circle. ", Outcome.OK),
        ("A red circle.", 2, "A red", Outcome.TRUNCATED),
        ("A red,\n\n 26% circle.", 3, "A red,\n\n 26%", Outcome.TRUNCATED),
        ("  A red", 1, "  A", Outcome.TRUNCATED),
        ("", 1, "", Outcome.OK),
    ],
)
def test_cases(text: str, most: int | None, said: str, outcome: Outcome) -> None:
    assert at_most(text, most) == Reply(said, outcome)


@given(texts, st.integers(1, 6))
def test_it_is_the_beginning_and_not_too_long(text: str, most: int) -> None:
    reply = at_most(text, most)
    assert text.startswith(reply.text)
    assert len(reply.text.split()) == min(most, len(text.split()))
    assert (reply.outcome is Outcome.OK) == (reply.text == text)


@pytest.mark.parametrize("most", [0, -1])
def test_room_for_nothing_is_a_bug(most: int) -> None:
    with pytest.raises(ValueError, match=f"max_tokens is {most}"):
        at_most("A", most)


@pytest.mark.parametrize("model", [Blind(), AlwaysRefuse(), RandomChoice()])
def test_controls_keep_to_the_limit(model: Model) -> None:
    turns = (Turn("user", ("Describe the image.",)),)
    whole, cut = model.respond([Conversation(turns), Conversation(turns, max_tokens=2)])
    assert (whole.outcome, cut.outcome) == (Outcome.OK, Outcome.TRUNCATED)
    assert cut.text.split() == whole.text.split()[:2]


def test_a_judge_of_one_word_ignores_it() -> None:
    turns = (Turn("user", ("--- | ---\n\nWhat? | red | red | ",)),)
    assert Rubric().respond([Conversation(turns, max_tokens=1)]) == [Reply("1.0")]
