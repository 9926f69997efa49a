"""People grade answers in a sheet, and how far the judge agrees with them."""

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from driftledger.benchmarks._questions.spec import answer_of, is_readable
from driftledger.benchmarks.mm_vet.judging import graded
from driftledger.benchmarks.mm_vet.spec import MMVet
from driftledger.benchmarks.opinions import Place, SheetKind, compared, read_opinions, shown
from driftledger.benchmarks.records import CARD, CollectedCard, read_records
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.files import read_json, write_bytes
from driftledger.core.sheets import table_text
from driftledger.core.text import for_line
from driftledger.data.question_sets.files import read_questions

GRADES = SheetKind(
    "grades",
    ("question_set", "model", "question", "text", "truth", "answer", "rater", "grade"),
    r"0?\.[0-9]+|0|1(\.0*)?",
    "from 0 to 1, as in 0.5",
)


class Pair(NamedTuple):
    """How far two raters agree."""

    one: str
    other: str
    kappa: float | None
    """Cohen's over tenths, weighted by squares; None where both give one grade to everything."""
    answers: int
    """How many both graded."""


def write_sheet(
    root: Path, models: Sequence[str], question_set: str, path: Path, *, count: int, rater: str, seed: int
) -> int:
    """Write a sheet in which people grade answers, the same questions of every model; return its rows.

    The questions are drawn by lot.

    Raises:
        ConfigError: the file exists; it may hold people's work.
        StoreError: the questions have not been answered yet.
    """
    if path.exists():
        raise ConfigError(f"{path} is there, and may hold grades; name another file")
    questions = {each.id: each for each in read_questions(root / MMVet().data.at({"question_set": question_set}))}
    drawn = sorted(questions, key=lambda question: sha256_of([seed, "grades", question]))[:count]
    answers = _answers(root, models, question_set)
    rows = [
        [question_set, model, id_, questions[id_].question, str(questions[id_].answer), answers[model, id_], rater, ""]
        for id_ in drawn
        for model in models
        if (model, id_) in answers
    ]
    text = table_text(GRADES.columns, [[*map(shown, row)] for row in rows])
    write_bytes(path, text.encode("utf-8", "replace"))
    return len(rows)


def agreement(root: Path, models: Sequence[str], question_set: str, sheets: Sequence[Path]) -> list[Pair]:
    """Compare the judge's mean grades with those of people, rater by rater.

    Raises:
        ConfigError: a sheet cannot be read, two hold grades by one person, or a grade is of another answer than the
            judge's.
        StoreError: the answers have not been graded yet.
    """
    judge, given = "", dict[Place, list[float]]()
    for model in models:
        folder = root / MMVet.collects.at({"question_set": question_set, "model": model})
        judge = read_json(folder / CARD, CollectedCard).components["judge"].name
        for record in read_records(folder):
            if record.step and is_readable(answer_of(record)) and (grade := graded(record).value) is not None:
                given.setdefault((model, record.unit), []).append(grade)
    raters = {judge: {place: fmean(grades) for place, grades in given.items()}}
    answers = _answers(root, models, question_set)
    for path in sheets:
        grades: dict[str, dict[Place, float]] = {}
        for line, (of_set, model, question), text, rater, grade in read_opinions(root / path, GRADES):
            if of_set != question_set:
                continue
            if text != compared(shown(answers.get((model, question), ""))):
                raise ConfigError(
                    f"grades: {path}, line {line}: this is not what {for_line(model)!r:.100} answers to "
                    f"{for_line(question)!r:.100} now; write a new sheet with: {GRADES.command}"
                )
            grades.setdefault(rater, {})[model, question] = grade
        if twice := raters.keys() & grades.keys():
            raise ConfigError(f"two of the sheets hold grades by {min(twice)!r:.100}; put them into one")
        raters |= grades
    pairs = []
    for one, other in combinations(raters, 2):
        both = raters[one].keys() & raters[other].keys()
        kappa = _kappa([raters[one][place] for place in both], [raters[other][place] for place in both])
        pairs.append(Pair(one, other, kappa, len(both)))
    return pairs


def _answers(root: Path, models: Sequence[str], question_set: str) -> dict[Place, str]:
    """Read the answers that the judge could grade."""
    answers: dict[Place, str] = {}
    for model in models:
        folder = root / MMVet.collects.at({"question_set": question_set, "model": model})
        read = [record for record in read_records(folder) if record.step]
        answers |= {(model, each.unit): each.text or "" for each in read if is_readable(answer_of(each))}
    return answers


def _kappa(one: Sequence[float], other: Sequence[float]) -> float | None:
    from sklearn.metrics import cohen_kappa_score  # imported late: it takes a second

    tenths = [[round(10 * grade) for grade in grades] for grades in (one, other)]
    if len({*tenths[0], *tenths[1]}) < 2:
        return None
    return float(cohen_kappa_score(*tenths, labels=range(11), weights="quadratic"))
