"""What each answer is worth: read by the parser where there is a key, graded by the judge where there is none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from driftledger.benchmarks._questions.calibration import CALIBRATION, Known
from driftledger.benchmarks._questions.parsing import PARSER_VERSION
from driftledger.benchmarks._questions.parsing.choice import parse_choice
from driftledger.benchmarks._questions.parsing.grade import parse_grade
from driftledger.benchmarks._questions.parsing.yes_no import parse_yes_no
from driftledger.benchmarks._questions.records import AnswerRecord, AnswersCard, Calibration, GradeRecord, GradesCard
from driftledger.collect.call_result import Context, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.failures import refuse_failures
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Steps
from driftledger.components.base import Model
from driftledger.components.card import ComponentCard
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, Outcome, Turn
from driftledger.data.question_sets.files import QuestionEntry

NO_ANSWER = "no answer"


def read_choices(questions: Mapping[str, QuestionEntry], answers: Sequence[AnswerRecord]) -> list[GradeRecord]:
    """MM-SAP: the option that each answer chooses, by its id and not its letter."""
    return [_read_choice(questions[answer.question], answer) for answer in answers]


def _read_choice(question: QuestionEntry, answer: AnswerRecord) -> GradeRecord:
    if not _is_readable(answer) or question.refusal is None:
        return _unread(answer)
    shown = [question.options[option] for option in answer.order]
    read = parse_choice(answer.text or "", shown, answer.order.index(question.refusal))
    choice = None if read.option is None else answer.order[read.option]
    return GradeRecord(
        question=answer.question, variant=answer.variant, outcome=read.outcome, choice=choice, how=read.how
    )


def read_yes_no(answers: Sequence[AnswerRecord]) -> list[GradeRecord]:
    """MME: yes or no."""
    return [_read_yes_no(answer) for answer in answers]


def _read_yes_no(answer: AnswerRecord) -> GradeRecord:
    if not _is_readable(answer):
        return _unread(answer)
    read = parse_yes_no(answer.text or "")
    return GradeRecord(
        question=answer.question, variant=answer.variant, outcome=read.outcome, answer=read.answer, how=read.how
    )


def _is_readable(answer: AnswerRecord) -> bool:
    return answer.outcome.goes_on or (answer.outcome is Outcome.REFUSED and bool(answer.text))


def _unread(answer: AnswerRecord, repeat: int = 0) -> GradeRecord:
    return GradeRecord(
        question=answer.question, variant=answer.variant, repeat=repeat, outcome=answer.outcome, how=NO_ANSWER
    )


@dataclass(frozen=True)
class Judging:
    """How a judge grades open answers, several times each."""

    question_set: str
    judge: Model
    prompt: str
    gradings: int

    def run(self, question: QuestionEntry, answer: AnswerRecord, repeat: int) -> Steps[GradeRecord]:
        """One grading of one answer."""
        if not _is_readable(answer):
            return _unread(answer, repeat)
        text = graded_prompt(self.prompt, question.question, str(question.answer), answer.text or "")
        said = yield self._ask(text, repeat, question.id)
        read = _grade_in(said)
        return GradeRecord(
            question=answer.question,
            variant=answer.variant,
            repeat=repeat,
            outcome=said.outcome if read is None and not said.outcome.goes_on else _outcome(read),
            tenths=read,
            how="grade" if read is not None else "no grade",
            judge_text=said.text,
            served_judge=said.served_model,
        )

    def calibrate(self, known: Known, repeat: int) -> Steps[int | None]:
        """One grading of an answer whose grade is known."""
        text = graded_prompt(self.prompt, known.question, known.truth, known.answer)
        return _grade_in((yield self._ask(text, repeat, "calibration")))

    def _ask(self, text: str, repeat: int, question: str) -> Ask:
        context = Context(self.question_set, question, repeat + 1)
        return Ask(self.judge, "grade", Conversation((Turn("user", (text,)),)), context, repeat)


def _grade_in(said: Result) -> int | None:
    return parse_grade(said.text or "").tenths if said.outcome.goes_on else None


def _outcome(read: int | None) -> Outcome:
    return Outcome.UNPARSED if read is None else Outcome.OK


def graded_prompt(prompt: str, question: str, truth: str, prediction: str) -> str:
    """The judge's prompt: one row of its table, which no text can leave."""
    pieces = {"{question}": question, "{truth}": truth, "{prediction}": prediction}
    return "".join(_cell(pieces[piece]) if piece in pieces else piece for piece in _pieces(prompt, pieces))


def _pieces(prompt: str, places: Mapping[str, str]) -> Iterator[str]:
    while prompt:
        at, place = min(((prompt.find(place), place) for place in places if place in prompt), default=(-1, ""))
        if at < 0:
            yield prompt
            return
        yield from (prompt[:at], place)
        prompt = prompt[at + len(place) :]


def _cell(text: str) -> str:
    """Text on one line, without the sign that ends a cell."""
    return " ".join(text.replace("|", "¦").split())


def judge(
    judging: Judging,
    questions: Mapping[str, QuestionEntry],
    answers: Sequence[AnswerRecord],
    store: CallStore,
    title: str,
) -> tuple[list[GradeRecord], list[Calibration]]:
    """MM-Vet: grade every answer and every calibration answer as often as the settings say."""
    repeats = range(judging.gradings)
    pairs = [(answer, repeat) for answer in answers for repeat in repeats]
    known = [(item, repeat) for item in CALIBRATION for repeat in repeats]
    with Progress(title, total=len(pairs) + len(known)) as progress:
        steps = [judging.run(questions[answer.question], answer, repeat) for answer, repeat in pairs]
        grades = run_protocols(steps, store, progress, most_calls=1)
        given = run_protocols([judging.calibrate(*each) for each in known], store, progress, most_calls=1)
    by_item = [given[start : start + judging.gradings] for start in range(0, len(given), judging.gradings)]
    calibrated = [
        Calibration(question=item.question, answer=item.answer, known=item.tenths, given=found)
        for item, found in zip(CALIBRATION, by_item, strict=True)
    ]
    return grades, calibrated


def check_failures(grades: Sequence[GradeRecord], min_coverage: float) -> None:
    """Refuse grades of which too many failed; errors as in :func:`refuse_failures`."""
    failed = [grade.question for grade in grades if grade.outcome is Outcome.FAILED and grade.how != NO_ANSWER]
    refuse_failures(failed, len(grades), min_coverage, "gradings", "questions.min_coverage")


def write_grades(
    folder: Path,
    grades: Sequence[GradeRecord],
    calibration: Sequence[Calibration],
    answers: tuple[AnswersCard, str],
    judging: tuple[str, Judging] | None,
) -> None:
    """Write ``grades.jsonl``, ``calibration.jsonl`` where a judge was at work, and ``components.json``."""
    write_jsonl(folder / "grades.jsonl", grades)
    if judging is not None:
        write_jsonl(folder / "calibration.jsonl", calibration)
    card = GradesCard(
        parser=PARSER_VERSION,
        judge=ComponentCard.of(judging[0], judging[1].judge) if judging else None,
        grade_prompt=judging[1].prompt if judging else None,
        gradings=judging[1].gradings if judging else 1,
        answers_sha256=answers[1],
        answers=answers[0],
    )
    write_json(folder / "components.json", card)
