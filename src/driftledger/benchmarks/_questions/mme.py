"""MME: accuracy, accuracy+ and the score per category, and what MME makes of them in total."""

from collections.abc import Sequence

from driftledger.benchmarks._questions.measured import PERCENT, Measured, by_question
from driftledger.benchmarks._questions.records import GradeRecord, QuestionOutcome
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.yes_no import YesNo, by_category, score, total


def measure(questions: Sequence[QuestionEntry], grades: Sequence[GradeRecord]) -> Measured:
    """The measures per category, their sum and their mean, and accuracies over all questions.

    To decline is a wrong answer here, where everything can be known from the image. What could not be read is none.
    """
    found = {name: each[0] for name, each in by_question(grades).items()}
    truth = [question.answer == "yes" for question in questions]
    answers = [
        not right if found[question.id].outcome is Outcome.REFUSED else found[question.id].answer
        for question, right in zip(questions, truth, strict=True)
    ]
    categories = [question.category or "all" for question in questions]
    images = [f"{category}/{question.image_id}" for category, question in zip(categories, questions, strict=True)]
    overall = score(answers, truth, images)
    each = by_category(answers, truth, images, categories)
    together = total(each)
    metrics = _values(overall) | {"refused": PERCENT * _share_refused(grades)}
    absent = {f"{name}: score": "nothing could be read" for name in together.missing}
    if together.score is not None and together.mean is not None:
        metrics |= {"score": together.mean, "score_sum": together.score}
    else:
        metrics.pop("score", None)
    return Measured(
        metrics,
        {"category": {name: _values(values) for name, values in each.items()}},
        [],
        overall.scored,
        overall.total,
        absent,
        [
            QuestionOutcome(
                question=question.id,
                group={"category": category},
                values=[None if answer is None else float(answer == right)],
                outcomes=[found[question.id].outcome],
            )
            for question, category, answer, right in zip(questions, categories, answers, truth, strict=True)
        ],
    )


def _values(measured: YesNo) -> dict[str, float]:
    values = {
        "accuracy": None if measured.accuracy is None else PERCENT * measured.accuracy,
        "accuracy_plus": None if measured.accuracy_plus is None else PERCENT * measured.accuracy_plus,
        "score": measured.score,
    }
    return {name: value for name, value in values.items() if value is not None}


def _share_refused(grades: Sequence[GradeRecord]) -> float:
    return sum(grade.outcome is Outcome.REFUSED for grade in grades) / len(grades)
