"""Accuracy, accuracy+ and the score per category, and what MME makes of them in total."""

from driftledger.benchmarks._questions.scoring import PERCENT, GradedAnswers, joint_outcome
from driftledger.benchmarks.mme.records import YesNoRecord
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.yes_no import YesNoScores, by_category, total
from driftledger.metrics.yes_no import score as yes_no


def score(given: ToScore) -> Scored:
    """Score a folder of answers that were read: the measures per category, their sum and their mean, and accuracies
    over all questions.

    To decline is a wrong answer here, where everything can be known from the image. What could not be read is not
    counted.

    Raises:
        CoverageError: too few answers could be read.
    """
    graded = GradedAnswers(given, "mme", YesNoRecord)
    questions, grades = graded.questions, [graded.by_question[question.id][0] for question in graded.questions]
    truth = [question.answer == "yes" for question in questions]
    answers = [
        not right if grade.outcome is Outcome.REFUSED else grade.answer
        for grade, right in zip(grades, truth, strict=True)
    ]
    categories = [question.category or "all" for question in questions]
    # Two categories may use one name for an image.
    images = [f"{category}/{question.image_id}" for category, question in zip(categories, questions, strict=True)]
    overall = yes_no(answers, truth, images)
    each = by_category(answers, truth, images, categories)
    together = total(each)
    refused = sum(grade.outcome is Outcome.REFUSED for grade in grades) / len(grades)
    metrics = _values(overall) | {"refused": PERCENT * refused}
    metrics.pop("score", None)
    if together.score is not None and together.mean is not None:
        metrics |= {"score": together.mean, "score_sum": together.score}
    correct = [None if answer is None else float(answer == right) for answer, right in zip(answers, truth, strict=True)]
    pairs: dict[str, list[int]] = {}
    for index, image in enumerate(images):
        pairs.setdefault(image, []).append(index)
    rows = [
        _row(image, [questions[i] for i in pair], [correct[i] for i in pair], [grades[i].outcome for i in pair])
        for image, pair in pairs.items()
    ]
    groups = {"category": {name: _values(values) for name, values in each.items()}}
    absent = {f"{name}: score": "nothing could be read" for name in together.missing}
    return Scored(graded.score(metrics, groups, overall.scored, overall.total, absent), rows)


def _values(measured: YesNoScores) -> dict[str, float]:
    values = {
        "accuracy": None if measured.accuracy is None else PERCENT * measured.accuracy,
        "accuracy_plus": None if measured.accuracy_plus is None else PERCENT * measured.accuracy_plus,
        "score": measured.score,
    }
    return {name: value for name, value in values.items() if value is not None}


def _row(image: str, pair: list[QuestionEntry], correct: list[float | None], outcomes: list[Outcome]) -> Row:
    """What an image's two questions add to its category's accuracy + accuracy+, of 0 to 200."""
    read = [value for value in correct if value is not None]
    return Row(
        unit=image,
        group=pair[0].category or "all",
        cluster=image,
        outcome=joint_outcome(outcomes),
        values={
            "score": [PERCENT * (exact_mean(read) + all(read)) if len(read) == len(pair) else None],
            "correct": correct,
        },
        extra={"questions": [question.id for question in pair], "outcomes": outcomes},
    )
