"""Every answer with what it was read as, in a table for MLflow."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.base import Artifacts, Stage
from driftledger.benchmarks.records import RECORDS
from driftledger.core.escaping import csv_text, for_csv
from driftledger.core.files import read_jsonl

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

HEAD = ("question", "variant", "repeat", "answer", "outcome", "how", "read as", "error")


def artifacts(lineage: "Lineage", root: Path, grade: Stage) -> Artifacts:
    """``answers.csv``."""
    answered, graded = (root / lineage.collected[stage].path for stage in ("answer", grade.name))
    return {"answers.csv": partial(answers_csv, answered, graded, cast(type[GradeRecord], grade.record))}


def answers_csv(answered: Path, graded: Path, kind: type[GradeRecord]) -> bytes:
    """The answers in one folder, as the records of another were read from them; ``kind`` is what those are."""
    answers = {(each.question, each.variant): each for each in read_jsonl(answered / RECORDS, AnswerRecord)}
    rows = []
    for grade in read_jsonl(graded / RECORDS, kind):
        answer = answers[grade.question, grade.variant]
        told = (grade.question, str(grade.variant), str(grade.grading), answer.text or "", grade.outcome, grade.how)
        read = "" if grade.read is None else str(grade.read)
        rows.append([*map(for_csv, told), read, for_csv(answer.error or "")])
    return csv_text(HEAD, rows).encode()
