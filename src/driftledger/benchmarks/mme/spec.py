"""MME: yes or no, two questions about each image.

Fu et al., "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language Models".
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
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
    joint_outcome,
    question_stages,
    readings_of,
)
from driftledger.benchmarks.base import Layout
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.scoring import PERCENT, Ends, Scored, Scoring, interval_ends
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
from driftledger.scoring.means import (
    mean_over_categories,
    proportion,
    ratio,
    sum_over_categories,
)
from driftledger.scoring.metric import Metric, MetricTable, ShownIn
from driftledger.scoring.score import Numbers, Row, Rows

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
    """The way to put yes-or-no questions and to read the answers."""

    read: Literal["tolerant", "literal"]
    """The reader of answers: ours, or MME's own, which looks at the first four characters alone."""


class MMEQuestions(QuestionRules):
    """Yes or no, twice about each image, in one category."""

    needed = ("question", "image", "answer", "category")
    optional = ("id", "image_id")

    def unit(self, question: SourceQuestion) -> str:
        return question.image_id

    def problem(self, question: SourceQuestion) -> str | None:
        if not question.category:
            return "has no category (name one)"
        if question.answer is None:
            return "has no answer (write yes or no)"
        if folded(question.answer) not in ("yes", "no"):
            answer = question.answer
            return f"has the answer {answer!r:.80}, which is neither yes nor no (correct it)"
        return None

    def problems_of_images(
        self, images: Iterable[Sequence[SourceQuestion]]
    ) -> Iterator[str]:
        for questions in images:
            name = questions[0].name
            if len(questions) != PER_IMAGE:
                many = (
                    "only one question"
                    if len(questions) == 1
                    else f"{len(questions)} questions"
                )
                yield (
                    f"{name} is about an image with {many}, where MME asks {PER_IMAGE} (correct "
                    "the rows, or name the column that tells images apart as image_id)"
                )
            elif len({each.category for each in questions}) > 1:
                yield (
                    f"{name} and {questions[1].name} share an image but not the category (give "
                    "them the same)"
                )

    def stored(self, question: SourceQuestion) -> tuple[str, None]:
        return folded(question.answer or ""), None


_PAPER = "Fu et al., MME, section 2.2"
_score = partial(Metric, source=f"yes_no.total; {_PAPER}", needs=READ, range=(0, 200))
_share = partial(
    Metric,
    source=f"yes_no.score; {_PAPER}",
    needs=READ,
    estimate=ratio,
    is_ratio=True,
    unit="%",
    scale=PERCENT,
)
_FIRST: frozenset[ShownIn] = frozenset(
    {"headline", "compared", "glance", "across", "table", "bars", "last"}
)


class MME(QuestionBenchmark):
    """Accuracy over questions, and over images with both questions answered right."""

    name = "mme"
    title = "MME"
    questions = MMEQuestions()
    collects, scores = question_stages("mme", scored=("read",))
    metrics = MetricTable(
        _score(
            "score",
            "score",
            "100 · (accuracy + accuracy+) of a category, mean over categories; 0 to 200",
            estimate=mean_over_categories,
            unit="0–200",
            in_rows=True,
            span=200.0,
            shown=_FIRST,
            alias="mme_score",
        ),
        _share(
            "accuracy",
            "accuracy",
            "100 · questions answered right / questions; in total over the questions of all "
            "categories",
            shown=frozenset({"table", "last"}),
            alias="mme_accuracy",
        ),
        _share(
            "accuracy_plus",
            "accuracy+",
            "100 · images with both questions answered right / images; in total over the images "
            "of all categories",
            estimate=proportion,
        ),
        _score(
            "score_sum",
            "sum of scores",
            "the sum of the categories' scores: 0 to 200 times their number; of perception 0 to "
            "2000, of cognition 0 to 800",
            estimate=sum_over_categories,
            range=(0, inf),
            shown=frozenset(),
        ),
        _share(
            "refused",
            "refused",
            "100 · answers that decline, which counts as wrong / answers",
            source="yes_no.score",
            direction="neither",
        ),
    )
    layout = Layout(
        tables={
            "score (0 to 200), accuracy and accuracy+": {
                "score": "score",
                "accuracy": "accuracy",
                "accuracy_plus": "accuracy_plus",
                "refused": "refused",
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

    def parsed(
        self, question: QuestionEntry, record: CollectedRecord, parser: str
    ) -> Parsed[bool]:
        """Read whether an answer says yes."""
        answer = answer_of(record)
        if parser == parsing.LITERAL:
            return parsing.read_literally(answer.text or "")
        return parsing.parse_yes_no(
            answer.text or "", cut=answer.outcome is Outcome.TRUNCATED
        )

    def worths(self, row: Row) -> Sequence[float | None]:
        """Return whether each answer about an image is right; its score is of both together."""
        return row.values.get("correct", [])

    def score(self, given: Scoring) -> Scored:
        """Score answers per category, their sum and mean, and accuracies over all questions.

        To decline is a wrong answer here, where everything can be known from the image.
        """
        graded = GradedAnswers(given, self)
        questions = graded.questions
        grades = [each[0] for each in graded.by_question]
        truth = []
        answers = []
        correct = []
        categories = []
        images = []
        for question, grade in zip(questions, grades, strict=True):
            right = question.answer == "yes"
            category = question.category or "all"
            answer = not right if grade.outcome is Outcome.REFUSED else grade.read
            truth.append(right)
            answers.append(answer)
            correct.append(float(answer == right))
            categories.append(category)
            # Two categories may use one name for an image.
            images.append(f"{category}/{question.image_id}")
        read = np.array([answer is not None for answer in answers])
        wrong = graded.wrong[:, 0]
        overall = yes_no.score(answers, truth, images, unread_is_wrong=wrong)
        by_category = yes_no.by_category(
            answers, truth, images, categories, unread_is_wrong=wrong
        )
        counted = read | wrong
        rows = []
        for image, pair in grouped(
            range(len(images)), lambda index: images[index]
        ).items():
            readings = readings_of([grades[index] for index in pair])
            worth = [correct[index] if counted[index] else None for index in pair]
            value = None
            if None not in worth and len(worth) == PER_IMAGE:
                answered = [correct[index] for index in pair]
                value = PERCENT * (exact_mean(answered) + all(answered))
            row = Row(
                unit=image,
                group=categories[pair[0]],
                cluster=image,
                outcome=joint_outcome(readings["outcomes"]),
                values={"score": [value], "correct": worth},
                extra={
                    "questions": [questions[index].id for index in pair],
                    **readings,
                },
            )
            rows.append(row)
        intervals = _intervals(rows, given.section.confidence)
        metrics = _values(overall._replace(score=None)) | {"refused": graded.refused}
        together = yes_no.total(by_category)
        if together.score is not None and together.mean is not None:
            metrics |= {"score": together.mean, "score_sum": together.score}
        for ability, members in SUBTASKS.items():
            if by_category.keys() >= {
                *members
            }:  # the sum of fewer would mean something else
                total = _joined(by_category, members).score
                if total is not None:
                    metrics[ability] = total
        groups = {
            "category": {name: _values(values) for name, values in by_category.items()}
        }
        for name, names in graded.groups.items():
            mean = _joined(by_category, names).mean
            group = groups.setdefault("group", {})
            if mean is not None:
                group[name] = {"score": mean}
        absent = {
            f"{name}: score": "nothing could be read" for name in together.missing
        }
        return Scored(
            graded.score(
                metrics | intervals.metrics,
                groups,
                read=read[:, None],
                absent=absent | intervals.absent,
            ),
            rows,
        )


def _values(measured: yes_no.YesNoScores) -> Numbers:
    values = {}
    for name, share in (
        ("accuracy", measured.accuracy),
        ("accuracy_plus", measured.accuracy_plus),
    ):
        if share is not None:
            values[name] = PERCENT * share
    if measured.score is not None:
        values["score"] = measured.score
    return values


def _joined(
    by_category: Mapping[str, yes_no.YesNoScores], members: Iterable[str]
) -> yes_no.Total:
    return yes_no.total({name: by_category[name] for name in members})


def _intervals(rows: Rows, confidence: float) -> Ends:
    """Return the intervals of accuracy, accuracy+ and the mean over categories.

    They are over images, two questions each.
    """
    worth = np.array([row.values["correct"] for row in rows], dtype=np.float64)
    right = np.nansum(worth, axis=1)
    totals = np.isfinite(worth).sum(axis=1)
    accuracy = share_interval(right, totals, [row.unit for row in rows], confidence)
    scores = [row.values["score"][0] for row in rows]
    incomplete = scores.count(None)
    if incomplete:
        why = f"{incomplete} images have a question without an answer that counts"
        plus = score = Estimate(math.nan, math.inf, df=0.0, reason=why)
    else:
        plus = proportion_interval(right == totals, confidence)
        groups = [row.group for row in rows]
        score = mean_interval(np.array(scores, float), groups, confidence).within(
            0, 2 * PERCENT
        )
    shares = interval_ends({"accuracy": accuracy, "accuracy_plus": plus}, PERCENT)
    means = interval_ends({"score": score})
    return Ends(shares.metrics | means.metrics, shares.absent | means.absent)
