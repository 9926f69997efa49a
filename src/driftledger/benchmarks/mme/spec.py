"""MME: yes or no, two questions about each image.

Fu et al., "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language Models".
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from driftledger.benchmarks._questions.parsing import yes_no as parsing
from driftledger.benchmarks._questions.parsing.reply import Parsed
from driftledger.benchmarks._questions.spec import (
    READ,
    GradedAnswers,
    QuestionBenchmark,
    QuestionSection,
    answer_of,
    flow,
    joint_outcome,
)
from driftledger.benchmarks.base import Layout, Metric
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.scoring import PERCENT, Ends, Scored, ToScore, interval_ends
from driftledger.core.grouping import grouped
from driftledger.core.types import Outcome
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion, folded
from driftledger.data.records import QuestionEntry
from driftledger.metrics import yes_no
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import (
    Estimate,
    mean_interval,
    proportion_interval,
    share_interval,
)

PER_IMAGE = 2
"""Questions about each image; accuracy+ counts the images with both answered right."""
SUBTASKS = {
    "perception": (
        *("existence", "count", "position", "color", "posters"),
        *("celebrity", "scene", "landmark", "artwork", "OCR"),
    ),
    "cognition": (
        "commonsense_reasoning",
        "numerical_calculation",
        "text_translation",
        "code_reasoning",
    ),
}
"""MME's fourteen, by ability; the score of an ability is the sum of theirs."""


class MMESettings(QuestionSection):
    """How yes-or-no questions are put and read."""

    read: Literal["tolerant", "literal"]
    """The reader of answers: ours, or MME's own, which looks at the first four characters alone."""


class MMEQuestions(QuestionRules):
    """Yes or no, twice about each image, in one category."""

    needed = ("question", "image", "answer", "category")
    optional = ("id", "image_id")

    def problem(self, question: SourceQuestion) -> str | None:
        if not question.category:
            return "has no category (name one)"
        if question.answer is None:
            return "has no answer (write yes or no)"
        if folded(question.answer) not in ("yes", "no"):
            return (
                f"has the answer {question.answer!r:.80}, which is neither yes nor no (correct it)"
            )
        return None

    def problems_of_images(self, images: Iterable[Sequence[SourceQuestion]]) -> Iterator[str]:
        for questions in images:
            name, categories = questions[0].name, {each.category for each in questions}
            if len(questions) != PER_IMAGE:
                many = "only one question" if len(questions) == 1 else f"{len(questions)} questions"
                yield (
                    f"{name} is about an image with {many}, where MME asks {PER_IMAGE} (correct "
                    "the rows, or name the "
                    "column that tells images apart as image_id)"
                )
            elif len(categories) > 1:
                yield (
                    f"{name} and {questions[1].name} share an image but not the category (give "
                    "them the same)"
                )

    def stored(self, question: SourceQuestion) -> tuple[str, None]:
        return folded(question.answer or ""), None


_PAPER = "Fu et al., MME, section 2.2"
_score = partial(Metric, source=f"yes_no.total; {_PAPER}", needs=READ)
_share = partial(Metric, source=f"yes_no.score; {_PAPER}", needs=READ, unit="%")


class MME(QuestionBenchmark):
    """Accuracy over questions, and over images with both questions answered right."""

    name = "mme"
    title = "MME"
    questions = MMEQuestions()
    collects, scores = flow("mme", scored=("read",))
    metrics = (
        _score(
            "score",
            "score",
            "100 · (accuracy + accuracy+) of a category, mean over categories; 0 to 200",
            unit="0–200",
            headline=True,
            row="score",
            tracked="mme_score",
        ),
        _share(
            "accuracy",
            "accuracy",
            "100 · questions answered right / questions; in total over the questions of all "
            "categories",
            tracked="mme_accuracy",
        ),
        _share(
            "accuracy_plus",
            "accuracy+",
            "100 · images with both questions answered right / images; in total over the images "
            "of all categories",
        ),
        _score(
            "perception",
            "perception",
            "the sum of the scores of MME's ten subtasks of perception, where the set has all "
            "ten; 0 to 2000",
        ),
        _score(
            "cognition",
            "cognition",
            "the sum of the scores of MME's four subtasks of cognition, where the set has all "
            "four; 0 to 800",
        ),
        _score(
            "score_sum",
            "sum of scores",
            "the sum of the categories' scores; 0 to 200 times the number of categories",
        ),
        _share(
            "refused",
            "refused",
            "100 · answers that decline, which counts as wrong / answers",
            source="yes_no.score",
            higher_is_better=None,
        ),
    )
    layout = Layout(
        tables={
            "score (0 to 200), accuracy and accuracy+": {
                name: name for name in ("score", "accuracy", "accuracy_plus", "refused")
            }
        },
        left_out=("score_sum",),
        group_bars={"category": "score"},
        groups={"category": "", "group": ""},
    )
    settings = MMESettings
    parser = parsing.VERSION

    def selected_parser(self, section: Any) -> str:
        return parsing.LITERAL if section.read == "literal" else self.parser

    def parsed(self, question: QuestionEntry, record: CollectedRecord, parser: str) -> Parsed[bool]:
        """Read whether an answer says yes."""
        answer = answer_of(record)
        if parser == parsing.LITERAL:
            return parsing.read_literally(answer.text or "")
        return parsing.parse_yes_no(answer.text or "", cut=answer.outcome is Outcome.TRUNCATED)

    def score(self, given: ToScore) -> Scored:
        """Score answers per category, with the sum and mean over categories, and accuracies over
        all questions.

        To decline is a wrong answer here, where everything can be known from the image.
        """
        graded = GradedAnswers(given, self)
        questions, grades = (
            graded.questions,
            [graded.by_question[question.id][0] for question in graded.questions],
        )
        truth = [question.answer == "yes" for question in questions]
        answers = [
            not right if grade.outcome is Outcome.REFUSED else grade.read
            for grade, right in zip(grades, truth, strict=True)
        ]
        categories = [question.category or "all" for question in questions]
        # Two categories may use one name for an image.
        images = [
            f"{category}/{question.image_id}"
            for category, question in zip(categories, questions, strict=True)
        ]
        read, wrong = np.array([answer is not None for answer in answers]), graded.wrong[:, 0]
        overall = yes_no.score(answers, truth, images, unread_is_wrong=wrong)
        by_category = yes_no.by_category(answers, truth, images, categories, unread_is_wrong=wrong)
        together = yes_no.total(by_category)
        correct = [
            float(answer == right) if counted else None
            for answer, right, counted in zip(answers, truth, read | wrong, strict=True)
        ]
        rows = []
        for image, pair in grouped(range(len(images)), lambda index: images[index]).items():
            counted = [value for index in pair if (value := correct[index]) is not None]
            outcomes = [grades[index].outcome for index in pair]
            row = Row(
                unit=image,
                group=categories[pair[0]],
                cluster=image,
                outcome=joint_outcome(outcomes),
                values={
                    "score": [
                        PERCENT * (exact_mean(counted) + all(counted))
                        if len(counted) == PER_IMAGE
                        else None
                    ],
                    "correct": [correct[index] for index in pair],
                },
                extra={
                    "questions": [questions[index].id for index in pair],
                    "outcomes": outcomes,
                    "read": [grades[index].read for index in pair],
                },
            )
            rows.append(row)
        shares, scores = _intervals(rows, given.section.confidence)
        metrics = _values(overall._replace(score=None)) | {"refused": graded.refused}
        if together.score is not None and together.mean is not None:
            metrics |= {"score": together.mean, "score_sum": together.score}
        for (
            ability,
            members,
        ) in SUBTASKS.items():  # of fewer subtasks the sum would mean something else
            if (
                set(members) <= by_category.keys()
                and (whole := _joined(by_category, members).score) is not None
            ):
                metrics[ability] = whole
        groups = {"category": {name: _values(values) for name, values in by_category.items()}}
        if graded.groups:
            means = {
                name: _joined(by_category, members).mean for name, members in graded.groups.items()
            }
            groups["group"] = {
                name: {"score": mean} for name, mean in means.items() if mean is not None
            }
        absent = {f"{name}: score": "nothing could be read" for name in together.missing}
        return Scored(
            graded.score(
                metrics | shares.metrics | scores.metrics,
                groups,
                read[:, None],
                absent | shares.absent | scores.absent,
            ),
            rows,
        )


def _values(measured: yes_no.YesNoScores) -> dict[str, float]:
    shares = {"accuracy": measured.accuracy, "accuracy_plus": measured.accuracy_plus}
    values = {name: PERCENT * share for name, share in shares.items() if share is not None}
    return values if measured.score is None else values | {"score": measured.score}


def _joined(by_category: Mapping[str, yes_no.YesNoScores], members: Iterable[str]) -> yes_no.Total:
    return yes_no.total({name: by_category[name] for name in members})


def _intervals(rows: Sequence[Row], confidence: float) -> tuple[Ends, Ends]:
    """Over images, two questions each: of accuracy and accuracy+ over all; and of the mean over
    categories."""
    counted = [[value for value in row.values["correct"] if value is not None] for row in rows]
    right, totals = (np.array([int(size(values)) for values in counted]) for size in (sum, len))
    accuracy = share_interval(right, totals, [row.unit for row in rows], confidence)
    whole = [(row.group, value) for row in rows if (value := row.values["score"][0]) is not None]
    if len(whole) < len(rows):
        why = f"{len(rows) - len(whole)} images have a question without an answer that counts"
        plus = score = Estimate(math.nan, math.inf, 0.0, None, why)
    else:
        plus = proportion_interval(right == totals, confidence)
        values, groups = [value for _, value in whole], [group for group, _ in whole]
        score = mean_interval(values, groups, confidence).within(0, 2 * PERCENT)
    return interval_ends({"accuracy": accuracy, "accuracy_plus": plus}, PERCENT), interval_ends(
        {"score": score}
    )
