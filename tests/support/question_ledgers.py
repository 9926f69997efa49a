"""The question benchmarks' part of a hand-written ledger; see :mod:`tests.support.ledgers`."""

import hashlib
from pathlib import Path
from typing import Any

import yaml

from driftledger.benchmarks._questions.records import (
    AnswerRecord,
    AnswersCard,
    GradeRecord,
    GradesCard,
    QuestionInputs,
    QuestionScore,
)
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.paths import Layout, answer_stage, grade_stage, question_set_stage, questions_file, score_stage
from driftledger.core.types import Outcome
from tests.support.ledgers import component, locked, write_lock


def question_score(**changes: Any) -> QuestionScore:
    """A model's score on the question set ``exam``."""
    answers = AnswersCard(
        question_set="exam",
        question_set_digest="e" * 64,
        protocol="mm_sap",
        model=component("seer"),
        variants=2,
        prompt="{question} {options}",
        seed=7,
    )
    grades = GradesCard(parser="1", answers_sha256="f" * 64, answers=answers)
    plain: dict[str, Any] = {
        "benchmark": "mm_sap",
        "question_set": "exam",
        "model": "seer",
        "metrics": {
            "score": 62.0,
            "score_std": 0.85,
            "basic/score": 70.0,
            "basic/score_std": 1.0,
            "free_refusals": 5.0,
        },
        "groups": {"subset": {"basic": {"score": 70.0}}},
        "outcomes": {"ok": 3, "refused": 1},
        "scored": 4,
        "total": 4,
        "coverage": 1.0,
        "absent": {},
        "inputs": QuestionInputs(
            question_set_digest="e" * 64, answers_sha256="f" * 64, grades_sha256="0" * 64, grades=grades, settings={}
        ),
    }
    return QuestionScore(**plain | changes)


def add_questions(root: Path, score: QuestionScore | None = None, said: str = "A") -> None:
    """Add answers, grades and a score to the ledger in ``root``, and the lock's entries for them."""
    score = score or question_score()
    layout = Layout(root)
    answers, grades = layout.answers("exam", "seer"), layout.grades("exam", "seer")
    pairs = [(question, variant) for question in ("q0", "q1") for variant in (0, 1)]
    write_jsonl(
        answers / "answers.jsonl",
        [AnswerRecord(question=q, variant=v, order=[1, 0], outcome=Outcome.OK, text=said) for q, v in pairs],
    )
    write_jsonl(
        grades / "grades.jsonl",
        [GradeRecord(question=q, variant=v, outcome=Outcome.OK, choice=1, how="letter") for q, v in pairs],
    )
    target = layout.question_scores("exam", "seer")
    write_json(target, score)
    write_jsonl(questions_file(target), [])
    lock = yaml.safe_load((root / "dvc.lock").read_text(encoding="utf-8"))
    folders = {
        question_set_stage("exam"): layout.question_set("exam"),
        answer_stage("exam", "seer"): answers,
        grade_stage("exam", "seer"): grades,
    }
    for number, (stage, folder) in enumerate(folders.items(), 1):
        out = locked(folder.relative_to(root).as_posix(), f"{number}e" * 16 + ".dir", nfiles=2)
        lock["stages"][stage] = {"cmd": f"driftledger {stage.partition('@')[0]}", "outs": [out]}
    outs = [
        locked(file.relative_to(root).as_posix(), hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest())
        for file in (target, questions_file(target))
    ]
    lock["stages"][score_stage("exam", "seer")] = {"cmd": "driftledger score exam seer", "outs": outs}
    write_lock(root, lock)
