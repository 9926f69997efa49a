"""Answers step by step: the question with its image, what was said, and what that was read or graded as."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.traces import Option, Shot, Shown, Step, Trace, question_ids, values_of
from driftledger.core.files import read_jsonl
from driftledger.data.question_sets.files import QuestionEntry, read_questions


def traces(
    spec: Benchmark, folders: Mapping[str, Path], score: Score, rows: Sequence[Row], kind: type[GradeRecord]
) -> Iterator[Trace]:
    """The questions of these rows, with every answer to them.

    Args:
        kind: what an answer is read or graded as.
    """
    answered, graded = (folders[stage.name] for stage in spec.collects)
    folder = folders["question_set"]
    questions = {entry.id: entry for entry in read_questions(folder)}
    answers: dict[str, list[AnswerRecord]] = {}
    for answer in read_jsonl(answered / RECORDS, AnswerRecord):
        answers.setdefault(answer.question, []).append(answer)
    grades: dict[tuple[str, int], list[GradeRecord]] = {}
    for grade in read_jsonl(graded / RECORDS, kind):
        grades.setdefault((grade.question, grade.variant), []).append(grade)
    values = values_of(spec, score)
    for row in rows:
        about = [questions[name] for name in question_ids(row)]
        pairs = [(entry, answer) for entry in about for answer in answers[entry.id]]
        accepted = row.values.get(spec.metrics[0].row, []) if not spec.judged else []
        verdicts = accepted if len(accepted) == len(pairs) else [None] * len(pairs)
        steps, given = list[Step](), set[str]()
        for number, ((entry, answer), verdict) in enumerate(zip(pairs, verdicts, strict=True), 1):
            read = grades[entry.id, answer.variant]
            given |= {_read(entry, grade) for grade in read}
            column = entry.question if len(about) > 1 else "answer"
            if column == "answer" and len(pairs) > 1:
                column = f"order {answer.variant + 1}"
            steps.append(_answered(number, entry, answer, {grade.read for grade in read}, column))
            for grade in read:
                good = _read(entry, grade).casefold() == right(entry).casefold() if verdict is None else verdict > 0
                step = Step(
                    f"grade {number}" + (f", grading {grade.grading + 1}" if len(read) > 1 else ""),
                    "judge" if spec.judged else "",
                    {"answer": answer.text},
                    {"read as": _read(entry, grade), "by the rule": grade.how, "right": right(entry)},
                    grade.outcome,
                    column=column,
                    good=None if spec.judged else good,
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
    number: int, entry: QuestionEntry, answer: AnswerRecord, read: set[int | float | bool | None], column: str
) -> Step:
    letters = list(zip(ascii_uppercase, answer.order, strict=False))
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


def _read(entry: QuestionEntry, grade: GradeRecord) -> str:
    if grade.read is None:
        return "nothing"
    if isinstance(grade.read, bool):
        return "yes" if grade.read else "no"
    return entry.options[grade.read] if isinstance(grade.read, int) and entry.options else f"{grade.read:g}"
