"""Question scores on a combination's run, in the audit tree and in the leaderboard."""

from pathlib import Path

import pytest

from driftledger.core.errors import LedgerError
from driftledger.core.paths import Layout
from driftledger.ledger.lineage import Evidence, Selected, read_evidence
from driftledger.reports.leaderboard import write_leaderboard
from driftledger.tracking.content import RunContent
from driftledger.tracking.project import run_content
from tests.support.audited import run_text
from tests.support.ledgers import COMBINATION, ITERATIONS, component, score_file, write_ledger
from tests.support.question_ledgers import add_questions, question_score


def evidence(root: Path) -> Evidence:
    return read_evidence(Layout(root), Selected(["shapes"], question_sets=["exam"]), COMBINATION)


def content(root: Path, **changes: str) -> RunContent:
    write_ledger(root)
    add_questions(root, **changes)  # type: ignore[arg-type]
    return run_content(Layout(root), evidence(root))


def test_every_metric_is_on_the_run_and_linked_to_the_question_set(tmp_path: Path) -> None:
    run = content(tmp_path)
    found = {metric.key: (metric.value, metric.dataset) for metric in run.metrics if "exam" in metric.key}
    assert found["mm_sap/exam/score"] == (62.0, "exam")
    assert found["mm_sap/exam/score_std"] == (0.85, "exam")
    assert found["mm_sap/exam/basic/score"] == (70.0, "exam")
    assert found["mm_sap/exam/coverage"] == (1.0, "exam")
    assert {dataset.name for dataset in run.datasets} == {"shapes", "exam"}


def test_the_answers_are_an_inert_table(tmp_path: Path) -> None:
    table = content(tmp_path, said="=cmd() \x1b[31m").artifacts["mm_sap/exam/answers.csv"]().decode()
    head, first, *_ = table.splitlines()
    assert head == "question,variant,repeat,answer,outcome,how,read as,error"
    assert first == "q0,0,0,'=cmd() \\x1b[31m,ok,letter,1,"


def test_answers_of_other_bytes_are_another_run(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_questions(tmp_path)
    before = evidence(tmp_path).fingerprint
    assert before != read_evidence(Layout(tmp_path), Selected(["shapes"]), COMBINATION).fingerprint
    add_questions(tmp_path, question_score(metrics={"score": 1.0}))
    assert evidence(tmp_path).fingerprint != before


def test_a_set_that_was_not_answered_is_one_sentence(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    with pytest.raises(LedgerError, match=r"no dvc.lock here has a stage 'question_set@exam'; run 'dvc repro' first"):
        evidence(tmp_path)


def test_the_audit_leads_from_a_question_score_to_the_judge_and_the_answers(tmp_path: Path) -> None:
    inputs = question_score().inputs
    judged = inputs.grades.model_copy(update={"judge": component("umpire"), "grade_prompt": "Grade {truth}"})
    write_ledger(tmp_path)
    add_questions(tmp_path, question_score(inputs=inputs.model_copy(update={"grades": judged}), flags=["moved"]))
    text = run_text(evidence(tmp_path))
    for part in (
        "mm_sap on exam: coverage 4/4",
        "judge: umpire, fingerprint",
        "prompt: Grade {truth}",
        "to know: moved",
    ):
        assert part in text
    assert "data/answers/exam/seer" in text


def test_the_leaderboard_has_the_papers_tables(tmp_path: Path) -> None:
    worse = question_score(model="blind", metrics={"score": 20.0, "free_refusals": 0.0}, flags=["2 <b>versions</b>"])
    write_leaderboard(tmp_path / "board", [score_file()], ITERATIONS, [worse, question_score()])
    text = (tmp_path / "board.md").read_text(encoding="utf-8")
    table = text[text.index("## mm_sap on exam") :].splitlines()
    assert table[4] == "| | basic | know | beyond | total | known knowns | known unknowns | rank |"
    assert table[6] == "| seer | 70.00 ± 1.00 | – | – | 62.00 ± 0.85 | – | – | 1 |"
    assert table[7] == "| blind | – | – | – | 20.00 | – | – | 2 |"
    assert "- blind: 2 &lt;b&gt;versions&lt;/b&gt;" in text
    rows = (tmp_path / "board.csv").read_text(encoding="utf-8")
    assert "exam,,,mm_sap/score,overall,,overall,seer,62.0," in rows
    assert "exam,,,mm_sap/score,subset,,basic,seer,70.0," in rows
