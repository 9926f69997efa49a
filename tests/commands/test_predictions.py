"""Answers made elsewhere, from a file to the score and the tables: graded as any model's, and
marked."""

import json

import pytest

from driftledger.benchmarks.base.stage import QUESTION_SET
from driftledger.benchmarks.registry import benchmark_names, question_rules
from driftledger.core.files import read_json
from driftledger.data.build import build_questions
from driftledger.data.records import read_questions
from driftledger.scoring.score import SCORE, Score
from tests.support.by_hand import named
from tests.support.evaluation import build, evaluate
from tests.support.params import default_params
from tests.support.small import write_params
from tests.support.tables import leaderboard

SET = "scenes_mme"


def project(root, **models):
    """One question set of scenes, one of each theme, and the models that are asked."""
    for entry in models.values():
        entry["understood_by"] = ["rubric"]
    params = default_params()
    params["question_sets"][SET]["count"] = 13
    params["models"] = models
    params["run"] |= {name: [] for name in benchmark_names()}
    params["run"] |= {"question_sets": [SET], "mme": [SET], "models": [*models]}
    return write_params(root, params)


def questions(project):
    """Those of the set, built without its models' files."""
    folder = project.root / QUESTION_SET.at({"question_set": SET})
    provider = project.settings.build("question_sets", SET)
    build_questions(SET, provider, question_rules(provider), folder)
    return read_questions(folder)


@pytest.fixture(scope="module")
def exam(tmp_path_factory):
    """A project whose models are a file with every answer, every fourth of them wrong, one that
    lacks the first and has nothing for the second, and a control."""
    root = tmp_path_factory.mktemp("exam")
    whole, part = root / "p.jsonl", root / "theirs.json"
    theirs = {"provider": "predictions", "path": str(whole), "format": "lmms_eval"}
    lacking = {"provider": "predictions", "path": str(part)}
    exam = project(root, theirs=theirs, lacking=lacking, blind={"provider": "blind"})
    asked = questions(exam)
    samples = []
    for place, q in enumerate(asked):
        said = q.answer if place % 4 else {"yes": "No.", "no": "Yes."}[q.answer]
        doc = {"question": q.question}
        samples.append({"doc_id": q.id, "doc": doc, "target": "", "resps": [[said]]})
    whole.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    replies = {q.id: q.answer for q in asked[1:]}
    replies |= {asked[1].id: " ", "v1_0": "spare"}
    part.write_text(json.dumps(replies))
    build(exam)
    evaluate(exam)
    return exam


def score_of(exam, model):
    return read_json(exam.root / "reports/scores" / model / "mme" / SET / SCORE, Score)


def test_predictions_are_graded_as_answers_and_every_number_of_them_is_marked(exam):
    score = score_of(exam, "theirs")
    assert (score.scored, score.total) == (26, 26)
    assert named(score)["accuracy"] == pytest.approx(100 * 19 / 26)
    [flag] = [each.text for each in score.flags]
    assert flag == score.components["model"].mark
    source = "26 predictions read from a file (lmms_eval, sha256 "
    assert flag.startswith(f"made elsewhere: {source}")
    other = score_of(exam, "blind")
    assert other.flags == []
    text = leaderboard([score, other])[0]
    glance, _, tables = text.partition("## mme on")
    for part in (glance, tables):
        assert f"- theirs: {flag}\n" in part
        assert "- blind: " not in part


def test_what_is_missing_is_no_answer(exam):
    score = score_of(exam, "lacking")
    assert (score.scored, score.counted, score.total) == (24, 25, 26)
    assert (score.outcomes["failed"], score.outcomes["empty"]) == (1, 1)
    assert named(score)["accuracy"] == pytest.approx(100 * 24 / 25)
    records = exam.root / "data/records/lacking/mme" / SET / "records.jsonl"
    missing, empty, *_ = map(json.loads, records.read_text().splitlines())
    [said] = missing["results"]
    assert (said["outcome"], said["text"]) == ("failed", "")
    lacks = f"'{missing['unit']}' has no prediction in 'theirs.json'; its first id is "
    assert said["error"] == f"{lacks}'{empty['unit']}', and `id` says where ids are"
