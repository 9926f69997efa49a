"""The paper's section 4.1 over stored permutations of the options."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks._questions.scoring import (
    PERCENT,
    GradedAnswers,
    Measured,
    assemble,
    joint_outcome,
    read_graded,
)
from driftledger.benchmarks.mm_sap.records import ChoiceRecord
from driftledger.benchmarks.mm_sap.settings import MMSAPScoring
from driftledger.benchmarks.score import HIGH, LOW, STD, Row
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.errors import CoverageError
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.metrics.clustered import Spread, clustered_ratio_interval
from driftledger.metrics.positions import position_bias
from driftledger.metrics.self_awareness import (
    OverPermutations,
    Ratios,
    SelfAwareness,
    by_group,
    over_permutations,
    ratios,
)
from driftledger.metrics.self_awareness import score as self_awareness

MEASURES = ("score", "answer_rate", "answer_accuracy", "known_knowns", "known_unknowns")


def score(given: ToScore, scoring: MMSAPScoring) -> Scored:
    """Score a folder of answers that were read.

    Raises:
        CoverageError: too few answers could be read, or none is other than a refusal in free text that does not count.
    """
    graded = read_graded(given, "mm_sap", ChoiceRecord)
    return assemble(given, "mm_sap", graded, _measure(graded, scoring))


class _Key(NamedTuple):
    """The questions as arrays: option ids, −1 where no option is right."""

    correct: NDArray[np.int64]
    refusal: NDArray[np.int64]
    subset: list[str]
    subtask: list[str]
    images: list[str]


def _measure(graded: GradedAnswers[ChoiceRecord], scoring: MMSAPScoring) -> Measured:
    """Every measure per subset, subtask and in total: mean and deviation over permutations, interval over questions."""
    questions, grades = graded.questions, graded.grades
    key = _Key(
        np.array([-1 if question.answer is None else int(question.answer) for question in questions]),
        np.array([-1 if question.refusal is None else question.refusal for question in questions]),
        [question.subset or "" for question in questions],
        [f"{question.subset}: {question.subtask}" for question in questions],
        [question.image_sha256 for question in questions],
    )
    variants = 1 + max(grade.variant for grade in grades)
    counted, uncounted = (_choices(questions, grades, variants, counts) for counts in (True, False))
    choices = counted if scoring.count_free_refusals else uncounted
    overall = _over(choices, key)
    if overall is None:
        raise CoverageError(
            "every answer is a refusal in free text; set mm_sap.count_free_refusals in params.yaml to count these as "
            "choosing the refusal"
        )
    metrics = _percent(overall)
    for name, which in (("with", counted), ("without", uncounted)):
        if (measured := _over(which, key)) is not None:
            metrics[f"score_{name}_free_refusals"] = _percent(measured)["score"]
    metrics["free_refusals"] = PERCENT * sum(g.outcome is Outcome.REFUSED for g in grades) / len(grades)
    metrics |= _intervals(choices, key, scoring)
    groups = {"subset": _grouped(choices, key, key.subset), "subtask": _grouped(choices, key, key.subtask)}
    if positions := _positions(questions, graded.answers, grades):
        groups["position"] = positions
    return Measured(
        metrics,
        groups,
        int((choices >= 0).sum()),
        choices.size,
        {measure: "no question of its kind" for measure in MEASURES if measure not in metrics},
        list(_rows(graded, choices, key)),
    )


def _choices(
    questions: Sequence[QuestionEntry], grades: Sequence[ChoiceRecord], variants: int, count_refusals: bool
) -> NDArray[np.int64]:
    """Variants × questions: the chosen option's id, −1 where nothing could be read."""
    place = {question.id: index for index, question in enumerate(questions)}
    choices = np.full((variants, len(questions)), -1, dtype=np.int64)
    for grade in grades:
        index = place[grade.question]
        refused = grade.outcome is Outcome.REFUSED and count_refusals
        chosen = questions[index].refusal if refused else grade.choice
        choices[grade.variant, index] = -1 if chosen is None else chosen
    return choices


def _over(choices: NDArray[np.int64], key: _Key) -> OverPermutations | None:
    """None where nothing could be read in any permutation."""
    read = [row for row in choices if (row >= 0).any()]
    scores = [self_awareness(row, key.correct, key.refusal, key.subset) for row in read]
    return over_permutations(scores) if scores else None


def _grouped(choices: NDArray[np.int64], key: _Key, groups: list[str]) -> dict[str, dict[str, float]]:
    per_variant: list[dict[str, SelfAwareness]] = [
        by_group(row, key.correct, key.refusal, key.subset, groups) for row in choices
    ]
    found = {name: _percent(over_permutations([one[name] for one in per_variant])) for name in sorted(set(groups))}
    for name in found:
        if name.startswith("beyond"):  # where no answer is right, and the paper leaves the accuracy out
            found[name] = {key: value for key, value in found[name].items() if not key.startswith("answer_accuracy")}
    return found


def _percent(over: OverPermutations) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in MEASURES:
        values: Spread | None = getattr(over, name)
        if values is not None:
            found[name] = PERCENT * values.mean
            if values.std is not None:
                found[name + STD] = PERCENT * values.std
    return found


def _intervals(choices: NDArray[np.int64], key: _Key, scoring: MMSAPScoring) -> dict[str, float]:
    """Of each measure over questions, all permutations of a question being asked about one image."""
    per_variant: list[Ratios] = [ratios(row, key.correct, key.refusal, key.subset) for row in choices]
    found: dict[str, float] = {}
    for name in MEASURES:
        numerator = sum(getattr(one, name).numerator for one in per_variant)
        denominator = sum(getattr(one, name).denominator for one in per_variant)
        if not denominator.any():
            continue
        interval = clustered_ratio_interval(
            numerator,
            denominator,
            key.images,
            resamples=scoring.bootstrap.resamples,
            confidence=scoring.bootstrap.confidence,
            seed=scoring.seed,
        )
        found |= {name + LOW: PERCENT * interval.low, name + HIGH: PERCENT * interval.high}
    return found


def _positions(
    questions: Sequence[QuestionEntry], answers: Sequence[AnswerRecord], grades: Sequence[ChoiceRecord]
) -> dict[str, dict[str, float]]:
    """Letter → how often it was chosen, and how often the refusal and the right option stood there, in percent of the
    answers read; nothing where no letter could be read."""
    by_id = {question.id: question for question in questions}
    chosen = {(grade.question, grade.variant): grade.choice for grade in grades}
    rows = [answer for answer in answers if len(answer.order) == len(answers[0].order)]
    letters = [-1 if (c := chosen[a.question, a.variant]) is None else a.order.index(c) for a in rows]
    if all(letter < 0 for letter in letters):
        return {}
    key = [by_id[answer.question] for answer in rows]
    bias = position_bias(
        np.array(letters),
        np.array([answer.order for answer in rows]),
        np.array([-1 if question.answer is None else int(question.answer) for question in key]),
        np.array([question.refusal for question in key]),
    )
    return {
        share.letter: {"chosen": PERCENT * share.chosen, "refusal": PERCENT * share.refusal}
        | ({} if share.correct is None else {"correct": PERCENT * share.correct})
        for share in bias.letters
    }


def _rows(graded: GradedAnswers[ChoiceRecord], choices: NDArray[np.int64], key: _Key) -> Iterator[Row]:
    """Whether each permutation's choice was accepted."""
    by_question = graded.by_question
    accepted = [ratios(row, key.correct, key.refusal, key.subset).score.numerator for row in choices]
    for index, question in enumerate(graded.questions):
        outcomes = [grade.outcome for grade in by_question[question.id]]
        worth = [float(accepted[v][index]) if choices[v, index] >= 0 else None for v in range(len(choices))]
        yield Row(
            unit=question.id,
            group="all",
            cluster=question.image_sha256,
            outcome=joint_outcome(outcomes),
            values={"score": worth},
            extra={"subset": question.subset or "", "subtask": question.subtask or "", "outcomes": outcomes},
        )
