import json
import unicodedata
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.mm_vet.questions import CAPABILITIES
from driftledger.core.errors import DataError
from driftledger.data.question_sets.base import folded
from driftledger.data.question_sets.build import question_problem
from tests.conftest import REPOSITORY
from tests.data.question_sets.sources import BEYOND, MME, REFUSAL, RULES, SAP, VET, check, source

CASES = json.loads((REPOSITORY / "tests" / "cases" / "question_problems.json").read_text(encoding="utf-8"))
RIGHT: dict[str, dict[str, Any]] = {"mm_sap": SAP, "mm_vet": VET, "mme": MME[0]}


def refused(protocol: str, *questions: Any) -> str:
    with pytest.raises(DataError) as caught:
        check("mine", protocol, questions)
    said = str(caught.value)
    assert said.startswith("question set 'mine'")
    assert "\n" not in said
    return said


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['protocol']}: {case['says'] or 'right'}"[:60])
def test_each_rule(case: dict[str, Any]) -> None:
    problem = question_problem(RULES[case["protocol"]], source(RIGHT[case["protocol"]] | case["change"]))
    if case["says"] is None:
        assert problem is None
    else:
        assert problem is not None
        assert case["says"] in problem
        assert problem.endswith(")"), "what to do stands at the end"


def test_a_whole_set_of_each_benchmark() -> None:
    check("mine", "mm_sap", [source(SAP, 0), source(BEYOND, 1), source(SAP | {"subset": "know"}, 2)])
    check("mine", "mm_vet", [source(VET, 0), source(VET, 1)])
    check("mine", "mme", [source(row, number) for number, row in enumerate(MME)])


@pytest.mark.parametrize("protocol", RIGHT)
def test_no_questions(protocol: str) -> None:
    assert refused(protocol) == "question set 'mine' has no questions; check where its settings point"


def test_the_first_few_are_named_and_the_rest_is_counted() -> None:
    wrong = [source(SAP | {"answer": "purple"}, number) for number in range(9)]
    said = refused("mm_sap", source(SAP, 99), *wrong)
    assert said.count("which is not among its options") == 5
    assert all(f"row {number} has the answer" in said for number in range(5))
    assert "row 99" not in said
    assert said.endswith("; and 4 more")


def test_a_question_with_several_mistakes_is_named_once() -> None:
    said = refused("mm_sap", source(SAP | {"options": ["a", "a"], "refusal": None, "answer": None, "subset": "x"}))
    assert said.count("row 0") == 1


@pytest.mark.parametrize(
    "hostile",
    ["../x", "/etc/passwd", "a/b", "", ".", "..", ".hidden", "a b", "a\0b", "a\n", "é", "a\u202eb", "a" * 101],
)
def test_an_id_that_is_no_safe_file_name(hostile: str) -> None:
    said = refused("mm_vet", source(VET, id=hostile))
    assert f"row 0 has the id {hostile!r}, which is no safe file name" in said


@pytest.mark.parametrize(("first", "second"), [("a", "a"), ("Q1", "q1")])
def test_two_questions_with_one_id(first: str, second: str) -> None:
    said = refused("mm_vet", source(VET, 3, id=first), source(VET, 5), source(VET, 7, id=second))
    assert f"row 7 has the id {second!r} of row 3, capitals aside" in said
    assert "row 5" not in said


def pair(image: str, *categories: str) -> list[Any]:
    return [
        source(MME[0] | {"category": category}, id=f"{image}-{number}", name=f"{image}/{number}", image_id=image)
        for number, category in enumerate(categories)
    ]


@pytest.mark.parametrize(("many", "said"), [(1, "only one question"), (3, "3 questions"), (4, "4 questions")])
def test_an_mme_image_with_other_than_two_questions(many: int, said: str) -> None:
    questions = [*pair("a.png", *["count"] * 2), *pair("b.png", *["count"] * many)]
    assert f"b.png/0 is about an image with {said}, where MME asks 2 (" in refused("mme", *questions)
    assert "a.png" not in refused("mme", *questions)


def test_an_mme_pair_in_two_categories() -> None:
    said = refused("mme", *pair("a.png", "count", "OCR"))
    assert "a.png/0 and a.png/1 share an image but not the category" in said


def test_other_benchmarks_ask_as_often_as_they_like() -> None:
    check("mine", "mm_vet", [source(VET, number) for number in range(3)])


@pytest.mark.parametrize("field", ["subset", "answer", "refusal"])
def test_a_very_long_text_is_not_repeated_whole(field: str) -> None:
    assert len(refused("mm_sap", source(SAP | {field: "x" * 100_000}))) < 500


def test_control_characters_are_shown_and_not_sent() -> None:
    said = refused("mm_sap", source(SAP | {"answer": "\x1b[31mred\x00\u202e"}))
    assert "'\\x1b[31mred\\x00\\u202e'" in said
    assert said.isprintable()


texts = st.text(min_size=1, max_size=8)


@given(st.lists(texts, min_size=5, max_size=5), st.integers(0, 4), st.integers(0, 4))
def test_five_different_options_are_right_if_none_is_a_letter_that_they_are_shown_with(
    options: list[str], answer: int, refusal: int
) -> None:
    forms = [folded(option) for option in options]
    row = SAP | {"options": options, "answer": options[answer], "refusal": options[refusal]}
    is_right = len(set(forms)) == 5 and not {"", *"abcde"} & set(forms) and answer != refusal
    assert (question_problem(RULES["mm_sap"], source(row)) is None) == is_right


@given(st.lists(st.sampled_from([*CAPABILITIES, "maths", "REC", ""]), max_size=7))
def test_capabilities_are_some_of_the_six_each_once(names: list[str]) -> None:
    is_right = 0 < len(names) == len(set(names)) and set(names) <= set(CAPABILITIES)
    assert (question_problem(RULES["mm_vet"], source(VET | {"capabilities": names})) is None) == is_right


@given(st.text(max_size=10))
def test_folding_leaves_no_difference_of_composition_or_white_space(text: str) -> None:
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    spaced = "\n ".join(["", *text.split(), ""])
    assert len({folded(form) for form in (text, *forms)}) == 1
    assert folded(spaced) == folded(text)


def test_what_is_no_field_of_the_benchmark_is_left_alone() -> None:
    assert (
        question_problem(RULES["mme"], replace(source(MME[0]), options=("a", "a"), refusal=REFUSAL, subset="x")) is None
    )
