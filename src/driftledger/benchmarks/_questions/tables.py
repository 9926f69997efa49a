"""What people are shown of question benchmarks: tables as the papers print them, and every answer as it was read."""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.base import Cell, Cells, Origin, Table
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import cell, deviation, group_tables, metrics_in, title_of
from driftledger.core.escaping import csv_text, for_csv
from driftledger.core.files import read_jsonl
from driftledger.metrics.ranks import DECIMALS

if TYPE_CHECKING:
    import pandas as pd

    from driftledger.benchmarks._questions.spec import QuestionBenchmark

RANK, COVERAGE = "rank", "coverage"
HEAD = ("question", "variant", "repeat", "answer", "outcome", "how", "read as", "error")


def by_model(scores: Sequence[Score], headline: str) -> "pd.DataFrame":
    """A row per model, the best first, with its rank; a column per number that one of them has."""
    import pandas as pd  # slow to import

    models = pd.DataFrame.from_dict({score.model: dict(score.numbers()) for score in scores}, orient="index")
    models = models.reindex(columns=models.columns.union([headline])).sort_index()
    models[RANK] = models[headline].round(DECIMALS).rank(method="min", ascending=False)
    return models.sort_values(headline, ascending=False, kind="stable")


def ranked_tables(spec: "QuestionBenchmark", scores: Sequence[Score]) -> Iterator[Table]:
    """The tables that the specification names; the first has a column for each further metric that a score has."""
    models = by_model(scores, spec.metrics[0].key)
    named = {number.rpartition("/")[2] for columns in spec.shown.values() for number in columns.values()}
    there = metrics_in(spec, scores).items()
    more = {title_of(key, metric): key for key, metric in there if metric.key not in {*named, *spec.not_shown}}
    by_name = {score.model: score for score in scores}
    for number, (title, columns) in enumerate(spec.shown.items(), 1):
        yield _table(title, models, by_name, {**columns, **more}, spec)._replace(name=f"models_{number}")
        more = {}
    shown = {number.partition("/")[0] for columns in spec.shown.values() for number in columns.values()}
    yield from group_tables(spec, [by_name[str(model)] for model in models.index], {*shown, *spec.tabled})


def _table(
    title: str,
    models: "pd.DataFrame",
    scores: Mapping[str, Score],
    columns: Mapping[str, str],
    spec: "QuestionBenchmark",
) -> Table:
    digits = {key: metric.digits for key in columns.values() if (metric := spec.metric(key.rpartition("/")[2]))}
    rows: list[Cells] = []
    for model, row in models.iterrows():
        score, numbers = scores[str(model)], dict(row)
        rank = _cell(score, numbers, RANK, 0)._replace(of=Origin(score, spec.metrics[0].key))
        rows.append([str(model), *(_cell(score, numbers, key, digits[key]) for key in columns.values()), rank])
    return Table(title, ["", *columns, RANK], rows, coverages=models[COVERAGE].tolist())


def _cell(score: Score, numbers: Mapping[str, float], key: str, digits: int) -> Cell:
    """A number, with its deviation where it has one."""
    there = {name: value for name, value in numbers.items() if not math.isnan(value)}
    return cell(there.get(key), digits=digits, of=Origin(score, key))._replace(deviation=deviation(there, key, digits))


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
