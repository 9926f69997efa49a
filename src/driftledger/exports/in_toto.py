"""An in-toto statement of a run: its score files by their SHA-256, and what the numbers in them stand on."""

from typing import Any

from driftledger import __version__
from driftledger.core.canonical import canonical_json, sha256_file
from driftledger.exports.base import Files, Run, numbers
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.log.chain import evidence_digest

STATEMENT = "https://in-toto.io/Statement/v1"
SCORE = "urn:driftledger:score:1"


def files(run: Run) -> Files:
    """``statement.json``, unsigned."""
    return {"statement.json": canonical_json(statement(run)).encode()}


def statement(run: Run) -> dict[str, Any]:
    """The statement, JSON-ready."""
    evidence = run.evidence
    predicate = {
        "run": {"name": evidence.name, "fingerprint": evidence.fingerprint, "evidence": evidence_digest(evidence)},
        "code": {"commit": run.commit, "dirty": evidence.code.dirty, "driftledger": __version__},
        "scores": [_score(lineage) for lineage in evidence.lineages],
    }
    subject = [
        {"name": path, "digest": {"sha256": sha256_file(run.root / path)}}
        for lineage in evidence.lineages
        for path in (lineage.score_file.path, lineage.rows_file.path)
    ]
    return {"_type": STATEMENT, "subject": subject, "predicateType": SCORE, "predicate": predicate}


def _score(lineage: Lineage) -> dict[str, Any]:
    score = lineage.score
    return {
        "place": lineage.place,
        "data": {"name": lineage.on, "digest": score.inputs.data_digest},
        "records": score.inputs.records,
        "components": {
            role: {"name": card.name, "sha256": card.fingerprint} for role, card in score.components.items()
        },
        "metrics": {number.key: number.value for number in numbers(lineage)},
        "scored": score.scored,
        "total": score.total,
    }
