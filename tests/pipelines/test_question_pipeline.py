"""``dvc repro`` with question sets: what runs again, what does not, and what a change of reading moved."""

import json
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.escaping import for_markdown
from tests.conftest import REPRO, Checkout
from tests.tracking.dump import dump

pytestmark = pytest.mark.slow

SETS = {"scenes_mm_sap": "mm_sap", "scenes_mm_vet": "mm_vet", "scenes_mme": "mme"}
"""Question set → its benchmark."""
MODEL = "regions_medium"


def with_questions(params: dict[str, Any]) -> None:
    params["run"] |= {"question_sets": list(SETS), **{benchmark: [name] for name, benchmark in SETS.items()}}
    params["mm_sap"]["permutations"] = 2
    params["mm_vet"]["gradings"] = 2
    for name in SETS:
        params["question_sets"][name]["count"] = 26


@pytest.fixture
def asked(evaluated: Checkout) -> Checkout:
    evaluated.params(with_questions)
    evaluated.commit("questions")
    evaluated.repro()
    evaluated.commit("answers")
    return evaluated


def metrics(root: Path, question_set: str) -> dict[str, float]:
    path = root / f"reports/scores/{SETS[question_set]}/{question_set}/{MODEL}/score.json"
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))["metrics"]
    return found


def test_questions_from_the_set_to_the_table(asked: Checkout) -> None:
    assert metrics(asked.root, "scenes_mm_sap")["known_knowns"] > 30
    assert metrics(asked.root, "scenes_mm_vet")["total"] > 20
    assert metrics(asked.root, "scenes_mme")["score"] > 75
    board = (asked.root / "reports/leaderboard.md").read_text(encoding="utf-8")
    assert all(f"on {name}" in board for name in SETS)
    assert "position bias" in (asked.root / "reports/tables.md").read_text(encoding="utf-8")
    assert (asked.root / "reports/tables/mm_sap-scenes_mm_sap-subtask_score.tex").is_file()
    before = asked.outputs()
    assert asked.repro() == ["resolve"]
    assert asked.outputs() == before
    assert "mm_sap on scenes_mm_sap" in asked.run("driftledger", "audit", f"{MODEL}/painter/layout", "--full").stdout

    asked.run("driftledger", "track")
    [run] = dump(f"sqlite:///{asked.root}/mlflow.db", "driftledger")["runs"]
    shown = [trace for trace in run["traces"] if trace["tags"]["on"] in SETS]
    assert {trace["tags"]["on"]: trace["name"] for trace in shown} == {
        "scenes_mm_sap": "question",
        "scenes_mm_vet": "question",
        "scenes_mme": "questions",
    }
    for trace in shown:
        whole, *steps = trace["spans"]
        assert {"image", "question" if trace["name"] == "question" else "questions"} <= whole[3].keys()
        graded = [step for step in steps if step[0].startswith("grade")]
        assert {step[4]["read as"] for step in graded} == set(whole[4]["read as"])
        assert {step[4]["right"] for step in graded} == set(whole[4]["right"])
        assert trace["scores"]

    asked.params(lambda params: params["mm_sap"].update(count_free_refusals=False))
    ran = asked.repro()
    assert set(ran) - {"correlation", "report"} == {"resolve", f"mm_sap@scenes_mm_sap-{MODEL}"}
    assert len(ran) == len(set(ran))


def test_a_set_that_cannot_be_scored_is_one_sentence_that_names_the_question(checkout: Checkout) -> None:
    def bad(params: dict[str, Any]) -> None:
        params["run"] |= {"question_sets": ["mine"], "mm_sap": ["mine"]}
        params["question_sets"]["mine"] = {"provider": "table", "protocol": "mm_sap", "path": "mine.jsonl"}

    question = {"id": "q7", "image": "my_images/round/1.png", "question": "What?", "subset": "basic", "answer": "red"}
    rows = [question | {"options": ["red", "blue", "green", "grey", "pink"], "refusal": "I cannot tell"}]
    (checkout.root / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    checkout.params(bad)
    done = checkout.run("driftledger", "stage", "question_set", "mine", check=False)
    assert done.returncode == 2
    assert "line 1 of mine.jsonl" in done.stderr
    assert "refusal" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (checkout.root / "data/questions/mine").exists()


def test_answers_made_elsewhere_are_followed_to_every_place_where_their_score_is_shown(checkout: Checkout) -> None:
    def theirs(params: dict[str, Any]) -> None:
        params["run"] |= {"question_sets": ["scenes_mme"], "mme": ["scenes_mme"], "models": [MODEL, "theirs"]}
        params["run"] |= {"genception": []}
        params["question_sets"]["scenes_mme"]["count"] = 13
        params["models"]["theirs"] = {"provider": "predictions", "path": "theirs.json"}

    checkout.params(theirs)
    file = checkout.root / "theirs.json"
    file.write_text('{"none of them": "Yes."}', encoding="utf-8")
    checkout.commit("predictions")
    refused = checkout.run(*REPRO, check=False)
    assert "none of its 1 predictions is about any of the 26 that are asked for" in refused.stdout + refused.stderr
    assert "Traceback" not in refused.stdout + refused.stderr
    lines = (checkout.root / "data/questions/scenes_mme/questions.jsonl").read_text(encoding="utf-8").splitlines()
    truth = {question["id"]: question["answer"] for question in map(json.loads, lines)}
    file.write_text(json.dumps(truth), encoding="utf-8")
    checkout.repro()
    score = checkout.root / "reports/scores/mme/scenes_mme/theirs/score.json"
    said = json.loads(score.read_text(encoding="utf-8"))
    assert said["metrics"]["accuracy"] == 100
    [flag] = said["flags"]
    assert flag.startswith("made elsewhere: 26 predictions read from a file (mmvet, sha256 ")
    audit = checkout.run("driftledger", "audit", "theirs/painter/layout", "--full").stdout
    assert f"to know: {flag}" in audit
    runs = f"{MODEL}/painter/layout", "theirs/painter/layout"
    assert (
        f"to know: theirs's model theirs: {flag}" in checkout.run("driftledger", "compare", *runs, check=False).stdout
    )
    assert "made elsewhere" not in checkout.run("driftledger", "audit", runs[0], "--full").stdout
    assert f"- theirs: {for_markdown(flag)}" in (checkout.root / "reports/leaderboard.md").read_text(encoding="utf-8")
    checkout.commit("their answers")
    checkout.run("driftledger", "track")
    verified = checkout.run("driftledger", "verify", runs[1], "--regenerate", "4").stdout
    assert "all holds" in verified.splitlines()[-2]
    assert "  4 calls  " in verified

    file.write_text(json.dumps(truth | {next(iter(truth)): "I cannot tell."}), encoding="utf-8")
    ran = set(checkout.repro()) - {"correlation", "report"}
    assert ran == {"resolve", *(f"{stage}@scenes_mme-theirs" for stage in ("answer", "grade", "mme"))}
