"""Accuracy, accuracy+ and the score per category, and what MME makes of them in total."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from driftledger.benchmarks._questions.records import ReadAnswer
from driftledger.benchmarks._questions.scoring import GradedAnswers, joint_outcome
from driftledger.benchmarks._questions.spec import QuestionBenchmark
from driftledger.benchmarks.mme.questions import SUBTASKS
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.scoring import PERCENT, Ends, Scored, ToScore, interval_ends
from driftledger.benchmarks.settings import Scoring
from driftledger.core.grouping import grouped
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import Estimate, mean_interval, proportion_interval, share_interval
from driftledger.metrics.yes_no import YesNoScores, by_category, total
from driftledger.metrics.yes_no import score as yes_no


def score(given: ToScore, spec: QuestionBenchmark) -> Scored:
    """Score a folder of answers that were read: the measures per category, their sum and their mean, and accuracies
    over all questions.

    To decline is a wrong answer here, where everything can be known from the image.

    Raises:
        CoverageError: too few answers could be read.
    """
    graded = GradedAnswers(given, spec)
    questions, grades = graded.questions, [graded.by_question[question.id][0] for question in graded.questions]
    truth = [question.answer == "yes" for question in questions]
    answers = [
        not right if grade.outcome is Outcome.REFUSED else grade.read
        for grade, right in zip(grades, truth, strict=True)
    ]
    categories = [question.category or "all" for question in questions]
    # Two categories may use one name for an image.
    images = [f"{category}/{question.image_id}" for category, question in zip(categories, questions, strict=True)]
    read, wrong = np.array([[answer is not None] for answer in answers]), graded.wrong
    overall = yes_no(answers, truth, images, unread_is_wrong=wrong[:, 0])
    each = by_category(answers, truth, images, categories, unread_is_wrong=wrong[:, 0])
    together = total(each)
    metrics = _values(overall) | {"refused": graded.share(Outcome.REFUSED)}
    metrics.pop("score", None)
    if together.score is not None and together.mean is not None:
        metrics |= {"score": together.mean, "score_sum": together.score}
    correct = [
        float(answer == right) if counted else None
        for answer, right, counted in zip(answers, truth, (read | wrong)[:, 0], strict=True)
    ]
    pairs = grouped(range(len(images)), lambda index: images[index])
    rows = [
        _row(image, [questions[i] for i in pair], [correct[i] for i in pair], [grades[i] for i in pair])
        for image, pair in pairs.items()
    ]
    ends, ends_of_score = _intervals(rows, given.scoring)
    metrics |= _sums(each, SUBTASKS) | ends.metrics | ends_of_score.metrics
    groups = {"category": {name: _values(values) for name, values in each.items()}}
    if graded.groups:
        groups["group"] = {
            name: {"score": mean}
            for name, members in graded.groups.items()
            if (mean := total({member: each[member] for member in members}).mean) is not None
        }
    absent = {f"{name}: score": "nothing could be read" for name in together.missing}
    absent |= ends.absent | ends_of_score.absent
    return Scored(graded.score(metrics, groups, read, absent), rows)


def _intervals(rows: Sequence[Row], scoring: Scoring) -> tuple[Ends, Ends]:
    """Over images, two questions each: of accuracy and accuracy+ over all; and of the mean over categories."""
    images = [(row, [value for value in row.values["correct"] if value is not None]) for row in rows]
    right, asked = (np.array([int(of(known)) for _, known in images]) for of in (sum, len))
    accuracy = share_interval(right, asked, [row.unit for row in rows], scoring.confidence)
    whole = [(row.group, value) for row in rows if (value := row.values["score"][0]) is not None]
    if len(whole) < len(rows):
        why = f"{len(rows) - len(whole)} images have a question without an answer that counts"
        plus = score = Estimate(math.nan, math.inf, 0.0, None, why)
    else:
        plus = proportion_interval(int(sum(right == asked)), len(rows), scoring.confidence)
        score = mean_interval([value for _, value in whole], [group for group, _ in whole], scoring.confidence)
    return interval_ends({"accuracy": accuracy, "accuracy_plus": plus}, PERCENT), interval_ends({"score": score})


def _sums(each: Mapping[str, YesNoScores], abilities: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """The sum of scores of each ability whose categories all have one: of fewer it would be of something else."""
    whole = {name: members for name, members in abilities.items() if set(members) <= each.keys()}
    sums = {name: total({member: each[member] for member in members}).score for name, members in whole.items()}
    return {name: value for name, value in sums.items() if value is not None}


def _values(measured: YesNoScores) -> dict[str, float]:
    shares = {"accuracy": measured.accuracy, "accuracy_plus": measured.accuracy_plus}
    values = {name: PERCENT * share for name, share in shares.items() if share is not None}
    return values if measured.score is None else values | {"score": measured.score}


def _row(image: str, pair: list[QuestionEntry], correct: list[float | None], grades: list[ReadAnswer]) -> Row:
    """What an image's two questions add to its category's accuracy + accuracy+, of 0 to 200."""
    known, outcomes = [value for value in correct if value is not None], [grade.outcome for grade in grades]
    return Row(
        unit=image,
        group=pair[0].category or "all",
        cluster=image,
        outcome=joint_outcome(outcomes),
        values={
            "score": [PERCENT * (exact_mean(known) + all(known)) if len(known) == len(pair) else None],
            "correct": correct,
        },
        extra={
            "questions": [question.id for question in pair],
            "outcomes": outcomes,
            "read": [grade.read for grade in grades],
        },
    )
