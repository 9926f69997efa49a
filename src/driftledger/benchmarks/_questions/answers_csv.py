"""The artifact of question benchmarks: every answer as it was read."""

from pathlib import Path

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.records import RECORDS
from driftledger.core.files import read_jsonl
from driftledger.core.text import csv_text, for_csv

HEAD = ("question", "variant", "repeat", "answer", "outcome", "how", "read as", "error")


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
