"""What is behind a score on questions, beside GenCeption's."""

from pathlib import Path

import pytest

from driftledger.core.errors import LedgerError
from driftledger.ledger.audit.audit import as_tree
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import RunTarget, resolve_target
from driftledger.ledger.lineage import Evidence, read_evidence
from tests.support.ledgers import COMBINATION, KEYS, component, marked, selected, varied, write_ledger
from tests.support.question_ledgers import EXAM, add_questions, question_score
from tests.support.terminal import printed


def evidence(root: Path) -> Evidence:
    return read_evidence(root, selected(("genception", KEYS), ("mm_sap", EXAM)), COMBINATION)


def test_a_set_that_was_not_answered_is_one_sentence(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    with pytest.raises(LedgerError, match=r"no dvc.lock here has a stage 'question_set@exam'; run 'dvc repro' first"):
        evidence(tmp_path)


def test_the_audit_leads_to_the_judge_and_the_answers(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    counts = {"scored": 3, "counted": 4, "coverage": 0.75}
    judged = varied(question_score(flags=["moved"], **counts), judge=component("umpire"), grade_prompt="Grade {truth}")
    add_questions(tmp_path, judged)
    with Sources(Path("nowhere")) as sources:
        text = printed(as_tree(RunTarget(evidence(tmp_path), "dvc.lock"), sources))
    for part in (
        "mm_sap on exam: self-awareness score = 62.0000, coverage 3/4 (4 counted)",
        f"judge: umpire, fingerprint {component('umpire').fingerprint}",
        "grade prompt: Grade {truth}",
        "to know: moved",
        "answer: data/answers/",
    ):
        assert part in text, part


def test_the_audit_says_which_component_is_marked(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_questions(tmp_path, marked(question_score(), model="made elsewhere"))
    with Sources(Path("nowhere")) as sources:
        tree = printed(as_tree(RunTarget(evidence(tmp_path), "dvc.lock"), sources))
    lines = [line.strip(" │├└─") for line in tree.splitlines()]
    of_score, of_component = (at for at, line in enumerate(lines) if line == "to know: made elsewhere")
    assert lines[of_component - 1].startswith("model: seer, fingerprint ")
    assert of_score < of_component


def test_a_number_is_of_what_counts(tmp_path: Path) -> None:
    """Which is more than what could be read, where the rest counts as wrong."""
    write_ledger(tmp_path)
    add_questions(tmp_path, question_score(scored=2, counted=3, coverage=0.5))
    found = selected(("genception", KEYS), ("mm_sap", EXAM))
    with Sources(tmp_path, found, [COMBINATION]) as sources:
        found = resolve_target(sources, f"{'/'.join(COMBINATION)}:mm_sap/exam/score")
        assert "of: 3 of 4" in printed(as_tree(found, sources))
