"""From questions to scores, with models that always say the same."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from driftledger.benchmarks.base.parsing.yes_no import (
    parse_yes_no,
    read_literally,
)
from driftledger.benchmarks.registry import benchmark
from driftledger.components.base import Model
from driftledger.core.files import read_json, write_json
from driftledger.core.types import Result
from driftledger.data.records import QuestionSetCard
from driftledger.scoring.means import numbers
from driftledger.scoring.number import Value
from tests.benchmarks.base.questions.asking import MME, Says, exam
from tests.support.cases import CASES, cases, each_case


def value(score, metric, kind=None, group=None):
    """Return the value of a number; None where there is none."""
    number = score.find(metric, group_kind=kind, group=group)
    return None if number is None else number.value


COUNTS = [
    {"picture": 9, "answer": answer, "category": "existence"}
    for answer in ("yes", "yes")
]


def test_a_group_has_the_mean_over_its_categories_if_each_has_a_score(tmp_path):
    pairs = [
        {"picture": n, "answer": a, "category": c}
        for n, c in enumerate(("count", "OCR"))
        for a in ("yes", "no")
    ]
    asked = exam(tmp_path, "mme", [*pairs, *COUNTS], Says(text="Yes."))
    file = asked.folder(benchmark("mme").data) / "question_set.json"
    groups = {"visual": ["count", "existence"], "textual": ["OCR"]}
    write_json(
        file, read_json(file, QuestionSetCard).model_copy(update={"groups": groups})
    )
    score = asked.collect().score().score
    assert value(score, "score", "category", "existence") == 200
    assert value(score, "score", "group", "visual") == 125
    assert value(score, "score", "group", "textual") == 50


# MME as others score it: rules of three public scorers, written anew from what their code does, and
# 200 odd answers.


CASE: dict[str, Any] = json.loads(
    (CASES / "benchmarks" / "mme_public.json").read_bytes()
)
IMAGES: list[list[list[str]]] = CASE["images"]
PAIRS = [pair for image in IMAGES for pair in image]
ABILITIES = {
    "perception": [
        *("existence", "count", "position", "color", "posters"),
        *("celebrity", "scene", "landmark", "artwork", "OCR"),
    ],
    "cognition": [
        "commonsense_reasoning",
        "numerical_calculation",
        "text_translation",
        "code_reasoning",
    ],
}
UNREAD = "other"


def first_four(reply):
    return next((word for word in ("yes", "no") if word in reply[:4]), UNREAD)


def mme(reply):
    return first_four(reply.lower())


def lmms_eval(reply):
    plain = reply.lower().strip().replace(".", "")
    return (
        {"y": "yes", "n": "no"}.get(plain, UNREAD)
        if len(plain) == 1
        else first_four(plain)
    )


def vlmevalkit(reply):
    lowered = plain = reply.lower()
    for mark in ';/[]"{}()=+\\_-><@`,?!':
        beside_a_blank = (
            f"{mark} " in lowered
            or f" {mark}" in lowered
            or re.search(r"\d,\d", lowered)
        )
        plain = plain.replace(mark, "" if beside_a_blank else " ")
    said = {"yes", "no"} & set(re.sub(r"\.(?!\d)", "", plain).split())
    return said.pop() if len(said) == 1 else UNREAD


SCORERS: dict[str, Callable[[str], str]] = {
    "mme": mme,
    "lmms_eval": lmms_eval,
    "vlmevalkit": vlmevalkit,
}


def of_category(images, read):
    """All three: 100 · accuracy over questions + 100 · the share of images with both right."""
    right = [[read(answer) == truth for truth, answer in image] for image in images]
    accuracy = sum(sum(pair) for pair in right) / (2 * len(right))
    return 100 * accuracy + 100 * sum(all(pair) for pair in right) / len(right)


class Reads(Model):
    """Answers the question of a number with the text of that number."""

    provider = "reads"
    version = "1"
    texts: tuple[str, ...]

    def respond(self, conversations):
        numbers = [
            re.search(r"What is (\d+)\?", str(each.turns[-1].parts[-1]))
            for each in conversations
        ]
        return [Result(self.texts[int(number[1])]) for number in numbers if number]


def asked(folder, categories, **settings):
    """The 200 answers, their images dealt out to the categories in turn."""
    questions = [
        {
            "picture": number // 2,
            "answer": truth,
            "category": categories[number // 2 % len(categories)],
        }
        for number, (truth, _) in enumerate(PAIRS)
    ]
    model = Reads(texts=tuple(answer for _, answer in PAIRS))
    return exam(folder, "mme", questions, model, **settings).collect()


@pytest.mark.parametrize("scorer", SCORERS)
def test_two_hundred_odd_answers_score_as_public_scorers_score_them(scorer, tmp_path):
    read = SCORERS[scorer]
    assert len(PAIRS) == 200
    assert of_category(IMAGES, read) == pytest.approx(CASE["score"])
    found = asked(tmp_path, ["existence"]).score().score
    assert value(found, "score") == pytest.approx(CASE["score"])
    assert sum(read(answer) == UNREAD for _, answer in PAIRS) == CASE["unread"]


def test_what_could_not_be_read_makes_the_difference(tmp_path):
    left_out = asked(tmp_path, ["existence"], unread="left_out").score().score
    assert value(left_out, "score") > CASE["score"]


@pytest.mark.parametrize("scorer", SCORERS)
def test_perception_and_cognition_are_the_sums_that_public_scorers_print(
    scorer, tmp_path
):
    categories = [name for names in ABILITIES.values() for name in names]
    of = {
        name: IMAGES[place :: len(categories)] for place, name in enumerate(categories)
    }
    printed = {
        ability: sum(of_category(of[name], SCORERS[scorer]) for name in names)
        for ability, names in ABILITIES.items()
    }
    score = asked(tmp_path, categories).score().score
    sums = {name: value(score, "score_sum", "ability", name) for name in ABILITIES}
    assert sums == pytest.approx(printed)
    assert value(score, "score_sum") == pytest.approx(sum(printed.values()))


INTERNLM = [
    *(190.0, 158.33333333333331, 126.66666666666666, 165.0, 161.9047619047619),
    *(150.2941176470588, 159.75, 165.25, 126.25, 125.0),
]


def test_perception_of_a_published_model_is_the_sum_of_its_subtasks():
    """InternLM-XComposer-VL, as its repository prints it."""
    values = []
    for name, points in zip(ABILITIES["perception"], INTERNLM, strict=True):
        image = {"sample": name, "cluster": name, "repeat": 0, "value": points}
        values.append(Value("score_sum", None, name, **image))
    [total] = numbers(values, benchmark("mme").metrics, {}, 0.95)
    assert total.value == pytest.approx(1528.4488795518207, abs=1e-9)


LITERAL = cases(__file__, "literal")
"""Replies about three images, with the answers yes and no; and how ours and MME's script read
them."""


@pytest.mark.parametrize(
    ("read", "accuracy", "plus", "parser"),
    [
        # right are 1, 3, 4 and 6 of six, and both of the second and of no other image
        ("tolerant", 400 / 6, 100 / 3, "7"),
        # right are 1, 2, 4 and 5 of six, and both of the first image; 3 and 6 are neither yes nor
        # no, and so wrong
        ("literal", 400 / 6, 100 / 3, "literal-1"),
    ],
)
def test_a_literal_reader_reads_as_the_published_script(
    tmp_path, read, accuracy, plus, parser
):
    model = Reads(texts=tuple(case["reply"] for case in LITERAL))
    taken = exam(tmp_path, "mme", MME, model, read=read).collect()
    made = taken.score()
    shares = {"accuracy": accuracy, "accuracy_plus": plus, "score": accuracy + plus}
    assert {name: value(made.score, name) for name in shares} == pytest.approx(shares)
    assert [each for row in made.rows for each in row.extra["read"]] == [
        case[read] for case in LITERAL
    ]
    assert [row.values["score"][0] for row in made.rows] == (
        [200, 50, 50] if read == "literal" else [50, 200, 50]
    )
    assert made.score.inputs.protocol["parser"] == parser


def test_the_literal_reader_takes_every_reply_as_the_published_script_takes_it():
    replies = [answer for _, answer in PAIRS] + [
        case["answer"] for case in CASE["otherwise"]
    ]
    replies += CASE["replies"]
    said = [
        {True: "yes", False: "no", None: UNREAD}[read_literally(reply).value]
        for reply in replies
    ]
    assert said == [mme(reply) for reply in replies]
    assert {*said} == {"yes", "no", UNREAD}


def test_a_set_without_all_ten_has_no_perception(tmp_path):
    without_one = [*ABILITIES["perception"][:9], *ABILITIES["cognition"]]
    score = asked(tmp_path, without_one).score().score
    assert value(score, "score_sum", "ability", "perception") is None
    assert 0 < value(score, "score_sum", "ability", "cognition") <= 800


@each_case(CASE["otherwise"])
def test_where_our_reading_differs_by_design(case):
    said = {True: "yes", False: "no", None: UNREAD}[parse_yes_no(case["answer"]).value]
    assert said == case["ours"]
    others = {name: read(case["answer"]) for name, read in SCORERS.items()}
    assert others == {name: case[name] for name in SCORERS}
    assert set(others.values()) != {said}
