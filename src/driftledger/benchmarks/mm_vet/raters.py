"""Who else grades a model's answers: people, in a sheet, and other judges.

Their grades lie beside the judge's over the same answers, so that how far all agree can be computed, and the total be
corrected by what people say of the judge's mistakes. The answers in a sheet are a model's, and hostile: no cell is a
formula.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.mm_vet.instrument import KnownGrades
from driftledger.benchmarks.mm_vet.records import JudgedRecord
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line, for_terminal
from driftledger.core.files import read_json, read_jsonl, write_bytes
from driftledger.core.sheets import cleaned, read_table, table_text
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.correction import Corrected, Operating, operating_characteristics
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals.raters import AgreementOfRaters, alpha_estimate, kappa_estimate

COLUMNS = ("question_set", "model", "question", "text", "truth", "answer", "rater", "grade")
ABOUT, WRITES = "grades", "driftledger grades sheet"

Place: TypeAlias = tuple[str, str]
"""Model and question: what there is one answer of."""
Grades: TypeAlias = Mapping[Place, float]
"""Place → grade, from 0 (totally wrong) to 1 (totally right)."""


BANDS = ("0", "below 0.5", "0.5", "above 0.5", "1")
"""Of mean grades, in a table of what two raters give."""
CONFIDENCE = 0.95
NO_ANSWERS = AgreementOfRaters(None, None, "no answer is graded by both")


class Pair(NamedTuple):
    """How far two raters agree."""

    one: str
    other: str
    kappa: AgreementOfRaters
    """Cohen's, weighted by squares."""
    answers: int
    """That both graded."""
    table: Sequence[Sequence[int]]
    """How many answers there are by what the one and, in columns, the other gave; by :data:`BANDS`."""


class CorrectedTotal(NamedTuple):
    """A model's total as the judge gives it, and without its mistakes; all from 0 to 100."""

    model: str
    total: float
    by_calibration: Corrected | None
    """By the mistakes it makes on the calibration answers, as in the score."""
    by_people: Corrected | None
    """By those that people find in its grades of all models' answers."""
    by_own: Corrected | None
    """By what people say of this model's own answers, whatever the judge's mistakes; None where they graded too few."""
    own: int
    """How many they graded."""


class RatersAgreement(NamedTuple):
    """How far a judge, other judges and people agree, over the answers that they share."""

    judge: str
    raters: Mapping[str, int]
    """Rater → answers graded."""
    alpha: AgreementOfRaters | None
    """Krippendorff's, of grades as numbers, over all raters; None where there is no other rater."""
    pairs: Sequence[Pair]
    operating: Operating | None
    """The judge's, by what people say; None where they call no answer right, or none wrong."""
    known: KnownGrades
    """What answers are worth by people's word, and what the judge gave them."""
    known_of: Mapping[str, KnownGrades]
    """The same of each model that people graded answers of."""


def read_grades(path: Path, question_set: str, answers: Mapping[Place, str]) -> dict[str, dict[Place, float]]:
    """Rater → grades in a sheet, as spreadsheets save it; rows without a grade are skipped.

    Args:
        answers: place → the answer that the judge graded; a grade is for the answer that stands beside it.

    Raises:
        ConfigError: it is no such sheet, a grade is no number from 0 to 1 or has no rater, one person has graded an
            answer twice, or a grade is of another answer than the judge's.
    """
    found: dict[str, dict[Place, float]] = {}
    for line, cells in read_table(path, COLUMNS, ABOUT, WRITES).entries():
        if not cells["grade"] or cells["question_set"] != question_set:
            continue
        where, place = f"{ABOUT}: {path}, line {line}", (cells["model"], cells["question"])
        if not cells["rater"]:
            raise ConfigError(f"{where}: there is a grade, and 'rater' is empty; fill it in")
        if _compared(cells["answer"]) != _compared(_shown(answers.get(place, ""))):
            raise ConfigError(
                f"{where}: this is not what {for_line(place[0])!r:.100} answers to {for_line(place[1])!r:.100} now; "
                f"write a new sheet with: {WRITES}"
            )
        own = found.setdefault(cells["rater"], {})
        if place in own:
            raise ConfigError(f"{where}: {for_line(cells['rater'])!r:.100} has graded this answer before; remove one")
        own[place] = _grade(cells["grade"], where)
    return found


def _grade(text: str, where: str) -> float:
    try:
        grade = float(text)
    except ValueError:
        grade = math.nan
    if not 0 <= grade <= 1:
        raise ConfigError(f"{where}: the grade is {for_line(text)!r:.100}; it must be from 0 to 1, for instance 0.5")
    return grade


def judged(folder: Path) -> tuple[str, dict[str, float]]:
    """The judge's name, and its mean grade of each question that it could grade, in a folder of a grade stage."""
    name = read_json(folder / CARD, CollectedCard).components["judge"].name
    return name, mean_grades(read_jsonl(folder / RECORDS, JudgedRecord))


def mean_grades(records: Iterable[JudgedRecord]) -> dict[str, float]:
    """Question → the mean of its gradings, of those that brought a grade."""
    grades: dict[str, list[float]] = {}
    for record in records:
        if record.grade is not None:
            grades.setdefault(record.question, []).append(record.grade)
    return {question: exact_mean(some) for question, some in grades.items()}


def write_sheet(
    path: Path,
    question_set: str,
    questions: Mapping[str, QuestionEntry],
    answers: Mapping[str, Sequence[AnswerRecord]],
    count: int,
    rater: str,
    seed: int,
) -> int:
    """Write a sheet in which people grade some answers, the same questions of every model; how many rows it has.

    The questions are drawn by lot from all, so that what people say of these answers holds for the others.

    Args:
        answers: model → its answers.

    Raises:
        ConfigError: there is a file, which may hold people's work.
    """
    if path.exists():
        raise ConfigError(f"{path} is there, and may hold grades; name another file")
    drawn = sorted(questions, key=lambda question: sha256_of([seed, "grades", question]))[:count]
    texts = {
        (model, answer.question): answer.text or ""
        for model, some in answers.items()
        for answer in some
        if answer.readable
    }
    rows = [
        (question_set, model, id_, questions[id_].question, str(questions[id_].answer), texts[model, id_], rater, "")
        for id_ in drawn
        for model in answers
        if (model, id_) in texts
    ]
    write_bytes(path, table_text(COLUMNS, [[*map(_shown, row)] for row in rows]).encode("utf-8", "replace"))
    return len(rows)


def agreement_of(
    judge: str, grades: Grades, others: Mapping[str, Grades], people: Iterable[str], images: Mapping[str, str]
) -> RatersAgreement:
    """How far the judge and others agree, and what its mistakes by people's word are worth.

    What an answer is worth is the mean of what people give it. How the judge grades answers that are right and wrong is
    told of all models together, and what it gives each model's own beside it.

    Args:
        grades: the judge's.
        others: rater → grades, of people and of other judges.
        people: those among them who are people.
        images: question → its image; questions about one image are answered well or badly together.
    """
    raters = {judge: grades, **others}
    places = sorted({place for each in raters.values() for place in each})
    matrix = np.array([[each.get(place, np.nan) for place in places] for each in raters.values()])
    shown = [images[question] for _, question in places]
    worth = _worth([others[name] for name in people])
    shared = sorted(worth.keys() & grades.keys())
    known_of = {model: KnownGrades([], []) for model, _ in shared}
    for place in shared:
        known_of[place[0]].known.append(worth[place])
        known_of[place[0]].given.append(grades[place])
    known = KnownGrades([worth[place] for place in shared], [grades[place] for place in shared])
    return RatersAgreement(
        judge,
        {name: len(each) for name, each in raters.items()},
        alpha_estimate(matrix, shown, confidence=CONFIDENCE) if len(raters) > 1 else None,
        [_pair(one, other, raters, images) for one, other in combinations(raters, 2)],
        operating_characteristics(*known),
        known,
        known_of,
    )


def _pair(one: str, other: str, raters: Mapping[str, Grades], images: Mapping[str, str]) -> Pair:
    both = sorted(raters[one].keys() & raters[other].keys())
    a, b = (np.array([raters[name][place] for place in both]) for name in (one, other))
    shown = [images[question] for _, question in both]
    kappa = kappa_estimate(a, b, shown, confidence=CONFIDENCE) if both else NO_ANSWERS
    table = [[0] * len(BANDS) for _ in BANDS]
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        table[_band(x)][_band(y)] += 1
    return Pair(one, other, kappa, len(both), table)


def _band(grade: float) -> int:
    return (grade > 0) + (grade >= 0.5) + (grade > 0.5) + (grade == 1)


def _worth(people: Sequence[Grades]) -> dict[Place, float]:
    given: dict[Place, list[float]] = {}
    for each in people:
        for place, grade in each.items():
            given.setdefault(place, []).append(grade)
    return {place: exact_mean(some) for place, some in given.items()}


def _shown(text: str) -> str:
    return for_terminal(cleaned(text))


def _compared(shown: str) -> str:
    """What spreadsheets and people leave as it is when they save a text."""
    return " ".join(shown.split())
