"""From questions to scores, with models that always say the same."""

import json

import pytest

from driftledger.benchmarks.base.parsing.yes_no import (
    parse_yes_no,
    read_literally,
)
from driftledger.benchmarks.registry import benchmark
from driftledger.scoring.means import numbers
from driftledger.scoring.number import Value
from tests.benchmarks.base.questions.asking import Says, exam
from tests.support.cases import CASES, each_case


def value(score, metric, kind=None, group=None):
    """Return the value of a number; None where there is none."""
    number = score.find(metric, group_kind=kind, group=group)
    return None if number is None else number.value


# MME as others score it: 200 odd answers, and how three public scorers read them.


CASE = json.loads((CASES / "benchmarks" / "mme_public.json").read_bytes())
IMAGES = CASE["images"]
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
READ = {True: "yes", False: "no", None: "other"}


def of_category(images):
    """All three: 100 · accuracy over questions + 100 · the share of images with both right."""
    right = [[read == truth for truth, _, read in image] for image in images]
    accuracy = sum(sum(pair) for pair in right) / (2 * len(right))
    return 100 * accuracy + 100 * sum(all(pair) for pair in right) / len(right)


def asked(folder, categories, **settings):
    """The 200 answers, their images dealt out to the categories in turn."""
    questions = [
        {
            "picture": number // 2,
            "answer": truth,
            "category": categories[number // 2 % len(categories)],
        }
        for number, (truth, _, _) in enumerate(PAIRS)
    ]
    model = Says(texts=tuple(answer for _, answer, _ in PAIRS))
    return exam(folder, "mme", questions, model, **settings).collect()


def test_two_hundred_odd_answers_score_as_public_scorers_score_them(tmp_path):
    assert len(PAIRS) == 200
    for _, answer, read in PAIRS:
        assert READ[parse_yes_no(answer).value] == read
    assert [read for _, _, read in PAIRS].count("other") == CASE["unread"]
    assert of_category(IMAGES) == pytest.approx(CASE["score"])
    found = asked(tmp_path, ["existence"]).score().score
    assert value(found, "score") == pytest.approx(CASE["score"])


def test_perception_and_cognition_are_the_sums_that_public_scorers_print(tmp_path):
    categories = [name for names in ABILITIES.values() for name in names]
    printed = {}
    for ability, names in ABILITIES.items():
        places = map(categories.index, names)
        images = [IMAGES[place :: len(categories)] for place in places]
        printed[ability] = sum(map(of_category, images))
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


def test_the_literal_reader_takes_every_reply_as_the_published_script_takes_it():
    known = [(answer, read) for _, answer, read in PAIRS]
    known += [(case["answer"], case["mme"]) for case in CASE["otherwise"]]
    for reply, read in known + CASE["replies"]:
        assert READ[read_literally(reply).value] == read, reply
    assert {read for _, read in known} == {*READ.values()}


@each_case(CASE["otherwise"])
def test_where_our_reading_differs_by_design(case):
    said = READ[parse_yes_no(case["answer"]).value]
    assert said == case["ours"]
    assert {case["mme"], case["lmms_eval"], case["vlmevalkit"]} != {said}
