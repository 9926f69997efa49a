"""What people are shown of question benchmarks: tables as the papers print them, and every answer as it was read."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.base import Cells, Origin, SideBySide, Table
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import (
    cell,
    deviation,
    group_tables,
    metrics_in,
    misplaced,
    name_cell,
    ordered,
    places,
    title_of,
)
from driftledger.core.files import read_jsonl
from driftledger.core.text import csv_text, for_csv

if TYPE_CHECKING:
    from driftledger.benchmarks._questions.spec import QuestionBenchmark

RANK = "rank"
HEAD = ("question", "variant", "repeat", "answer", "outcome", "how", "read as", "error")


def best_first(scores: Sequence[Score], headline: str) -> list[Score]:
    """By the headline, behind all others the controls."""
    return ordered(scores, {score.model: score.metrics.get(headline) for score in scores})


def ranked_tables(spec: "QuestionBenchmark", block: SideBySide) -> Iterator[Table]:
    """The tables that the specification names; the first has a column for each further metric that a score has."""
    scores = best_first(block.scores, spec.metrics[0].key)
    named = {number.rpartition("/")[2] for columns in spec.shown.values() for number in columns.values()}
    there = metrics_in(spec, scores).items()
    more = {title_of(key, metric): key for key, metric in there if metric.key not in {*named, *spec.not_shown}}
    for number, (title, columns) in enumerate(spec.shown.items(), 1):
        yield _table(title, scores, {**columns, **more}, spec, block)._replace(name=f"models_{number}")
        more = {}
    shown = {number.partition("/")[0] for columns in spec.shown.values() for number in columns.values()}
    yield from group_tables(spec, scores, block, {*shown, *spec.tabled})


def _table(
    title: str, scores: Sequence[Score], columns: Mapping[str, str], spec: "QuestionBenchmark", block: SideBySide
) -> Table:
    numbers = {score.model: dict(score.numbers()) for score in scores}
    head, lines = [""], [[name_cell(score) for score in scores]]
    for title_of_column, number in columns.items():
        metric = spec.metric(number.rpartition("/")[2])
        assert metric is not None  # the specification names no other
        values = [numbers[score.model].get(number) for score in scores]
        head.append(title_of_column + misplaced(scores, values, metric))
        at = places(scores, values, metric, block.standing(number))
        lines.append(
            [
                cell(value, place, metric.digits, of=Origin(score, number))._replace(
                    deviation=deviation(numbers[score.model], number, metric.digits)
                )
                for score, value, place in zip(scores, values, at, strict=True)
            ]
        )
    first = spec.metrics[0]
    values = [numbers[score.model].get(first.key) for score in scores]
    ranks = places(scores, values, first, block.standing(first.key))
    lines.append(
        [cell(at.rank, digits=0, of=Origin(score, first.key)) for score, at in zip(scores, ranks, strict=True)]
    )
    rows: list[Cells] = list(zip(*lines, strict=True))
    return Table(title, [*head, RANK], rows, coverages=[score.coverage for score in scores])


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
