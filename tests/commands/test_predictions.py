"""Answers made elsewhere, from a file to the score and the tables: graded as any model's, and
marked."""

import json

import pytest

from driftledger.benchmarks.base.stage import QUESTION_SET
from driftledger.benchmarks.registry import question_rules
from driftledger.core.files import read_json
from driftledger.data.build import build_questions
from driftledger.data.records import read_questions
from driftledger.scoring.score import SCORE, Score
from tests.support.by_hand import named
from tests.support.evaluation import build, evaluate
from tests.support.params import default_params
from tests.support.small import write_params
from tests.support.tables import leaderboard

VET, MME, SAP = "scenes_mm_vet", "scenes_mme", "scenes_mm_sap"
SETS = {"mm_vet": VET, "mme": MME, "mm_sap": SAP}


def project(root, benchmark, **models):
    """One question set of scenes, one of each theme, and the models that are asked."""
    name = SETS[benchmark]
    for entry in models.values():
        entry["understood_by"] = ["rubric"]
    params = default_params()
    scenes = {"provider": "scenes", "protocol": benchmark, "count": 13}
    params["question_sets"] = {name: scenes}
    params["models"] = models | {"rubric": {"provider": "rubric"}}
    params["run"] |= {
        each: [] for each in ("genception", "self_retrieval", "trac", "fidelity", *SETS)
    }
    params["run"] |= {"question_sets": [name], benchmark: [name]}
    params["run"]["models"] = list(models)
    return write_params(root, params)


def questions(project, benchmark):
    """Those of the set, built without its models' files."""
    name = SETS[benchmark]
    folder = project.root / QUESTION_SET.at({"question_set": name})
    provider = project.settings.build("question_sets", name)
    build_questions(name, provider, question_rules(provider), folder)
    return read_questions(folder)


def score_of(project, benchmark, model):
    folder = project.root / "reports/scores" / model / benchmark / SETS[benchmark]
    return read_json(folder / SCORE, Score)


def test_predictions_are_graded_as_answers_and_every_number_of_them_is_marked(tmp_path):
    file = tmp_path / "p.jsonl"
    theirs = {"provider": "predictions", "path": str(file), "format": "lmms_eval"}
    exam = project(tmp_path, "mme", theirs=theirs, blind={"provider": "blind"})
    asked = questions(exam, "mme")
    samples, right = [], 0
    for place, q in enumerate(asked):
        is_right = place % 4 != 0
        right += is_right
        said = q.answer if is_right else {"yes": "No.", "no": "Yes."}[q.answer]
        doc = {"question": q.question}
        samples.append({"doc_id": q.id, "doc": doc, "target": "", "resps": [[said]]})
    file.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    build(exam)
    evaluate(exam)

    score = score_of(exam, "mme", "theirs")
    assert (score.scored, score.total) == (len(asked), len(asked))
    assert named(score)["accuracy"] == pytest.approx(100 * right / len(asked))
    [flag] = [each.text for each in score.flags]
    assert flag == score.components["model"].mark
    source = f"{len(asked)} predictions read from a file (lmms_eval, sha256 "
    assert flag.startswith(f"made elsewhere: {source}")
    other = score_of(exam, "mme", "blind")
    assert other.flags == []

    text = leaderboard([score, other])[0]
    glance, _, tables = text.partition("## mme on")
    for part in (glance, tables):
        assert f"- theirs: {flag}\n" in part
        assert "- blind: " not in part


def test_what_is_missing_is_no_answer(tmp_path):
    file = tmp_path / "theirs.json"
    theirs = {"provider": "predictions", "path": str(file)}
    exam = project(tmp_path, "mm_vet", theirs=theirs)
    first, *rest = questions(exam, "mm_vet")
    replies = {q.id: str(q.answer) for q in rest}
    replies |= {rest[0].id: " ", "v1_0": "spare"}
    file.write_text(json.dumps(replies))
    build(exam)
    evaluate(exam)
    score = score_of(exam, "mm_vet", "theirs")
    # five gradings each
    assert (score.scored, score.counted, score.total) == (5 * 11, 5 * 12, 5 * 13)
    assert (score.outcomes["failed"], score.outcomes["empty"]) == (5, 5)
    assert named(score)["total"] == pytest.approx(100 * 11 / 12)
    records = exam.root / "data/records/theirs/mm_vet" / VET / "records.jsonl"
    missing = json.loads(records.read_text().splitlines()[0])
    [said] = missing["results"]
    assert (missing["unit"], said["outcome"], said["text"]) == (first.id, "failed", "")
    lacks = f"'{first.id}' has no prediction in 'theirs.json'; its first id is "
    assert said["error"] == f"{lacks}'{rest[0].id}', and `id` says where ids are"
