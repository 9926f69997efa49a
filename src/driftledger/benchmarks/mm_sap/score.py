"""The paper's section 4.1 over stored permutations of the options."""

from collections import Counter
from typing import cast

import numpy as np

from driftledger.benchmarks._questions.records import ReadAnswer
from driftledger.benchmarks._questions.scoring import GradedAnswers, question_row
from driftledger.benchmarks._questions.spec import QuestionBenchmark
from driftledger.benchmarks.mm_sap.questions import SIZES
from driftledger.benchmarks.mm_sap.settings import MMSAPScoring
from driftledger.benchmarks.score import STD
from driftledger.benchmarks.scoring import PERCENT, Scored, ToScore, interval_ends
from driftledger.core.errors import CoverageError
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.intervals import share_interval
from driftledger.metrics.self_awareness import MEASURES, by_group, over_permutations, ratios


def score(given: ToScore, spec: QuestionBenchmark) -> Scored:
    """Score a folder of answers that were read: every measure per subset, subtask and in total, with mean and deviation
    over permutations and an interval over questions.

    Raises:
        CoverageError: too few answers could be read, or none is in the denominators: all are refusals in free text that
            do not count.
    """
    graded, scoring = GradedAnswers(given, spec), cast(MMSAPScoring, given.scoring)
    questions = graded.questions

    def chosen(question: QuestionEntry, grade: ReadAnswer) -> int:
        refused = grade.outcome is Outcome.REFUSED and scoring.count_free_refusals
        choice = question.refusal if refused else grade.read
        return -1 if choice is None else int(choice)

    choices = np.array([[chosen(each, grade) for grade in graded.by_question[each.id]] for each in questions])
    read, variants = choices >= 0, [*zip(choices.T, graded.wrong.T, strict=True)]
    correct = np.array([-1 if question.answer is None else int(question.answer) for question in questions])
    refusal, subsets = np.array([each.refusal for each in questions]), [each.subset or "" for each in questions]

    def measured(groups: list[str]) -> dict[str, dict[str, float]]:
        """Group → mean and deviation over permutations of each measure, in percent."""
        each = [by_group(row, correct, refusal, subsets, groups, unread_is_wrong=wrong) for row, wrong in variants]
        over = {name: over_permutations([one[name] for one in each]) for name in each[0]}
        for name in over:
            if name.startswith("beyond"):  # where no answer is right, and the paper leaves the accuracy out
                over[name].pop("answer_accuracy", None)
        return {
            name: {
                key: PERCENT * value
                for measure, spread in spreads.items()
                for key, value in ((measure, spread.mean), (measure + STD, spread.std))
                if value is not None
            }
            for name, spreads in over.items()
        }

    metrics = measured(["all"] * len(questions))["all"]
    if not metrics:
        raise CoverageError(
            "every answer is a refusal in free text; set mm_sap.count_free_refusals in params.yaml to count these as "
            "choosing the refusal"
        )
    metrics["free_refusals"] = graded.share(Outcome.REFUSED)
    parts = [ratios(row, correct, refusal, subsets, unread_is_wrong=wrong) for row, wrong in variants]
    images = [question.image_sha256 for question in questions]
    estimates = {}
    for name in MEASURES:
        numerator, denominator = (sum(sides) for sides in zip(*(one[name] for one in parts), strict=True))
        if denominator.any():
            estimates[name] = share_interval(numerator, denominator, images, scoring.confidence)
    intervals = interval_ends(estimates, PERCENT)
    metrics |= intervals.metrics
    rows = []
    for index, question in enumerate(questions):
        accepted = [one["score"] for one in parts]
        worth = [float(one.numerator[index]) if one.denominator[index] else None for one in accepted]
        told = {"subset": question.subset or "", "subtask": question.subtask or ""}
        rows.append(question_row(question, graded.by_question[question.id], {"score": worth}, **told))
    groups = {
        "subset": measured(subsets),
        "subtask": measured([f"{question.subset}: {question.subtask}" for question in questions]),
    }
    absent = {measure: "no question of its kind" for measure in MEASURES if measure not in metrics} | intervals.absent
    sizes = dict(sorted(Counter(subsets).items()))
    return Scored(graded.score(metrics, groups, read, absent, details={SIZES: sizes}), rows)
