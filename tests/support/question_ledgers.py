"""The question benchmarks' part of a hand-written ledger; see :mod:`tests.support.ledgers`."""

from pathlib import Path
from typing import Any

from driftledger.benchmarks.score import Score
from tests.support.ledgers import add_stages, component, lock_entries, locked, score_of, write_collected, write_scored
from tests.support.records import record

EXAM = {"question_set": "exam", "model": "seer"}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "mm_sap": {"prompt": "{question} {options}", "permutations": 2, "parser": "1", "seed": 7},
    "mm_vet": {"prompt": "{question}", "grade_prompt": "{question} {truth} {prediction}", "gradings": 2, "parser": "1"}
    | {"grade_again": "\nA digit: ", "seed": 7},
    "mme": {"prompt": "{question}", "parser": "1", "seed": 7},
}


def question_score(benchmark: str = "mm_sap", **changes: Any) -> Score:
    """A model's score on the question set ``exam``."""
    judged = {"judge": component("rubric")} if benchmark == "mm_vet" else {}
    settings: dict[str, Any] = {"confidence": 0.95, "seed": 7}
    if benchmark == "mm_sap":
        settings["count_free_refusals"] = True
    plain: dict[str, Any] = {
        "benchmark": benchmark,
        "keys": EXAM,
        "components": {"model": component("seer"), **judged},
        "metrics": {"score": 62.0, "score_std": 0.85, "free_refusals": 5.0},
        "groups": {"subset": {"basic": {"score": 70.0, "score_std": 1.0}}},
        "outcomes": {"ok": 3, "refused": 1},
        "scored": 4,
        "total": 4,
        "coverage": 1.0,
        "inputs": {
            "data_digest": "e" * 64,
            "records": {"answer": "f" * 64},
            "protocol": PROTOCOLS[benchmark],
            "settings": settings,
        },
    }
    return score_of(plain, changes)


def add_questions(root: Path, score: Score | None = None, said: str = "A") -> None:
    """Add answers and a score to the ledger in ``root``, and the lock's entries for them."""
    score = score or question_score()
    answers = [record(question, "ok", said, step, order=[1, 0]) for question in ("q0", "q1") for step in (1, 2)]
    folders = {
        "question_set": root / "data" / "questions" / score.on,
        "answer": write_collected(root, score, answers),
    }
    write_scored(root, score, [])
    outs = {
        stage: locked(folder.relative_to(root).as_posix(), f"{number}e" * 16 + ".dir", nfiles=2)
        for number, (stage, folder) in enumerate(folders.items(), 1)
    }
    add_stages(root, lock_entries(root, score, outs))
