"""Answers step by step: the question with its image, what was said, and what that was read or graded as."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import TYPE_CHECKING

from driftledger.benchmarks._questions.records import ReadAnswer, answer_of
from driftledger.benchmarks.records import CollectedRecord, read_records
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.traces import Option, Shot, Shown, Step, Trace, question_ids, values_of
from driftledger.core.grouping import grouped
from driftledger.data.question_sets.files import QuestionEntry, read_questions

if TYPE_CHECKING:
    from driftledger.benchmarks._questions.spec import QuestionBenchmark


def traces(
    spec: "QuestionBenchmark", folders: Mapping[str, Path], score: Score, rows: Sequence[Row]
) -> Iterator[Trace]:
    """The questions of these rows, with every answer to them."""
    folder = folders["question_set"]
    questions = {entry.id: entry for entry in read_questions(folder)}
    records = [each for each in read_records(folders[spec.collects.name]) if each.step]
    answers = grouped(records, lambda record: record.unit)
    values = values_of(spec, score)
    for row in rows:
        about = [questions[name] for name in question_ids(row)]
        pairs = [
            (entry, some) for entry in about for some in grouped(answers[entry.id], lambda each: each.step).values()
        ]
        accepted = row.values.get(spec.metrics[0].row, []) if not spec.collects.judged else []
        verdicts = accepted if len(accepted) == len(pairs) else [None] * len(pairs)
        steps, given = list[Step](), set[str]()
        for number, ((entry, some), verdict) in enumerate(zip(pairs, verdicts, strict=True), 1):
            read = [spec.read(entry, record) for record in sorted(some, key=lambda each: each.repeat)]
            given |= {_read(entry, grade) for grade in read}
            column = entry.question if len(about) > 1 else "answer"
            if column == "answer" and len(pairs) > 1:
                column = f"order {some[0].step}"
            steps.append(_answered(number, entry, some[0], {grade.read for grade in read}, column))
            for grade in read:
                good = _read(entry, grade).casefold() == right(entry).casefold() if verdict is None else verdict > 0
                step = Step(
                    f"grade {number}" + (f", grading {grade.record.repeat + 1}" if len(read) > 1 else ""),
                    "judge" if spec.collects.judged else "",
                    {"answer": grade.record.text},
                    {"read as": _read(entry, grade), "by the rule": grade.how, "right": right(entry)},
                    grade.outcome,
                    column=column,
                    good=None if spec.collects.judged else good,
                )
                steps.append(step)
        asked: dict[str, Shown] = {"questions": [entry.question for entry in about]}
        if len(about) == 1:
            asked = {"question": about[0].question} | ({"options": about[0].options} if about[0].options else {})
        known = {"right": [right(entry) for entry in about]}
        yield Trace(
            unit=row.unit,
            name="question" if len(about) == 1 else "questions",
            asked={**asked, "image": Shot(folder / about[0].image)},
            gave={"read as": sorted(given), **known},
            outcome=row.outcome,
            steps=steps,
            values=values(row),
            known=known,
        )


def _answered(
    number: int, entry: QuestionEntry, record: CollectedRecord, read: set[int | float | bool | None], column: str
) -> Step:
    answer, order = answer_of(record), record.extra.get("order", ())
    letters = list(zip(ascii_uppercase, order, strict=False))
    shown = [f"{letter}. {entry.options[option]}" for letter, option in letters]
    correct = entry.refusal if entry.answer is None else entry.answer
    return Step(
        f"answer {number}",
        "model",
        {"question": entry.question} | ({"options": shown} if shown else {}),
        {"answer": answer.text},
        answer.outcome,
        answer.error,
        column,
        [Option(letter, entry.options[option], option in read, option == correct) for letter, option in letters],
    )


def right(entry: QuestionEntry) -> str:
    """What is right, in words; that refusing is, where no option is right."""
    if isinstance(entry.answer, int):
        return entry.options[entry.answer]
    if entry.answer is None and entry.refusal is not None:
        return f"refusing: {entry.options[entry.refusal]}"
    return str(entry.answer)


def _read(entry: QuestionEntry, grade: ReadAnswer) -> str:
    if grade.read is None:
        return "nothing"
    if isinstance(grade.read, bool):
        return "yes" if grade.read else "no"
    return entry.options[grade.read] if isinstance(grade.read, int) and entry.options else f"{grade.read:g}"
