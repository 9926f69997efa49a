"""Which prediction is about what is asked; what is not is named, and nothing is guessed."""

import pytest

from driftledger.components.models.predictions.matching import by_id, is_part_of, unmatched
from driftledger.components.models.predictions.rows import PredictionRow, id_of, text_row
from driftledger.core.errors import ConfigError

WHERE = "predictions: 'x.json'"


def rows(*pairs: tuple[object, str]) -> list[PredictionRow]:
    return [text_row(f"line {number}", {"id": name}, text) for number, (name, text) in enumerate(pairs, 1)]


def found(*names: str) -> dict[str, PredictionRow]:
    return by_id(rows(*((name, "text") for name in names)), "id", WHERE)


def test_an_id_is_a_text_or_a_whole_number() -> None:
    assert list(by_id(rows((7, "a"), ("v1_0", "b"), (3.0, "c"), (" x ", "d")), "id", WHERE)) == ["7", "v1_0", "3", "x"]


@pytest.mark.parametrize("name", [None, "", " ", True, 1.5, float("nan"), [], {}])
def test_a_prediction_without_an_id_is_refused_by_its_place(name: object) -> None:
    with pytest.raises(ConfigError, match=r"x\.json': 1 predictions have no id by 'id' \(line 2\); set id to .*: 'id'"):
        by_id(rows(("a", "text"), (name, "text")), "id", WHERE)


def test_a_rule_that_names_what_is_not_there_gives_no_id() -> None:
    [row] = rows(("a", "text"))
    assert id_of(row, "v1_{index}") is None
    assert id_of(row, "id.deeper") is None
    assert id_of(row, "{id}-{id:03}") == "a-00a"


def test_two_predictions_of_one_id_are_refused_by_their_places_unless_they_are_the_same() -> None:
    assert by_id(rows(("a", "one"), ("a", "one")), "id", WHERE)["a"].text == "one"
    with pytest.raises(ConfigError, match=r"1 ids have several predictions that differ \('a' in line 1 and line 3\)"):
        by_id(rows(("a", "one"), ("b", "one"), ("a", "other")), "id", WHERE)


@pytest.mark.parametrize("texts", [("", "text"), ("text", ""), ("", "text", "")])
def test_a_call_that_was_made_again_after_it_failed_has_its_answer(texts: tuple[str, ...]) -> None:
    assert by_id(rows(*(("a", text) for text in texts)), "id", WHERE)["a"].text == "text"


def test_a_file_without_a_prediction_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"x\.json' holds no prediction; set path"):
        by_id([], "id", WHERE)


def test_both_sides_are_named_in_one_sentence() -> None:
    assert unmatched(found("a", "b"), ["b", "a", "a"], WHERE) is None
    there = found("a", "b", *(f"x{number}" for number in range(5)))
    assert unmatched(there, ["a", "b", "c"], WHERE) == (
        f"{WHERE}: 1 of 3 that are asked for have no prediction ('c'), and 5 of its 7 predictions are about none of "
        "them ('x0'; 'x1'; 'x2'; and 2 more)"
    )
    assert unmatched(found("a"), ["a", "c"], WHERE) == f"{WHERE}: 1 of 2 that are asked for have no prediction ('c')"


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("v1_1", "set id to 'doc.question_id', which gives those"),
        ("0001", "set id to '{doc_id:04}', which gives those"),
        ("other", r"set id to the column that holds those, or to a rule such as 'v1_\{index\}'"),
    ],
)
def test_if_nothing_matches_the_column_that_would_is_named(asked: str, hint: str) -> None:
    row = text_row("line 1", {"doc_id": 1, "doc": {"question_id": "v1_1"}}, "text")
    with pytest.raises(ConfigError, match=rf"none of its 1 predictions .* such as '1' and .* '{asked}'; {hint}$"):
        unmatched(by_id([row], "doc_id", WHERE), [asked], WHERE)


@pytest.mark.parametrize(
    ("question", "asked", "fits"),
    [
        ("What  is this?", "Look.\nWhat is this? Answer briefly.", True),
        ("what is this", "What is this?", True),
        ("", "Describe it.", True),
        ("Is this red?", "Is this blue?", False),
        ("his", "What is this?", False),
        ("What is this? Answer yes or no.", "What is this?", False),
        ("这是什么？", "这是什么?", True),
    ],
)
def test_a_question_is_the_same_if_its_words_are_asked(question: str, asked: str, fits: bool) -> None:
    assert is_part_of(question, asked) is fits
