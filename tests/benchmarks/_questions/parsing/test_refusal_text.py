import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks._questions.parsing.refusal import REFUSALS, is_refusal
from driftledger.benchmarks._questions.parsing.spoken import is_error

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[3] / "cases/choices.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("reply", [case["reply"] for case in CASES if case["reads"] == "refused"])
def test_what_was_read_as_a_refusal_is_one(reply):
    assert is_refusal(reply)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "B",
            "A blue truck",
            "No",
            "The answer is B.",
            "It is not A.",
            "I can see a red car.",
            "I can't help but smile.",
        ),
        *(
            "There are no cars.",
            "I know that this is Paris.",
            "The man cannot reach the shelf.",
            "红色的汽车",
            "是的",
            "Das ist ein Auto.",
        ),
        *(
            "The sign says 'unknown soldier'.",
            "No parking",
            "Je vois une voiture rouge.",
            "はい、赤です。",
            "No, hay un perro.",
        ),
    ],
)
def test_an_answer_is_no_refusal(text):
    assert not is_refusal(text)


def test_a_refusal_of_each_language_is_known():
    said = {
        "Chinese": "图片中没有足够的信息。",
        "Japanese": "特定できません。",
        "Korean": "모르겠습니다.",
        "German": "Das kann ich nicht beurteilen.",
        "French": "Il n'y a pas assez d'informations.",
        "Spanish": "No tengo suficiente información.",
        "Italian": "Non posso dirlo.",
        "Portuguese": "Não sei.",
        "Russian": "Не могу определить.",
        "Dutch": "Dat weet ik niet.",
        "Polish": "Nie mogę tego określić.",
        "Turkish": "Bilmiyorum.",
        "Arabic": "لا أعرف",
        "Hindi": "मुझे पता नहीं",
        "Vietnamese": "Tôi không biết.",
        "Indonesian": "Saya tidak tahu.",
    }
    assert said.keys() == REFUSALS.keys()
    assert not [language for language, text in said.items() if not is_refusal(text)]


@pytest.mark.parametrize("around", ["**{}**", "> {}", "  {}\n", "_{}_"])
def test_formatting_does_not_matter(around):
    assert is_refusal(around.format("I’m sorry, but I can’t tell."))


@given(st.text())
def test_no_text_makes_it_raise(text):
    assert is_refusal(text) in (True, False)
    assert is_error(text) in (True, False)


@pytest.mark.parametrize(
    "text",
    ["Terror struck the town.", "The mirror: broken", "Mistakes: none", "a server rack", "4000 people", "conflict"],
)
def test_an_answer_is_no_error(text):
    assert not is_error(text)
