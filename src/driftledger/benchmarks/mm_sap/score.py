"""The paper's section 4.1 over stored permutations of the options."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks._questions.records import ReadAnswer
from driftledger.benchmarks._questions.scoring import (
    PERCENT,
    Flags,
    GradedAnswers,
    interval,
    question_row,
)
from driftledger.benchmarks._questions.spec import QuestionBenchmark
from driftledger.benchmarks.mm_sap.questions import SIZES
from driftledger.benchmarks.mm_sap.settings import MMSAPScoring
from driftledger.benchmarks.score import STD
from driftledger.benchmarks.scoring import Ends, Scored, ToScore
from driftledger.core.errors import CoverageError
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.self_awareness import MEASURES, SelfAwareness, by_group, over_permutations, ratios
from driftledger.metrics.self_awareness import score as self_awareness


class Key(NamedTuple):
    """The questions as arrays: option ids, −1 where no option is right."""

    correct: NDArray[np.int64]
    refusal: NDArray[np.int64]
    subset: list[str]


def score(given: ToScore, spec: QuestionBenchmark) -> Scored:
    """Score a folder of answers that were read: every measure per subset, subtask and in total, with mean and deviation
    over permutations and an interval over questions.

    Raises:
        CoverageError: too few answers could be read, or none is in the denominators: all are refusals in free text that
            do not count.
    """
    graded, scoring = GradedAnswers(given, spec), cast(MMSAPScoring, given.scoring)
    questions = graded.questions
    key = Key(
        np.array([-1 if question.answer is None else int(question.answer) for question in questions]),
        np.array([question.refusal for question in questions]),
        [question.subset or "" for question in questions],
    )
    with_refusals, without = (_choices(graded, counts) for counts in (True, False))
    choices, wrong = with_refusals if scoring.count_free_refusals else without, graded.wrong()
    metrics = _over(choices, key, wrong)
    if not metrics:
        raise CoverageError(
            "every answer is a refusal in free text; set mm_sap.count_free_refusals in params.yaml to count these as "
            "choosing the refusal"
        )
    read = (choices >= 0).T
    metrics |= graded.both_ways("score", read, lambda wrong: _over(choices, key, wrong)["score"])
    for name, which in (("with", with_refusals), ("without", without)):
        if measured := _over(which, key, wrong):
            metrics[f"score_{name}_free_refusals"] = measured["score"]
    metrics["free_refusals"] = graded.share(Outcome.REFUSED)
    per_variant = [ratios(row, *key, unread_is_wrong=some) for row, some in zip(choices, wrong.T, strict=True)]
    ends: list[Ends] = []
    for name in MEASURES:
        numerator, denominator = (sum(parts) for parts in zip(*(one[name] for one in per_variant), strict=True))
        if denominator.any():
            images = [question.image_sha256 for question in questions]
            ends.append(interval(name, numerator, denominator, images, scoring))
    subtasks = [f"{question.subset}: {question.subtask}" for question in questions]
    groups = {name: _grouped(choices, key, wrong, of) for name, of in (("subset", key.subset), ("subtask", subtasks))}
    accepted = [one["score"] for one in per_variant]
    rows = []
    for index, question in enumerate(questions):
        worth = [float(one.numerator[index]) if one.denominator[index] else None for one in accepted]
        told = {"subset": question.subset or "", "subtask": question.subtask or ""}
        rows.append(question_row(question, graded.by_question[question.id], {"score": worth}, **told))
    intervals = Ends.together(ends)
    metrics |= intervals.metrics
    absent = {measure: "no question of its kind" for measure in MEASURES if measure not in metrics} | intervals.absent
    sizes = dict(sorted(Counter(key.subset).items()))
    return Scored(graded.score(metrics, groups, read, absent, details={SIZES: sizes}), rows)


def _choices(graded: GradedAnswers, count_refusals: bool) -> NDArray[np.int64]:
    """Variants × questions: the chosen option's id, −1 where nothing could be read."""

    def chosen(question: QuestionEntry, grade: ReadAnswer) -> int:
        choice = question.refusal if grade.outcome is Outcome.REFUSED and count_refusals else grade.read
        return -1 if choice is None else int(choice)

    return np.array([[chosen(each, grade) for grade in graded.by_question[each.id]] for each in graded.questions]).T


def _over(choices: NDArray[np.int64], key: Key, wrong: Flags) -> dict[str, float]:
    """Nothing where no choice of any permutation is in the denominators.

    Args:
        wrong: questions × variants: whether a choice that could not be read is a wrong one.
    """
    asked = [(row, some) for row, some in zip(choices, wrong.T, strict=True) if ((row >= 0) | some).any()]
    scores = [self_awareness(row, *key, unread_is_wrong=some) for row, some in asked]
    return _percent(scores) if scores else {}


def _grouped(choices: NDArray[np.int64], key: Key, wrong: Flags, groups: list[str]) -> dict[str, dict[str, float]]:
    asked = zip(choices, wrong.T, strict=True)
    per_variant = [by_group(row, *key, groups, unread_is_wrong=some) for row, some in asked]
    found = {name: _percent([one[name] for one in per_variant]) for name in per_variant[0]}
    for name in found:
        if name.startswith("beyond"):  # where no answer is right, and the paper leaves the accuracy out
            found[name] = {key: value for key, value in found[name].items() if not key.startswith("answer_accuracy")}
    return found


def _percent(scores: Sequence[SelfAwareness]) -> dict[str, float]:
    """The mean and the deviation of each measure over permutations."""
    over = over_permutations(scores)
    ends = (end for name, each in over.items() for end in ((name, each.mean), (name + STD, each.std)))
    return {name: PERCENT * value for name, value in ends if value is not None}
