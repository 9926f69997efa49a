"""Runs to compare: evidence whose per-sample values really lie in a folder, each below its run's name."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from driftledger.benchmarks._questions.records import QuestionOutcome, QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, Redrawn, Retrieved, TracScore
from driftledger.benchmarks.genception.records import SampleScore, ScoreFile
from driftledger.core.canonical import canonical_json
from driftledger.core.files import Record, write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.ledger.code import CodeVersion
from driftledger.ledger.lineage import AnyScore, Behind, Evidence
from driftledger.ledger.lock import LockedFile, LockEntry
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.ledgers import COMBINATION, component, score_file
from tests.support.question_ledgers import question_score

OTHER = component("oracle")
"""Another model than the ledgers' own."""


def md5_of(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def run(*behind: Behind[AnyScore], **changes: Any) -> Evidence:
    plain: dict[str, Any] = {
        "name": str(COMBINATION),
        "combination": COMBINATION,
        "fingerprint": "f" * 64,
        "behind": list(behind),
        "code": CodeVersion(commit="c" * 40, dirty=False, untracked=[]),
    }
    return Evidence(**plain | changes)


def chains(root: Path, name: str, values: dict[str, Sequence[float | None]], **changes: Any) -> Behind[ScoreFile]:
    """GenCeption: sample → its similarities; samples whose name ends alike share a category."""
    rows = [
        SampleScore(
            sample=sample,
            category=sample[-1],
            similarity=list(some),
            gc=list(some),
            outcome=Outcome.OK if None not in some else Outcome.REFUSED,
        )
        for sample, some in values.items()
    ]
    return _behind(root, name, score_file(**changes), rows, "samples")


def retrieved(root: Path, name: str, hits: dict[str, bool | None], **changes: Any) -> Behind[TracScore]:
    """TRAC: sample → whether its class was found; None where there was no description."""
    score = trac_score(**changes)
    found = {True: "seven", False: "=one", None: None}
    rows = [
        Retrieved(
            sample=sample,
            label="seven",
            outcome=Outcome.REFUSED if hit is None else Outcome.OK,
            top1=found[hit],
            class_mean=found[hit],
        )
        for sample, hit in hits.items()
    ]
    return _behind(root, name, score, rows, "samples")


def redrawn(root: Path, name: str, values: dict[str, dict[str, float]], **changes: Any) -> Behind[FidelityScore]:
    """Fidelity: sample → metric → value."""
    rows = [
        Redrawn(sample=sample, category="round", outcome=Outcome.OK, metrics=metrics)
        for sample, metrics in values.items()
    ]
    return _behind(root, name, fidelity_score(**changes), rows, "samples")


def answered(
    root: Path, name: str, values: dict[str, Sequence[float | None]], benchmark: str = "mm_sap", **changes: Any
) -> Behind[QuestionScore]:
    """Questions: id → value per repeat; ids that begin alike, up to a dash, are about one image."""
    entries = [
        QuestionEntry(
            id=question,
            image=f"images/{question.partition('-')[0]}.png",
            image_sha256=question.partition("-")[0],
            image_id=question.partition("-")[0],
            question="?",
            category="count" if question < "m" else "color",
        )
        for question in values
    ]
    rows = [
        QuestionOutcome(question=question, group={}, values=list(some), outcomes=[Outcome.OK] * len(some))
        for question, some in values.items()
    ]
    write_jsonl(root / name / "exam" / "questions.jsonl", entries)
    metric = "total" if benchmark == "mm_vet" else "score"
    plain = {"benchmark": benchmark, "metrics": {metric: 50.0}}
    return _behind(root, name, question_score(**plain | changes), rows, "questions")


def _behind(root: Path, name: str, score: Any, rows: Sequence[Record], what: str) -> Any:
    file = root / name / f"{score.benchmark}.{what}.jsonl"
    write_jsonl(file, rows)
    out = _locked(root, file)
    return Behind[AnyScore](
        score=score,
        score_file=LockedFile(path=f"{name}/{score.benchmark}.json", md5="5" * 32, size=9),
        data=_folder(root, root / name / "exam"),
        collected={},
        stages={"score": LockEntry(cmd="driftledger score", outs=[out])},
    )


def _locked(root: Path, file: Path) -> LockedFile:
    data = file.read_bytes()
    return LockedFile(path=file.relative_to(root).as_posix(), md5=md5_of(data), size=len(data))


def _folder(root: Path, folder: Path) -> LockedFile:
    """As DVC knows a folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    rows = [{"md5": md5_of(file.read_bytes()), "relpath": file.relative_to(folder).as_posix()} for file in files]
    manifest = json.dumps(rows, sort_keys=True).encode()
    return LockedFile(path=folder.relative_to(root).as_posix(), md5=f"{md5_of(manifest)}.dir", size=1)


def inputs(score: Any, **changes: Any) -> Any:
    """The same inputs of a score with other values in them: ``chain__iterations=3`` is that of the chain's card."""
    content = score.inputs.model_dump(mode="json", by_alias=True)
    for key, value in changes.items():
        *way, last = key.split("__")
        place = content
        for step in way:
            place = place[step]
        place[last] = value.to_dict() if isinstance(value, Record) else value
    return type(score.inputs).model_validate(json.loads(canonical_json(content)))
