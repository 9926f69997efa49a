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
    folder, judged = folders["question_set"], spec.judged
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
        accepted = row.values.get(spec.metrics[0].row, []) if not judged else []
        verdicts = accepted if len(accepted) == len(pairs) else [None] * len(pairs)
        given = [_read(entry, grade) for entry, answer in pairs for grade in grades[entry.id, answer.variant]]
        yield Trace(
            unit=row.unit,
            name="question" if len(about) == 1 else "questions",
            asked={**_asked(about), "image": Shot(folder / about[0].image)},
            gave={"read as": sorted(set(given)), "right": [right(entry) for entry in about]},
            outcome=row.outcome,
            steps=[
                step
                for number, (entry, answer) in enumerate(pairs, 1)
                for step in _steps(
                    *(number, entry, answer, grades[entry.id, answer.variant], judged),
                    *(verdicts[number - 1], _column(about, entry, answer, len(pairs))),
                )
            ],
            values=values(row),
            known={"right": [right(entry) for entry in about]},
        )


def _asked(about: Sequence[QuestionEntry]) -> dict[str, Shown]:
    if len(about) > 1:
        return {"questions": [entry.question for entry in about]}
    [entry] = about
    return {"question": entry.question} | ({"options": entry.options} if entry.options else {})


def right(entry: QuestionEntry) -> str:
    """What is right, in words; that refusing is, where no option is right."""
    if isinstance(entry.answer, int):
        return entry.options[entry.answer]
    if entry.answer is None and entry.refusal is not None:
        return f"refusing: {entry.options[entry.refusal]}"
    return str(entry.answer)


def _column(about: Sequence[QuestionEntry], entry: QuestionEntry, answer: AnswerRecord, answers: int) -> str:
    """The question, the order of its options, or nothing to tell apart."""
    if len(about) > 1:
        return entry.question
    return f"order {answer.variant + 1}" if answers > 1 else "answer"


def _steps(
    number: int,
    entry: QuestionEntry,
    answer: AnswerRecord,
    grades: Sequence[GradeRecord],
    judged: bool,
    verdict: float | None,
    column: str,
) -> Iterator[Step]:
    letters = list(zip(ascii_uppercase, answer.order, strict=False))
    shown = [f"{letter}. {entry.options[option]}" for letter, option in letters]
    is_right = entry.refusal if entry.answer is None else entry.answer
    read = {grade.read for grade in grades}
    yield Step(
        f"answer {number}",
        "model",
        {"question": entry.question} | ({"options": shown} if shown else {}),
        {"answer": answer.text},
        answer.outcome,
        answer.error,
        column,
        [Option(letter, entry.options[option], option in read, option == is_right) for letter, option in letters],
    )
    for grade in grades:
        yield Step(
            f"grade {number}" + (f", grading {grade.grading + 1}" if len(grades) > 1 else ""),
            "judge" if judged else "",
            {"answer": answer.text},
            {"read as": _read(entry, grade), "by the rule": grade.how, "right": right(entry)},
            grade.outcome,
            column=column,
            good=_accepted(entry, grade, verdict) if not judged else None,
        )


def _accepted(entry: QuestionEntry, grade: GradeRecord, verdict: float | None) -> bool:
    """What the score makes of it, where it keeps a value for each answer; else whether it is what is right."""
    return _read(entry, grade).casefold() == right(entry).casefold() if verdict is None else verdict > 0


def _read(entry: QuestionEntry, grade: GradeRecord) -> str:
    if grade.read is None:
        return "nothing"
    if isinstance(grade.read, bool):
        return "yes" if grade.read else "no"
    return entry.options[grade.read] if isinstance(grade.read, int) and entry.options else f"{grade.read:g}"
