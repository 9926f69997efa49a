"""What each answer was read as, read once more; a judge is not asked again, but what it said is read again."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from driftledger.benchmarks._questions.grading import read_choices, read_yes_no
from driftledger.benchmarks._questions.parsing import PARSER_VERSION
from driftledger.benchmarks._questions.parsing.grade import parse_grade
from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord, GradesCard
from driftledger.core.canonical import sha256_file
from driftledger.core.escaping import for_line
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry, read_questions
from driftledger.ledger.findings import Finding, Report, Unchecked
from driftledger.ledger.lineage import AnyScore, Behind
from driftledger.ledger.verify.other_code import other_code
from driftledger.ledger.verify.scoring import Where
from driftledger.ledger.verify.values import compare_rows


def reread(behind: Behind[AnyScore], where: Where) -> Report:
    """Compare stored grades with what the parser makes of the stored answers.

    Raises:
        DriftledgerError, ValueError, LookupError: the records cannot be read.
    """
    grades, answers = where(behind.collected["grade"]), where(behind.collected["answer"])
    path = behind.collected["grade"].path
    card, report = read_json(grades / "components.json", GradesCard), Report()
    if card.answers_sha256 != sha256_file(answers / "answers.jsonl"):
        said = f"its grades are of other answers than {behind.collected['answer'].path}/answers.jsonl"
        report.findings.append(Finding("bytes", f"{path}/components.json: answers_sha256", said))
    if card.parser != PARSER_VERSION:
        why = f"the answers were read by parser version {for_line(card.parser)}, and version {PARSER_VERSION} is here"
        report.unchecked.append(Unchecked(f"{path}/grades.jsonl", why))
        return report
    stored = read_jsonl(grades / "grades.jsonl", GradeRecord)
    made = _read_again(card, where(behind.data), answers, stored)
    compared = compare_rows(stored, made, _name, exact=True)
    report.checked["grades"] = len(stored)
    stage = [entry for entry in behind.stages.values() if any(out.path == path for out in entry.outs)]
    other = other_code(stage) if compared.differences else []
    code = f" (with other code than recorded: {', '.join(other)})" if other else ""
    report.findings += [
        Finding("numbers", f"{path}/grades.jsonl: {each.where}", each.what + code) for each in compared.differences
    ]
    return report


def _read_again(card: GradesCard, data: Path, answers: Path, stored: Sequence[GradeRecord]) -> list[GradeRecord]:
    given = read_jsonl(answers / "answers.jsonl", AnswerRecord)
    if card.answers.protocol == "mm_vet":
        return list(_judged_again(stored))
    questions: Mapping[str, QuestionEntry] = {question.id: question for question in read_questions(data)}
    return read_choices(questions, given) if card.answers.protocol == "mm_sap" else read_yes_no(given)


def _judged_again(stored: Sequence[GradeRecord]) -> Iterator[GradeRecord]:
    """The grades in what the judge said. One that was cut off or refused is as it is: no grade was read in it."""
    for grade in stored:
        if grade.judge_text is None or not (grade.outcome.goes_on or grade.outcome is Outcome.UNPARSED):
            yield grade
            continue
        tenths = parse_grade(grade.judge_text).tenths
        outcome, how = (Outcome.UNPARSED, "no grade") if tenths is None else (Outcome.OK, "grade")
        yield grade.model_copy(update={"tenths": tenths, "outcome": outcome, "how": how})


def _name(row: Record) -> str:
    assert isinstance(row, GradeRecord)
    return f"{row.question}, variant {row.variant}" + (f", grading {row.repeat}" if row.judge_text is not None else "")
