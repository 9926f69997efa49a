"""``dvc repro`` with question sets: what runs again, what does not, and what a change of reading moved."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Checkout

pytestmark = pytest.mark.slow

SETS = {"scenes_mm_sap": "mm_sap", "scenes_mm_vet": "mm_vet", "scenes_mme": "mme"}
"""Question set → its benchmark."""
MODEL = "regions_medium"


def with_questions(params: dict[str, Any]) -> None:
    params["run"] |= {"question_sets": list(SETS), **{benchmark: [name] for name, benchmark in SETS.items()}}
    params["genception"]["iterations"] = 1
    params["mm_sap"]["permutations"] = 2
    params["mm_vet"]["gradings"] = 2
    for name, benchmark in SETS.items():
        params[benchmark]["bootstrap"]["resamples"] = 200
        params["question_sets"][name]["count"] = 26


@pytest.fixture
def asked(checkout: Checkout) -> Checkout:
    checkout.params(with_questions)
    checkout.commit("questions")
    checkout.repro()
    checkout.commit("answers")
    return checkout


def metrics(root: Path, question_set: str) -> dict[str, float]:
    path = root / f"reports/scores/{SETS[question_set]}/{question_set}/{MODEL}/metrics.json"
    found: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return found


def test_questions_from_the_set_to_the_table(asked: Checkout) -> None:
    assert metrics(asked.root, "scenes_mm_sap")["known_knowns"] > 60
    assert metrics(asked.root, "scenes_mm_vet")["total"] > 50
    assert metrics(asked.root, "scenes_mme")["score"] > 150
    board = (asked.root / "reports/leaderboard.md").read_text(encoding="utf-8")
    assert all(f"on {name}" in board for name in SETS)
    assert "position bias" in board
    before = asked.outputs()
    assert asked.repro() == ["resolve"]
    assert asked.outputs() == before
    assert "mm_sap on scenes_mm_sap" in asked.run("driftledger", "audit", f"{MODEL}/painter/layout").stdout

    asked.params(lambda params: params["mm_sap"].update(count_free_refusals=False))
    ran = asked.repro()
    assert set(ran) - {"report"} == {"resolve", f"mm_sap@scenes_mm_sap-{MODEL}"}
    assert len(ran) == len(set(ran))

    grades = asked.root / f"data/grades/scenes_mm_sap/{MODEL}/records.jsonl"
    first, *rest = grades.read_text(encoding="utf-8").splitlines()
    changed = json.loads(first) | {"choice": None, "outcome": "unparsed", "how": "several"}
    grades.unlink()  # it is a link into DVC's cache
    grades.write_text("\n".join([json.dumps(changed), *rest]) + "\n", encoding="utf-8")
    said = [line.strip() for line in asked.run("driftledger", "diff", "HEAD").stdout.splitlines()]
    [moved] = [number for number, line in enumerate(said) if line.startswith(f"grades/scenes_mm_sap/{MODEL}: 1 of ")]
    assert said[moved + 1].endswith("→ unparsed: nothing (several)")
    unknown = asked.run("driftledger", "diff", "nowhere", check=False)
    assert unknown.returncode == 2
    assert "'nowhere' cannot be read" in unknown.stderr


def test_a_set_that_cannot_be_scored_is_one_sentence_that_names_the_question(checkout: Checkout) -> None:
    def bad(params: dict[str, Any]) -> None:
        params["run"] |= {"question_sets": ["mine"], "mm_sap": ["mine"]}
        params["question_sets"]["mine"] = {"provider": "table", "protocol": "mm_sap", "path": "mine.jsonl"}

    question = {"id": "q7", "image": "my_images/round/1.png", "question": "What?", "subset": "basic", "answer": "a"}
    rows = [question | {"options": ["a", "b", "c", "d", "e"], "refusal": "I cannot tell"}]
    (checkout.root / "mine.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    checkout.params(bad)
    done = checkout.run("driftledger", "question_set", "mine", check=False)
    assert done.returncode == 2
    assert "line 1 of mine.jsonl" in done.stderr
    assert "refusal" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (checkout.root / "data/questions/mine").exists()
