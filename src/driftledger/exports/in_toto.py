"""An in-toto statement of a run: its score files by their SHA-256, and what the numbers in them stand on.

It is signed, as a DSSE envelope, where Git has an SSH key to sign with.
"""

from typing import Any

from driftledger import __version__
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError
from driftledger.exports.base import Files, Run, numbers
from driftledger.ledger.attest.signing import sign, signing_key
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.log.chain import evidence_digest
from driftledger_check.dsse import SCORE, Statement
from driftledger_check.strict_json import canonical


def files(run: Run) -> Files:
    """``statement.json``, and ``envelope.json`` where it can be signed."""
    payload = statement(run).to_bytes()
    try:
        key = signing_key(run.root)
    except LedgerError:
        return {"statement.json": payload}
    return {"statement.json": payload, "envelope.json": canonical(sign(payload, key).to_dict())}


def statement(run: Run) -> Statement:
    """What is said of the run's score files."""
    evidence = run.evidence
    predicate = {
        "run": {"name": evidence.name, "fingerprint": evidence.fingerprint, "evidence": evidence_digest(evidence)},
        "code": {"commit": run.commit, "dirty": evidence.code.dirty, "driftledger": __version__},
        "scores": [_score(lineage) for lineage in evidence.lineages],
    }
    files = [each.path for lineage in evidence.lineages for each in (lineage.score_file, lineage.rows_file)]
    return Statement(SCORE, {path: sha256_file(run.root / path) for path in files}, predicate)


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
