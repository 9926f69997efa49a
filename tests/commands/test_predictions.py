"""Answers made elsewhere, from a file to the score and the tables: graded as any model's, and
marked."""

import json

import pytest
import yaml

from driftledger.benchmarks.base.stage import QUESTION_SET
from driftledger.benchmarks.registry import question_rules
from driftledger.core.files import read_json
from driftledger.data.build import build_questions
from driftledger.data.records import read_questions
from driftledger.project.project import Project
from driftledger.scoring.score import SCORE, Score
from tests.support.by_hand import named
from tests.support.evaluation import build, evaluate
from tests.support.params import default_params
from tests.support.tables import leaderboard

VET, MME, SAP = "scenes_mm_vet", "scenes_mme", "scenes_mm_sap"
SETS = {"mm_vet": VET, "mme": MME, "mm_sap": SAP}


def project(root, benchmark, count=13, **models):
    """One question set of scenes, built, and the models that are asked."""
    params = default_params()
    name = SETS[benchmark]
    params["question_sets"] = {
        name: {"provider": "scenes", "protocol": benchmark, "count": count}
    }
    nothing: dict[str, list[str]] = {
        each: [] for each in ("genception", "trac", "fidelity", *SETS)
    }
    params["run"] |= {
        **nothing,
        "question_sets": [name],
        benchmark: [name],
        "models": list(models),
    }
    understood = {
        name: {**entry, "understood_by": ["rubric"]} for name, entry in models.items()
    }
    params["models"] = {"rubric": {"provider": "rubric"}, **understood}
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return Project(root)


def questions(project, benchmark):
    """Those of the set, built without its models' files."""
    name = SETS[benchmark]
    folder = project.root / QUESTION_SET.at({"question_set": name})
    provider = project.settings.build("question_sets", name)
    if not folder.is_dir():
        build_questions(name, provider, question_rules(provider), folder)
    return read_questions(folder)


def score_of(project, benchmark, model):
    return read_json(
        project.root / "reports/scores" / model / benchmark / SETS[benchmark] / SCORE,
        Score,
    )


def board(*scores):
    return leaderboard(scores)[0]


def wrong(answer):
    return "No." if answer == "yes" else "Yes."


def test_predictions_are_graded_as_answers_and_every_number_of_them_is_marked(tmp_path):
    file = tmp_path / "p.jsonl"
    theirs = {"provider": "predictions", "path": str(file), "format": "lmms_eval"}
    exam = project(tmp_path, "mme", theirs=theirs, blind={"provider": "blind"})
    asked = questions(exam, "mme")
    said = {
        q.id: f"{q.answer}" if place % 4 else wrong(str(q.answer))
        for place, q in enumerate(asked)
    }
    samples = (
        {
            "doc_id": q.id,
            "doc": {"question": q.question},
            "target": "",
            "resps": [[said[q.id]]],
        }
        for q in asked
    )
    file.write_text(
        "".join(json.dumps(sample) + "\n" for sample in samples), encoding="utf-8"
    )
    build(exam)
    evaluate(exam)

    score = score_of(exam, "mme", "theirs")
    assert (score.scored, score.total) == (len(asked), len(asked))
    right = sum(place % 4 != 0 for place in range(len(asked)))
    assert named(score)["accuracy"] == pytest.approx(100 * right / len(asked))
    [flag] = [each.text for each in score.flags]
    assert flag == score.components["model"].mark
    assert flag.startswith(
        f"made elsewhere: {len(asked)} predictions read from a file (lmms_eval, sha256 "
    )
    assert score_of(exam, "mme", "blind").flags == []

    text = board(score, score_of(exam, "mme", "blind"))
    glance, _, tables = text.partition("## mme on")
    for part in (glance, tables):
        assert f"- theirs: {flag}\n" in part
        assert "- blind: " not in part


def test_what_is_missing_is_no_answer(tmp_path):
    file = tmp_path / "theirs.json"
    exam = project(
        tmp_path, "mm_vet", theirs={"provider": "predictions", "path": str(file)}
    )
    first, *rest = questions(exam, "mm_vet")
    blank = {rest[0].id: " ", "v1_0": "spare"}
    file.write_text(
        json.dumps({q.id: str(q.answer) for q in rest} | blank), encoding="utf-8"
    )
    build(exam)
    evaluate(exam)
    score = score_of(exam, "mm_vet", "theirs")
    # five gradings each
    assert (score.scored, score.counted, score.total) == (5 * 11, 5 * 12, 5 * 13)
    assert (score.outcomes["failed"], score.outcomes["empty"]) == (5, 5)
    assert named(score)["total"] == pytest.approx(100 * 11 / 12)
    answers = (
        (exam.root / "data/records/theirs/mm_vet" / VET / "records.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    missing = json.loads(answers[0])
    [said] = missing["results"]
    assert (missing["unit"], said["outcome"], said["text"]) == (first.id, "failed", "")
    told = (
        f"'{first.id}' has no prediction in 'theirs.json'; its first id is '{rest[0].id}', and "
        "`id` says where ids are"
    )
    assert said["error"] == told
