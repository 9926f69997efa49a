"""A file answers as the model that it is of; what it cannot answer is a failure with its reason."""

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from driftledger.components.card import ComponentCard
from driftledger.components.models.predictions.model import Predictions
from driftledger.components.models.predictions.rows import LARGEST_FILE
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile, Outcome, Reply, Subject, Turn
from tests.conftest import REPOSITORY

CASES = REPOSITORY / "tests" / "cases" / "predictions"
MISSING = ImageFile(Path("/nowhere/at/all.png"), "0" * 64)


def ask(name: str, text: str = "Describe it.", t: int = 1, options: tuple[str, ...] = ()) -> Conversation:
    return Conversation.ask(text, MISSING, Subject(name, t), options=options)


def answers(path: Path, **pairs: Any) -> Predictions:
    path.write_text(json.dumps(pairs), encoding="utf-8")
    return Predictions(path=path)


def failure(model: Predictions, conversation: Conversation) -> str:
    [reply] = model.respond([conversation])
    assert (reply.outcome, reply.text) == (Outcome.FAILED, "")
    assert reply.error is not None
    return reply.error


def test_the_registry_knows_it() -> None:
    assert provider_class("models", "predictions") is Predictions


def test_each_question_gets_its_answer_to_the_letter(tmp_path: Path) -> None:
    model = answers(tmp_path / "a.json", q0=" Red.\n", q1="7", q2="\x1b[2J\u202e</s>")
    assert model.respond([ask("q1"), ask("q2"), ask("q0")]) == [
        Reply("7"),
        Reply("\x1b[2J\u202e</s>"),
        Reply(" Red.\n"),
    ]


@pytest.mark.parametrize(
    ("conversation", "reason"),
    [
        (ask("q9"), "there is no prediction for 'q9' ('a.json')"),
        (ask("q1"), "the prediction of entry 2 is empty ('a.json')"),
        (
            ask("q0", t=2),
            "what is asked about 'q0' at t=2 is an image that was drawn here; ask for t=1 alone ('a.json')",
        ),
        (
            Conversation.ask("Grade it.", MISSING),
            "predictions are found by the id of a question or a sample, and this call is about neither ('a.json')",
        ),
        (
            Conversation(
                (Turn("user", (MISSING, "?")), Turn("assistant", ("A dog.",)), *ask("q0").turns), Subject("q0", 1)
            ),
            "'q0' is asked after examples, which the predictions were not made with as far as is known ('a.json')",
        ),
    ],
)
def test_what_it_cannot_answer_is_a_failure_with_its_reason(
    tmp_path: Path, conversation: Conversation, reason: str
) -> None:
    assert failure(answers(tmp_path / "a.json", q0="Red.", q1=""), conversation) == reason


def test_an_answer_to_another_question_is_none() -> None:
    model = Predictions(path=CASES / "vlmevalkit.tsv")
    shown = ("red", "blue")
    assert model.respond([ask("0", "What colour is the circle?\nA. red\nB. blue", options=shown)]) == [Reply("A. red")]
    other = ask("0", "What colour is the square?\nA. red\nB. blue", options=shown)
    assert failure(model, other) == (
        "line 2 answers another question than '0': 'What colour is the circle?'; set same_question: false if it is the "
        "same in other words ('vlmevalkit.tsv')"
    )
    assert model.model_copy(update={"same_question": False}).respond([other]) == [Reply("A. red")]


def test_a_letter_follows_its_option() -> None:
    model = Predictions(path=CASES / "vlmevalkit.tsv")
    asked = "What colour is the circle?\nA. blue\nB. red"
    assert model.respond([ask("0", asked, t=2, options=("blue", "red"))]) == [Reply("B. red")]
    assert failure(model, ask("0", asked, options=("blue", "red", "green"))) == (
        "the prediction of line 2 names an option by its place in another order than the one shown ('vlmevalkit.tsv')"
    )


def test_its_identity_is_the_files_sha256(tmp_path: Path) -> None:
    model = Predictions(path=CASES / "mmvet.json")
    assert model.identity() == {"sha256": sha256_file(CASES / "mmvet.json"), "format": "mmvet", "predictions": 3}
    shutil.copy(CASES / "mmvet.json", tmp_path / "moved.json")
    moved = Predictions(path=tmp_path / "moved.json")
    assert moved.fingerprint == model.fingerprint
    (tmp_path / "moved.json").write_bytes((CASES / "mmvet.json").read_bytes() + b"\n")
    assert moved.respond([ask("v1_0")]) == model.respond([ask("v1_0")])
    assert moved.fingerprint == model.fingerprint  # read once: the answers are what the fingerprint stands for
    assert Predictions(path=tmp_path / "moved.json").fingerprint != model.fingerprint


def test_whoever_reads_a_score_is_told(tmp_path: Path) -> None:
    card = ComponentCard.of("theirs", Predictions(path=CASES / "mmvet.json"))
    assert card.mark == (
        f"made elsewhere: 3 predictions read from a file (mmvet, sha256 {sha256_file(CASES / 'mmvet.json')[:12]}); "
        "with which prompt, limits and order of options is not known here"
    )
    assert ComponentCard.model_validate(card.to_dict()) == card
    assert "mark" not in card.model_copy(update={"mark": None}).to_dict()


def test_ids_stand_in_the_column_or_rule_that_is_set() -> None:
    by_doc = Predictions(path=CASES / "lmms_eval.jsonl", id="doc.question_id")
    by_rule = Predictions(path=CASES / "lmms_eval.jsonl", id="v1_{doc_id}")
    asked = ask("v1_0", "What is x in the equation?")
    assert by_doc.respond([asked]) == by_rule.respond([asked]) == [Reply("x = -1 or x = -5")]
    assert by_doc.fingerprint != by_rule.fingerprint


def test_unmatched_on_both_sides_is_said() -> None:
    model = Predictions(path=CASES / "mmvet.json")
    assert model.check_subjects(["v1_0", "v1_1", "v1_2"]) is None
    assert model.check_subjects(["v1_0", "v1_1", "v1_9"]) == (
        "predictions in 'mmvet.json': 1 of 3 that are asked for have no prediction ('v1_9'), and 1 of its 3 "
        "predictions are about none of them ('v1_2')"
    )
    with pytest.raises(ConfigError, match="none of its 3 predictions is about any of the 1"):
        model.check_subjects(["0"])


def test_a_folder_of_genceptions_results_describes_the_images(tmp_path: Path) -> None:
    for name, said in (("1", "A cat."), ("2", "A dog.")):
        file = tmp_path / "color" / "results_gpt4v" / f"{name}_result.pkl"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps({"descriptions": [said, "A blob."]}))
    model = Predictions(path=tmp_path)
    assert model.respond([ask("color_2"), ask("color_1")]) == [Reply("A dog."), Reply("A cat.")]
    assert model.identity()["format"] == "description_pickles"
    before = model.fingerprint
    (tmp_path / "color" / "results_gpt4v" / "1_result.pkl").write_bytes(pickle.dumps({"descriptions": ["A cat!"]}))
    assert Predictions(path=tmp_path).fingerprint != before


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"path": "nowhere.json"}, r"'nowhere.json' is missing; set path to the file of predictions"),
        ({"path": "x" * 5000}, r"cannot be reached \(.*\); set path to the file of predictions"),
        ({"path": "a\0b"}, r"cannot be reached \(.*\); set path|is missing; set path"),
        ({"path": "."}, r"'\.' holds no results of GenCeption \(\*_result\.pkl\); set path to their folder"),
        ({"path": ".", "format": "mmvet"}, r"is a folder, and mmvet is a format of files; name the file"),
        (
            {"path": "a.json", "format": "description_pickles"},
            r"is no folder, and description_pickles is the format of one",
        ),
        ({"path": ".", "answer": "x"}, r"has no columns, as GenCeption's results have none; remove answer"),
        ({"path": "large.json"}, r"has 513 MB, more than the 512 MB that are read; keep the ids and the predictions"),
    ],
)
def test_a_mistake_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], sentence: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answers(tmp_path / "a.json", q0="Red.")
    with (tmp_path / "large.json").open("wb") as file:
        file.truncate(LARGEST_FILE + 2**20)
    with pytest.raises(ConfigError, match=f"^predictions: .*{sentence}") as error:
        Predictions(**settings).identity()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "settings", [{}, {"path": "a", "format": "csv"}, {"path": "a", "id": ""}, {"path": "a", "x": 1}]
)
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Predictions(**settings)
