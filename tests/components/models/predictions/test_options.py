"""The same letter in another order is another answer: it is carried over by what it stands for, or not at all."""

import pytest

from driftledger.components.models.predictions.options import carried_over

THEIRS = ("red", "blue", "It cannot be determined.")
SHOWN = ("It cannot be determined.", "red", "blue")


@pytest.mark.parametrize(
    ("text", "becomes"),
    [
        ("A", "B"),
        ("b.", "C."),
        ("(C)", "(A)"),
        ("**B**", "**C**"),
        ("The answer is A.", "The answer is B."),
        ("Answer: B", "Answer: C"),
        ("A. red", "B. red"),
        ("B) Blue.", "C) Blue."),
        ("C: it cannot be determined", "A: it cannot be determined"),
    ],
)
def test_a_letter_becomes_that_of_the_same_option(text: str, becomes: str) -> None:
    assert carried_over(text, THEIRS, SHOWN) == becomes
    assert carried_over(text, SHOWN, SHOWN) == text


@pytest.mark.parametrize("text", ["A. blue", "D", "A or B", "A, since it is red", "Both A and C.", "the second", "2"])
@pytest.mark.parametrize("theirs", [THEIRS, ()])
def test_what_may_mean_a_place_in_another_order_is_no_answer(text: str, theirs: tuple[str, ...]) -> None:
    assert carried_over(text, theirs, SHOWN) is None


@pytest.mark.parametrize("text", ["A", "(b)", "The answer is C.", "Option A", "Ａ", "答案是B", "None of the above."])
def test_where_nobody_knows_the_order_no_letter_is_an_answer(text: str) -> None:
    assert carried_over(text, (), SHOWN) is None


@pytest.mark.parametrize("text", ["red", "It is a red circle.", "I can't tell.", "It cannot be determined", ""])
@pytest.mark.parametrize("theirs", [THEIRS, (), ("red", "blue")])
def test_words_need_no_order(text: str, theirs: tuple[str, ...]) -> None:
    assert carried_over(text, theirs, SHOWN) == text


def test_options_that_are_letters_are_answered_by_their_letters() -> None:
    assert carried_over("A", (), ("B", "A")) == "A"  # which is the text of an option, as any reader takes it
    assert carried_over("A", ("x", "x"), ("x", "x")) == "A"
    assert carried_over("A", ("x", "y", "y"), ("y", "x", "y")) is None
