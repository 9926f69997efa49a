"""MME as others score it: rules of three public scorers, written anew from what their code does, and 200 odd answers.

- MME's own ``calculation.py`` (BradyFU/Awesome-Multimodal-Large-Language-Models, ``tools/eval_tool.zip`` at 1c1d69e),
- lmms-eval's ``tasks/mme/utils.py`` (EvolvingLMMs-Lab/lmms-eval at 306a8b4),
- VLMEvalKit's ``dataset/utils/yorn.py`` (open-compass/VLMEvalKit at 0c7163c), without its judge.

``otherwise`` in the case file names replies that driftledger reads otherwise, by design: it reads words that stand for
themselves, wherever a reply says them, and not letters within its first four.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks._questions.parsing.yes_no import parse_yes_no
from driftledger.components.base import Model
from driftledger.core.types import Conversation, Reply
from tests.benchmarks._questions.asking import Exam, exam
from tests.conftest import REPOSITORY

CASE: dict[str, Any] = json.loads((REPOSITORY / "tests" / "cases" / "mme_public.json").read_bytes())
IMAGES: list[list[list[str]]] = CASE["images"]
PAIRS = [pair for image in IMAGES for pair in image]
ABILITIES = {
    "perception": [
        "existence",
        "count",
        "position",
        "color",
        "posters",
        "celebrity",
        "scene",
        "landmark",
        "artwork",
        "OCR",
    ],
    "cognition": ["commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"],
}
UNREAD = "other"


def first_four(reply: str) -> str:
    return next((word for word in ("yes", "no") if word in reply[:4]), UNREAD)


def mme(reply: str) -> str:
    return first_four(reply.lower())


def lmms_eval(reply: str) -> str:
    plain = reply.lower().strip().replace(".", "")
    return {"y": "yes", "n": "no"}.get(plain, UNREAD) if len(plain) == 1 else first_four(plain)


def vlmevalkit(reply: str) -> str:
    lowered = plain = reply.lower()
    for mark in ';/[]"{}()=+\\_-><@`,?!':
        beside_a_blank = f"{mark} " in lowered or f" {mark}" in lowered or re.search(r"\d,\d", lowered)
        plain = plain.replace(mark, "" if beside_a_blank else " ")
    said = {"yes", "no"} & set(re.sub(r"\.(?!\d)", "", plain).split())
    return said.pop() if len(said) == 1 else UNREAD


SCORERS: dict[str, Callable[[str], str]] = {"mme": mme, "lmms_eval": lmms_eval, "vlmevalkit": vlmevalkit}


def of_category(images: Sequence[Sequence[Sequence[str]]], read: Callable[[str], str]) -> float:
    """All three: 100 · accuracy over questions + 100 · the share of images with both right."""
    right = [[read(answer) == truth for truth, answer in image] for image in images]
    accuracy = sum(sum(pair) for pair in right) / (2 * len(right))
    return 100 * accuracy + 100 * sum(all(pair) for pair in right) / len(right)


class Reads(Model):
    """Answers the question of a number with the text of that number."""

    provider = "reads"
    version = "1"
    texts: tuple[str, ...]

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        numbers = [re.search(r"What is (\d+)\?", str(each.turns[-1].parts[-1])) for each in conversations]
        return [Reply(self.texts[int(number[1])]) for number in numbers if number]


def asked(folder: Path, categories: Sequence[str], **settings: object) -> Exam:
    """The 200 answers, their images dealt out to the categories in turn."""
    questions = [
        {"picture": number // 2, "answer": truth, "category": categories[number // 2 % len(categories)]}
        for number, (truth, _) in enumerate(PAIRS)
    ]
    model = Reads(texts=tuple(answer for _, answer in PAIRS))
    return exam(folder, "mme", questions, model, **settings).collect()


@pytest.mark.parametrize("scorer", SCORERS)
def test_two_hundred_odd_answers_score_as_public_scorers_score_them(scorer: str, tmp_path: Path) -> None:
    read = SCORERS[scorer]
    assert len(PAIRS) == 200
    assert of_category(IMAGES, read) == pytest.approx(CASE["score"])
    found = asked(tmp_path, ["existence"]).score().score
    assert found.metrics["score"] == pytest.approx(CASE["score"])
    assert sum(read(answer) == UNREAD for _, answer in PAIRS) == CASE["unread"]


def test_what_could_not_be_read_makes_the_difference(tmp_path: Path) -> None:
    left_out = asked(tmp_path, ["existence"], unread="left_out").score().score
    assert left_out.metrics["score"] > CASE["score"]


@pytest.mark.parametrize("scorer", SCORERS)
def test_perception_and_cognition_are_the_sums_that_public_scorers_print(scorer: str, tmp_path: Path) -> None:
    categories = [name for names in ABILITIES.values() for name in names]
    of = {name: IMAGES[place :: len(categories)] for place, name in enumerate(categories)}
    printed = {
        ability: sum(of_category(of[name], SCORERS[scorer]) for name in names) for ability, names in ABILITIES.items()
    }
    metrics = asked(tmp_path, categories).score().score.metrics
    assert {ability: metrics[ability] for ability in ABILITIES} == pytest.approx(printed)
    assert metrics["score_sum"] == pytest.approx(sum(printed.values()))


def test_a_set_without_all_ten_has_no_perception(tmp_path: Path) -> None:
    metrics = asked(tmp_path, [*ABILITIES["perception"][:9], *ABILITIES["cognition"]]).score().score.metrics
    assert "perception" not in metrics
    assert 0 < metrics["cognition"] <= 800


@pytest.mark.parametrize("case", CASE["otherwise"], ids=lambda case: case["answer"])
def test_where_our_reading_differs_by_design(case: dict[str, str]) -> None:
    said = {True: "yes", False: "no", None: UNREAD}[parse_yes_no(case["answer"]).value]
    assert said == case["ours"]
    others = {name: read(case["answer"]) for name, read in SCORERS.items()}
    assert others == {name: case[name] for name in SCORERS}
    assert set(others.values()) != {said}
