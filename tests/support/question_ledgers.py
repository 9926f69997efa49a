"""The question benchmarks' part of a hand-written ledger; see :mod:`tests.support.ledgers`."""

from typing import Any

from driftledger.benchmarks.score import Score
from tests.support.ledgers import component, score_of

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
