"""MME's settings, metrics and score.

Fu et al., "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language Models".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from math import inf
from typing import Any, ClassVar, Literal

from driftledger.benchmarks.base.benchmark import Scored, Scoring
from driftledger.benchmarks.base.layout import PaperTables
from driftledger.benchmarks.base.parsing import yes_no as parsing
from driftledger.benchmarks.base.parsing.reply import Parsed
from driftledger.benchmarks.base.questions import (
    READ,
    QuestionBenchmark,
    QuestionSection,
    ReadAnswer,
    Share,
    question_stages,
    refusals,
    row_of,
    worths,
)
from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.benchmarks.base.scoring import PERCENT
from driftledger.core.errors import first_few
from driftledger.core.grouping import grouped
from driftledger.core.types import Outcome
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion, folded
from driftledger.data.records import QuestionEntry
from driftledger.metrics.yes_no import image_score
from driftledger.scoring.means import (
    mean_over_categories,
    numbers,
    proportion,
    sum_over_categories,
)
from driftledger.scoring.metric import FIRST, Metric, MetricTable
from driftledger.scoring.number import Number, Value
from driftledger.scoring.score import Row

PER_IMAGE = 2
"""Questions about each image; accuracy+ counts the images with both answered right."""
BOTH_RIGHT = 2 * PERCENT
"""The score of an image with both answered right."""
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
"""MME's fourteen subtasks by ability; the score of an ability is the sum of theirs."""


class MMESettings(QuestionSection):
    """Settings of MME: the prompt and the parser."""

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
            elif len({question.category for question in questions}) > 1:
                yield (
                    f"{name} and {questions[1].name} share an image but not the category (give "
                    "them the same)"
                )

    def stored(self, question: SourceQuestion) -> tuple[str, None]:
        return folded(question.answer or ""), None


_PAPER = "Fu et al., MME, section 2.2"
_score = partial(
    Metric, source=f"yes_no.image_score; {_PAPER}", needs=READ, range=(0, 200)
)
_share = partial(Share, source=f"exact.exact_mean; {_PAPER}")


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
            "100 · (accuracy + accuracy+) over the images of a category of which both answers "
            "count, mean over categories; 0 to 200",
            estimate=mean_over_categories,
            unit="0–200",
            in_rows=True,
            span=200.0,
            shown=FIRST,
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
            source="exact.exact_mean",
            direction="neither",
        ),
    )
    paper_tables: ClassVar[PaperTables] = {
        "score (0 to 200), accuracy and accuracy+": {}
    }
    group_tables: ClassVar[Mapping[str, str]] = {"category": "", "group": ""}
    group_bars = ("category",)
    settings = MMESettings
    parser = parsing.VERSION

    def selected_parser(self, section: Any) -> str:
        return parsing.LITERAL if section.read == "literal" else self.parser

    def parsed(
        self, question: QuestionEntry, record: CollectedRecord, parser: str
    ) -> Parsed[bool]:
        """Read whether an answer says yes."""
        text = record.text or ""
        if parser == parsing.LITERAL:
            return parsing.read_literally(text)
        return parsing.parse_yes_no(text, cut=record.outcome is Outcome.TRUNCATED)

    def worths(self, row: Row) -> Sequence[float | None]:
        """Return whether each answer about an image is right."""
        return row.values.get("correct", [])

    def scored_reading(self, answer: ReadAnswer, section: Any) -> Any:
        """Count a refusal as the wrong answer: the image shows the right one."""
        if answer.outcome is Outcome.REFUSED:
            return answer.question.answer != "yes"
        return answer.read

    def worth(self, question: QuestionEntry, scored_reading: bool | None) -> float:
        """Return 1 for a right answer, else 0."""
        return float(scored_reading == (question.answer == "yes"))

    def category(self, question: QuestionEntry) -> str:
        return question.category or "all"

    def cluster(self, question: QuestionEntry) -> str:
        """Return the name of an image within its category: two may use one name."""
        return f"{self.category(question)}/{question.image_id}"

    def score(self, scoring: Scoring) -> Scored:
        """Score images per category, their sum and mean, and accuracies."""
        answers = self.graded(scoring, scoring.read())
        pairs = grouped(answers, lambda answer: answer.cluster)
        rows = [image_row(image, pair) for image, pair in pairs.items()]
        images = [value for row in rows for value in row.values_of("score")]
        sums = [image._replace(metric="score_sum") for image in images]
        values = [
            *images,
            *(both_right(image) for image in images),
            *worths(answers, "accuracy"),
            *refusals(answers, "refused"),
        ]
        confidence = scoring.section.confidence
        categories = {row.group: [row.group] for row in rows}
        kinds = {"category": categories, "group": scoring.question_set.groups}
        of_score = numbers(values, self.metrics, kinds, confidence)
        of_score += numbers(sums, self.metrics, {"ability": SUBTASKS}, confidence)
        lost = categories.keys() - {image.category for image in images}
        of_score = [*with_unscored(of_score, sorted(lost))]
        return Scored(self.score_of(scoring, answers, of_score), rows)


def image_row(image: str, pair: Sequence[ReadAnswer]) -> Row:
    """Return the row of an image: its score, and whether each answer is right."""
    correct = [answer.worth for answer in pair]
    values = {"score": [image_score(correct)], "correct": correct}
    questions = [answer.question.id for answer in pair]
    group = pair[0].category
    return row_of(pair, values, unit=image, group=group, questions=questions)


def both_right(image: Value) -> Value:
    """Return 1 for an image with both answers right, from its score."""
    is_right = image.value == BOTH_RIGHT
    return image._replace(metric="accuracy_plus", value=float(is_right))


def with_unscored(of_score: Sequence[Number], lost: Sequence[str]) -> Iterator[Number]:
    """Yield numbers, and the reasons of categories without a score and of the total."""
    for number in of_score:
        if lost and number.is_whole and number.metric in ("score", "score_sum"):
            why = f"no score of {first_few(lost)}"
            yield Number(metric=number.metric, why=why)
        else:
            yield number
    for name in lost:
        why = "no image has two answers that count"
        yield Number(metric="score", group_kind="category", group=name, why=why)
