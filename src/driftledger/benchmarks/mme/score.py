"""Accuracy, accuracy+ and the score per category, and what MME makes of them in total."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks._questions.scoring import (
    PERCENT,
    GradedAnswers,
    Measured,
    assemble,
    joint_outcome,
    read_graded,
)
from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.yes_no import YesNoScores, by_category, total
from driftledger.metrics.yes_no import score as yes_no


def score(given: ToScore) -> Scored:
    """Score a folder of answers that were read.

    Raises:
        CoverageError: too few answers could be read.
    """
    graded = read_graded(given, "mme", YesNoRecord)
    return assemble(given, "mme", graded, _measure(graded))


def _measure(graded: GradedAnswers[YesNoRecord]) -> Measured:
    """The measures per category, their sum and their mean, and accuracies over all questions.

    To decline is a wrong answer here, where everything can be known from the image. What could not be read is not
    counted.
    """
    questions, grades = graded.questions, graded.grades
    found = {name: each[0] for name, each in graded.by_question.items()}
    truth = [question.answer == "yes" for question in questions]
    answers = [
        not right if found[question.id].outcome is Outcome.REFUSED else found[question.id].answer
        for question, right in zip(questions, truth, strict=True)
    ]
    categories = [_category(question) for question in questions]
    images = [_image(question) for question in questions]
    overall = yes_no(answers, truth, images)
    each = by_category(answers, truth, images, categories)
    together = total(each)
    refused = sum(grade.outcome is Outcome.REFUSED for grade in grades) / len(grades)
    metrics = _values(overall) | {"refused": PERCENT * refused}
    if together.score is not None and together.mean is not None:
        metrics |= {"score": together.mean, "score_sum": together.score}
    else:
        metrics.pop("score", None)
    correct = [None if answer is None else answer == right for answer, right in zip(answers, truth, strict=True)]
    return Measured(
        metrics,
        {"category": {name: _values(values) for name, values in each.items()}},
        overall.scored,
        overall.total,
        {f"{name}: score": "nothing could be read" for name in together.missing},
        list(_rows(questions, correct, [found[question.id].outcome for question in questions])),
    )


def _category(question: QuestionEntry) -> str:
    return question.category or "all"


def _image(question: QuestionEntry) -> str:
    """Two categories may use one name for an image."""
    return f"{_category(question)}/{question.image_id}"


def _values(measured: YesNoScores) -> dict[str, float]:
    values = {
        "accuracy": None if measured.accuracy is None else PERCENT * measured.accuracy,
        "accuracy_plus": None if measured.accuracy_plus is None else PERCENT * measured.accuracy_plus,
        "score": measured.score,
    }
    return {name: value for name, value in values.items() if value is not None}


def _rows(
    questions: Sequence[QuestionEntry], correct: Sequence[bool | None], outcomes: Sequence[Outcome]
) -> Iterator[Row]:
    """What an image's two questions add to its category's accuracy + accuracy+, of 0 to 200."""
    pairs: dict[str, list[int]] = {}
    for index, question in enumerate(questions):
        pairs.setdefault(_image(question), []).append(index)
    for image, pair in pairs.items():
        values = [None if (right := correct[index]) is None else float(right) for index in pair]
        read = [value for value in values if value is not None]
        worth = PERCENT * (exact_mean(read) + all(read)) if len(read) == len(pair) else None
        ended = [outcomes[index] for index in pair]
        yield Row(
            unit=image,
            group=_category(questions[pair[0]]),
            cluster=image,
            outcome=joint_outcome(ended),
            values={"score": [worth], "correct": values},
            extra={"questions": [questions[index].id for index in pair], "outcomes": ended},
        )
