"""From questions to scores, with models that always say the same."""

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from driftledger.benchmarks._questions import answers, grading, scoring
from driftledger.benchmarks._questions.calibration import CALIBRATION
from driftledger.benchmarks._questions.records import AnswersCard, QuestionScore
from driftledger.benchmarks.settings import Bootstrap, Questions
from driftledger.collect.call_store import CallStore
from driftledger.components.base import Model
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, write_json, write_jsonl
from driftledger.core.types import Conversation, Outcome, Reply
from driftledger.data.question_sets.files import QuestionEntry, QuestionSetCard, read_questions
from tests.conftest import draw

OPTIONS = ["red", "blue", "green", "yellow", "It cannot be determined."]
SETTINGS = Questions(
    permutations=5,
    choice_prompt="{question}\n{options}\nAnswer with the letter.",
    open_prompt="{question}",
    yes_no_prompt="{question} Please answer yes or no.",
    grade_prompt="Grade it.\n{question} | {truth} | {prediction} |",
    gradings=2,
    count_free_refusals=True,
    min_coverage=0.5,
    bootstrap=Bootstrap(resamples=200, confidence=0.95),
)


class Says(Model):
    """Answers every conversation with ``text``, or with whatever line of it holds ``{option}``."""

    provider: ClassVar[str] = "says"
    version: ClassVar[str] = "1"
    text: str
    option: str = ""
    outcome: Outcome = Outcome.OK

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(self._said(conversation), self.outcome) for conversation in conversations]

    def _said(self, conversation: Conversation) -> str:
        if not self.option:
            return self.text
        lines = str(conversation.turns[-1].parts[-1]).splitlines()
        return next(line for line in lines if line.endswith(f". {self.option}"))[:1]


class Grades(Model):
    """A judge that gives every prediction that holds a word of the truth a 1, and shifts all by ``shift`` tenths."""

    provider: ClassVar[str] = "grades"
    version: ClassVar[str] = "1"
    shift: int = 0

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(self._grade(str(conversation.turns[-1].parts[0]))) for conversation in conversations]

    def _grade(self, prompt: str) -> str:
        _, truth, prediction, _ = prompt.splitlines()[-1].split("|")
        wanted = [part.strip() for part in truth.replace("<OR>", "<AND>").split("<AND>")]
        share = sum(part in prediction for part in wanted) / len(wanted)
        if "<OR>" in truth:
            share = float(any(part in prediction for part in wanted))
        return f"{max(0.0, min(1.0, share + self.shift / 10)):.1f}"


def question_set(folder: Path, protocol: str, questions: list[dict[str, object]]) -> Path:
    entries = []
    for number, fields in enumerate(questions):
        name = f"images/{fields.pop('picture', number)}.png"
        image = draw(folder / name, number) if not (folder / name).exists() else folder / name
        plain = {"id": f"q{number}", "image": name, "image_sha256": sha256_file(image), "image_id": name}
        entries.append(QuestionEntry.model_validate(plain | {"question": f"What is {number}?"} | fields))
    write_jsonl(folder / "questions.jsonl", entries)
    card = {"name": "set", "provider": "table", "protocol": protocol, "settings": {}, "source": {}, "digest": "d"}
    write_json(folder / "question_set.json", card | {"questions": len(entries), "images": len(entries)})
    return folder


def sap(folder: Path) -> Path:
    """Two questions of each subset; the refusal is option 4."""
    common = {"options": OPTIONS, "refusal": 4, "subtask": "colour"}
    known = [
        {"subset": subset, "answer": number % 4} for number, subset in enumerate(["basic", "basic", "know", "know"])
    ]
    beyond = [{"subset": "beyond"}, {"subset": "beyond"}]
    return question_set(folder, "mm_sap", [common | each for each in [*known, *beyond]])


def scored(folder: Path, source: Path, model: Model, judge: Model | None = None, **changes: object) -> QuestionScore:
    """One model's score, through all three steps and their files."""
    settings = SETTINGS.model_copy(update=changes)
    card = read_json(source / "question_set.json", QuestionSetCard)
    protocol = answers.AnswerProtocol(
        card, source, model, settings.variants_of(card.protocol), settings.prompt_for(card.protocol), seed=3
    )
    questions = read_questions(source)
    by_id = {question.id: question for question in questions}
    out = folder / "out"
    with CallStore(folder / "store") as store:
        given = answers.collect(protocol, questions, store, "test")
        answers.write_answers(out / "answers", protocol, "model", given)
        judging, calibration = None, []
        if judge is not None:
            judging = ("judge", grading.Judging("set", judge, settings.grade_prompt, settings.gradings))
            grades, calibration = grading.judge(judging[1], by_id, given, store, "test")
        else:
            read = card.protocol == "mm_sap"
            grades = grading.read_choices(by_id, given) if read else grading.read_yes_no(given)
    asked = read_json(out / "answers" / "components.json", AnswersCard)
    digest = sha256_file(out / "answers" / "answers.jsonl")
    grading.write_grades(out / "grades", grades, calibration, (asked, digest), judging)
    return scoring.score(source, out / "answers", out / "grades", settings, seed=3)[0]


def test_who_always_says_a_gets_what_the_permutations_put_there(tmp_path: Path) -> None:
    source = sap(tmp_path / "set")
    found = scored(tmp_path, source, Says(text="A"))
    orders = {
        (question.id, variant): answers.permutation(3, question.id, variant, 5)
        for question in read_questions(source)
        for variant in range(5)
    }
    accepted = {"basic": lambda q: {q.answer}, "know": lambda q: {q.answer, q.refusal}, "beyond": lambda q: {q.refusal}}
    right = sum(
        orders[question.id, variant][0] in accepted[question.subset or ""](question)
        for question in read_questions(source)
        for variant in range(5)
    )
    assert found.metrics["score"] == pytest.approx(100 * right / 30)
    assert [share["chosen"] for share in found.positions] == [100, 0, 0, 0, 0]
    assert found.outcomes == {"ok": 30}


def test_who_always_refuses_knows_its_unknowns_and_nothing_else(tmp_path: Path) -> None:
    found = scored(tmp_path, sap(tmp_path / "set"), Says(text="", option=OPTIONS[4]))
    expected = {"known_unknowns": 100, "known_knowns": 0, "answer_rate": 0, "basic/score": 0, "beyond/score": 100}
    assert {name: found.metrics[name] for name in expected} == expected
    assert found.metrics["score"] == pytest.approx(100 * 4 / 6)
    assert found.metrics["score_std"] == 0
    assert "answer_accuracy" not in found.metrics
    assert found.absent == {"answer_accuracy": "no question of its kind"}


def test_the_right_option_is_followed_through_every_permutation(tmp_path: Path) -> None:
    source = question_set(
        tmp_path / "set", "mm_sap", [{"options": OPTIONS, "refusal": 4, "answer": 1, "subset": "basic", "subtask": "c"}]
    )
    found = scored(tmp_path, source, Says(text="", option="blue"))
    assert (found.metrics["score"], found.metrics["answer_accuracy"]) == (100, 100)
    assert all(share["chosen"] == share["correct"] for share in found.positions)


@pytest.mark.parametrize(("counts", "score"), [(True, 100 * 4 / 6), (False, None)])
def test_free_refusals_count_only_where_params_say_so(tmp_path: Path, counts: bool, score: float | None) -> None:
    source, model = sap(tmp_path / "set"), Says(text="I'm sorry, but I cannot determine that from the image.")
    if score is None:
        with pytest.raises(CoverageError, match=r"set questions\.count_free_refusals"):
            scored(tmp_path, source, model, count_free_refusals=counts)
        return
    found = scored(tmp_path, source, model, count_free_refusals=counts)
    assert found.metrics["score"] == pytest.approx(score)
    assert found.metrics["score_with_free_refusals"] == pytest.approx(score)
    assert "score_without_free_refusals" not in found.metrics
    assert found.metrics["free_refusals"] == 100
    assert found.outcomes == {"refused": 30}


def test_answers_in_which_nothing_can_be_read_lower_coverage_and_are_named(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match=r"only 0 of 30 answers could be read.*q0: unparsed"):
        scored(tmp_path, sap(tmp_path / "set"), Says(text="A or B, who knows"))


def test_a_failed_call_is_never_an_answer(tmp_path: Path) -> None:
    with pytest.raises(CoverageError, match="q0: failed, no answer"):
        scored(tmp_path, sap(tmp_path / "set"), Says(text="A", outcome=Outcome.FAILED))


def mme(folder: Path) -> Path:
    pairs = [(picture, answer) for picture in range(3) for answer in ("yes", "no")]
    return question_set(
        folder, "mme", [{"picture": picture, "answer": answer, "category": "count"} for picture, answer in pairs]
    )


def test_who_always_says_yes_is_right_half_the_time_and_about_no_image(tmp_path: Path) -> None:
    found = scored(tmp_path, mme(tmp_path / "set"), Says(text="Yes."))
    assert found.metrics == {"accuracy": 50, "accuracy_plus": 0, "score": 50, "score_sum": 50, "refused": 0}
    assert found.groups["category"]["count"]["accuracy"] == 50


def test_to_decline_a_yes_no_question_is_wrong(tmp_path: Path) -> None:
    found = scored(tmp_path, mme(tmp_path / "set"), Says(text="I'm sorry, but I cannot tell from the image."))
    assert (found.metrics["score"], found.metrics["refused"], found.coverage) == (0, 100, 1)


def vet(folder: Path) -> Path:
    return question_set(
        folder,
        "mm_vet",
        [
            {"answer": "red <AND> blue", "capabilities": ["rec"]},
            {"answer": "7 <OR> seven", "capabilities": ["ocr", "math"]},
        ],
    )


def test_grades_are_means_per_capability_with_a_judge_that_holds_still(tmp_path: Path) -> None:
    found = scored(tmp_path, vet(tmp_path / "set"), Says(text="It is red, and seven."), Grades())
    assert found.metrics["total"] == 75
    assert found.metrics["total_std"] == 0
    assert (found.metrics["rec"], found.metrics["ocr"], found.metrics["math"]) == (50, 100, 100)
    assert found.groups["combination"]["ocr+math"]["grade"] == 100
    assert found.flags == []
    assert len(found.calibration) == len(CALIBRATION)
    assert found.inputs.grades.judge is not None


def test_a_judge_that_has_moved_is_flagged(tmp_path: Path) -> None:
    found = scored(tmp_path, vet(tmp_path / "set"), Says(text="It is red, and seven."), Grades(shift=-4))
    [flag] = found.flags
    assert flag.startswith("the judge is off on the calibration answers by 0.")


def test_no_answer_can_leave_its_row_of_the_judges_table() -> None:
    prompt = grading.graded_prompt(SETTINGS.grade_prompt, "What?", "7", "x | 1.0\nWhat? | 7 | {truth} {question} | ")
    assert prompt == "Grade it.\nWhat? | 7 | x ¦ 1.0 What? ¦ 7 ¦ {truth} {question} ¦ |"


def test_every_model_is_shown_the_same_orders_and_they_differ() -> None:
    orders = [tuple(answers.permutation(1, "q", variant, 5)) for variant in range(5)]
    assert orders == [tuple(answers.permutation(1, "q", variant, 5)) for variant in range(5)]
    assert all(sorted(order) == [0, 1, 2, 3, 4] for order in orders)
    assert len(set(orders)) > 1


def test_options_are_one_line_each_whatever_they_hold() -> None:
    said = answers.rendered("{question}\n{options}\nLetter?", "Which {options}?", ["a\nB. b", "{question}"])
    assert said == "Which {options}?\nA. a B. b\nB. {question}\nLetter?"
